"""Time is linear for any text. Here with short texts, tests/real/test_redact_hostile.py with more and longer texts.

CPU time is measured, and what is asserted has room for a busy machine: eight times the text may take 24 times the time,
where a square would take 64 times.
"""

import random
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import process_time
from typing import Any

import pytest

import scalepan.redact
from scalepan.redact import Redactor
from scalepan.redact.assignments import _inside
from scalepan.redact.names import KINDS
from scalepan.redact.numbers import _signs
from scalepan.redact.providers import _TOKENS

REDACTOR = Redactor()
FOLDER = Path(scalepan.redact.__file__).parent
MODULES = [import_module(f"scalepan.redact.{file.stem}") for file in sorted(FOLDER.glob("[a-z]*.py"))]

PREFIXES = sorted({prefix for row in _TOKENS for prefix in row[1].split()})
SHAPES = [
    # one character, and two that do not go together
    *("a", "A", "_", "-", ".", "/", "\\", '"', "'", "=", ":", "@", "1", "(", "[", "{", " ", "\n", "\r\n", "é", "あ"),
    *("\u0301", "a\u0301", "\u0301\u0323", "\u200b", "a\u200b", "\U0001f1ef", "👩\u200d💻", "\ud83d\ude00", "\ufdd0a"),
    *("Ａ", "Ａa", "０３－", "１ー", "\u3000a", "𝐀a", "\u0130", "((1", "1)", "1 ", "1-", "1.", "1\n", "1 1 1-"),
    # prefixes of keys and tokens without their bodies
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nAAAA",
        "-----BEGIN ",
        "BEGIN ",
        "BEGIN A A A A ",
    ),
    *("Private-Lines: 1\n", "eyJ", "-eyJ", "eyJ.", "eyJaaaaaaa.", "eyJaaaaaaa.eyJ", "\\neyJaaaaaaa.", "+ABSK", "-AIza"),
    *("sk-" + "a" * 19, "sk-a-", " sk-" + ("a" * 19 + "-") * 5, "M" * 27 + ".", "AP1", "12345678:", "?sig=", "8Q~"),
    *("slkey" + " " * 32, "ibm_key= ", '"awsawsawsawsawsawsawsawsawsawsawsawsawsa"', 'aws"aaaa', "%3DAKIA", "\\nAKIA"),
    # URLs and headers
    *(
        "://",
        "://a:",
        "://a:b",
        "://:@",
        "://a:" + "@" * 99,
        "a@",
        "a@a@",
        "a@b.",
        "@a.",
        "@" + "a." * 9,
        "a" * 64 + "@",
    ),
    *(
        "basic ",
        "bearer a",
        "authorization: token ",
        "curl -u a:",
        "sshpass -p ",
        "jdbc:oracle:thin:a/",
        " --pass",
        "login ",
    ),
    # names with possible values
    *("password=", "password==", "password=password ", "password=a_a_a_a_a_a_a_a_a_a_a_a_a_a_a_a1 ", "password_file="),
    *(
        'password="',
        'password="\\"',
        'password=\\"\\\\',
        'password="\\\\',
        "password='a ",
        '{"password":',
        '{"password":"a",',
    ),
    *(
        "password" + "_" * 39 + "a=aaaa ",
        "password: " + "your-a-" * 14,
        "password: " + "a." * 45 + "1 ",
        "password\r\n",
    ),
    *(
        "?token=a&",
        "?a&password=a&",
        "password>" + "a" * 99,
        "password" + " " * 32 + "a",
        "パスワードは「",
        "api_key is ",
    ),
    *("passwordpassword=", "key", "keykey ", "pw", "tokenは", "${", "{{", "x.y(", "A_", "a_a", "....", "token=\u0301"),
    # numbers
    *(
        "1.1.1.",
        "+1",
        "+1 ",
        "001",
        "03-",
        "03-1234-",
        "1111 ",
        "1234-1234-1234 ",
        "GB82",
        "AT61 ",
        "aa11 ",
        "12:30:45 ",
    ),
    *(
        "phone 1",
        "call me at ",
        "call call 1234567a",
        "card 123456789012 ",
        ":",
        "a:",
        "::",
        "1::",
        "ab:cd:",
        "abc::g ",
    ),
    # many matches close together
    *(
        "a@b.co ",
        "8.8.8.8 ",
        "あa@b.co",
        "a@b.co\u0301",
        "password=hunter2 ",
        "tel1234567,",
        "あ03-1234-5678",
        "abc::1 ",
    ),
    # placeholders
    *("[secret:", "[secret:a]", "[secret:a]x", "[pii:email]a@b.co", "password=[secret:a]", "[secret:a]\u0301"),
]
NAMED = [word + character for word in KINDS for character in ("=", ' = "')]


def filled(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


def seconds(text: str) -> float:
    start = process_time()
    REDACTOR.findings(text)
    return process_time() - start


@pytest.mark.parametrize("piece", SHAPES)
def test_eight_times_the_text_takes_about_eight_times_the_time(piece: str) -> None:
    short = min(seconds(filled(piece, 500)) for _ in range(2))
    long = min(seconds(filled(piece, 4_000)) for _ in range(2))
    assert long < 0.02 + 8 * short * 3


@pytest.mark.parametrize("pieces", [PREFIXES, NAMED, SHAPES, [*PREFIXES, *NAMED, *SHAPES]])
def test_a_wild_mixture_takes_no_longer(pieces: list[str]) -> None:
    text = "".join(random.Random(3).choices(pieces, k=20_000))
    short = min(seconds(text[:5_000]) for _ in range(3))
    assert seconds(text[:40_000]) < 0.02 + 8 * short * 3


def compiled() -> Iterator[re.Pattern[str]]:
    """Every pattern of the rules, including those in tables."""
    yield from (_inside(quote) for quote in ('"', '\\"'))
    yield _signs(22)
    found: list[Any] = [value for module in MODULES for value in vars(module).values()]
    while found:
        match found.pop():
            case re.Pattern() as pattern:
                yield pattern
            case list() | tuple() as items:
                found += items
            case dict() as table:
                found += table.values()
            case function if hasattr(function, "__closure__"):
                found += [cell.cell_contents for cell in function.__closure__ or ()]


def test_no_pattern_uses_what_python_3_11_2_gets_wrong() -> None:
    """Possessive repeats and atomic groups came with 3.11, and Debian 12 has 3.11.2, which gets them wrong."""
    patterns = {(pattern.pattern, pattern.flags) for pattern in compiled() if isinstance(pattern.pattern, str)}
    assert len(patterns) > 80
    for pattern, flags in patterns:
        assert not set(codes(parser.parse(pattern, flags))) & {op.POSSESSIVE_REPEAT, op.ATOMIC_GROUP}, pattern


def test_the_search_for_them_sees_them() -> None:
    for pattern in ("a*+", "(?:b|a{2,3}+)", "(?>a)", "(?=x(?>a|b))"):
        assert set(codes(parser.parse(pattern))) & {op.POSSESSIVE_REPEAT, op.ATOMIC_GROUP}, pattern


def codes(tree: Any) -> Iterator[Any]:
    """Every operation of a parsed pattern."""
    if isinstance(tree, (list, tuple, parser.SubPattern)):
        for item in tree:
            yield from codes(item)
    elif isinstance(tree, type(op.LITERAL)):
        yield tree
