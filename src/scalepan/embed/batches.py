"""Which texts are encoded together? Those of similar length: padding costs as much as text."""

from collections.abc import Iterator, Mapping

LEAST_FILLED = 0.8
"""A text shorter than this share of the longest in the batch begins a new one; small batches cost little on a CPU."""


def batches(lengths: Mapping[str, int], size: int) -> Iterator[list[str]]:
    """The texts by decreasing length, at most `size` together.

    The longest come first: if memory is too small, it fails at once and not after an hour.

    >>> list(batches({"a": 10, "b": 100, "c": 9, "d": 90}, size=32))
    [['b', 'd'], ['a', 'c']]
    """
    batch: list[str] = []
    for text in sorted(lengths, key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) == size or lengths[text] < LEAST_FILLED * lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
