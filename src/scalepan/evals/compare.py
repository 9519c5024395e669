"""Two runs over the same cases: is the second better, worse, the same, or is there too little data to say?

Pass or fail is compared by McNemar's exact test, scores by sign flips, each with a bootstrap interval; cases of one
group count as one observation, and Holm's method allows for asking about several scorers at once.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scalepan.stats.paired import GroupedDifferences

PASSED = "passed"
"""The name under which pass or fail is compared, beside the scorers."""
POWER = 0.8
"""How often a comparison of the size that is suggested would settle the question."""


class RunVerdict(StrEnum):
    """What a comparison says."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NOT_ENOUGH_DATA = "not enough data"


class RunScore(msgspec.Struct):
    """One scorer's number in a row of a run."""

    value: float | None = None
    status: str = "ok"
    passed: bool | None = None


class RunRow(msgspec.Struct):
    """As much of a run's row as a comparison needs."""

    id: str
    passed: bool
    scores: dict[str, RunScore]
    group: str | None = None


resolved(RunRow)


class CaseTries:
    """One case in one run: all its tries."""

    __slots__ = ("group", "passes", "scores", "unmeasured")

    def __init__(self) -> None:
        self.passes: list[bool] = []
        self.scores: dict[str, list[float]] = {}
        self.unmeasured = 0
        """Tries of which it is not known whether they passed."""
        self.group: str | None = None

    def add(self, row: RunRow) -> None:
        """One more try."""
        self.group = row.group if row.group is not None else self.group
        below = any(score.value is not None and score.passed is False for score in row.scores.values())
        failed = not row.scores or any(score.status == "failed" for score in row.scores.values())
        if row.passed or below or not failed:
            self.passes.append(row.passed)
        else:
            self.unmeasured += 1
        for name, score in row.scores.items():
            if score.value is not None:
                self.scores.setdefault(name, []).append(score.value)

    def of(self, metric: str) -> float | None:
        """The mean of the tries; None if none was measured."""
        values: Sequence[float] = self.passes if metric == PASSED else self.scores.get(metric, [])
        return sum(values) / len(values) if values else None


def read_run(path: Path) -> dict[str, CaseTries]:
    """The cases of a run file, in its order; a header line is passed over."""
    cases: dict[str, CaseTries] = {}
    decoder = msgspec.json.Decoder(RunRow)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip() or (number == 1 and line.startswith(b'{"run":')):
                    continue
                try:
                    row = decoder.decode(line)
                except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                    if not line.endswith(b"\n") and cases:
                        break  # half a line: the run was killed, or is still going on
                    raise InputError(f"is not a result of a run: {error}", file=str(path), line=number) from None
                cases.setdefault(row.id, CaseTries()).add(row)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if not cases:
        raise InputError("has no result in it; 'scalepan eval run ... --out FILE' writes one", file=str(path))
    return cases


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One number, such as the share of cases that passed, in both runs."""

    name: str
    verdict: RunVerdict
    pairs: int
    """Cases that have it in both runs."""
    unmeasured: int
    """Cases of both runs that lack it in one of them."""
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    """Adjusted for the number of questions."""
    more_cases: int | None = None
    """Without enough data: how many more cases would settle it, if what was seen so far holds."""


class Flip(msgspec.Struct, frozen=True):
    """A case that passed in one run and not in the other."""

    id: str
    before: float
    after: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs compared."""

    verdict: RunVerdict
    metrics: tuple[MetricComparison, ...]
    lost: tuple[Flip, ...]
    """Cases that passed before and fail now, the largest loss first."""
    gained: tuple[Flip, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    unmeasured: tuple[str, ...]
    """Cases of which a run does not say whether they passed, because the task or a scorer failed."""
    margin: float
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def compare(
    before: dict[str, CaseTries], after: dict[str, CaseTries], *, margin: float = 0.05, alpha: float = 0.05
) -> Comparison:
    """The second run beside the first; `margin` is the difference up to which two runs count as the same."""
    both = [id_ for id_ in before if id_ in after]
    if not both:
        raise InputError("the two runs have no case in common; they are paired by the ids of their cases")
    metrics = _metrics(both, before, after, margin, alpha)
    flips = [
        Flip(id_, was, now)
        for id_ in both
        if (was := before[id_].of(PASSED)) is not None and (now := after[id_].of(PASSED)) is not None and was != now
    ]
    flips.sort(key=lambda flip: -abs(flip.after - flip.before))
    return Comparison(
        verdict=_overall([metric.verdict for metric in metrics]),
        metrics=tuple(metrics),
        lost=tuple(flip for flip in flips if flip.after < flip.before),
        gained=tuple(flip for flip in flips if flip.after > flip.before),
        only_before=tuple(id_ for id_ in before if id_ not in after),
        only_after=tuple(id_ for id_ in after if id_ not in before),
        unmeasured=tuple(id_ for id_ in both if before[id_].unmeasured or after[id_].unmeasured),
        margin=margin,
        alpha=alpha,
    )


def _overall(verdicts: Sequence[RunVerdict]) -> RunVerdict:
    """Worse in one respect is worse. The tests are adjusted together, so better in one respect is better."""
    for verdict in (RunVerdict.WORSE, RunVerdict.BETTER, RunVerdict.NOT_ENOUGH_DATA):
        if verdict in verdicts:
            return verdict
    return RunVerdict.SAME


def _metrics(
    both: list[str], before: dict[str, CaseTries], after: dict[str, CaseTries], margin: float, alpha: float
) -> list[MetricComparison]:
    from scalepan.stats.paired import holm

    names = dict.fromkeys(name for run in (before, after) for id_ in both for name in run[id_].scores)
    found = [pairs for name in (PASSED, *names) if (pairs := _Pairs.of(name, both, before, after)) is not None]
    adjusted = holm([pairs.p for pairs in found])
    return [pairs.judged(p, margin, alpha) for pairs, p in zip(found, adjusted, strict=True)]


class _Pairs:
    """One metric over the cases that have it in both runs."""

    def __init__(self, name: str, was: "NDArray[np.float64]", now: "NDArray[np.float64]", lacking: int) -> None:
        self.name, self.was, self.now, self.lacking = name, was, now, lacking
        self.differences: GroupedDifferences
        self.p: float

    @classmethod
    def of(
        cls, name: str, both: list[str], before: dict[str, CaseTries], after: dict[str, CaseTries]
    ) -> "_Pairs | None":
        """The pairs; None if no case has the metric in both runs."""
        import numpy as np

        from scalepan.stats.paired import grouped, mcnemar, sign_flip

        values = [(before[id_].of(name), after[id_].of(name), before[id_].group or after[id_].group) for id_ in both]
        pairs = [(was, now, group) for was, now, group in values if was is not None and now is not None]
        if not pairs:
            return None
        stated = sum(was is not None or now is not None for was, now, _ in values)
        was, now = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
        made = cls(name, was, now, (len(both) if name == PASSED else stated) - len(pairs))
        groups = _groups([group for _, _, group in pairs])
        made.differences = grouped(now - was, groups)
        if groups is None and _is_binary(was) and _is_binary(now) and name == PASSED:
            made.p = mcnemar(int((now > was).sum()), int((now < was).sum()))
        else:
            made.p = sign_flip(made.differences)
        return made

    def judged(self, p: float, margin: float, alpha: float) -> MetricComparison:
        """The verdict, given the adjusted p-value."""
        from scalepan.stats.paired import bca_interval

        low, high = bca_interval(self.differences, 1 - alpha)
        mean = self.differences.mean
        # An interval from pairs that all agree would be a point, however few they are.
        least = 1 - alpha ** (1 / len(self.differences.sums))
        if low == high:
            low, high = mean - least, mean + least
        verdict = _verdict(mean, low, high, p, margin, alpha)
        return MetricComparison(
            name=self.name,
            verdict=verdict,
            pairs=len(self.was),
            unmeasured=self.lacking,
            before=float(self.was.mean()),
            after=float(self.now.mean()),
            difference=mean,
            low=max(low, -1.0),
            high=min(high, 1.0),
            p=p,
            more_cases=_more_cases(self.differences, len(self.was), margin, alpha)
            if verdict is RunVerdict.NOT_ENOUGH_DATA
            else None,
        )


def _verdict(mean: float, low: float, high: float, p: float, margin: float, alpha: float) -> RunVerdict:
    if -margin <= low and high <= margin:
        return RunVerdict.SAME
    if p <= alpha:
        return RunVerdict.BETTER if mean > 0 else RunVerdict.WORSE
    return RunVerdict.NOT_ENOUGH_DATA


def _more_cases(differences: "GroupedDifferences", pairs: int, margin: float, alpha: float) -> int | None:
    """How many more cases would settle it, whichever of the two answers is nearer; None if that cannot be said."""
    from scalepan.stats.proportion import normal_quantile

    error = differences.error
    if not isfinite(error):
        return None
    units = len(differences.sums)
    spread = error * units**0.5
    if spread == 0:
        needed = [ceil(_agreeing(margin, alpha))]
    else:
        room = [abs(differences.mean), margin - abs(differences.mean)]
        z = normal_quantile(1 - alpha / 2) + normal_quantile(POWER)
        needed = [ceil((z * spread / distance) ** 2) for distance in room if distance > 0]
    # A group counts as one, so more of them are needed, each with as many cases as now.
    return max(1, ceil((min(needed) - units) * pairs / units)) if needed else None


def _agreeing(margin: float, alpha: float) -> float:
    """How many cases that all agree are needed to say that at most `margin` differ."""
    from math import log

    return log(alpha) / log(1 - min(margin, 1 - 1e-9))


def _is_binary(values: "NDArray[np.float64]") -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _groups(named: Iterable[str | None]) -> list[str] | None:
    """A name for each case's group; a case without one is a group of its own. None if no case has one."""
    listed = list(named)
    if not any(listed):
        return None
    return [f"group {name}" if name is not None else f"case {number}" for number, name in enumerate(listed)]
