"""Megabytes made to be slow cost about what any megabyte costs."""

import random
import string

import pytest

from tests.redact.test_hostile import NAMED, PREFIXES, SHAPES, filled, seconds

SECONDS = 4.0
"""For a megabyte, on a busy machine. It takes a fifth as a rule, and one at most (bench/redact_hostile.py)."""
DICE = random.Random(3)


@pytest.mark.parametrize("piece", [*SHAPES, *PREFIXES, *NAMED])
def test_four_times_the_text_takes_about_four_times_the_time(piece: str) -> None:
    short = seconds(filled(piece, 25_000))
    long = seconds(filled(piece, 100_000))
    assert long < 0.05 + 4 * short * 2.5
    assert long < SECONDS / 10


MIXTURES = [
    *(filled("".join(prefix + tail for prefix in PREFIXES), 1_000_000) for tail in ("", "-", " ", "a.", "/")),
    *(
        "".join(DICE.choices(signs, k=1_000_000))
        for signs in (string.printable, "0123456789 -.()+", "a@.:/", "=\"'\\ key")
    ),
    *(
        "".join(DICE.choices(signs, k=1_000_000))
        for signs in ("[]:secretpii-a", "\u0301\u0323\u0327a", "password=\"'\\ 1")
    ),
    *(
        "".join(DICE.choices(pieces, k=100_000))[:1_000_000]
        for pieces in (PREFIXES, NAMED, [*SHAPES, *PREFIXES, *NAMED])
    ),
    '{"password":' * 40_000 + "}" * 500_000,
    "-----BEGIN PRIVATE KEY-----" + "A" * 1_000_000,
    "".join(f"password={slashes}{quote}a " for slashes in ("\\\\\\", "\\\\", "\\", "") for quote in "\"'`")
    + "\\x" * 500_000,
]


@pytest.mark.parametrize("text", MIXTURES, ids=range(len(MIXTURES)))
def test_a_megabyte_of_a_mixture(text: str) -> None:
    assert seconds(text) < SECONDS
