"""Credentials in HTTP headers: Authorization of any scheme, and cookies."""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator

from scalepan.redact.plain import CUT
from scalepan.redact.plausible import like_key, like_password, random_letters, stand_in
from scalepan.redact.rule import Hit, KeywordPattern, RedactionRule, everywhere, patterns
from scalepan.redact.view import View
from scalepan.redact.words import COMMON, wordlike

_SCHEMES = frozenset(
    [
        "basic",
        "bearer",
        "digest",
        "token",
        "negotiate",
        "ntlm",
        "hmac",
        "apikey",
        "api-key",
        "oauth",
        "hawk",
        "mutual",
        "header",
    ]
)
COOKIE_LIMIT = 4096
"""How many characters of a Cookie header are read."""


def _decoded(value: str) -> str | None:
    """The decoded text, if it is printable."""
    value = value.rstrip("=")
    try:
        text = b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (NotBase64, UnicodeDecodeError):
        return None
    return text if text.isprintable() else None


def _is_userinfo(value: str) -> bool:
    """Whether this is `user:password` in base64; the password may be anything."""
    value = value.rstrip("=")
    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4), validate=True)
    except NotBase64:
        return False


_PAIR = re.compile(r"[\w.@+-]{2,64}:[^\s/:]{4,128}")


def _is_pair(value: str) -> bool:
    """Whether this is `user:password` in base64 without a scheme before it."""
    text = _decoded(value)
    if text is None or not _PAIR.fullmatch(text):
        return False
    user, _, password = text.partition(":")
    return not user.isdecimal() and not password.isdecimal() and like_password(password, quoted=True)


def _header_value(value: str) -> bool:
    if len(value) < 8 or stand_in(value):
        return False
    return like_key(value) or random_letters(value, 8) or (len(value) >= 24 and not wordlike(value))


def _authorization(value: str) -> bool:
    lower = value.lower()
    if lower in _SCHEMES or lower in COMMON or stand_in(value):
        return False
    return like_key(value) or random_letters(value, 8) or (len(value) >= 20 and not wordlike(value)) or _is_pair(value)


# Four characters of base64 encode three of ASCII, so not every character is possible at each position.
_PRINTABLE_4 = "[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][0-9A-Za-z+/]"
_BEGINS = r"(?i:(?:proxy-)?authorization)\\{0,3}[\"']?\]?\s{0,4}(?:=>|[:=,])\s{0,4}\\{0,3}[bfru]?[\"']?"
_TABLE = [
    ("basic-auth", "basic", r"\b(?i:basic)\s{1,4}(?P<value>[0-9A-Za-z+/]{6,1000}={0,2})(?![\w.+/-])", _is_userinfo),
    ("bearer-token", "bearer", r"\b(?i:bearer)[\s:]{1,4}(?P<value>[0-9A-Za-z._~+/-]{8,4000}={0,2})", _header_value),
    (
        "bearer-token",
        "authorization",
        rf"{_BEGINS}(?:(?!(?i:basic|bearer)\b)[A-Za-z][\w-]{{1,20}}\s{{1,4}})?(?P<value>[0-9A-Za-z._~+/=:-]{{6,4000}})",
        _authorization,
    ),
    (
        "bearer-token",
        "authorization",
        rf"{_BEGINS}(?i:digest)\s[^\n{CUT}]{{0,400}}?\bresponse=\"?(?P<value>[0-9a-f]{{32,128}})",
        None,
    ),
]
_COOKIE = re.compile(r"cookies?\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"'{]{0,2}(?=[\w.\"'-]{1,64}\\{0,3}[\"']?[:=])")
_CURL_COOKIE = re.compile(rf"curl\b[^\n{CUT}]{{0,200}}?\s(?:-b|--cookie)\s{{1,4}}[\"']?(?=[\w.-]{{1,64}}=)")
_COOKIE_PAIR = re.compile(
    rf"(?P<name>[\w.-]{{1,64}})=\"?(?P<value>[^\s;,\"'\\{CUT}]{{1,4096}})(?P<next>\"?;\s?)?", re.ASCII
)
_ATTRIBUTES = frozenset(
    ["path", "domain", "expires", "max-age", "samesite", "version", "priority", "comment", "secure", "httponly"]
)
_SESSION = re.compile(r"sess|sid|auth|token|jwt|csrf|xsrf|remember|login|user|key|secret|ticket|id\Z")


def _cookies(view: View) -> Iterator[Hit]:
    """The values of a Cookie or Set-Cookie header, without names and attributes."""
    if "=" not in view.text:
        return
    for word, head in (("cookie", _COOKIE), ("curl", _CURL_COOKIE)):
        for at in everywhere(view.lower, word):
            begin = head.match(view.lower, at)
            if begin:
                yield from _cookie_pairs(view.text, begin.end())


def _cookie_pairs(text: str, start: int) -> Iterator[Hit]:
    limit = start + COOKIE_LIMIT
    while start < limit and (pair := _COOKIE_PAIR.match(text, start)):
        name, value = pair["name"].lower(), pair["value"]
        if name not in _ATTRIBUTES and _is_cookie(name, value):
            yield (*pair.span("value"), "cookie")
        if pair["next"] is None:
            return
        start = pair.end()


def _is_cookie(name: str, value: str) -> bool:
    if len(value) < 6 or stand_in(value) or value.lower() in COMMON:
        return False
    return _SESSION.search(name) is not None or like_key(value) or random_letters(value, 8) or len(value) >= 20


_CODED_PAIR = re.compile(
    rf"(?:{_PRINTABLE_4})(?<![0-9A-Za-z+/=_-]....)(?:{_PRINTABLE_4}){{2,100}}[0-9A-Za-z+/]{{0,3}}={{0,2}}(?![0-9A-Za-z+/=_-])"
)


def _coded_pairs(view: View) -> Iterator[Hit]:
    for match, far in view.tokens(_CODED_PAIR):
        if _is_pair(match[0]):
            yield match.start() + far, match.end() + far, "basic-auth"


HEADERS = [
    patterns(
        [KeywordPattern(kind, word, 0, re.compile(pattern), check, ahead=0) for kind, word, pattern, check in _TABLE]
    ),
    RedactionRule(frozenset(["cookie"]), _cookies),
    RedactionRule(frozenset(["basic-auth"]), _coded_pairs),
]
