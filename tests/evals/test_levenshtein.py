"""The distance between texts equals what the textbook's table gives."""

from hypothesis import given
from hypothesis import strategies as st

from scalepan.evals.scorers.levenshtein import distance

texts = st.text("abあ", max_size=12)


def by_table(one: str, other: str) -> int:
    """The definition, row by row."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


@given(texts, texts, texts, texts)
def test_the_distance_is_the_tables(start: str, one: str, other: str, end: str) -> None:
    first, second = start + one + end, start + other + end
    assert distance(first, second) == by_table(first, second)
