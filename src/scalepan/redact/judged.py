"""Decides whether the value after a telling name is the secret itself: by name, by syntax, and by value.

A setting may be any word, a sentence usually continues with a word, and a program has variables, types and calls.
"""

import re

import msgspec

from scalepan.redact.names import CODES, PHRASES, SHORT
from scalepan.redact.plausible import (
    is_word,
    like_key,
    like_password,
    random_letters,
    stand_in,
    strong_key,
)
from scalepan.redact.words import COMMON, wordlike

# The syntax between a name and its value: = or : in general; a line of a configuration file; the query of a URL; the
# argument of a call; tags; a comma; a space; a sentence; a wide gap; the next cell.
WITH, SETTING, QUERY, CALL, TAG = "with", "setting", "query", "call", "tag"
COMMA, SPACE, IS, TO, GAP, CELL = "comma", "space", "is", "to", "gap", "cell"

_WHOLE = re.compile(r"(?:_?[Kk]ey|_?[Vv]alue|_string)?_?[0-9]{0,3}")
# Ambiguous words: their value must look like a key.
_ONLY_CLEAR = frozenset(["salt", "sig", "signature", "auth", "signaturevalue", "authentication"])
# As in Server=db;Password=hunter2;Database=x
_NEXT_SETTING = re.compile(r";\s?[A-Za-z][A-Za-z _-]{1,30}=")
# So many symbols that only a password generator makes such a value.
_SYMBOLS = re.compile(r"(?=[^A-Za-z]*[A-Za-z])(?:[^\s!#$%^&*@+?()\[\]{}<>~|]*[!#$%^&*@+?()\[\]{}<>~|]){5}")
_WORDS_IN = re.compile("[A-Za-z]{9,}")
_NAMES_IN = re.compile("token|secret|key|passw|cred")
_GLUED = re.compile(r"[,;)\]}:]|\s*[.+]\s*[$\w]")
_NEXT_NAME = re.compile("[:=]")
_ASKED_FOR = re.compile(r"(?i:get|read|load|fetch|find|input|check|has|pop|is|delete|remove|need|require)[\w.]*\Z")
_CODE_DIGITS = re.compile(r"\d{3,8}|\d{3}[- ]\d{3}")
_MIXED = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])[!-~]{5,}|(?=.*[A-Za-z])(?=.*[!#$%^&*@+?])[!-~]{6,}")
# Names of algorithms and other terms with digits.
_TECHNICAL = re.compile(
    r"(?i:sha|md|utf|base|oauth|http|aes|rsa|bcrypt|argon|pbkdf|x|ed|s|k|ec|ip|ipv|win|python|py|v|version|rfc|level|type"
    r"|mode|step|phase|option|version|line|page|section|chapter|table|figure|part|rev|p|r|id|col|arg|no|www|t|n|a|c|d)"
    r"[-_./]?[0-9][0-9a-z.]{0,4}[.,;:)]*"
)
# Endings of adjectives and adverbs: expired, missing, available, necessary, correctly.
_ADJECTIVE = re.compile(
    r".*(?:ed|ing|able|ible|ful|less|ous|ive|ary|ory|ly|ent|ant|al|ic|en|own|ure|ter|er|ion|ity|ty|st)"
)
_SENTENCE_GOES_ON = re.compile(r"[ \t]+[^\W\d_]")


class Given(msgspec.Struct, frozen=True, gc=False):
    """A value and the context that it is judged by."""

    kind: str
    word: str
    how: str
    quoted: bool
    value: str
    upper: bool
    """Whether the name is in upper case."""
    before: str
    owned: bool
    """Whether the name alone announces a secret."""
    next_line: bool
    """Whether the value is on another line than its name."""
    behind: str
    rest: str = ""
    """The rest of the name after the word."""


def is_secret(given: Given) -> bool:
    """Whether the value is the secret itself."""
    value = given.value
    if given.word in CODES:
        return _is_code(given)
    if _is_other(given):
        return False
    if given.word in _ONLY_CLEAR:
        return (given.how == QUERY and len(value) >= 16 and not stand_in(value)) or _is_clear(value)
    if given.quoted and given.how in (WITH, COMMA) and _is_made_of_symbols(value):
        return True
    if given.how in (CALL, COMMA) and _WHOLE.fullmatch(given.rest) is None:
        return False
    if given.how in (CALL, COMMA) and _ASKED_FOR.search(given.before):
        return given.how == COMMA and like_key(value) and not is_word(value)  # get("TOKEN", "default")
    if " " in value or "\t" in value:
        return _is_phrase(given)
    if not given.owned:
        return given.how in (WITH, SETTING, QUERY, IS, TAG) and _is_unowned_key(given)
    if given.kind == "password" or given.kind == "secret":
        return _is_password(given)
    return _is_key(given)


def _is_other(given: Given) -> bool:
    """Whether the value is plainly something else: the next name, a piece of a program, a list of names."""
    value = given.value
    if given.rest == "s" and not (strong_key(value) or (given.kind == "password" and _is_evident(value))):
        return True  # tokens: 4096
    if given.word == "pwd" and value.startswith(("/", "~/")):
        return True  # the working directory
    if not given.quoted and given.next_line and (len(value) < 6 or _NEXT_NAME.search(value + given.behind[:1])):
        return True  # the next name of a list, not the value of this one
    if given.quoted and _GLUED.match(value) and not any(map(str.isdigit, value)):
        return True  # the text between two strings of a program
    if given.word in SHORT and (given.next_line or (value.isalpha() and value.lower().endswith("pass"))):
        return True  # pass: "bandpass"
    is_name = _NAMES_IN.search(value.lower()) is not None and not any(map(str.isdigit, value))
    return given.how == COMMA and is_name  # a list of names


def _is_clear(value: str) -> bool:
    """Whether this looks like a key under any name, and is not the signature in every CACHEDIR.TAG."""
    return strong_key(value) and not value.startswith("8a477f597d28d172789f06886806bc55")


def _is_code(given: Given) -> bool:
    """Whether this is a code: a few digits, or letters and digits that cannot be the pin of a plug or a gauge."""
    if given.how in (GAP, SPACE, CALL, COMMA, TAG):
        return False
    return _CODE_DIGITS.fullmatch(given.value) is not None or (len(given.value) >= 8 and _is_evident(given.value))


def _is_made_of_symbols(value: str) -> bool:
    """Whether this is long and full of symbols: only a password generator makes such a value."""
    if len(value) < 20 or _SYMBOLS.match(value.replace(" ", "")) is None or stand_in(value, quoted=True):
        return False
    return not any(wordlike(run) for run in _WORDS_IN.findall(value[:64]))


def is_listed(kind: str, value: str) -> bool:
    """Whether an item of a list is a secret. It must look like one, as lists of names and types are more frequent."""
    if kind == "password" or kind == "secret":
        return _is_evident(value) or _is_random(value, 8)
    return strong_key(value)


def _is_phrase(given: Given) -> bool:
    """Whether a value with spaces is a passphrase, or a password with a few spaces."""
    if not given.quoted or given.how not in (WITH, SETTING, IS):
        return False
    if given.word in PHRASES:
        return like_password(given.value.replace(" ", "-"), quoted=True)
    return given.kind == "password" and _is_evident(given.value.replace(" ", "")) and given.value.count(" ") < 4


def _is_unowned_key(given: Given) -> bool:
    """Whether the value looks like a key; `key` alone announces little."""
    if given.how == QUERY:
        return len(given.value) >= 12 and (like_key(given.value) or random_letters(given.value, 12))
    if given.upper and given.quoted and given.value.isalnum() and len(given.value) >= 12 and like_key(given.value):
        return True
    return strong_key(given.value) or (given.how != IS and _is_random(given.value, 12))


def _is_password(given: Given) -> bool:
    value, quoted = given.value, given.quoted
    if not quoted and value.replace(".", "").isdecimal() and (given.kind == "secret" or given.word in SHORT):
        return False  # pass: 1234 counts tests
    if given.how == WITH and not quoted:
        return _is_bare_password(given)
    match given.how:
        case "setting":
            return like_password(value, quoted=given.upper) or _is_setting_word(value)
        case "query":
            return like_password(value, quoted=True)
        case "tag":
            return like_password(value, quoted=True) and value.lower() not in COMMON
        case "with":
            return like_password(value, quoted=True)
        case "cell":
            return _is_no_word(value) and like_password(value, quoted=True)
        case "call" | "comma":
            told = not value.isalpha() if given.word in SHORT else _is_no_word(value)
            return len(value) >= 6 and told and like_password(value, quoted=quoted)
        case "space":
            evident = quoted and (given.upper or _is_no_word(value))
            named = given.word not in SHORT or given.before.endswith(("_", "-"))
            return named and (evident or _is_evident(value)) and like_password(value, quoted=quoted)
        case "to":
            return (_is_evident(value) and like_password(value, quoted=quoted)) or _is_random(value, 8)
        case "gap":
            return sum(map(str.isdigit, value)) > 2 and like_key(value, quoted=quoted)
    return _is_said(given)


def _is_bare_password(given: Given) -> bool:
    """Whether a value without quotes in code, in a log or in a connection string is a password."""
    value = given.value
    if like_password(value, quoted=False) or _is_random(value, 10):
        return True
    return _NEXT_SETTING.match(given.behind) is not None and _is_setting_word(value.replace("_", ""))


def _is_setting_word(value: str) -> bool:
    """In a configuration file a bare word may be the password: `password: swordfish`."""
    return len(value) >= 6 and value.isalpha() and value.lower() not in COMMON and not stand_in(value)


def _is_no_word(value: str) -> bool:
    if ":" in value and value.replace(":", "").isalpha():
        return False
    return not is_word(value) or (len(value) >= 6 and value.isascii() and value.isalpha() and not wordlike(value))


def _is_random(value: str, least: int) -> bool:
    return random_letters(value, least) and not stand_in(value)


def _is_evident(value: str) -> bool:
    """Whether this has letters with digits or symbols, and is not a technical term."""
    return _MIXED.fullmatch(value) is not None and _TECHNICAL.fullmatch(value) is None and not stand_in(value)


def _is_said(given: Given) -> bool:
    """`the password is swordfish`, but not `the password is wrong`, nor `the password is kept in a safe`."""
    value = given.value
    if given.quoted:
        return like_password(value, quoted=True) and (value.lower() not in COMMON or not is_word(value))
    if not is_word(value):
        return len(value) >= 4 and like_password(value, quoted=False) and _TECHNICAL.fullmatch(value) is None
    if given.kind != "password" or not value.isascii() or not value.isalpha() or _SENTENCE_GOES_ON.match(given.behind):
        return False
    if _is_random(value, 6):
        return True
    lower = value.lower()
    return len(value) >= 6 and lower not in COMMON and not _ADJECTIVE.fullmatch(lower) and not stand_in(value)


def _is_key(given: Given) -> bool:
    value, quoted = given.value, given.quoted
    if like_key(value, quoted=quoted) or (given.kind == "api-key" and value.isdecimal() and len(value) >= 12):
        return True
    match given.how:
        case "query":
            return len(value) >= 6 and like_password(value, quoted=True) and value.lower() not in COMMON
        case "setting" if given.upper:
            return len(value) >= 6 and like_password(value, quoted=True) and value.lower() not in COMMON
        case "setting":
            return _is_random(value, 8)
        case "with" | "cell" | "tag" if (quoted or given.how != WITH) and len(value) >= 6 and _is_evident(value):
            return value.isalnum()
        case "gap" | "space" | "to":
            return _is_random(value, 12)
    return _is_random(value, 8 if quoted or given.how in (TAG, CELL) else 12)
