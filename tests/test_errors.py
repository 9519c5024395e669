"""Errors: one line that says what, where, the value, and what is legal."""

import pytest

from scalepan.errors import InputError, MissingExtraError, did_you_mean, quoted, shorten


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("is not JSON", file="t.jsonl", line=3), "t.jsonl:3: is not JSON"),
        (InputError("is not JSON", line=3), "line 3: is not JSON"),
        (InputError("is missing", id="kp:trace:1", path="outcome"), "trace kp:trace:1: outcome: is missing"),
        (InputError("bad", more=["x: worse"]), "bad (and 1 more)"),
        (
            MissingExtraError("reading text", "embed"),
            "reading text needs an optional part: pip install 'scalepan[embed]'",
        ),
    ],
)
def test_an_error_is_one_line(error: Exception, line: str) -> None:
    assert str(error) == line


def test_all_problems_can_be_had_line_by_line() -> None:
    assert InputError("bad", file="f", more=["x: worse"]).lines == ["f: bad", "x: worse"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 200, "'" + "x" * 59 + "…'"),
        ("two\nlines", "'two\\nlines'"),
        ("\x1b[31mred", "'\\x1b[31mred'"),
        ("\ud800", "'\\ud800'"),
        ({"a": 1}, "an object"),
        ([1], "a list"),
        (10**100, "1" + "0" * 58 + "…"),
    ],
)
def test_a_value_in_an_error_is_short_and_harmless(value: object, shown: str) -> None:
    assert quoted(value) == shown


def test_shorten_leaves_short_text_alone() -> None:
    assert shorten("日本語") == "日本語"


def test_did_you_mean_lists_what_is_known_where_nothing_is_near() -> None:
    assert did_you_mean("gaet", ["gate", "gates"]) == "; did you mean 'gate'?"
    assert did_you_mean("zzz", ["gate"]) == "; known: gate"
