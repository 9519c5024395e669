"""Tells a secret from a stand-in, for values such as the right side of `password = ...`.

Not a secret: a dummy value (`changeme`, `your-key-here`, `xxxx`, `<token>`), a reference (`${TOKEN}`, `{{ token }}`,
`os.environ["KEY"]`, `settings.password`, `get_token()`, `/run/secrets/db`), a word about the value (`required`,
`string`), and a sentence.
"""

import re
from math import log2

from scalepan.redact.words import COMMON, wordlike

_STAND_IN_LIST = """
changeme changeit change-me change_me changethis replaceme replace-me replace_me fixme todo tbd na n/a none null nil
undefined nothing empty not-set not_set notset unset true false yes no on off enabled disabled required optional missing
invalid incorrect wrong unknown default example sample dummy fake mock placeholder redacted removed hidden masked
censored encrypted string str text bytes int number bool boolean object array any varchar char uuid hash password passwd
passphrase passwort
contraseña pass pwd secret token key apikey api-key api_key value test foo bar baz qux foobar here stdin prompt input
env environment vault keychain keyring
"""
_STAND_IN_WORDS = frozenset(_STAND_IN_LIST.split())
# For lower-case text.
_STAND_IN = re.compile(
    r"(?:your|my|the|some|insert|enter|put|add|replace|change|example|sample|dummy|fake|mock|placeholder|redacted|todo)"
    r"(?:[-_ ]?(?:own|new|real|actual|secret|super|api|access|auth|client|private|db|database|app|very|strong|me|this|"
    r"with|in|a|an))*"
    r"[-_ .]?(?:key|token|password|passwd|pass|pwd|secret|value|credentials?|string|here|goes|id|one)"
    r"[-_ .]?(?:here|goes|value|key|token)?[-_ .]?(?:here)?"
)
_SAME_CHARACTER = re.compile(r"(?P<same>.)(?P=same)*|[xX*.•_#?-]+")
_ELLIPSIS = re.compile(r".{0,8}(?:\.{3,}|…|\*{3,}|x{4,}|X{4,}).{0,4}")
# Templates of shells, CI, YAML, Jinja and printf; angle or square brackets around a name.
_TEMPLATE = re.compile(
    r"\$[0-9@*]|\${1,2}[{(].*|.*\{[0-9]{0,2}\}.*|\${1,2}(?:[A-Z_][A-Z0-9_]*(?:/.*)?|[A-Za-z_]+)|\\\$.*|\$env:.*|"
    r"%[A-Z0-9_]+%|%\(?\w*\)?[sdr]|\{\{.*|#\{.*|\{[\w.: \[\]'\"-]*\}?|<[\w .:/-]+>?|\[[\w .-]+\]?|@\w+@|"
    r"!(?:vault|env|secret|reference|Ref|Sub|GetAtt|ImportValue)\b.*"
)
# Regular expressions that search for a secret.
_PATTERN = re.compile(r"\[.*\][+*]?|.*\[\^?(?:a-z|A-Z|0-9|\\w).*|.*(?:\(\?|\\[wdsS][+*{]).*")
# References to a secret: names with more than one word, paths, URLs.
_PLACE = re.compile(
    r"(?:[A-Z]+_)+[A-Z]+|(?:[a-z]+_)+[a-z]+|[#.](?:[a-z]+-){1,8}[a-z]+|\.{0,2}/(?:[\w.@-]+/)+[\w.@-]*|~/.*|//.*|"
    r"(?:env|vault|op|arn|file|ssm|gcp|aws|azure|kms|sops|secretsmanager|https?|s3|gs|ref):.*"
)
# Attributes, look-ups and calls of a program; in quotes they would be text.
_CODE = re.compile(
    r"(?:[A-Za-z_]+[0-9]?(?:\.|->|::))+[A-Za-z_]+[0-9]?(?:[\[(][\w.]*[\])]*)?|[A-Za-z_][\w.]{0,60}[\[(].*|"
    r"\(.*|[&*!][A-Za-z_][\w.]{0,60}|0[xo][0-9A-Fa-f]{1,8}|[A-Za-z_]\w{0,40}(?:\|[A-Za-z_]\w{0,40})+"
)
# Names of modules and classes: each part is made of words.
_VARIABLE = re.compile(
    r"(?:[A-Za-z_]\w{0,40}\.){0,4}[A-Za-z][0-9A-Za-z]{0,40}(?:Password|Passwd|Pass|Pwd|Token|Secret|Key|Credentials?)"
)
_DOTTED = re.compile(r"[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40})+")
_NO_LETTERS = re.compile(r"[^A-Za-z]+")
_GLUE = re.compile("[-_.+/]|=+$")
_IN_QUOTES, _BARE = (
    re.compile("|".join(f"(?:{pattern.pattern})" for pattern in some))
    for some in (
        (_SAME_CHARACTER, _ELLIPSIS, _TEMPLATE, _PATTERN, _PLACE),
        (_SAME_CHARACTER, _ELLIPSIS, _TEMPLATE, _PATTERN, _PLACE, _CODE),
    )
)
# A digit, and no character that any of these patterns needs: faster than trying them all.
_EVIDENT = re.compile(r"(?=\D*\d)(?!.*(?:xxxx|XXXX))[0-9A-Za-z][^\s.…*:(\[>/]*")
# An underscore counts only as a letter: two ways to match one character would make time exponential.
_WORD = re.compile(r"[^\W\d]+(?:[-./][^\W\d]+)*")
_SPACE = re.compile(r"\s")
# Not the beginning of a template.
_ALL_SORTS = re.compile(
    r"(?![${<%\[])(?:(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[!-~]*"
    r"|(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[^!#$%^&*@+~?]*(?:[!#$%^&*@+~?][^!#$%^&*@+~?\s]*){2,})"
)
_PIECE = re.compile(r"[^0-9A-Za-z+/]")
_TURN = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_CASE_CHANGE = re.compile(r"[a-z][A-Z]")
_DIGIT, _TWO_DIGITS, _TWO_LETTERS = re.compile(r"\d"), re.compile(r"\d.*\d"), re.compile(r"[^\W\d_].*[^\W\d_]")
LONGEST_STAND_IN = 100
"""Maximum length of a stand-in. It also bounds the time to judge a long value."""


def stand_in(value: str, *, quoted: bool = False) -> bool:
    """Whether a value only takes the place of a secret.

    >>> [stand_in(value) for value in ("changeme", "your-key-here", "${TOKEN}", "settings.password", "hunter2")]
    [True, True, True, True, False]
    """
    if len(value) > LONGEST_STAND_IN:
        return value.startswith(("${", "$(", "{{", "http://", "https://"))
    lower = value.lower()
    if not _letters_and_digits(value) and (lower in _STAND_IN_WORDS or _STAND_IN.fullmatch(lower)):
        return True
    if not quoted and _VARIABLE.fullmatch(value):
        return True
    if value.isalnum() and "xx" not in lower:
        return value == value[0] * len(value)  # the same answer as the patterns give, but faster
    if (_IN_QUOTES if quoted else _BARE).fullmatch(value) is not None:
        return True
    return not quoted and "." in value and _DOTTED.fullmatch(value) is not None and _of_words(value)


def _of_words(value: str) -> bool:
    """Whether every part between dots looks like words, ignoring digits."""
    parts = [_NO_LETTERS.sub("", part) for part in value.split(".")]
    return all(len(part) < 3 or wordlike(part) for part in parts)


def random_letters(value: str, least: int) -> bool:
    """Whether there are at least this many letters, perhaps in groups, that do not form words.

    >>> random_letters("xqzkvbnmwrtp", 8), random_letters("next_page_token", 8), random_letters("qwvz", 8)
    (True, False, False)
    """
    if len(value) < least:
        return False
    letters = "".join([part for part in _GLUE.split(value) if part.lower() not in COMMON])
    if len(letters) < least or not letters.isascii() or not letters.isalpha():
        return False
    return not wordlike(letters) and len(set(letters)) > 4


def strong_key(value: str) -> bool:
    """Whether this looks like a key under any name: letters and digits that alternate often, without separators.

    >>> strong_key("d4e5f6a7b8c9d0e1f2a3"), strong_key("created_at_2024_01_31"), strong_key("Zq8Lw2Rt6")
    (True, False, False)
    """
    longest = max(_PIECE.split(value[:LONGEST_STAND_IN]), key=len)
    if len(longest) < 12 or not value.isascii() or _SPACE.search(value) or stand_in(value):
        return False
    turns = len(_TURN.findall(longest))
    if _CASE_CHANGE.search(longest) is not None:
        return turns >= (3 if len(longest) < 16 else 4) and not _of_words(_NO_LETTERS.sub("", longest))
    return turns >= 4 and len(longest) >= 20


def _letters_and_digits(value: str) -> bool:
    """Whether there are only letters and digits, with at least one digit."""
    return value.isascii() and value.isalnum() and not value.isalpha()


def looks_random(value: str) -> bool:
    """Whether there are upper case, lower case and digits, or several symbols, and no run of letters forms a word.

    >>> looks_random("Kq7xR2mZ"), looks_random("Ed25519PrivateKey"), looks_random("password1")
    (True, False, False)
    """
    if len(value) < 8 or _ALL_SORTS.fullmatch(value[:LONGEST_STAND_IN]) is None:
        return False
    return not any(wordlike(run) for run in _NO_LETTERS.split(value) if len(run) > 3)


def like_password(value: str, *, quoted: bool) -> bool:
    """Whether this may be a password: short and bad passwords count, bare words of a sentence do not.

    >>> like_password("hunter2", quoted=False), like_password("correct", quoted=False)
    (True, False)
    """
    if len(value) < 3 or not any(map(str.isalnum, value)):
        return False
    if _EVIDENT.fullmatch(value) and value != value[0] * len(value):
        return True
    if looks_random(value):
        return True
    # Words are recognized faster than stand-ins.
    if _SPACE.search(value) or (not quoted and is_word(value)) or (len(value) < 4 and value.isalpha()):
        return False
    return not stand_in(value, quoted=quoted)


def is_word(value: str) -> bool:
    """Whether there are only words: letters, joined by single hyphens, dots or slashes.

    >>> is_word("case-sensitive"), is_word("hunter2")
    (True, False)
    """
    return not _letters_and_digits(value) and _WORD.fullmatch(value) is not None


def like_key(value: str, *, quoted: bool = True) -> bool:
    """Whether this may be a key or a token: long enough, letters and digits, and not a word, a number or a name.

    >>> like_key("9f86d081884c7d65"), like_key("next_page"), like_key("2024-01-31")
    (True, False, False)
    """
    return len(value) >= 8 and _is_mixed(value[:LONGEST_STAND_IN]) and not stand_in(value, quoted=quoted)


def _is_mixed(value: str) -> bool:
    if _SPACE.search(value):
        return False
    if _DIGIT.search(value):
        return _TWO_LETTERS.search(value) is not None and (len(value) >= 16 or _TWO_DIGITS.search(value) is not None)
    # Without a digit it must not look like words: long, mixed case, many different letters.
    if len(value) < 20 or like_words(value):
        return False
    return len(_CASE_CHANGE.findall(value)) >= 4 and entropy(value) > 3.5 and not wordlike(value)


def like_words(value: str) -> bool:
    """Whether there is only lower case, or few different characters: without a digit such a value is not a key.

    >>> like_words("next_page"), like_words("aAaAaAaAaAaAaAaAaAaA"), like_words("aBcDeFgHiJkLmNoPqRsTuV")
    (True, True, False)
    """
    return value.islower() or len(set(value)) < 12  # log2(11) is less than 3.5


def entropy(value: str) -> float:
    """Shannon entropy in bits per character.

    >>> entropy("abab")
    1.0
    """
    counts = map(value.count, set(value))
    return log2(len(value)) - sum([count * log2(count) for count in counts]) / len(value)
