"""Names that give a secret away: which words, inside which longer names, and what kind of secret that makes."""

import re
from collections.abc import Iterator

from karat.redact.view import MARK, View

# The word in small letters, and the kind of secret it names.
_WORDS = {
    **dict.fromkeys(["password", "passwd", "passphrase", "passwort", "contraseña", "contrasena", "pwd"], "password"),
    **dict.fromkeys(["パスワード", "暗証番号", "密码", "비밀번호"], "password"),
    **dict.fromkeys(["pass", "pw"], "password"),
    **dict.fromkeys(["secret", "credential", "credentials"], "secret"),
    "token": "token",
    "key": "api-key",
}
# Too short to be looked for inside other words: bypass, compass.
SHORT = ("pass", "pw")
_SHORT_BEHIND = ("db", "user", "admin", "root", "key", "api")
# What makes the word "key" a secret: an answer key or a sort key is none.
_KEY_OWNERS = (
    *("api", "access", "secret", "private", "priv", "auth", "service", "account", "db", "database", "client", "crypt"),
    *("encryption", "signing", "master", "shared", "storage", "app", "application", "subscription", "consumer", "hmac"),
    *("license", "webhook", "deploy", "admin", "root", "user", "aes", "session", "jwt", "iam", "cloud", "ibm"),
)
# A name that ends so tells about the secret and is not it.
_ABOUT = """
file path dir url uri name id field type length len size count limit min max hint policy ttl ref env var arn label
prefix suffix format pattern regex required enabled version alias header placeholder input prompt manager store provider
index column algorithm strength rotation endpoint attempt used usage budget cost price rate window text title message
error status at on by for expire expired expires expiry expiration expiring param parameter
"""
_ABOUT_WORDS = frozenset(_ABOUT.split())
_PARTS = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])")
# Grown together with the word before it. keyboard and tokenizer only begin like one of ours.
AHEAD = 24
"""How much of what stands before a word may belong to its name."""
FAR = 512
"""No farther from a name than this is anything that has a say in whether its value is a secret."""
_GROWN = ("key", "accesskey", "value", "string")


# A word, the rest of its name, and something behind that can lead to a value; not to one that is cut already.
_NAMES = re.compile(
    f"(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
    f"(?=[0-9a-z_-]{{0,40}}[\\s\"'`\\\\\\]=:!(>はが])(?![=: \"'(]{{1,3}}{MARK})"
)
# What is one of ours only by what stands before it.
_PARTIAL = ("key", *SHORT)


def named(view: View) -> Iterator[tuple[int, str, str]]:
    """Every place of a word that may name a secret, in the order of the text; the word, and what stands before it."""
    text = view.text
    for match in _matches(view):
        at, behind = match.span()
        word = match[0]
        # Most of what begins with "pass" goes on as password, passive or passage.
        if word in SHORT and text[behind : behind + 1].islower():
            continue
        before = text[at - AHEAD : at] if at > AHEAD else text[:at]
        if word not in _PARTIAL or _stands_alone(word, before):
            yield at, word, before


def _matches(view: View) -> Iterator[re.Match[str]]:
    for start, end in view.parts(FAR):
        for match in _NAMES.finditer(view.lower, start, end + FAR):
            if match.start() > end:
                break
            yield match


def kind_named(word: str, before: str, rest: str) -> str | None:
    """The kind of secret that a name says, by the word in it, and the letters before and behind; None if none.

    >>> kind_named("password", "db_", ""), kind_named("token", "", "_file"), kind_named("secret", "aws_", "_access_key")
    ('password', None, 'aws-secret-key')
    """
    if rest and _tells_about(rest):
        return None
    kind = _WORDS[word]
    if kind == "password" or kind == "token":
        return kind
    whole = (before + word + rest).lower()
    if "aws" in whole and "secret" in whole and "key" in whole:
        return "aws-secret-key"
    return "api-key" if rest.lower().endswith("key") else kind


def _stands_alone(word: str, before: str) -> bool:
    """Whether the word is one here, and not a piece of another; `before` is as written."""
    if word == "key":
        return before.lower().rstrip("_- .").endswith(_KEY_OWNERS)
    if not before[-1:].isalpha():
        return True
    return before.lower().endswith(_SHORT_BEHIND)


def _tells_about(rest: str) -> bool:
    """Whether the rest of the name says that the secret itself is elsewhere: password_file, tokens, secretName."""
    if rest[0].islower():
        return rest not in _GROWN
    last = _PARTS.split(rest)[-1].lower()
    return last in _ABOUT_WORDS or last.removesuffix("s") in _ABOUT_WORDS
