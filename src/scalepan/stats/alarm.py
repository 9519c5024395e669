"""Does a promise still hold? An alarm that may be read after every label, and is false in at most 5 % of all streams.

It bets against the promise. Whoever bets that errors are more frequent than allowed cannot expect to gain as long as
they are not; so capital that grows twentyfold is evidence, at whichever moment it is looked at (Ville's inequality).
A part of the capital is held back and staked later, case by case, because a promise may hold for long and then break.
"""

MAX_FALSE = 0.05
FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""How many times as many errors as allowed the bets are made on; nobody knows beforehand how bad it gets."""
_MOST = 1e300


class Alarm:
    """Labels in order, one by one; raised when the evidence against the promise is enough.

    >>> alarm = Alarm(max_error=0.05)
    >>> [alarm.add(wrong=True) for _ in range(3)]
    [False, False, True]
    """

    def __init__(self, max_error: float, max_false: float = MAX_FALSE) -> None:
        for name, share in (("max_error", max_error), ("max_false", max_false)):
            if not 0.0 < share < 1.0:
                raise ValueError(f"{name}: {share} is not between 0 and 1")
        self.max_error = max_error
        self.limit = 1 / max_false
        self.cases = self.wrong = 0
        self.raised_at: int | None = None
        """The case, counted from 1, at which it was raised. It stays raised."""
        rates = [min(factor * max_error, (1 + max_error) / 2) for factor in FACTORS]
        # What a stake becomes after a wrong and after a right case: the odds of two error rates.
        self._gains = [(rate / max_error, (1 - rate) / (1 - max_error)) for rate in rates]
        self._stakes = [0.0] * len(rates)
        self._kept = 1.0

    @property
    def evidence(self) -> float:
        """The capital: it began at 1, and has an expectation of at most 1 while the promise holds."""
        return self._kept + sum(self._stakes) / len(self._stakes)

    def add(self, wrong: bool) -> bool:
        """One more case that was let through; whether the alarm is raised."""
        self.cases += 1
        self.wrong += wrong
        # 1/2, 1/6, 1/12 ...: together they are 1, and after n cases 1 / (n + 1) is left.
        staked = 1 / (self.cases * (self.cases + 1))
        self._kept -= staked
        self._stakes = [
            min((stake + staked) * gain[0 if wrong else 1], _MOST)
            for stake, gain in zip(self._stakes, self._gains, strict=True)
        ]
        if self.raised_at is None and self.evidence >= self.limit:
            self.raised_at = self.cases
        return self.raised_at is not None
