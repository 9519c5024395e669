"""names: what an id, a trace id and a label may be, and text without controls."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.check import problems
from scalepan.errors import InputError
from scalepan.names import Id, Label, TraceId, check_id, check_label, check_trace_id, without_controls


class Named(msgspec.Struct):
    id: Id | None = None
    trace_id: TraceId | None = None
    tenant: Label | None = None


EVERYWHERE = ["a", "7", "clm_0f3c1a9e", "kp:trace:42", "a/b.c@d-e", "0af7651916cd43dd8448eb211c80319c", "x" * 200]
ANY_SCRIPT = ["株式会社アオイ", "Zoë", "हिन्दी", "한국어", "ไทย", "עברית", "caf\u0065\u0301", "🎉"]
WITH_BLANKS = ["example agent", "R&D", "Ann O'Brien (support)", "a, b", "東京 支店"]
NOWHERE = [
    "",
    " ",
    "\t",
    "a\n",
    "\na",
    "a\nb",
    " a",
    "a ",
    "a\x00b",
    "a\x1b[31m",
    "a\x9b31m",
    "a\x85b",
    "a\u2028b",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\u200db",
    "a\u00a0b",
    "a\u3000b",
    "a\ufeffb",
    "\U000e0041a",
    "\ud800",
    "a<b",
    "a;b",
    "$(a)",
    "`a`",
    "a|b",
    "x" * 201,
]
CHECKS: dict[str, Callable[[str], str]] = {
    "id": check_id,
    "trace_id": check_trace_id,
    "tenant": lambda text: check_label(text, "tenant"),
}


def legal(field: str, text: str) -> bool:
    """What the type, the walker of faults and the function say, which must be the same."""
    try:
        msgspec.convert({field: text}, Named)
        by_type = True
    except msgspec.ValidationError:
        by_type = False
    try:
        CHECKS[field](text)
        by_function = True
    except InputError:
        by_function = False
    assert by_type == by_function == (problems({field: text}, Named) == [])
    return by_type


@pytest.mark.parametrize(
    ("field", "texts", "expected"),
    [
        ("id", EVERYWHERE + ANY_SCRIPT, True),
        ("trace_id", EVERYWHERE, True),
        ("tenant", EVERYWHERE + ANY_SCRIPT + WITH_BLANKS, True),
        ("id", NOWHERE + WITH_BLANKS, False),
        ("trace_id", NOWHERE + WITH_BLANKS + ANY_SCRIPT, False),
        ("tenant", NOWHERE, False),
    ],
)
def test_what_is_legal(field: str, texts: list[str], expected: bool) -> None:
    assert {text: legal(field, text) for text in texts} == dict.fromkeys(texts, expected)


@given(st.sampled_from(list(CHECKS)), st.text(max_size=5))
def test_what_is_legal_shows_and_acts_on_nothing(field: str, text: str) -> None:
    if legal(field, text):
        assert re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", text) is None
        assert text.strip() == text != ""
        assert without_controls(text) == text


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"tenant": "a\x1bb"}, "tenant: 'a\\x1bb' has a character that is not legal here; legal: letters, digits,"),
        ({"id": "a b"}, "id: 'a b' has a character that is not legal here; legal: letters, digits and . _ : /"),
        ({"id": "a" * 201}, f"id: '{'a' * 59}…' has 201 characters; at most 200 are legal"),
        ({"trace_id": "é"}, "trace_id: 'é' has a character that is not legal here; legal: ASCII letters, digits and"),
        ({"tenant": ""}, "tenant: is empty"),
        ({"tenant": 7}, "tenant: 7 is not text"),
    ],
)
def test_a_fault_says_what_is_legal(data: dict[str, Any], fault: str) -> None:
    (found,) = problems(data, Named)
    assert str(found).startswith(fault)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b]0;title\x07after \x1b]8;;http://a\x1b\\link\x9b31m", "after link"),
        (
            "one\r\ntwo\rthree\x85four\u2028five\u2029six\x0bseven\x0ceight",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight",
        ),
        ("over\b\b\x00\x7f\u202ewrite\u2066\ud800", "overwrite"),
        ("\x1b\x1b[31m[31m", "[31m"),  # what is left over is no sequence any more
        ("می\u200cخواهم 👩\u200d💻 א\u200fב", "می\u200cخواهم 👩\u200d💻 א\u200fב"),
        ("", ""),
    ],
)
def test_text_without_controls(text: str, clean: str) -> None:
    assert without_controls(text) == clean


@given(st.text(st.sampled_from([*"a[]0;m\\ \n\t\r\x07\x1b\x85\x9b\x9d\x9c\u2028\u202e\u2066\ud800é漢"])))
def test_cleaning_leaves_no_control_and_is_done_once(text: str) -> None:
    clean = without_controls(text)
    assert all(c in "\n\t" or c.isprintable() for c in clean)
    assert without_controls(clean) == clean
