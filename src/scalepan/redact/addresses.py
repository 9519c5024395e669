"""Credentials on their way to a server: in the address itself, in a header, on the command line."""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator

from scalepan.redact.plain import MARK
from scalepan.redact.plausible import like_key, like_password, stand_in
from scalepan.redact.rule import Hit, Near, Rule, everywhere, patterns
from scalepan.redact.view import View

# scheme://user:password@host. A password may hold an @, so the last one before the path counts.
_USERINFO = re.compile(rf"://[^\s/?#:@\"'<>`{MARK}]{{0,128}}:(?P<value>[^\s/\"'<>`{MARK}]{{1,256}})@(?=[\w\[.-])")


def _url_password(view: View) -> Iterator[Hit]:
    for at in everywhere(view.text, "://"):
        match = _USERINFO.match(view.text, at)
        if match and not _template(match["value"]):
            yield (*match.span("value"), "url-password")


def _template(value: str) -> bool:
    """In an address even `password` and `changeme` may be what is used; a template is not."""
    return (stand_in(value) and not value.isalnum()) or (len(value) > 2 and set(value) <= set("*xX."))


def _is_userinfo(value: str) -> bool:
    """Whether this is `user:password` in base64."""
    try:
        return b":" in b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True)
    except NotBase64:
        return False


def _is_password(value: str) -> bool:
    return like_password(value, quoted=True)


def _is_argument(value: str) -> bool:
    return like_password(value, quoted=False)


def _header_value(value: str) -> bool:
    return len(value) >= 8 and not stand_in(value) and (like_key(value) or len(value) >= 24)


_TABLE = [
    ("basic-auth", "basic", r"\b(?i:basic)\s{1,4}(?P<value>[0-9A-Za-z+/]{6,1000}={0,2})(?![\w.+/-])", _is_userinfo),
    ("bearer-token", "bearer", r"\b(?i:bearer)[\s:]{1,4}(?P<value>[0-9A-Za-z._~+/-]{8,4000}={0,2})", _header_value),
    (
        "bearer-token",
        "authorization",
        r"\b(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?i:token|apikey|api-key|key)\s{1,4}"
        r"(?P<value>[0-9A-Za-z._~+/=-]{8,4000})",
        _header_value,
    ),
    # curl -u user:password, sshpass -p password, and Oracle's user/password@host.
    (
        "password",
        "curl",
        rf"\s(?:-u|--user)[ =]?[\"']?[^\s:\"'{MARK}]{{1,64}}:(?P<value>[^\s\"'{MARK}]{{4,200}})",
        _is_password,
    ),
    # --password hunter2, and login ann password hunter2 of .netrc
    (
        "password",
        "-",
        rf"-(?<!\S.)-?[\w-]{{0,40}}(?:password|passwd|passphrase|pwd|pass|token|secret|key)\s{{1,4}}[\"']?(?P<value>[^\s\"'{MARK}-][^\s\"'{MARK}]{{3,200}})",
        _is_argument,
    ),
    (
        "password",
        "login",
        rf"\blogin\s{{1,4}}[^\s{MARK}]{{1,64}}\s{{1,4}}password\s{{1,4}}(?P<value>[^\s{MARK}]{{4,200}})",
        _is_password,
    ),
    ("password", "sshpass", rf"\bsshpass\s{{1,4}}-p\s?[\"']?(?P<value>[^\s\"'{MARK}]{{4,200}})", _is_password),
    (
        "password",
        "jdbc:oracle",
        rf"jdbc:oracle:\w{{2,6}}:[^\s/:@{MARK}]{{1,64}}/(?P<value>[^\s/@\"'{MARK}]{{3,100}})@",
        _is_password,
    ),
]


def _ahead(word: str) -> int | None:
    """Matches begin with the word, but for options, which may stand anywhere behind their command."""
    return None if word in ("curl", "-") else 0


ADDRESSES = [
    Rule(frozenset(["url-password"]), _url_password),
    patterns([Near(kind, word, 0, re.compile(pattern), check, ahead=_ahead(word)) for kind, word, pattern, check in _TABLE]),
]
