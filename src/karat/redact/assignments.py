"""Passwords, keys and tokens that a name gives away: `password = ...` in code, settings, JSON, URLs and sentences.

`names` says that a secret follows, `plausible` says whether what follows is one. Only the value is cut, so that a
reader still sees what it was for.
"""

import re
from collections.abc import Iterator
from functools import cache

from karat.redact.names import SHORT, kind_named, named
from karat.redact.plausible import is_word, like_key, like_password
from karat.redact.rule import Hit, Rule
from karat.redact.view import MARK, View

SHORTEST = 4
READ_ONCE = 256
"""A value is judged by so many signs. A bare one that is longer and no secret is read once, names in it and all: time
stays linear."""

_SIGN = rf"[^\s\"'`,;<>、。「」『』（）\u3040-\u30ff\u4e00-\u9fff{MARK}]"
# Behind the word: the rest of the name and what closes it; then = : is は, a call, a tag, or a gap and something long.
_GIVEN = (
    r"(?P<rest>[0-9A-Za-z_-]{0,40})(?:\\{0,3}[\"'`]|\]){0,2}"
    r"(?:\s{0,16}(?P<sign>=>|:=|[=!]?={1,3}|::?|は|が|(?<=\s)(?:is|was)(?=\s))"
    r"|(?P<call>\((?=[\"'`@]))|(?P<tag>>(?=[^<\s]{4,100}</))|(?=\s{1,32}[\"'`]?[^\s\"'`]{20}))"
    r"\s{0,32}"
)
# In C# an @ may stand before a quote.
_VALUE = (
    rf"(?:@(?=[\"']))?(?:(?P<quote>\\{{0,3}}[\"'`])"
    rf"|「(?P<framed>[^「」\n{MARK}]{{4,200}})"
    rf"|(?P<bare>{_SIGN}{{4,}}))"
)
_ASSIGNED = re.compile(_GIVEN + _VALUE)
# In ?user=ann&password=... an & begins the next name.
_IN_ADDRESS = re.compile(_GIVEN + _VALUE.replace("[^\\s", "[^&\\s"))
_IN_QUERY = re.compile(r"[?&][\w.-]*$")
_NEXT_NAME = re.compile("[:=]")
_SENTENCE = ("is", "was", "は", "が")
# Trailing signs that belong to the sentence or the program around a bare value.
_TAIL = ".:)]}>"
_ASKED_FOR = re.compile(r"(?i:get|read|load|fetch|find|input|check|has)[\w.]*$")


def _assigned(view: View) -> Iterator[Hit]:
    """Every value that a telling name is given. Names inside a value that was taken already are passed over."""
    done = 0
    for at, word, before in named(view):
        if at < done:
            continue
        in_query = ("?" in before or "&" in before) and _IN_QUERY.search(before)
        match = (_IN_ADDRESS if in_query else _ASSIGNED).match(view.text, at + len(word))
        if not match:
            continue
        start, end = _span(match)
        kind = kind_named(word, before, match["rest"]) if end - start >= SHORTEST else None
        if kind and _is_secret(kind, word, match, view.text[start : min(end, start + READ_ONCE)], before):
            yield start, end, kind
            done = end
        elif match["bare"] and len(match["bare"]) >= READ_ONCE:
            done = match.end()


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Where the value stands, without what belongs to the sentence, the program or the address around it."""
    bare = match["bare"]
    if bare is None:
        return _quoted(match) if match["quote"] else match.span("framed")
    start = match.start("bare")
    return start, start + len(bare.rstrip(_TAIL.replace(")", "") if "(" in bare else _TAIL))


def _quoted(match: re.Match[str]) -> tuple[int, int]:
    """Up to the same quote or the end of the line, a backslash taking the next sign along."""
    start, text = match.end(), match.string
    inside = _inside(match["quote"])
    piece = inside.match(text, start)
    end = piece.end() if piece else start
    while text.startswith("\\", end) and (piece := inside.match(text, end)) and piece.end() > end:
        end = piece.end()
    return start, end


@cache
def _inside(quote: str) -> re.Pattern[str]:
    """What a piece between such quotes is made of. Pieces are bounded, as every repeat of a group costs memory."""
    if len(quote) == 1:
        plain, escape = rf"[^{quote}\\\n{MARK}]*", rf"\\[^\n{MARK}]"
    else:
        plain, escape = rf"[^\\\n{MARK}]*", rf"(?!{re.escape(quote)})\\[^\n{MARK}]"
    return re.compile(f"{plain}(?:{escape}{plain}){{0,1000}}")


def _is_secret(kind: str, word: str, match: re.Match[str], value: str, before: str) -> bool:
    whole, sign, call, tag, bare = match.group(0, "sign", "call", "tag", "bare")
    quoted = bare is None
    if bare and "\n" in whole and _NEXT_NAME.search(bare[:READ_ONCE]):
        return False  # the next name of a list, not the value of this one
    if kind not in ("password", "secret"):
        like = like_key(value, quoted=quoted)
    elif sign in _SENTENCE or call:
        like = len(value) >= 6 and not is_word(value) and like_password(value, quoted=quoted)
    elif sign is None and not tag:
        like = sum(map(str.isdigit, value[:READ_ONCE])) > 2 and like_key(value, quoted=quoted)
    elif bare and (word in SHORT or kind == "secret") and value.isdecimal():
        like = False  # pass: 1234 is how many tests did
    else:
        # A passphrase has spaces.
        value = value.replace(" ", "-") if word == "passphrase" else value
        like = like_password(value, quoted=quoted)
        like = like or (not quoted and _is_setting(word, match) and like_password(value, quoted=True))
    return like and not (call and _ASKED_FOR.search(before))


def _is_setting(word: str, match: re.Match[str]) -> bool:
    """In a file of settings even a bare word is a value: DB_PASSWORD=hunter."""
    start = match.start()
    return match["sign"] == "=" and match.string[start - len(word) : start].isupper()


ASSIGNMENTS = [Rule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _assigned)]
