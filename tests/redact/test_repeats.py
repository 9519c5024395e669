"""A value that was found once is cut everywhere in that text, and a short or common one only where it is announced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.redact import Redacted, redact
from scalepan.redact.repeats import FEW, repeats
from tests.redact.fakes import TOKENS, pem, some

SWORD = "sword" + "fish"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password=hunter2 and again hunter2.", "password=[secret:password] and again [secret:password]."),
        ("hunter2 comes first, password=hunter2", "[secret:password] comes first, password=[secret:password]"),
        (
            'PASSWORD="p4ss"; echo p4ss; x(p4ss)',
            'PASSWORD="[secret:password]"; echo [secret:password]; x([secret:password])',
        ),
        (f"DB_PASSWORD={SWORD}\nI typed {SWORD}", "DB_PASSWORD=[secret:password]\nI typed [secret:password]"),
        # after an escape, and next to other scripts without a space
        (
            "password=hunter2 a\\nhunter2 b%3Dhunter2",
            "password=[secret:password] a\\n[secret:password] b%3D[secret:password]",
        ),
        ("password=hunter2、ｈｕｎｔｅｒ２です", "password=[secret:password]、[secret:password]です"),
        # a piece of another word or number stays
        ("password=hunter2 hunter22 xhunter2", "password=[secret:password] hunter22 xhunter2"),
        # short or common: only where it is announced
        ('"pin_password": "4821", then 4821 items', '"pin_password": "[secret:password]", then 4821 items'),
        ("DB_PASSWORD=production\nthe production host", "DB_PASSWORD=[secret:password]\nthe production host"),
        # also values that the second search found
        ("mail ann@example.com or <ann@example.com>", "mail [pii:email] or <[pii:email]>"),
    ],
)
def test_a_value_found_once_is_cut_everywhere(text: str, clean: str) -> None:
    assert redact(text).text == clean
    assert redact(clean) == Redacted(clean)


@pytest.mark.parametrize(("kind", "token"), [pair for pair in TOKENS if pair[0] != "private-key"])
def test_a_long_token_goes_also_inside_other_words(kind: str, token: str) -> None:
    assert token not in redact(f"use {token} now, or x{token}y, or {token}").text


def test_the_same_value_has_the_same_hash_at_every_position() -> None:
    found = redact("password=hunter2 hunter2 hunter2").findings
    assert len(found) == 3
    assert len({one.hash for one in found}) == 1


@given(st.lists(st.text("ab1", min_size=4, max_size=9), min_size=1, max_size=60), st.text("ab1 ", max_size=200))
def test_many_values_are_found_as_a_few_are(values: list[str], text: str) -> None:
    """If a value is a prefix of another, the longest match wins; nothing stays that a search one by one would cut."""
    few = dict.fromkeys(values[:FEW], "password")
    many = few | {f"zz{number:04}": "password" for number in range(FEW)}
    one_by_one = {at for start, end, _ in repeats(text, few) for at in range(start, end)}
    at_once = {at for start, end, _ in repeats(text, many) for at in range(start, end)}
    assert bool(one_by_one) == bool(at_once)
    assert at_once <= one_by_one


def test_many_values_at_once() -> None:
    values = [some(12) for _ in range(200)]
    text = "".join(f"password={value}\n" for value in values) + " ".join(values) + pem()
    clean = redact(text).text
    assert not [value for value in values if value in clean]
    assert clean.count("[secret:password]") == 400
