"""Hostile text: long text of any kind is read in linear time. `bench/text.py` has the seconds for a megabyte."""

from collections.abc import Callable
from time import process_time

import pytest

from scalepan.text import content_hash, has_fragment, normal_form, sentences, terms, token_count, word_count

READERS: list[Callable[[str], object]] = [
    lambda text: terms(text, "off"),
    terms,
    word_count,
    sentences,
    token_count,
    has_fragment,
    normal_form,
    content_hash,
]
SEEDS = [
    *'aA"(._1あアー漢ก가👩 \n\ud800\u200d\u0344\u0f73',
    *["aA", "a.", "a.a-b_", "a/", "a'", "a@", "<a", "Aab", "0_", ".1", "1,", "1,234"],
    *['"a', '"ab" ', "`a", "“a", "([", "([])", "!?", "!)", "。」", "「。", "漢 "],
    *["\u1100\u1161", "a\u0301", "\u0315\u0300", "\uff9e\u0301"],  # marks out of order
]


@pytest.mark.parametrize("seed", SEEDS, ids=ascii)
def test_long_text_is_no_danger(seed: str) -> None:
    size = len(seed.encode("utf-8", "surrogatepass"))
    text = seed * (200_000 // size) + "x"
    for reader in READERS:
        start = process_time()
        reader(text)
        # Each takes about a tenth of a second; what grows with the square would take ten and more.
        assert process_time() - start < 2
