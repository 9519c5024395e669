"""Names that give a secret away: which words, inside which longer names, and what kind of secret that makes."""

import re

from scalepan.redact.plain import MARK

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
_GROWN = ("key", "accesskey", "value", "string")


WORD = f"(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
"""A pattern of all the words, in small letters."""
KEYS = ("token", "key")
"""What they name has digits, or both capitals and small letters."""
OTHER_WORD = re.compile("|".join(sorted(_WORDS.keys() - set(KEYS), key=len, reverse=True)))
"""All the others, in small letters."""
PARTIAL = ("key", *SHORT)
"""What is one of ours only by what stands before it."""


def is_named(word: str, before: str, behind: str) -> bool:
    """Whether the word names something of ours here, and is not a piece of another; `before` and `behind` as written.

    >>> is_named("password", "xy", ""), is_named("pass", "com", ""), is_named("key", "api_", "")
    (True, False, True)
    """
    if word not in PARTIAL:
        return True
    if word == "key":
        return before.lower().rstrip("_- .").endswith(_KEY_OWNERS)
    # Most of what begins with "pass" goes on as password, passive or passage.
    if behind.islower():
        return False
    return not before[-1:].isalpha() or before.lower().endswith(_SHORT_BEHIND)


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
    whole = (before.rpartition(MARK)[2] + word + rest).lower()
    if "aws" in whole and "secret" in whole and "key" in whole:
        return "aws-secret-key"
    return "api-key" if rest.lower().endswith("key") else kind


def _tells_about(rest: str) -> bool:
    """Whether the rest of the name says that the secret itself is elsewhere: password_file, tokens, secretName."""
    if rest[0].islower():
        return rest not in _GROWN
    last = _PARTS.split(rest)[-1].lower()
    return last in _ABOUT_WORDS or last.removesuffix("s") in _ABOUT_WORDS
