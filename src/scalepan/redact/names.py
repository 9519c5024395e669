"""Names that announce a secret: which words, inside which longer names, and which kind of secret."""

import re

from scalepan.redact.plain import CUT

# The word in lower case, and the kind of secret it names.
_WORDS = {
    **dict.fromkeys(
        [
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "passwort",
            "contraseña",
            "contrasena",
            "passwrd",
            "passowrd",
            "passe",
            "p/w",
        ],
        "password",
    ),
    **dict.fromkeys(["パスワード", "暗証番号", "密码", "비밀번호", "pwd", "pswd"], "password"),
    **dict.fromkeys(["pass", "pw"], "password"),
    **dict.fromkeys(["secret", "credential", "credentials", "creds"], "secret"),
    "token": "token",
    "key": "api-key",
}
# Rare words. Their pattern is used only if a text contains one of them.
_MORE_WORDS = {
    **dict.fromkeys(["senha", "clave", "wachtwoord", "lösenord", "hasło", "heslo", "parola"], "password"),
    **dict.fromkeys(["salasana", "adgangskode", "kennwort", "пароль", "şifre", "mdp", "psk"], "password"),
    **dict.fromkeys(
        ["密碼", "口令", "비번", "패스워드", "パスフレーズ", "合言葉", "암호", "パスコード", "mật khẩu", "sandi"],
        "password",
    ),
    **dict.fromkeys(["identified by"], "password"),
    **dict.fromkeys(["pin", "otp", "cvv", "cvc", "pin code", "verification code", "security code"], "password"),
    **dict.fromkeys(
        ["one-time code", "2fa code", "mfa code", "認証コード", "確認コード", "验证码", "驗證碼"], "password"
    ),
    **dict.fromkeys(["トークン", "令牌", "토큰", "sessionid", "sessid"], "token"),
    **dict.fromkeys(["signature", "sig", "salt", "auth", "signaturevalue", "authentication"], "token"),
    **dict.fromkeys(["apiキー", "アクセスキー", "シークレットキー", "秘密鍵", "密钥", "密鑰", "暗号キー"], "api-key"),
    **dict.fromkeys(["seed phrase", "recovery phrase"], "secret"),
}
CODES = frozenset(
    {
        *("pin", "otp", "cvv", "cvc", "pin code", "verification code", "security code", "one-time code", "2fa code"),
        *("mfa code", "認証コード", "確認コード", "验证码", "驗證碼"),
    }
)
"""Their values are a few digits."""
PHRASES = frozenset(["passphrase", "seed phrase", "recovery phrase", "パスフレーズ"])
"""Their values may have spaces."""
# Too short to be found inside other words: bypass, compass.
SHORT = ("pass", "pw")
ALONE = frozenset(
    ["pin", "otp", "cvv", "cvc", "mdp", "psk", "sig", "salt", "auth", "clave", "parola", "sandi", "passe", "creds"]
)
_SHORT_BEHIND = (
    *(
        "db",
        "user",
        "admin",
        "root",
        "key",
        "api",
        "my",
        "sql",
        "smtp",
        "mail",
        "ftp",
        "ldap",
        "redis",
        "login",
        "bind",
    ),
    *("rpc", "wifi", "wlan", "vpn", "ssh", "host", "web", "svc", "srv", "auth", "proxy", "account", "default", "sudo"),
)
# Words that make "key" a secret: an answer key or a sort key is not a secret.
_KEY_OWNERS = (
    *("api", "access", "secret", "private", "priv", "auth", "service", "account", "db", "database", "client", "crypt"),
    *("encryption", "signing", "master", "shared", "storage", "app", "application", "subscription", "consumer", "hmac"),
    *("license", "webhook", "deploy", "admin", "root", "user", "aes", "session", "jwt", "iam", "cloud", "ibm"),
)
# Keys of tables, caches and doors. Any other key may be a secret if its value looks like one.
_OTHER_KEYS = re.compile(
    r"(?:primary|foreign|sort|cache|partition|object|row|public|pub|idempotency|unique|hash|routing|shard|dedup|lookup|"
    r"group|order|composite|natural|surrogate|candidate|index|dict|map|json|block|answer|state|query|bucket|s3|blob|file|"
    r"metric|feature|flag|config|translation|i18n|message|item|field|column|data|tag|label|issue|project|host|gpg|pgp|ssh|"
    r"known|fingerprint|cert|etag|registry|layer|trace|span|task|job|run|event|store|storage|name|other|same|any|each|this|"
    r"doc|document|citation|bib|ref|site|recaptcha_site|publishable|turn|mon|don|hot|short|arrow|modifier|function|soft)"
    r"[_\-. ]*\Z"
)
# A name with such an ending describes a secret and does not hold it.
_ABOUT = """
file path dir url uri name id field type length len size count limit min max hint policy ttl ref env var arn label
prefix suffix format pattern regex required enabled version alias header placeholder input prompt manager store provider
index column algorithm strength rotation endpoint attempt used usage budget cost price rate window text title message
error status at on by for expire expired expires expiry expiration expiring param parameter mode lock mutex class cls
kind keys tokens list set dict map cache scope scopes schema model factory handler callback fn func method types
zero
mgr generator validator checker parser reader writer loader helper util form view page link button test tests spec reset
change update lifetime timeout age bytes bits char chars group groups mask digest hashes idx num number pos position
"""
_ABOUT_WORDS = frozenset(_ABOUT.split())
_PARTS = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])")
# Endings without a separator. keyboard and tokenizer are other words.
AHEAD = 24
"""How many characters before a word may belong to its name."""
_GROWN = ("key", "accesskey", "value", "string", "str", "plain", "plaintext", "s")


def _any_of(words: dict[str, str]) -> str:
    return f"(?:{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})"


WORD = _any_of(_WORDS)
"""A pattern of the usual words, for lower-case text."""
STEMS = (
    *("pass", "pw", "pswd", "p/w", "secret", "cred", "token", "key", "contrase"),
    *("パスワード", "暗証番号", "密码", "비밀번호"),
)
"""The beginnings of these words."""
_CODES = ("verification code", "security code", "one-time code", "2fa code", "mfa code", "pin code")
_MORE_STEMS: dict[str, tuple[str, ...]] = {
    "sess": ("sessionid", "sessid"),
    "sig": ("sig", "signature", "signaturevalue"),
    " code": _CODES,
    " phrase": ("seed phrase", "recovery phrase"),
    "auth": ("auth", "authentication"),
    "salt": ("salt",),
    "cv": ("cvv", "cvc"),
    **{word: (word,) for word in ("psk", "pin", "otp", "identified by")},
    **{word: (word,) for word in ("senha", "clave", "wachtwoord", "kennwort", "mdp")},
}
_ELSEWHERE = tuple(word for word in _MORE_WORDS if not any(word in words for words in _MORE_STEMS.values()))
_LATIN, _EASTERN = (
    tuple(word for word in _ELSEWHERE if (ord(max(word)) < 0x3000) == western) for western in (True, False)
)
_EAST = re.compile("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def eastern_words(lower: str) -> list[str]:
    """The Chinese, Japanese and Korean words that the text contains."""
    return [] if _EAST.search(lower) is None else [word for word in _EASTERN if word in lower]


def more_words(lower: str, *, is_ascii: bool) -> list[str]:
    """The rare words that the text contains; `is_ascii` says whether it was ASCII before anything was cut.

    Words of some languages are searched for only in texts that are not ASCII.
    """
    found = [word for stem, words in _MORE_STEMS.items() if stem in lower for word in words if word in lower]
    if is_ascii:
        return found
    return [*found, *[word for word in _LATIN if word in lower], *eastern_words(lower)]


MORE_WORD = _any_of(_MORE_WORDS)
"""A pattern of the rare words."""
KINDS = _WORDS | _MORE_WORDS
PARTIAL = frozenset(["key", *SHORT, *ALONE])
"""Words that announce a secret only in some contexts."""


def is_named(word: str, before: str, behind: str, *, upper: bool = False) -> bool:
    """Whether the word announces a secret here and is not part of another word; `before` and `behind` as written.

    `upper` says that the word itself is in upper case.

    >>> is_named("password", "xy", ""), is_named("pass", "com", ""), is_named("key", "primary ", "")
    (True, False, False)
    """
    if word not in PARTIAL:
        return True
    if word == "key":
        return is_owned(before) or (not behind.islower() and not _OTHER_KEYS.search(before.lower()))
    # Most words with "pass" are longer: password, passive, passage.
    if behind.islower() or (upper and behind.isupper()):
        return False
    if word in ALONE:
        return not before[-1:].isalpha() or (before[-1:].islower() and len(word) > 2 and before[-1:] == "_")
    return not before[-1:].isalpha() or before.lower().endswith(_SHORT_BEHIND)


def is_owned(before: str) -> bool:
    """Whether the text before "key" makes it a secret.

    >>> is_owned("api_"), is_owned("sort_")
    (True, False)
    """
    return before.lower().rstrip("_- .").endswith(_KEY_OWNERS)


def kind_named(word: str, before: str, rest: str) -> str | None:
    """The kind of secret that a name announces, by the word in it and the characters before and after; None if none.

    >>> kind_named("password", "db_", ""), kind_named("token", "", "_file"), kind_named("secret", "aws_", "_access_key")
    ('password', None, 'aws-secret-key')
    """
    if rest and _tells_about(rest):
        return None
    kind = KINDS[word]
    if kind == "password" or kind == "token":
        return kind
    whole = (before.rpartition(CUT)[2] + word + rest).lower()
    if "aws" in whole and "secret" in whole and "key" in whole:
        return "aws-secret-key"
    return "api-key" if rest.lower().endswith("key") else kind


def _tells_about(rest: str) -> bool:
    """Whether the rest of the name says that the secret itself is elsewhere: password_file, tokens, secretName."""
    if rest[0].islower():
        return rest not in _GROWN
    last = _PARTS.split(rest)[-1].lower()
    return last in _ABOUT_WORDS or last.removesuffix("s") in _ABOUT_WORDS
