"""Is this the secret itself, or a stand-in for it? Decides what `password = ...` and its like hold.

Not a secret: a placeholder (`changeme`, `your-key-here`, `xxxx`, `<token>`), a reference (`${TOKEN}`, `{{ token }}`,
`os.environ["KEY"]`, `settings.password`, `get_token()`, `/run/secrets/db`), a word about the value (`required`,
`string`), and a sentence.
"""

import re
from math import log2

_PLACEHOLDERS = """
changeme changeit change-me change_me changethis replaceme replace-me replace_me fixme todo tbd na n/a none null nil
undefined nothing empty true false yes no on off enabled disabled required optional missing invalid incorrect wrong
unknown default example sample dummy fake mock placeholder redacted removed hidden masked censored encrypted string str
text bytes int number bool boolean object array any varchar char uuid hash password passwd passphrase passwort
contraseña pass pwd secret token key apikey api-key api_key value test foo bar baz qux foobar here stdin prompt input
env environment vault keychain keyring
"""
_STAND_IN_WORDS = frozenset(_PLACEHOLDERS.split())
# For text in small letters.
_STAND_IN = re.compile(
    r"(?:your|my|the|some|insert|enter|put|add|replace|change|example|sample|dummy|fake|mock|placeholder|redacted|todo)"
    r"(?:[-_ ]?(?:own|new|real|actual|secret|super|api|access|auth|client|private|db|database|app|very|strong|me|this|"
    r"with|in|a|an))*"
    r"[-_ .]?(?:key|token|password|passwd|pass|pwd|secret|value|credentials?|string|here|goes|id|one)"
    r"[-_ .]?(?:here|goes|value|key|token)?[-_ .]?(?:here)?"
)
_SAME_SIGN = re.compile(r"(?P<sign>.)(?P=sign)*|[xX*.•_#?-]+")
_ELLIPSIS = re.compile(r".{0,8}(?:\.{3,}|…|\*{3,}|x{4,}|X{4,}).{0,4}")
# Templates of shells, CI, YAML, Jinja and printf; angle or square brackets around a name.
_TEMPLATE = re.compile(
    r"\$[{(].*|\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)|\$env:.*|%[A-Z0-9_]+%|%\(?\w*\)?[sdr]|\{\{.*|#\{.*|\{[\w.: \[\]'\"-]*\}?|"
    r"<[\w .:/-]+>?|\[[\w .-]+\]?|@\w+@|!(?:vault|env|secret|reference|Ref|Sub|GetAtt|ImportValue)\b.*"
)
# Where the secret is to be found: names with more than one word, paths, addresses.
_PLACE = re.compile(
    r"(?:[A-Z]+_)+[A-Z]+|(?:[a-z]+_)+[a-z]+|\.{0,2}/(?:[\w.@-]+/)+[\w.@-]*|~/.*|"
    r"(?:env|vault|op|arn|file|ssm|gcp|aws|azure|kms|sops|secretsmanager|https?|s3|gs|ref):.*"
)
# Attributes, look-ups and calls of a program; between quotes these would be text.
_CODE = re.compile(
    r"(?:[A-Za-z_]+[0-9]?(?:\.|->|::))+[A-Za-z_]+[0-9]?(?:[\[(][\w.]*[\])]*)?|[A-Za-z_][A-Za-z_.]{2,}[\[(][\w.]*[\])]*"
)
_IN_QUOTES, _BARE = (
    re.compile("|".join(f"(?:{pattern.pattern})" for pattern in some))
    for some in (
        (_SAME_SIGN, _ELLIPSIS, _TEMPLATE, _PLACE),
        (_SAME_SIGN, _ELLIPSIS, _TEMPLATE, _PLACE, _CODE),
    )
)
# A digit, and nothing that any of them begins with or needs: sooner seen than that none of them matches.
_EVIDENT = re.compile(r"(?=\D*\d)(?!.*(?:xxxx|XXXX))[0-9A-Za-z][^\s.…*:(\[>/]*")
# An underscore counts as a letter, and only as that: two ways to read one sign make time exponential.
_WORD = re.compile(r"[^\W\d]+(?:[-./][^\W\d]+)*")
_SPACE = re.compile(r"\s")
_CASE_CHANGE = re.compile(r"[a-z][A-Z]")
_DIGIT, _TWO_DIGITS, _TWO_LETTERS = re.compile(r"\d"), re.compile(r"\d.*\d"), re.compile(r"[^\W\d_].*[^\W\d_]")
LONGEST_STAND_IN = 100
"""Nobody writes a longer placeholder; and so judging a value takes no longer than this, however long it is."""


def stand_in(value: str, *, quoted: bool = False) -> bool:
    """Whether something only stands where a secret will be.

    >>> [stand_in(value) for value in ("changeme", "your-key-here", "${TOKEN}", "settings.password", "hunter2")]
    [True, True, True, True, False]
    """
    if len(value) > LONGEST_STAND_IN:
        return value.startswith(("${", "$(", "{{"))
    lower = value.lower()
    if not _letters_and_digits(value) and (lower in _STAND_IN_WORDS or _STAND_IN.fullmatch(lower)):
        return True
    if value.isalnum() and "xx" not in lower:
        return value == value[0] * len(value)  # as the patterns would say, only sooner
    return (_IN_QUOTES if quoted else _BARE).fullmatch(value) is not None


def _letters_and_digits(value: str) -> bool:
    """Nothing else, and at least one digit."""
    return value.isascii() and value.isalnum() and not value.isalpha()


def like_password(value: str, *, quoted: bool) -> bool:
    """Whether this may be a password: short ones and bad ones are passwords too, bare words of a sentence are not.

    >>> like_password("hunter2", quoted=False), like_password("correct", quoted=False)
    (True, False)
    """
    if len(value) < 4:
        return False
    if _EVIDENT.fullmatch(value) and value != value[0] * len(value):
        return True
    # Words are sooner known than stand-ins.
    if _SPACE.search(value) or (not quoted and is_word(value)):
        return False
    return not stand_in(value, quoted=quoted)


def is_word(value: str) -> bool:
    """Words and nothing else: letters, joined by at most a hyphen, a dot or their like.

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
    # Without a digit only what no word looks like: long, both cases mixed up, many different letters.
    if len(value) < 20 or like_words(value):
        return False
    return len(_CASE_CHANGE.findall(value)) >= 4 and entropy(value) > 3.5


def like_words(value: str) -> bool:
    """Small letters only, or few different signs: without a digit such a value is no key.

    >>> like_words("next_page"), like_words("aAaAaAaAaAaAaAaAaAaA"), like_words("aBcDeFgHiJkLmNoPqRsTuV")
    (True, True, False)
    """
    return value.islower() or len(set(value)) < 12  # log2(11) is less than 3.5


def entropy(value: str) -> float:
    """Bits per character, by how often each occurs.

    >>> entropy("abab")
    1.0
    """
    counts = map(value.count, set(value))
    return log2(len(value)) - sum([count * log2(count) for count in counts]) / len(value)
