"""Which texts are encoded together."""

from hypothesis import given
from hypothesis import strategies as st

from scalepan.embed.batches import LEAST_FILLED, batches


def test_texts_of_unlike_length_are_not_mixed() -> None:
    lengths = {"long": 256, "also long": 250, "short": 12, "shorter": 10, "shortest": 2}
    assert list(batches(lengths, size=32)) == [["long", "also long"], ["short", "shorter"], ["shortest"]]


def test_a_batch_has_at_most_its_size() -> None:
    assert list(batches({"a": 5, "b": 5, "c": 5}, size=2)) == [["a", "b"], ["c"]]


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 300)), st.integers(1, 8))
def test_each_text_is_in_one_batch_the_longest_first_and_little_is_padding(lengths: dict[str, int], size: int) -> None:
    found = list(batches(lengths, size))
    everything = [text for batch in found for text in batch]
    assert sorted(everything) == sorted(lengths)
    assert [lengths[text] for text in everything] == sorted(lengths.values(), reverse=True)
    for batch in found:
        assert len(batch) <= size
        assert lengths[batch[-1]] >= LEAST_FILLED * lengths[batch[0]]
