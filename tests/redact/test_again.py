"""What a cut uncovers is found by looking near it again: how far is near, and where a value ends."""

from re import _parser as parser  # type: ignore[attr-defined]

import pytest

from karat.redact import Redacted, redact
from karat.redact.addresses import _TABLE, _ahead
from karat.redact.again import LONGEST_HEAD, LONGEST_TOKEN
from karat.redact.contacts import _DOMAIN, LONGEST_DOMAIN
from karat.redact.providers import _MIXED, _PATTERNS, _TOKENS
from karat.redact.rule import REACH
from tests.redact.fakes import HEX, some

CACHE = '"redis://:pa55w0rd@cache"'
DROPLET = "dop_v1_" + some(64, HEX)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        # a password took the :// along that made ann@... part of an address
        *(
            (f'{{"secret":{CACHE},"{"x" * gap}":"ann@example.com"}}', f'"{"x" * gap}":"[pii:email]"}}')
            for gap in (0, 40, 60, 100)
        ),
        # a token that ends at an e-mail address, its prefix at the end of what is looked at
        *(
            (f"a@b.com{' ' * gap}{DROPLET}{'x' * 64}@example.com", f"{' ' * gap}[secret:digitalocean-token][pii:email]")
            for gap in range(50, 70)
        ),
        # where a mark from before stands far away
        (
            f"[pii:email]{'.' * 3000} {DROPLET}{'x' * 64}@example.com",
            " [secret:digitalocean-token][pii:email]",
        ),
        # one that ends at a cut far behind
        ("fm2_" + "a1" * 1000 + "ann@example.com", "[secret:fly-token][pii:email]"),
    ],
)
def test_it_is_found_in_the_first_redaction(text: str, clean: str) -> None:
    once = redact(text)
    assert once.text.endswith(clean)
    assert redact(once.text) == Redacted(once.text)


@pytest.mark.parametrize(
    "text",
    [
        "1 415 555 0132",
        "1 (415) 555-0132",
        "sk-lf-01234567-0123-0123-0123-0123456789ab-abcdefghijklmnopqrstuvwx0",
        *(
            f"ann{hidden}@exam{hidden}ple.com"
            for hidden in "\u00ad\u034f\u180e\u200b\u200d\u2063\u3164\ufe0f\ufdd1\U000e0041"
        ),
    ],
)
def test_all_of_it_goes(text: str) -> None:
    assert len(redact(text).findings) == 1
    assert redact(text).text.startswith("[")
    assert redact(text).text.endswith("]")


@pytest.mark.parametrize(
    "text",
    [
        "password=" + "." * 300,
        "?user=ann&password=" + "." * 300 + "&x=1",
        "IbmKey ss:w0" + "." * 251,
        "SECRET=" + "." * 62 + "-" + "." * 193,
        'password====\\\\\\"abc def"',
        "password:\nusername: ann",
        "password=abc1-xxxx",
        "?password=a&b=c1d2",
    ],
)
def test_nothing_of_it_goes(text: str) -> None:
    assert redact(text) == Redacted(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"token={'abc' * 100}/PASSWORD=hunter2aa99", f"token={'abc' * 100}/PASSWORD=[secret:password]"),
        ("see password=abcd&e1f now", "see password=[secret:password] now"),
        ("token=aBcDeFgHiJkLmNoPqRsTuV", "token=[secret:token]"),
        ("see password=ab&c1d now", "see password=[secret:password] now"),
        ("/?user=ann&password=hunter2&x=1", "/?user=ann&password=[secret:password]&x=1"),
        (f"/?user=ann&password={'a1' * 200}&x=1", "/?user=ann&password=[secret:password]&x=1"),
        (f"password={'a1' * 200}).", "password=[secret:password])."),
        (f"password:\n{'a1' * 200}:", "password:\n[secret:password]:"),
        ('passphrase="my dog is 4 years"', 'passphrase="[secret:password]"'),
    ],
)
def test_a_value_ends_where_it_ends(text: str, clean: str) -> None:
    assert redact(text).text == clean


def longest(pattern: str) -> int:
    """How many signs a pattern matches at most."""
    return int(parser.parse(pattern).getwidth()[1])


def test_what_is_looked_at_again_is_as_long_as_any_match() -> None:
    everywhere = [
        *(pattern for _, word, pattern, _ in _TABLE if _ahead(word) is None),
        *(pattern for _, _, _, ahead, pattern in _PATTERNS if ahead is None),
        *(pattern for *_, pattern in _MIXED),
    ]
    assert len(everywhere) > 5
    assert max(map(longest, everywhere)) <= REACH
    assert longest(_DOMAIN.pattern) <= LONGEST_DOMAIN
    prefixes = [(prefix, row) for row in _TOKENS for prefix in row[1].split()]
    assert max(len("%3D" + prefix) for prefix, _ in prefixes) <= LONGEST_HEAD
    assert max(len(prefix) + longest(row[2]) for prefix, row in prefixes if not row[3]) <= LONGEST_TOKEN
