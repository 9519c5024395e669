"""Credentials in URLs and connection strings."""

import re
from collections.abc import Iterator

from scalepan.redact.plain import CUT
from scalepan.redact.plausible import like_password, stand_in, strong_key
from scalepan.redact.rule import Hit, KeywordPattern, RedactionRule, everywhere, patterns
from scalepan.redact.view import View

# scheme://user:password@host. A password may hold an @, so the last one before the path counts.
_USERINFO = re.compile(
    rf"://(?P<user>[^\s/?#:\"'<>`{CUT}]{{0,128}}):(?P<value>[^\s/\"'<>`{CUT}]{{1,256}})@(?=[\w\[.-])"
)
# git clone https://TOKEN@github.com/...
_TOKEN_AS_USER = re.compile(r"://(?P<value>[0-9A-Za-z_-]{20,256})@(?=[\w\[.-])")


def _url_password(view: View) -> Iterator[Hit]:
    for at in everywhere(view.text, "://"):
        match = _USERINFO.match(view.text, at)
        if match and not _template(match["user"], match["value"]):
            yield (*match.span("value"), "url-password")
        token = _TOKEN_AS_USER.match(view.text, at) if match is None else None
        if token and strong_key(token["value"]) and (len(token["value"]) >= 32 or not token["value"].islower()):
            yield (*token.span("value"), "url-password")


_SOMEBODY = re.compile(r"(?i:.*[;:])?(?i:(?:my|your|the)?_?(?:user(?:_?name)?|login|usr))")
_SOME_PASSWORD = re.compile(r"(?i:(?:my|your|the)?_?(?:pass(?:word|wd)?|pwd|pw|secret|token))")


def _template(user: str, value: str) -> bool:
    """In a URL even `password` and `changeme` may be real passwords; `user:password` and templates are not."""
    if _SOME_PASSWORD.fullmatch(value) and _SOMEBODY.fullmatch(user):
        return True
    return (stand_in(value) and not value.isalnum()) or (len(value) > 2 and set(value) <= set("*xX."))


def _is_password(value: str) -> bool:
    return like_password(value, quoted=True)


_ORACLE = re.compile(
    rf"jdbc:oracle:\w{{2,6}}:[^\s/:@{CUT}]{{1,64}}/(?P<value>[^\s/@\"'{CUT}]{{3,100}})@",
)
# A line of .pgpass: host, port, database, user, password. The search starts at the port.
_PORT = re.compile(r":(?:[0-9]{4,5}|\*):")
_HOST = 100
_PGPASS = re.compile(
    rf"[\w.*-]{{1,{_HOST}}}:(?:[0-9]{{4,5}}|\*):[\w.*-]{{1,64}}:[\w.@*-]{{1,64}}:(?P<value>[^\s:{CUT}]{{3,200}})(?=\s|\Z)"
)


def _pgpass(view: View) -> Iterator[Hit]:
    text = view.text
    if text.count(":") < 4:
        return
    for port in _PORT.finditer(text):
        floor = max(0, port.start() - _HOST - 1)
        start = text.rfind("\n", floor, port.start()) + 1
        match = _PGPASS.match(text, start) if start > floor or floor == 0 else None
        if match and match.end() > port.end() and _is_password(match["value"]):
            yield (*match.span("value"), "password")


ADDRESSES = [
    RedactionRule(frozenset(["url-password"]), _url_password),
    patterns([KeywordPattern("password", "jdbc:oracle", 0, _ORACLE, _is_password, ahead=0)]),
    RedactionRule(frozenset(["password"]), _pgpass),
]
