"""All prefixes are one pattern; it finds the same as each row of the table alone."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalepan.redact.plain import CUT, Plain
from scalepan.redact.providers import _TOKENS
from scalepan.redact.rule import END, TIGHT_EDGE, TokenRule, tokens
from scalepan.redact.view import View
from tests.redact.fakes import TOKENS, some

TABLE = [TokenRule(*row) for row in _TOKENS]
PREFIXES = [prefix for row in TABLE for prefix in row.prefixes.split()]
# A value longer than a Langfuse key could be an OpenAI key; the longer prefix decides.
WITHOUT_LANGFUSE = [text for text in [*PREFIXES, *(token for _, token in TOKENS)] if not text.startswith("sk-lf-")]
pieces = st.one_of(
    st.sampled_from([text for text in WITHOUT_LANGFUSE if "BEGIN" not in text]),
    st.sampled_from(
        ["-", "_", ".", "/", "+", "=", " ", "\\n", "%3D", "a", "A1", "0123456789abcdef" * 2, some(20), "x" * 60]
    ),
)
FIND = tokens(TABLE).find
LOOSE_EDGE = r"(?:(?<![0-9A-Za-z])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"


def alone(row: TokenRule, text: str) -> set[int]:
    """Every part that this row alone would cut, tried from each character."""
    heads = "|".join(map(re.escape, row.prefixes.split()))
    pattern = re.compile(f"{TIGHT_EDGE if row.open_end else LOOSE_EDGE}(?:{heads}){row.body}{END}")
    group = pattern.groupindex.get("value", 0)
    matches = (pattern.match(text, at) for at in range(len(text)))
    return {at for match in matches if match for at in range(*match.span(group))}


@given(st.lists(pieces, max_size=8).map("".join))
@example("sk-ant-" + "a1" * 20 + " sk-" + "a1" * 20 + " EAAA" + "a1" * 29)
@example("glpat-" + "a1" * 10 + "-SG." + "a1" * 11 + "." + "a1" * 21)
@example("a-word-of-its-own   short\n ghp_" + "a1" * 18)
@example("a_ghp_" + "a1" * 18)
@example("a-sk-proj-" + "a1" * 18)
@example("xoxb-abcdef-SG." + "a1" * 11 + "." + "a1" * 21)
def test_one_pattern_cuts_the_same_as_each_row_alone(text: str) -> None:
    text = text.replace("xxxxxxxx", "xxxxxxxy")  # a stand-in
    cut = {at for start, end, _ in FIND(View(Plain(text))) for at in range(start, end)}
    words = list(re.finditer(r"\S{11,}", text))
    assert cut == {word.start() + at for word in words for row in TABLE for at in alone(row, word[0])}


@pytest.mark.parametrize(
    ("text", "plain", "part", "original"),
    [
        ("key", "key", (0, 3), (0, 3)),
        ("ｋｅｙ", "key", (1, 2), (1, 2)),
        ("k\u200bey", "key", (0, 3), (0, 4)),
        ("k\u200bey", "key", (0, 1), (0, 1)),
        ("k\u200b\u00adey\ufeff!", "key!", (1, 4), (3, 7)),
        ("\u200bkey", "key", (0, 3), (1, 4)),
    ],
)
def test_a_part_of_the_normalized_text_maps_to_the_original(
    text: str, plain: str, part: tuple[int, int], original: tuple[int, int]
) -> None:
    assert Plain(text).text == plain
    assert View(Plain(text)).places([(*part, "")]) == [(*original, "")]


@pytest.mark.parametrize("end", [6, 7, 8])
def test_a_cut_may_end_before_inside_or_after_invisible_characters(end: int) -> None:
    assert View(Plain("a@b.co\u200d\u200bxy"), [(0, end, "")]).text == f"{CUT}xy"
