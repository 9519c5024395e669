"""Passwords, keys and tokens that a name gives away: `password = ...` in code, settings, JSON, URLs and sentences.

`names` says that a secret follows, `plausible` says whether what follows is one. Only the value is cut, so that a
reader still sees what it was for.
"""

import re
from collections.abc import Iterator
from functools import cache

from scalepan.redact.names import AHEAD, KEYS, OTHER_WORD, PARTIAL, SHORT, WORD, is_named, kind_named
from scalepan.redact.plain import MARK
from scalepan.redact.plausible import LONGEST_STAND_IN, is_word, like_key, like_password, like_words
from scalepan.redact.rule import Hit, Rule
from scalepan.redact.view import View

SHORTEST = 4
RUN = 512
"""So much is looked at once, where many names of keys follow each other."""
FAR = 128
"""A value begins no farther behind the word in its name."""
JUDGED = 128
"""A value is judged by so many signs, and only a secret is read to its end: time stays linear."""

_SIGN = rf"[^\s\"'`,;<>、。「」『』（）\u3040-\u30ff\u4e00-\u9fff{MARK}]"
# Behind the word: the rest of the name and what closes it; then = : is は, a call, a tag, or a gap and something long.
_GIVEN = (
    r"(?=(?P<rest>[0-9a-z_-]{0,40}))(?P=rest)(?=[\s\"'`\\\]=:!(>はが])(?:\\{0,3}[\"'`]|\]){0,2}"
    r"(?:\s{0,16}(?P<sign>=>|:=|[=!]?={1,3}|::?|は|が|(?<=\s)(?:is|was)(?=\s))"
    rf"|(?P<call>\((?=[\"'`@]))|(?P<tag>>(?=[^<\s{MARK}]{{4,100}}</))|(?=\s{{1,32}}[\"'`]?[^\s\"'`{MARK}]{{20}}))"
    r"\s{0,32}"
)
# In C# an @ may stand before a quote. Of secrets between quotes only a passphrase has spaces.
_PHRASE = "(?:(?<=passphrase)(?P<phrase>))?"
_SPACED = rf"(?(phrase)|(?:(?=[^\s\"'`\\{MARK}]{{0,99}}[ \t])(?P<spaced>)|))"
# In ?user=ann&password=... an & begins the next name.
_BEFORE_NEXT = _SIGN.replace("[^", "[^&", 1)
_VALUE = (
    rf"(?:@(?=[\"']))?(?:(?P<quote>\\{{0,3}}[\"'`]){_SPACED}"
    rf"|「(?P<framed>[^「」\n{MARK}]{{4,200}})"
    rf"|(?P<bare>{_BEFORE_NEXT}{{4,{JUDGED}}}|{_SIGN}{{4,{JUDGED}}}))"
)
# For text in small letters. Not where the value is cut already. A match is the word alone: a value may hold a name.
_ASSIGNED = re.compile(rf"{WORD}{_PHRASE}(?![=: \"'(]{{1,3}}{MARK})(?={_GIVEN}{_VALUE})")
_MORE, _MORE_IN_QUERY = re.compile(f"{_SIGN}*"), re.compile(f"{_BEFORE_NEXT}*")
_IN_NAME = re.compile(r"[\w.-]*")
_NEXT_NAME = re.compile("[:=]")
_DIGIT = re.compile(r"\d")
_SENTENCE = frozenset(["is", "was", "は", "が"])
# Trailing signs that belong to the sentence or the program around a bare value.
_TAIL = ".:)]}>"
# Nothing more of a value than these.
_ENDS, _ENDS_IN_QUERY = (re.compile(rf"[.:)\]}}>]*(?!{sign})") for sign in (_SIGN, _BEFORE_NEXT))
_ASKED_FOR = re.compile(r"(?i:get|read|load|fetch|find|input|check|has)[\w.]*\Z")


def _assigned(view: View) -> Iterator[Hit]:
    """Every value that a telling name is given. Names inside a value that was taken already are passed over."""
    text, lower = view.text, view.lower
    done = looked = 0
    while match := _ASSIGNED.search(lower, done):
        at, done = match.span()
        word, spaced, bare = match.group(0, "spaced", "bare")
        if spaced is not None:
            continue
        if bare and word in KEYS:
            start, end = match.span("bare")
            if start >= looked:
                looked = start + RUN
                if _has_no_key(text[start : looked + LONGEST_STAND_IN]):
                    # None of the keys named up to there is one; a word that names something else may still.
                    other = OTHER_WORD.search(lower, done, looked - FAR)
                    done = other.start() if other else looked - FAR
                    continue
            # What stands behind an & may belong to the value.
            if _has_no_key(text[start : end + (text[end : end + 1] == "&") * JUDGED][:LONGEST_STAND_IN]):
                continue
        before = text[at - AHEAD : at] if at > AHEAD else text[:at]
        if word in PARTIAL and not is_named(word, before, text[done : done + 1]):
            continue
        in_query = ("?" in before or "&" in before) and _is_in_query(before)
        start, end = _bare(match, text, in_query) if bare else _framed(match, text)
        if end - start < SHORTEST:
            continue
        kind = kind_named(word, before, text[done : match.end("rest")])
        if kind and _is_secret(kind, match, text, start, end, before):
            if end - start == JUDGED and bare:
                end = _end(text, start, end, in_query=in_query)
            yield start, end, kind
            done = end


def _is_in_query(before: str) -> bool:
    """Whether nothing but a name stands behind the last ? or &."""
    return _IN_NAME.fullmatch(before, max(before.rfind("?"), before.rfind("&")) + 1) is not None


def _has_no_key(part: str) -> bool:
    """Whether no part of this is a key: sooner seen than judged."""
    return not _DIGIT.search(part) and like_words(part)


def _framed(match: re.Match[str], text: str) -> tuple[int, int]:
    """The value between quotes or brackets."""
    quote = match["quote"]
    return _quoted(quote, text, match.end("quote")) if quote else match.span("framed")


def _bare(match: re.Match[str], text: str, in_query: bool) -> tuple[int, int]:
    """The value, or of a long one as much as it is judged by."""
    start, end = match.span("bare")
    if in_query and "&" in match["bare"]:
        return start, start  # what is before it is too short
    if end - start < JUDGED and not in_query and text[end : end + 1] == "&":
        more = _MORE.match(text, end, start + JUDGED)
        end = more.end() if more else end
    if end - start < JUDGED or (_ENDS_IN_QUERY if in_query else _ENDS).match(text, end):
        end = _trimmed(text, start, end)
    return start, end


def _end(text: str, start: int, end: int, *, in_query: bool) -> int:
    """Where a long bare value ends."""
    more = (_MORE_IN_QUERY if in_query else _MORE).match(text, end)
    return _trimmed(text, start, more.end() if more else end)


def _trimmed(text: str, start: int, end: int) -> int:
    """The end of a bare value without what belongs to the sentence, the program or the address around it."""
    if text[end - 1] not in _TAIL:
        return end
    bare = text[start:end]
    return start + len(bare.rstrip(_TAIL.replace(")", "") if "(" in bare else _TAIL))


def _quoted(quote: str, text: str, start: int) -> tuple[int, int]:
    """Up to the same quote or the end of the line, a backslash taking the next sign along."""
    inside = _inside(quote)
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


def _is_secret(kind: str, match: re.Match[str], text: str, start: int, end: int, before: str) -> bool:
    """Whether the value that a name of this kind is given is the secret itself."""
    value = text[start:end] if end - start <= JUDGED else text[start : start + JUDGED]
    sign, call, bare = match.group("sign", "call", "bare")
    quoted = bare is None
    if bare and text.find("\n", match.end(), start) >= 0 and _NEXT_NAME.search(text, start, min(end + 1, start + JUDGED)):
        return False  # the next name of a list, not the value of this one
    if call and _ASKED_FOR.search(before):
        return False
    if kind != "password" and kind != "secret":
        return like_key(value, quoted=quoted)
    if call or sign in _SENTENCE:
        return len(value) >= 6 and not is_word(value) and like_password(value, quoted=quoted)
    if sign is None and match["tag"] is None:
        return sum(map(str.isdigit, value)) > 2 and like_key(value, quoted=quoted)
    word = match[0]
    if bare and value.isdecimal() and (kind == "secret" or word in SHORT):
        return False  # pass: 1234 is how many tests did
    if word == "passphrase":
        value = value.replace(" ", "-")
    # In a file of settings even a bare word is a value: DB_PASSWORD=hunter.
    is_setting = sign == "=" and text[match.start() : match.end()].isupper()
    return like_password(value, quoted=quoted or is_setting)


ASSIGNMENTS = [Rule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _assigned)]
