"""Normal form and content hash: which texts are the same."""

from hashlib import sha256
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.text import content_hash, normal_form

any_text = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (" \t\u3000\n ", ""),
        ("Cancel  the\r\nPlan", "cancel the plan"),
        ("ＡＰＩ　ｻｰﾊﾞｰ", "api サーバー"),  # full and half width
        ("ｶﾞｷﾞ", "ガギ"),  # a half-width letter and its mark are one letter
        ("㍻①ﬁ", "平成1fi"),
        ("STRASSE Straße", "strasse strasse"),
        ("e\u0301", "é"),
        ("sub\u00adscrip\u200btion\ufeff", "subscription"),  # nobody sees these
        ("❤\ufe0f", "❤"),
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert normal_form(text) == normal


@given(any_text)
def test_the_normal_form_is_its_own(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(any_text, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_the_normal_form_does_not_depend_on_how_a_text_is_composed(text: str, form: str) -> None:
    assert normal_form(normalize(form, text)) == normal_form(text)  # type: ignore[arg-type]


@given(st.lists(st.sampled_from("\u0315\u0300\u0344\u0f73\uff9e\u3099→a"), min_size=40), st.sampled_from("aがक"))
def test_a_long_run_of_marks_is_put_in_order_as_unicode_says(marks: list[str], base: str) -> None:
    text = "x" * 1000 + base + "".join(marks)
    assert normal_form(text) == " ".join(normalize("NFKC", text.casefold()).split())
    assert content_hash(text) == sha256(" ".join(normalize("NFC", text).split()).encode()).hexdigest()


def test_the_content_hash_is_the_one_that_the_notes_give() -> None:
    assert content_hash(" Caf\u0065\u0301\r\n\r\n\tau   lait ") == sha256("Café au lait".encode()).hexdigest()
    assert content_hash("") == sha256(b"").hexdigest() == content_hash(" \r\n\u3000")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Plan", "plan"), ("ＡＰＩ", "API"), ("a b", "ab"), ("1.0", "10"), ("\ud800", "\ud801"), ("が", "か")],
)
def test_content_that_differs_has_another_hash(one: str, other: str) -> None:
    assert content_hash(one) != content_hash(other)


white = st.text(" \t\n\r\u3000", min_size=1, max_size=4)


@given(st.lists(any_text.filter(str.split), min_size=1, max_size=5), st.lists(white, min_size=6, max_size=6))
def test_the_content_hash_does_not_see_spacing_and_composition(words: list[str], gaps: list[str]) -> None:
    plain = " ".join(words)
    spaced = gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=False))
    assert content_hash(spaced) == content_hash(plain) == content_hash(normalize("NFD", plain))
    assert content_hash(plain.replace(" ", "\r\n")) == content_hash(plain)
