"""Private keys, JSON web tokens and password hashes: recognized by format, not by provider."""

import re
from collections.abc import Iterator

from scalepan.redact.plain import CUT
from scalepan.redact.rule import TIGHT_EDGE, Hit, KeywordPattern, RedactionRule, everywhere, patterns
from scalepan.redact.view import View

PEM_LIMIT = 65_536
"""Maximum length of a private key in characters: one for RSA with 16,384 bits has 13,000."""

PEM_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
PEM_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# The lines of a key without its last line: headers, lines of base64, and the rest of a truncated line.
_GAP = r"(?:\s|\\[nr]){1,40}"
_UNENDED = re.compile(
    rf"(?:{_GAP}(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\{CUT}]{{0,80}}){{0,4}}"
    rf"(?:{_GAP}[0-9A-Za-z+/=]{{16,1000}}){{1,2000}}"
    rf"(?:(?:\n|\\n)[ \t]{{0,40}}[0-9A-Za-z+/]{{1,15}}={{0,2}}(?=[\s\\\"']|$))?"
)
_CODED = re.compile("[0-9A-Za-z+/=]{20}")
# Three parts or more, or two where the second is an object too.
_PART = "[0-9A-Za-z_-]"
_JWT = re.compile(rf"{TIGHT_EDGE}eyJ{_PART}{{6,}}\.(?:{_PART}{{6,}}(?:\.{_PART}*){{1,3}}|eyJ{_PART}{{6,}})")


def _pem(view: View) -> Iterator[Hit]:
    done = 0
    for word in everywhere(view.text, "BEGIN "):
        head = pem_head(view.text, word, done)
        if head:
            done = _end_of_key(view.text, head.end())
            if done == head.end() and view.text[done : done + 1] in ("'", '"'):
                continue  # a program that searches for such a line
            yield head.start(), done, "private-key"


def pem_head(text: str, word: int, floor: int = 0) -> re.Match[str] | None:
    """The first line of a private key that has its BEGIN at `word`. Before it are 4 or 5 dashes, perhaps a space."""
    heads = (PEM_BEGIN.match(text, begin) for begin in range(max(word - 6, floor), word - 3))
    return next(filter(None, heads), None)


def _end_of_key(text: str, start: int) -> int:
    """The end of a key whose first line ends at `start`; without a last line, the end of its base64.

    Single dashes inside are those of headers (DEK-Info: AES-128-CBC); four in a row begin the last line.
    """
    dashes = text.find("----", start, start + PEM_LIMIT)
    last = PEM_END.match(text, dashes) if dashes >= 0 and _is_body(text[start:dashes]) else None
    end = last or _UNENDED.match(text, start)
    return end.end() if end else start


def _is_body(body: str) -> bool:
    """Whether this may be a key between its first and last line; in a program that searches for them it is code."""
    return CUT not in body and (not ('"' in body or "'" in body) or _CODED.search(body) is not None)


def _jwt(view: View) -> Iterator[Hit]:
    for at in everywhere(view.text, "eyJ"):
        match = _JWT.match(view.text, at)
        if match:
            yield (*match.span(), "jwt")


# PuTTY's own format: the public lines come first, the private lines have this header.
_PUTTY = re.compile(r"Private-Lines: [0-9]{1,4}\s{1,4}(?P<value>[0-9A-Za-z+/=\s]{20,20000})")

# Password hashes in the formats of crypt, Argon2, Django, LDAP, MySQL and Windows.
_B64 = "[0-9A-Za-z./+=]"
_HASHES = [
    (
        "$",
        rf"\$(?:2[abxy]?\$[0-9]{{2}}\$[0-9A-Za-z./]{{53}}|(?:1|apr1)\$[^$\s{CUT}]{{1,16}}\$[0-9A-Za-z./]{{22}}"
        rf"|[56]\$(?:rounds=[0-9]{{1,9}}\$)?[^$\s{CUT}]{{1,16}}\$[0-9A-Za-z./]{{43,86}}"
        rf"|(?:y|gy|7|8|9)\$[0-9A-Za-z./$]{{20,120}}|argon2(?:id|i|d)\$[0-9A-Za-z./+=,$]{{20,300}}"
        rf"|(?:scrypt|pbkdf2[0-9a-z-]{{0,12}}|bcrypt-sha256|sha1|P|H|S)\$[0-9A-Za-z./+=,$_-]{{20,300}})",
    ),
    ("pbkdf2_sha", rf"pbkdf2_sha[0-9]{{1,3}}\$[0-9]{{1,9}}\${_B64}{{1,64}}\${_B64}{{20,128}}"),
    ("pbkdf2:sha", rf"pbkdf2:sha[0-9]{{1,3}}(?::[0-9]{{1,9}})?\${_B64}{{1,64}}\$[0-9a-f]{{32,128}}"),
    ("scrypt:", rf"scrypt:[0-9]{{1,9}}:[0-9]{{1,3}}:[0-9]{{1,3}}\${_B64}{{1,64}}\$[0-9a-f]{{32,160}}"),
    ("ssha", rf"SSHA(?<=\{{....)(?:256|512)?\}}(?P<value>{_B64}{{24,160}})"),
]
_NTLM = re.compile(r"(?<=:)(?P<value>[0-9A-Fa-f]{32}:[0-9A-Fa-f]{32})(?=:::)")

KEYS = [
    patterns(
        [
            *(KeywordPattern("password-hash", word, 24, re.compile(pattern), ahead=0) for word, pattern in _HASHES),
            KeywordPattern("password-hash", ":::", 60, _NTLM, ahead=65),
        ]
    ),
    RedactionRule(frozenset(["private-key"]), _pem),
    patterns([KeywordPattern("private-key", "private-lines:", 20, _PUTTY, ahead=0)]),
    RedactionRule(frozenset(["jwt"]), _jwt),
]
