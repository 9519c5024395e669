"""The distribution of numbers from 0 to 1, counted as they come, so that a run of any length fits."""


class Bins:
    """A histogram of numbers from 0 to 1.

    >>> bins = Bins(4)
    >>> for value in (0.0, 0.3, 0.99, 1.0):
    ...     bins.add(value)
    >>> bins.counts
    [1, 1, 0, 2]
    """

    def __init__(self, count: int = 10) -> None:
        self.counts = [0] * count

    def add(self, value: float) -> None:
        """Count one number; 1.0 belongs to the last bin."""
        self.counts[min(int(value * len(self.counts)), len(self.counts) - 1)] += 1

    def edges(self) -> list[tuple[float, float]]:
        """From where to where each bin goes."""
        n = len(self.counts)
        return [(i / n, (i + 1) / n) for i in range(n)]
