"""Names and values side by side: `{"name": "DB_PASSWORD", "value": ...}`, in JSON, YAML, XML and HTML."""

import re
from collections.abc import Iterator

from scalepan.redact.judged import SETTING, WITH, Given, is_secret
from scalepan.redact.names import MORE_WORD, STEMS, WORD, is_named, is_owned, kind_named
from scalepan.redact.plain import CUT
from scalepan.redact.plausible import is_word, random_letters, stand_in
from scalepan.redact.rule import Hit, KeywordPattern, RedactionRule, everywhere, patterns
from scalepan.redact.view import View
from scalepan.redact.words import COMMON

BEFORE = 240
"""How far before its value a name may be."""

_Q = r"\\{0,3}[\"']"
_NAME = rf"(?:{_Q})?(?P<name>[\w.$:/-]{{2,80}})(?:{_Q})?"
_CALLED = rf"(?:\w{{0,20}}(?:name|key)|id|field|property|type|label)(?:{_Q})?\s{{0,4}}[:=]\s{{0,4}}{_NAME}"
# At most two more fields between a name and its value.
_FIELD = (
    rf"[\s,]{{1,40}}(?:{_Q})?[\w-]{{1,24}}(?:{_Q})?\s{{0,4}}[:=]\s{{0,4}}"
    rf"(?:{_Q}[^\"'\n{CUT}]{{0,60}}{_Q}|[\w.]{{1,30}})"
)
_NAME_BEFORE = re.compile(rf"\b{_CALLED}(?:{_FIELD}){{0,2}}[\s,\"'\\/-]{{1,40}}\w{{0,20}}\Z")
_VARIABLE = re.compile(rf"\b(?:variable|secret|param)\s{{1,4}}{_NAME}\s{{0,4}}\{{[^{{}}{CUT}]{{0,200}}\Z")
_NAME_BEHIND = re.compile(rf"(?:{_Q})?[\s,]{{1,40}}(?:{_Q})?{_CALLED}")
_VALUE = re.compile(
    rf"(?:value|content|default)(?:{_Q})?\s{{0,16}}[:=]\s{{0,4}}"
    rf"(?:(?P<quote>{_Q})(?P<quoted>[^\"'\n\\{CUT}]{{3,2000}})|(?P<bare>[^\s\"',;<>{{}}\[\]{CUT}]{{3,2000}}))"
)
_WORDS = re.compile(f"{WORD}|{MORE_WORD}")


def name_kind(name: str) -> tuple[str, str, bool] | None:
    """The kind of secret that a whole name announces, the word in it, and whether the name alone is enough.

    >>> name_kind("DB_PASSWORD"), name_kind("db.port")
    (('password', 'password', True), None)
    """
    found = list(_WORDS.finditer(name.lower()))
    if not found:
        return None
    at, end = found[-1].span()
    word, before, rest = found[-1][0], name[:at], name[end:]
    if not is_named(word, before, rest[:1], upper=name[at:end].isupper()):
        return None
    kind = kind_named(word, before, rest)
    return (kind, word, word != "key" or is_owned(before)) if kind else None


def _pairs(view: View) -> Iterator[Hit]:
    if not view.places_of(STEMS):
        return
    for word in ("value", "content", "default"):
        for at in everywhere(view.lower, word):
            value = _VALUE.match(view.lower, at)
            if value:
                yield from _of_pair(view, at, value)


def _of_pair(view: View, at: int, value: re.Match[str]) -> Iterator[Hit]:
    """The value, if there is a telling name before or after it."""
    bare = value["bare"] is not None
    start, end = value.span("bare" if bare else "quoted")
    floor = max(0, at - BEFORE)
    # The excerpt begins after the last cut, so that no rule sees past it.
    floor = max(floor, view.lower.rfind(CUT, floor, at) + 1)
    before = view.lower[floor:at]
    name = _VARIABLE.search(before) if value[0].startswith("default") else _NAME_BEFORE.search(before)
    found = view.text[floor + name.start("name") : floor + name.end("name")] if name else None
    if found is None and (name := _NAME_BEHIND.match(view.lower, end)):
        found = view.text[name.start("name") : name.end("name")]
    named = name_kind(found) if found else None
    if named is None or found is None:
        return
    kind, word, owned = named
    given = Given(
        kind=kind,
        word=word,
        how=SETTING if bare else WITH,
        quoted=not bare,
        value=view.text[start : min(end, start + 128)],
        upper=found.isupper(),
        before="",
        owned=owned,
        next_line=False,
        behind="",
    )
    if is_secret(given):
        yield start, end, kind


# NetworkCredential("ann", "hunter2"), login('ann', 'hunter2'), auth=("ann", "hunter2")
_USER_AND = re.compile(
    rf"(?:credentials?|auth|login|signin|authenticate)\s{{0,2}}=?\s{{0,2}}\(\s{{0,8}}[\"'][^\"'\n{CUT}]{{1,64}}[\"']"
    rf"\s{{0,4}},\s{{0,16}}(?P<quote>[\"'])(?P<value>[^\"'\s{CUT}]{{3,64}})(?P=quote)"
)


def _users(view: View) -> Iterator[Hit]:
    if "(" not in view.text or "," not in view.text:
        return
    for word in ("credential", "auth", "login", "signin"):
        for at in everywhere(view.lower, word):
            match = _USER_AND.match(view.lower, at)
            if match:
                start, end = match.span("value")
                value = view.text[start:end]
                if (
                    value.lower() not in COMMON
                    and (not is_word(value) or random_letters(value, 6))
                    and not stand_in(value)
                ):
                    yield start, end, "password"


# Calls that sign or connect, up to the argument that is the secret.
_ARGUMENT = rf"[^,()\n{CUT}]{{1,80}},\s{{0,16}}"
_CALLS = [
    (
        "jwt.",
        rf"jwt\.(?:sign|verify|encode|decode)\(\s{{0,8}}(?:\{{[^{{}}\n{CUT}]{{0,200}}\}}|[^,(){{\n{CUT}]{{1,80}})"
        r",\s{0,16}(?:key\s?=\s?)?",
    ),
    (
        "hmac",
        rf"(?i:hmac)(?:\.new\(\s{{0,8}}(?:key\s?=\s?)?|\((?<=(?i:createhmac)\()\s{{0,8}}{_ARGUMENT}"
        rf"|\((?<=hash_hmac\()\s{{0,8}}{_ARGUMENT}{_ARGUMENT})",
    ),
    ("mysql", rf"mysqli?(?:_p?connect)?\(\s{{0,8}}{_ARGUMENT}{_ARGUMENT}"),
    ("new pdo", rf"(?i:new pdo)\(\s{{0,8}}[\"'][^\"'\n{CUT}]{{1,200}}[\"'],\s{{0,16}}{_ARGUMENT}"),
]


def _is_argument(value: str) -> bool:
    return value.lower() not in COMMON and not stand_in(value, quoted=True)


def _calls(view: View) -> Iterator[Hit]:
    if "(" in view.text and ("'" in view.text or '"' in view.text):
        yield from _OF_CALLS.find(view)


_OF_CALLS = patterns(
    [
        KeywordPattern(
            "secret",
            word,
            0,
            re.compile(rf"{call}b?([\"'])(?P<value>[^\"'\s{CUT}]{{6,200}})\1"),
            _is_argument,
            ahead=0,
        )
        for word, call in _CALLS
    ]
)

# A Secret of Kubernetes: every value under data is a secret, whatever its name.
MANIFEST = 4000
"""How far the data of a Secret may be from its kind."""
_KIND = re.compile(r"kind[\"']?:\s{0,4}[\"']?secret[\"']?\s{0,4}(?=[\n,}])")
_DATA = re.compile(
    r"\n[ \t]{1,12}[\w.-]{1,80}:[ \t]{0,4}(?:[|>][+-]?\s{1,16})?[\"']?"
    r"(?P<value>[0-9A-Za-z+/]{10,4000}={0,2})(?=[\"'\s]|\Z)"
)


def _manifests(view: View) -> Iterator[Hit]:
    for kind in _KIND.finditer(view.lower) if "kind" in view.lower and "data" in view.lower else ():
        begin, end = max(0, kind.start() - MANIFEST), min(len(view.text), kind.end() + MANIFEST)
        for stop in ("\n---", CUT):
            begin = max(begin, view.text.rfind(stop, begin, kind.start()))
            last = view.text.find(stop, kind.end(), end)
            end = end if last < 0 else last
        at = view.lower.find("data:", begin, end)
        for row in _DATA.finditer(view.text, max(at, begin), end) if at >= 0 else ():
            if _is_coded(row["value"]):
                yield (*row.span("value"), "secret")


def _is_coded(value: str) -> bool:
    """Whether this is base64 and not a plain word, such as the type of the Secret."""
    return len(value) % 4 == 0 and (value.endswith("=") or not is_word(value))


PAIRS = [
    RedactionRule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _pairs),
    RedactionRule(frozenset(["password"]), _users),
    RedactionRule(frozenset(["secret"]), _calls),
    RedactionRule(frozenset(["secret"]), _manifests),
]
