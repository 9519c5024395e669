"""Passwords, keys and tokens after a telling name: `password = ...` in code, settings, JSON, URLs and sentences.

`names` decides whether a name announces a secret, `judged` whether the value is one. Only the value is cut, so that
readers still see what it was for.
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
from scalepan.redact.plain import CUT
from scalepan.redact.rule import Hit, RedactionRule, everywhere
from scalepan.redact.view import View

SHORTEST, SHORTEST_KEY = 3, 6
"""How long a password, and a key or a token, is at least."""
JUDGED = 128
"""A value is judged by this many characters, and only a secret is read to its end: time stays linear."""

_CHARACTER = rf"[^\s\"'`,;<>、。「」『』（）\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af{CUT}]"
# In ?user=ann&password=... an & begins the next name.
_BEFORE_NEXT = _CHARACTER.replace("[^", "[^&", 1)
_QUOTE = r"\\{0,7}[\"'`]"
# After the word: the rest of the name and its closing characters, in code, Markdown, HTML and percent-encoded.
_REST = "(?=(?P<rest>[0-9a-z_]{0,40}(?:-[0-9a-z][0-9a-z_]{0,40}){0,8}))(?P=rest)"
_NAME_ENDS = (
    rf"{_REST}(?![0-9a-z])"
    rf"(?:(?P<closed>{_QUOTE}|&quot;|%22)|\[?[0-9]{{0,6}}\]|\)(?=\s{{0,4}}(?:\|\||\?\?|or\s))|\*{{1,3}}|</?[a-z0-9]{{1,9}}>){{0,3}}"
)
# There may be a type between a name and its value, or a purpose: `pwd: &str = "x"`, `password for the router is x`.
_TYPED = (
    r"(?::\s{0,4}[&*]?[a-z][a-z0-9_.\[\]|?<> ]{0,40}(?==[^=])"
    r"|\s{1,4}(?:string|str|std::string|text|char|varchar\(?\d{0,4}\)?)\s{0,4}(?=:?=[^=]))?"
)
_SOME_WORDS = rf"[^\n.:;=(),{CUT}]{{1,40}}"
_PURPOSE = (
    rf"(?:\s(?:for|of|on|to|in)\s{_SOME_WORDS}?(?=\s(?:is|was)\s|\s?[:=]|\s--?\s)"
    rf"|\s?\([^()\n{CUT}]{{1,24}}\)(?=\s?[:=])"
    rf"|(?:\s(?:for|of|on)\s{_SOME_WORDS}?)?\s(?:has been|was|is|got)\s(?:re)?(?:set|changed|updated)(?=\sto\s)"
    rf"|\s(?:is|was)\s(?:generated|created|set)\sfor\s{_SOME_WORDS}(?=:\s)"
    rf"|(?<!pass)(?<!pw)\s[a-z]{_SOME_WORDS}(?=:\s?\n))?"
)
_OPERATOR = (
    r"(?P<operator>=>|:=|\|\||\?\?|[-=~]>|→|[=!]?={1,3}|::?|%3[ad](?:%20|\+)?(?:%22)?|は|が|是|为|為|은|는|이|가"
    r"|(?<=\s)(?:is|was|to|as|ist|est|es)(?:\snow)?:?(?=\s)|(?<=\s)--?(?=\s)|'s(?=\s)|を(?=\s?「)|(?<=\s)or(?=\s[\"']))"
)
_GIVEN = (
    rf"{_NAME_ENDS}{_TYPED}{_PURPOSE}(?:\s{{0,16}}{_OPERATOR}"
    rf"|(?P<call>\(\s{{0,4}}(?=[@bru$]{{0,2}}[\"'`]))"
    rf"|(?P<tag>(?:\s[^<>{CUT}]{{0,80}})?>(?=(?:<!\[cdata\[)?[^<\s{CUT}]{{3,300}}(?:\]\]>)?</)(?:<!\[cdata\[)?)"
    rf"|(?P<cell></[a-z0-9]{{1,9}}>\s{{0,40}}<[a-z0-9]{{1,9}}>(?=[^<\s{CUT}]{{3,200}}</))"
    rf"|(?P<comma>(?<=[\"'`])\s{{0,4}},\s{{0,8}}(?=[@bru$]{{0,2}}\\{{0,3}}[\"'`]))"
    rf"|(?=「)"
    rf"|(?P<space>\s{{1,4}}(?=[\"'`]|(?=[^\s{CUT}]{{0,40}}[0-9])[^\s=:\"'`{CUT}]{{6}}))"
    rf"|(?=\s{{1,32}}[\"'`]?[^\s\"'`{CUT}]{{20}}))"
    r"\s{0,32}(?:!![a-z]{1,8}\s{1,4})?(?:\\\r?\n\s{0,32})?(?:[|>][+-]?\s{1,32})?(?:\*{1,3}|</?[a-z0-9]{1,9}>|&quot;){0,2}\s{0,2}"
)
_VALUE = (
    rf"(?:(?P<prefix>[@bfnru$]{{1,2}})(?=[\"'`]))?(?:(?P<quote>\"\"\"|'''|{_QUOTE})"
    rf"|「(?P<framed>[^「」\n{CUT}]{{3,200}})"
    rf"|(?P<bare>{_BEFORE_NEXT}{{3,{JUDGED}}}|{_CHARACTER}{{3,{JUDGED}}}))"
)


def _assignments_of(words: str) -> re.Pattern[str]:
    """A pattern for lower-case text that skips values that are cut already.

    It consumes only the word, as a value may contain another name.
    """
    return re.compile(rf"{words}(?![=: \"'(]{{1,3}}{CUT})(?={_GIVEN}{_VALUE})")


_ASSIGNED, _MORE_ASSIGNED = _assignments_of(WORD), _assignments_of(MORE_WORD)
_MORE, _MORE_IN_QUERY = re.compile(f"{_CHARACTER}*"), re.compile(f"{_BEFORE_NEXT}*")
_DIGIT = re.compile(r"\d")
_OTHER_NAMES = re.compile(r"[=:(\[{][^=]")
_IN_NAME = re.compile(r"[\w.-]*")
# Where an encoded value ends.
_ENCODED_END = re.compile(r"%(?:2[026c7]|0[ad]|3b|5d|7d)|&quot", re.IGNORECASE)
# Trailing characters that belong to the surrounding sentence or program, not to a bare value.
_TAIL = ".:)]}>"
# The value has only such characters left.
_ENDS, _ENDS_IN_QUERY = (re.compile(rf"[.:)\]}}>]*(?!{some})") for some in (_CHARACTER, _BEFORE_NEXT))
_LINE_SO_FAR = re.compile(r"(?:\A|\n)[ \t]*(?:-[ \t]+|export |set |\$?env:)?[\w.-]*\Z")
_SETTING_NAME = re.compile(r"(?:\A|\s)[\w.-]*\Z")
_LINE_ENDS = re.compile(r"[ \t]*(?:#.*)?(?:\r?\n|\Z)")
_SENTENCE = frozenset(
    ["is", "'s", "を", "was", "は", "が", "是", "为", "為", "은", "는", "이", "가", "ist", "est", "es"]
)


def _assigned(view: View) -> Iterator[Hit]:
    """Every value after a telling name."""
    yield from _given(_ASSIGNED, view, view.places_of(STEMS))
    more = more_words(view.lower, is_ascii=view.plain.text.isascii())
    if more:
        places = {at for word in more for at in everywhere(view.lower, word) if _may_begin(view.lower, word, at)}
        yield from _given(_MORE_ASSIGNED, view, sorted(places))


def _may_begin(lower: str, word: str, at: int) -> bool:
    """Whether a short word stands alone; most of its occurrences are parts of others: significant, spinal, author."""
    if word not in ALONE:
        return True
    end = at + len(word)
    return not lower[end : end + 1].isalpha() and (at == 0 or not lower[at - 1].isalpha())


def _given(pattern: re.Pattern[str], view: View, places: list[int]) -> Iterator[Hit]:
    """The values after the names at these positions; names inside a value that was found are skipped."""
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
    """Whether a value is plainly not a key or a token: too short, or the next name of a program."""
    if len(bare) < SHORTEST_KEY and not text.startswith("&", end):
        return True
    return _OTHER_NAMES.search(bare) is not None and _DIGIT.search(bare) is None


def _as_given(
    kind: str, match: re.Match[str], text: str, start: int, end: int, before: str, *, in_query: bool, owned: bool
) -> Given:
    """The value and the context that it is judged by."""
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
    """How the value is assigned to the name."""
    operator, bare = match.group("operator", "bare")
    if operator == "=" or operator == ":":
        if in_query:
            return QUERY
        return SETTING if bare and _is_setting(match, text, end, before, operator) else WITH
    if operator is None:
        other = next((way for way in _OTHER_WAYS if match[way] is not None), None)
        return other or (GAP if match["quote"] or bare else IS)
    operator = operator.removesuffix(":").split()[0] if operator.strip(":") else operator
    if operator in _SENTENCE:
        return IS
    if operator in ("to", "as", "->", "→", "~>", "-", "--"):
        return TO
    return QUERY if in_query or operator.startswith("%3") else WITH


def _is_setting(match: re.Match[str], text: str, end: int, before: str, operator: str) -> bool:
    """Whether the assignment is on a line of its own, as in configuration files, or is NAME=value as in a shell."""
    tight = not text[match.end("operator") : match.end("operator") + 1].isspace()
    if operator == "=" and tight and text[match.start() : match.end()].isupper():
        return True
    if operator == "=" and tight and (not before or before[-1].isspace() or _SETTING_NAME.search(before)):
        return text[end : end + 1].isspace() or end == len(text)
    spaced = operator == "=" and not tight
    return not spaced and _LINE_SO_FAR.search(before) is not None and _LINE_ENDS.match(text, end) is not None


def _is_in_query(before: str) -> bool:
    """Whether there is only a name after the last ?, & or #."""
    last = max(before.rfind("?"), before.rfind("&"), before.rfind("#"))
    return _IN_NAME.fullmatch(before, last + 1) is not None


def _framed(match: re.Match[str], text: str) -> tuple[int, int]:
    """The value between quotes or brackets."""
    quote = match["quote"]
    return _quoted(quote, text, match.end("quote")) if quote else match.span("framed")


def _bare(match: re.Match[str], text: str, in_query: bool) -> tuple[int, int]:
    """The value, or the part of a long one that it is judged by."""
    start, end = match.span("bare")
    if in_query and "&" in match["bare"]:
        return start, start  # too short before the &
    if end - start < JUDGED and not in_query and text[end : end + 1] == "&":
        more = _MORE.match(text, end, start + JUDGED)
        end = more.end() if more else end
    if "%" in match["bare"] or "&" in match["bare"]:
        encoded = _ENCODED_END.search(text, start, end)
        if encoded and (match["closed"] in ("%22", "&quot;") or (match["operator"] or "").startswith("%3")):
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
    """The end of a bare value, without characters of the surrounding sentence, program or URL."""
    if text[end - 1] not in _TAIL:
        return end
    bare = text[start:end]
    return start + len(bare.rstrip(_TAIL.replace(")", "") if "(" in bare else _TAIL))


def _quoted(quote: str, text: str, start: int) -> tuple[int, int]:
    """Up to the same quote or the end of the line; a backslash escapes the next character."""
    inside = _inside(quote[0] if quote in _TRIPLE else quote)
    piece = inside.match(text, start)
    end = piece.end() if piece else start
    while text.startswith("\\", end) and (piece := inside.match(text, end)) and piece.end() > end:
        end = piece.end()
    return start, end


_TRIPLE = ('"""', "'''")


@cache
def _inside(quote: str) -> re.Pattern[str]:
    """A pattern for a piece between such quotes. Pieces are bounded, because every repeat of a group costs memory."""
    if len(quote) == 1:
        plain, escape = rf"[^{quote}\\\n{CUT}]*", rf"\\[^\n{CUT}]"
    else:
        plain, escape = rf"[^\\\n{CUT}]*", rf"(?!{re.escape(quote)})\\[^\n{CUT}]"
    return re.compile(f"{plain}(?:{escape}{plain}){{0,1000}}")


# passwords: ["a", "b"], and the same in YAML with one item per line.
ITEMS = 64
_LIST_BEGINS = re.compile(
    rf"(?P<word>{WORD}){_REST}(?:{_QUOTE})?\s{{0,4}}(?:=>|:=|[:=])\s{{0,4}}"
    r"(?:[\[({]|(?=\n[ \t]{0,20}-[ \t]))"
)
_ITEM = re.compile(
    rf"[\s,]{{0,40}}(?:-[ \t]{{1,4}})?(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n{CUT}]{{3,200}})(?P=quote)"
    rf"|(?P<bare>(?<=-[ \t])[^\s\"',:\[\]{{}}{CUT}]{{3,200}}))(?=\s{{0,4}}[,\])\n}}]|\Z)"
)


def _listed(view: View) -> Iterator[Hit]:
    """The items of a list after a telling name."""
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
    RedactionRule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _assigned),
    RedactionRule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _listed),
]
