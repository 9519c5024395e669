"""Passwords, keys and tokens that a name gives away: `password = ...` in code, settings, JSON, URLs and sentences.

`names` says that a secret follows, `judged` says whether what follows is one. Only the value is cut, so that a reader
still sees what it was for.
"""

import re
from collections.abc import Iterator
from functools import cache

from scalepan.redact.judged import (
    CALL,
    CELL,
    COMMA,
    GAP,
    IS,
    QUERY,
    SETTING,
    SPACE,
    TAG,
    TO,
    WITH,
    Given,
    is_listed,
    is_secret,
)
from scalepan.redact.names import (
    AHEAD,
    ALONE,
    KINDS,
    MORE_WORD,
    PARTIAL,
    STEMS,
    WORD,
    is_named,
    is_owned,
    kind_named,
    more_words,
)
from scalepan.redact.plain import MARK
from scalepan.redact.rule import Hit, Rule, everywhere
from scalepan.redact.view import View

SHORTEST, SHORTEST_KEY = 3, 6
"""How long a password, and a key or a token, is at least."""
JUDGED = 128
"""A value is judged by so many characters, and only a secret is read to its end: time stays linear."""

_CHARACTER = rf"[^\s\"'`,;<>、。「」『』（）\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af{MARK}]"
# In ?user=ann&password=... an & begins the next name.
_BEFORE_NEXT = _CHARACTER.replace("[^", "[^&", 1)
_QUOTE = r"\\{0,7}[\"'`]"
# Behind the word: the rest of the name, and what closes it, in code, in Markdown, in HTML and percent-encoded.
_REST = "(?=(?P<rest>[0-9a-z_]{0,40}(?:-[0-9a-z][0-9a-z_]{0,40}){0,8}))(?P=rest)"
_NAME_ENDS = (
    rf"{_REST}(?![0-9a-z])"
    rf"(?:(?P<closed>{_QUOTE}|&quot;|%22)|\[?[0-9]{{0,6}}\]|\)(?=\s{{0,4}}(?:\|\||\?\?|or\s))|\*{{1,3}}|</?[a-z0-9]{{1,9}}>){{0,3}}"
)
# A type may stand between a name and its value, and a purpose: `pwd: &str = "x"`, `password for the router is x`.
_TYPED = (
    r"(?::\s{0,4}[&*]?[a-z][a-z0-9_.\[\]|?<> ]{0,40}(?==[^=])"
    r"|\s{1,4}(?:string|str|std::string|text|char|varchar\(?\d{0,4}\)?)\s{0,4}(?=:?=[^=]))?"
)
_SOME_WORDS = rf"[^\n.:;=(),{MARK}]{{1,40}}"
_PURPOSE = (
    rf"(?:\s(?:for|of|on|to|in)\s{_SOME_WORDS}?(?=\s(?:is|was)\s|\s?[:=]|\s--?\s)"
    rf"|\s?\([^()\n{MARK}]{{1,24}}\)(?=\s?[:=])"
    rf"|(?:\s(?:for|of|on)\s{_SOME_WORDS}?)?\s(?:has been|was|is|got)\s(?:re)?(?:set|changed|updated)(?=\sto\s)"
    rf"|\s(?:is|was)\s(?:generated|created|set)\sfor\s{_SOME_WORDS}(?=:\s)"
    rf"|(?<!pass)(?<!pw)\s[a-z]{_SOME_WORDS}(?=:\s?\n))?"
)
_SIGN = (
    r"(?P<sign>=>|:=|\|\||\?\?|[-=~]>|→|[=!]?={1,3}|::?|%3[ad](?:%20|\+)?(?:%22)?|は|が|是|为|為|은|는|이|가"
    r"|(?<=\s)(?:is|was|to|as|ist|est|es)(?:\snow)?:?(?=\s)|(?<=\s)--?(?=\s)|'s(?=\s)|を(?=\s?「)|(?<=\s)or(?=\s[\"']))"
)
_GIVEN = (
    rf"{_NAME_ENDS}{_TYPED}{_PURPOSE}(?:\s{{0,16}}{_SIGN}"
    rf"|(?P<call>\(\s{{0,4}}(?=[@bru$]{{0,2}}[\"'`]))"
    rf"|(?P<tag>(?:\s[^<>{MARK}]{{0,80}})?>(?=(?:<!\[cdata\[)?[^<\s{MARK}]{{3,300}}(?:\]\]>)?</)(?:<!\[cdata\[)?)"
    rf"|(?P<cell></[a-z0-9]{{1,9}}>\s{{0,40}}<[a-z0-9]{{1,9}}>(?=[^<\s{MARK}]{{3,200}}</))"
    rf"|(?P<comma>(?<=[\"'`])\s{{0,4}},\s{{0,8}}(?=[@bru$]{{0,2}}\\{{0,3}}[\"'`]))"
    rf"|(?=「)"
    rf"|(?P<space>\s{{1,4}}(?=[\"'`]|(?=[^\s{MARK}]{{0,40}}[0-9])[^\s=:\"'`{MARK}]{{6}}))"
    rf"|(?=\s{{1,32}}[\"'`]?[^\s\"'`{MARK}]{{20}}))"
    r"\s{0,32}(?:!![a-z]{1,8}\s{1,4})?(?:\\\r?\n\s{0,32})?(?:[|>][+-]?\s{1,32})?(?:\*{1,3}|</?[a-z0-9]{1,9}>|&quot;){0,2}\s{0,2}"
)
_VALUE = (
    rf"(?:(?P<prefix>[@bfnru$]{{1,2}})(?=[\"'`]))?(?:(?P<quote>\"\"\"|'''|{_QUOTE})"
    rf"|「(?P<framed>[^「」\n{MARK}]{{3,200}})"
    rf"|(?P<bare>{_BEFORE_NEXT}{{3,{JUDGED}}}|{_CHARACTER}{{3,{JUDGED}}}))"
)


def _assignments_of(words: str) -> re.Pattern[str]:
    """For text in small letters, and not where the value is cut already.

    A match is the word alone, as a value may hold a name.
    """
    return re.compile(rf"{words}(?![=: \"'(]{{1,3}}{MARK})(?={_GIVEN}{_VALUE})")


_ASSIGNED, _MORE_ASSIGNED = _assignments_of(WORD), _assignments_of(MORE_WORD)
_MORE, _MORE_IN_QUERY = re.compile(f"{_CHARACTER}*"), re.compile(f"{_BEFORE_NEXT}*")
_DIGIT = re.compile(r"\d")
_OTHER_NAMES = re.compile(r"[=:(\[{][^=]")
_IN_NAME = re.compile(r"[\w.-]*")
# Where an encoded value ends.
_ENCODED_END = re.compile(r"%(?:2[026c7]|0[ad]|3b|5d|7d)|&quot", re.IGNORECASE)
# Trailing characters that belong to the sentence or the program around a bare value.
_TAIL = ".:)]}>"
# Nothing more of a value than these.
_ENDS, _ENDS_IN_QUERY = (re.compile(rf"[.:)\]}}>]*(?!{some})") for some in (_CHARACTER, _BEFORE_NEXT))
_LINE_SO_FAR = re.compile(r"(?:\A|\n)[ \t]*(?:-[ \t]+|export |set |\$?env:)?[\w.-]*\Z")
_SETTING_NAME = re.compile(r"(?:\A|\s)[\w.-]*\Z")
_LINE_ENDS = re.compile(r"[ \t]*(?:#.*)?(?:\r?\n|\Z)")
_SENTENCE = frozenset(
    ["is", "'s", "を", "was", "は", "が", "是", "为", "為", "은", "는", "이", "가", "ist", "est", "es"]
)


def _assigned(view: View) -> Iterator[Hit]:
    """Every value that a telling name is given."""
    yield from _given(_ASSIGNED, view, view.places_of(STEMS))
    more = more_words(view.lower, is_ascii=view.plain.text.isascii())
    if more:
        places = {at for word in more for at in everywhere(view.lower, word) if _may_begin(view.lower, word, at)}
        yield from _given(_MORE_ASSIGNED, view, sorted(places))


def _may_begin(lower: str, word: str, at: int) -> bool:
    """Most of what holds a short word is another: significant, spinal, author."""
    if word not in ALONE:
        return True
    end = at + len(word)
    return not lower[end : end + 1].isalpha() and (at == 0 or not lower[at - 1].isalpha())


def _given(pattern: re.Pattern[str], view: View, places: list[int]) -> Iterator[Hit]:
    """Names inside a value that was taken already are passed over."""
    text, lower = view.text, view.lower
    done = 0
    for at in places:
        match = pattern.match(lower, at) if at >= done else None
        if match is None:
            continue
        done = match.end()
        word, bare = match.group(0, "bare")
        if bare and KINDS[word] in ("api-key", "token") and _is_no_key(bare, text, match.end("bare")):
            continue
        before = text[at - AHEAD : at] if at > AHEAD else text[:at]
        owned = word != "key" or is_owned(before)
        if word in PARTIAL and not (owned and word == "key") and not _is_named(word, before, text, at):
            continue
        kind = kind_named(word, before, text[done : match.end("rest")])
        if kind is None:
            continue
        in_query = ("?" in before or "&" in before or "#" in before) and _is_in_query(before)
        start, end = _bare(match, text, in_query) if bare else _framed(match, text)
        if end - start < SHORTEST or ("f" in (match["prefix"] or "") and "{" in text[start:end]):
            continue
        if is_secret(_as_given(kind, match, text, start, end, before, in_query=in_query, owned=owned)):
            if end - start == JUDGED and bare:
                end = _end(text, start, end, in_query=in_query)
            yield start, end, kind
            done = end


def _is_named(word: str, before: str, text: str, at: int) -> bool:
    end = at + len(word)
    return is_named(word, before, text[end : end + 1], upper=text[at:end].isupper())


def _is_no_key(bare: str, text: str, end: int) -> bool:
    """What needs no closer look: too short for a key or a token, or the next name of a program."""
    if len(bare) < SHORTEST_KEY and not text.startswith("&", end):
        return True
    return _OTHER_NAMES.search(bare) is not None and _DIGIT.search(bare) is None


def _as_given(
    kind: str, match: re.Match[str], text: str, start: int, end: int, before: str, *, in_query: bool, owned: bool
) -> Given:
    """What there is to judge a value by."""
    word, bare = match.group(0, "bare")
    name = text[match.start() : match.end("rest")]
    return Given(
        kind=kind,
        word=word,
        how=_how(match, text, end, before, in_query),
        quoted=bare is None,
        value=text[start : min(end, start + JUDGED)],
        upper=name.isupper() and not before[-1:].islower(),
        before=before,
        owned=owned,
        next_line=text.find("\n", match.end(), start) >= 0,
        behind=text[end : end + 40],
        rest=text[match.end() : match.end("rest")],
    )


_OTHER_WAYS = (CALL, CELL, COMMA, TAG, SPACE)


def _how(match: re.Match[str], text: str, end: int, before: str, in_query: bool) -> str:
    """In which way the name is given the value."""
    sign, bare = match.group("sign", "bare")
    if sign == "=" or sign == ":":
        if in_query:
            return QUERY
        return SETTING if bare and _is_setting(match, text, end, before, sign) else WITH
    if sign is None:
        other = next((way for way in _OTHER_WAYS if match[way] is not None), None)
        return other or (GAP if match["quote"] or bare else IS)
    sign = sign.removesuffix(":").split()[0] if sign.strip(":") else sign
    if sign in _SENTENCE:
        return IS
    if sign in ("to", "as", "->", "→", "~>", "-", "--"):
        return TO
    return QUERY if in_query or sign.startswith("%3") else WITH


def _is_setting(match: re.Match[str], text: str, end: int, before: str, sign: str) -> bool:
    """A line of its own, as in files of settings; or NAME=value as in a shell."""
    tight = not text[match.end("sign") : match.end("sign") + 1].isspace()
    if sign == "=" and tight and text[match.start() : match.end()].isupper():
        return True
    if sign == "=" and tight and (not before or before[-1].isspace() or _SETTING_NAME.search(before)):
        return text[end : end + 1].isspace() or end == len(text)
    spaced = sign == "=" and not tight
    return not spaced and _LINE_SO_FAR.search(before) is not None and _LINE_ENDS.match(text, end) is not None


def _is_in_query(before: str) -> bool:
    """Whether nothing but a name stands behind the last ?, & or #."""
    last = max(before.rfind("?"), before.rfind("&"), before.rfind("#"))
    return _IN_NAME.fullmatch(before, last + 1) is not None


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
    if "%" in match["bare"] or "&" in match["bare"]:
        encoded = _ENCODED_END.search(text, start, end)
        if encoded and (match["closed"] in ("%22", "&quot;") or (match["sign"] or "").startswith("%3")):
            return start, encoded.start()
    if match["tag"] is not None:
        closing = text.find("]]>", start, end + 3)
        return start, closing if closing >= 0 else end
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
    """Up to the same quote or the end of the line, a backslash taking the next character along."""
    inside = _inside(quote[0] if quote in _TRIPLE else quote)
    piece = inside.match(text, start)
    end = piece.end() if piece else start
    while text.startswith("\\", end) and (piece := inside.match(text, end)) and piece.end() > end:
        end = piece.end()
    return start, end


_TRIPLE = ('"""', "'''")


@cache
def _inside(quote: str) -> re.Pattern[str]:
    """What a piece between such quotes is made of. Pieces are bounded, as every repeat of a group costs memory."""
    if len(quote) == 1:
        plain, escape = rf"[^{quote}\\\n{MARK}]*", rf"\\[^\n{MARK}]"
    else:
        plain, escape = rf"[^\\\n{MARK}]*", rf"(?!{re.escape(quote)})\\[^\n{MARK}]"
    return re.compile(f"{plain}(?:{escape}{plain}){{0,1000}}")


# passwords: ["a", "b"], and the same in YAML, an item a line.
ITEMS = 64
_LIST_BEGINS = re.compile(
    rf"(?P<word>{WORD}){_REST}(?:{_QUOTE})?\s{{0,4}}(?:=>|:=|[:=])\s{{0,4}}"
    r"(?:[\[({]|(?=\n[ \t]{0,20}-[ \t]))"
)
_ITEM = re.compile(
    rf"[\s,]{{0,40}}(?:-[ \t]{{1,4}})?(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n{MARK}]{{3,200}})(?P=quote)"
    rf"|(?P<bare>(?<=-[ \t])[^\s\"',:\[\]{{}}{MARK}]{{3,200}}))(?=\s{{0,4}}[,\])\n}}]|\Z)"
)


def _listed(view: View) -> Iterator[Hit]:
    """The items of a list that a name is given."""
    text = view.text
    for at in view.places_of(STEMS):
        match = _LIST_BEGINS.match(view.lower, at)
        if match is None:
            continue
        before = text[max(0, at - AHEAD) : at]
        name = text[at : match.end("rest")]
        word = match["word"]
        kind = kind_named(word, before, name[len(word) :])
        if kind is None or (word in PARTIAL and not is_named(word, before, name[len(word) :][:1])):
            continue
        place = match.end()
        for _ in range(ITEMS):
            item = _ITEM.match(text, place)
            if item is None:
                break
            start, end = item.span("bare" if item["bare"] else "quoted")
            place = item.end()
            if is_listed(kind, text[start:end]):
                yield start, end, kind


ASSIGNMENTS = [
    Rule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _assigned),
    Rule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _listed),
]
