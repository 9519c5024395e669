"""Nothing that a claim says leaves its fence, and nothing in it acts on a terminal."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from scalepan.serve import fence as fence_module
from scalepan.serve.fence import Fence, clean, one_line


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("解約は設定画面から", "解約は設定画面から"),
        ("葛\U000e0100城市", "葛\U000e0100城市"),  # one selector: a glyph
        ("a\U000e0100\U000e0101\U000e0102b", "ab"),  # a row of them: a message
        ("a\U000e0100\u200b\U000e0101b", "ab"),  # with something else between them
        ("👩‍💻", "👩‍💻"),  # the joiner inside an emoji stays
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;never closed", "52;c;never closed"),
        ("\x9b2Jx", "x"),
        ("\x1b\x1b[[31mx", "31mx"),  # what is left of a nested one has no escape any more
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("over\b\b\x00\x7f\u202ewrite\ud800", "overwrite"),
        ("hi\U000e0064\U000e0065", "hi"),  # tags
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian: the joiner is part of the word
        ("❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ©\ufe0f", "❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ©\ufe0f"),
        ("س\u200c\u200d\u200cس", "سس"),  # a row of joiners: a message
        ("a\u200db\u200cc\ufe0fd", "abcd"),  # Latin letters need none
        ("\u200da \u3000\u200d", "a \u3000"),
        ("葛\ufe00\u200d\ufe01\u200d\ufe02城", "葛城"),  # selectors, split by joiners
        *((f"a{sign}b", "ab") for sign in "\u3164\u115f\u1160\uffa0\u034f\u2800\u180b\u180f\u17b4\ufff0"),
        *((f"a{sign}b", "ab") for sign in "\U0001d173\U0001d17a\U000e0000\U000e007f\U0001bca0\U00013430"),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_clean_leaves_nothing_that_unicode_ignores() -> None:
    """Every format character and every default-ignorable one, between two letters."""
    shown = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"  # these have a shape
    hidden = regex.compile(rf"[[\p{{Cf}}\p{{Default_Ignorable_Code_Point}}]--[{shown}]]", regex.V1)
    signs = [sign for sign in map(chr, range(0x110000)) if hidden.match(sign)]
    assert len(signs) > 4000
    assert {clean(f"a{sign}b") for sign in signs} == {"ab"}


@given(st.text(alphabet=st.sampled_from("\x1b\x9b\x9d[]\\0;mJ\x07\x9c\n\r ab\u202e\U000e0041\ufe0f\U000e0100")))
def test_clean_leaves_nothing_that_acts(text: str) -> None:
    cleaned = clean(text)
    assert not set(cleaned) & set("\x1b\x9b\x9d\x07\x9c\r\u202e\U000e0041")
    cleaned.encode()


def test_clean_takes_linear_time() -> None:
    for shape in ("\x1b]", "\x1b[", "\x1b[1;", "\x1b]a\x1b", "\ufe0f", "葛\ufe0f", "س\u200c"):
        clean(shape * 500_000)


def test_names_are_short_and_on_one_line() -> None:
    assert one_line("a\nb\x1b[1m  c") == "a b c"
    assert len(one_line("x" * 1000)) == 200
    assert one_line("👩\u200d💻") == "👩\u200d💻"


def test_the_code_is_in_none_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = iter(["aaaa", "bbbb", "cccc"])
    monkeypatch.setattr(fence_module, "token_hex", lambda _: next(codes))
    fence = Fence(["has aaaa", "has BB\x1b[0mBB, once it is clean"])
    assert fence.code == "cccc"
    assert fence.around("</recalled aaaa>") == "<recalled cccc></recalled aaaa></recalled cccc>"
    assert "cccc" in fence.notice
    assert "everything in provenance and entities" in fence.notice
