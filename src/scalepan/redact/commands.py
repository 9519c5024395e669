"""Passwords on the command line: after an option that names them, or after a command that takes one."""

import re
from collections.abc import Callable, Iterable, Iterator

from scalepan.redact.judged import is_listed
from scalepan.redact.names import STEMS
from scalepan.redact.plain import CUT
from scalepan.redact.plausible import like_key, looks_random, random_letters, stand_in
from scalepan.redact.rule import Hit, KeywordPattern, RedactionRule, patterns
from scalepan.redact.view import LONG, View
from scalepan.redact.words import COMMON

_VALUE = rf"[\"']?(?P<value>[^\s\"'`|;<>{CUT}]{{0,199}}[^\s\"'`|;<>,{CUT}])"
_QUOTED = rf"[\"'](?P<value>[^\"'\n{CUT}]{{1,200}})[\"']"
# Arguments before the option, on the same line or on continuation lines.
_ARGS = rf"(?:[^\n|{CUT}\\]|\\\r?\n|\\){{0,240}}?\s"


def _is_argument(value: str) -> bool:
    """Whether this is a password, however short: not a word of a sentence about the option, and not a stand-in."""
    if looks_random(value):
        return not value.startswith("-")
    word = value.lower().rstrip(".,:)")
    if value.startswith("-") or word in COMMON or stand_in(value):
        return False
    return len(word) > 2 or not word.isalpha()


def _is_password_argument(value: str) -> bool:
    return _is_argument(value) and not value.startswith(("http://", "https://"))


def _is_evident(value: str) -> bool:
    return is_listed("password", value)


def _is_key_argument(value: str) -> bool:
    return _is_argument(value) and (like_key(value, quoted=False) or random_letters(value, 8))


# --password hunter2, --db-pass=hunter2, -token abc
_OPTIONS = [
    (
        rf"-(?<!\S.)-?[\w-]{{0,40}}(?i:password|passwd|passphrase|passcode|pwd|pass|pw|secret)(?:\s{{1,4}}|=){_VALUE}",
        _is_password_argument,
    ),
    (
        rf"-(?<!\S.)-?[\w-]{{0,40}}(?i:token|key|credentials?|auth|bearer)(?:\s{{1,4}}|=){_VALUE}",
        _is_key_argument,
    ),
]
# By option that takes a password: the words that begin a command, and a pattern from there to the value.
_EXE = r"(?:\.exe|\.EXE)?\b"
_BY_OPTION: dict[str, list[tuple[str, str]]] = {
    "-p": [
        *(
            (word, rf"(?i:{word})\w{{0,8}}{_ARGS}-p(?=\S)(?!rint|ort|(?:rune|ath|erm)\b){_VALUE}")
            for word in ("mysql", "mariadb")
        ),
        ("7z", rf"7z[ar]?\s{{1,4}}[xalet]\b{_ARGS}-p(?=\S){_VALUE}"),
        *(
            (word, rf"(?i:{word}){_EXE}{_ARGS}-p\s{{1,4}}{_VALUE}")
            for word in ("docker login", "podman login", "oc login", "registry login", "acr login", "psexec")
        ),
        ("mongo", rf"(?i:mongo(?:sh|dump|restore|export)?){_EXE}{_ARGS}-p\s{{1,4}}{_VALUE}"),
        *((word, rf"{word}{_ARGS}-p\s{{1,4}}{_VALUE}") for word in ("useradd", "usermod", "twine upload", "az login")),
        ("sshpass", rf"sshpass\s{{1,4}}-p\s?{_VALUE}"),
    ],
    "-P": [
        *(
            (word, rf"(?i:{word}){_EXE}{_ARGS}-P\s{{0,4}}{_VALUE}")
            for word in ("zip", "sqlcmd", "bcp", "mosquitto_pub", "mosquitto_sub", "zipcloak")
        ),
    ],
    "-w": [("ldap", rf"(?i:ldap(?:search|add|modify|passwd)){_EXE}{_ARGS}-w\s{{1,4}}{_VALUE}")],
    "/p:": [(word, rf"(?i:{word}){_EXE}{_ARGS}/p:{_VALUE}") for word in ("xfreerdp", "mstsc", "wfreerdp")],
    "-a": [("redis-cli", rf"redis-cli\b{_ARGS}(?:-a|--pass)\s{{1,4}}{_VALUE}")],
    "-N": [("ssh-keygen", rf"ssh-keygen\b{_ARGS}-N\s{{1,4}}{_VALUE}")],
    "-U": [("smbclient", rf"smbclient\b{_ARGS}-U\s{{0,4}}[\"']?[^\s%{CUT}]{{1,64}}%{_VALUE}")],
    "htpasswd": [
        (
            "htpasswd",
            rf"htpasswd\s{{1,4}}-\w{{0,4}}b\w{{0,4}}\s{{1,4}}[^\s{CUT}]{{1,80}}\s{{1,4}}[^\s{CUT}]{{1,40}}\s{{1,4}}{_VALUE}",
        )
    ],
    "curl": [
        ("curl", rf"curl\b{_ARGS}(?:-u|--user|--proxy-user|-U)[ =]{{0,4}}[\"']?[^\s:\"'{CUT}]{{0,64}}[\"']?:{_VALUE}")
    ],
    "lftp": [("lftp", rf"lftp\b{_ARGS}-u\s{{0,4}}[\"']?[^\s,{CUT}]{{1,64}},{_VALUE}")],
    "openssl": [("openssl", rf"openssl\b{_ARGS}(?:-k|-K)\s{{1,4}}{_VALUE}")],
    "pass:": [("pass:", rf"pass:(?<=\s.....){_VALUE}")],
}
_WITHOUT_OPTIONS = [
    ("net use", rf"net use\s{{1,4}}(?:\w:\s{{1,4}})?\\\\[^\s{CUT}]{{1,80}}\s{{1,4}}(?![/*]){_VALUE}"),
    ("masterauth", rf"masterauth\s{{1,4}}{_VALUE}"),
    ("::add-mask::", rf"::add-mask::{_VALUE}"),
    ("add_user", rf"add_user\s{{1,4}}[^\s{CUT}]{{1,64}}\s{{1,4}}{_VALUE}"),
    ("convertto-securestring", rf"(?i:convertto-securestring)\s{{1,4}}(?:(?i:-string)\s{{1,4}})?{_QUOTED}"),
]
# These words occur in sentences too, so the value must look like a password.
_IF_EVIDENT = [
    ("net use", rf"net use(?<![\w.].{{7}})(?:\b{_ARGS}/user:|r\s{{1,4}})[^\s/{CUT}]{{1,64}}\s{{1,4}}{_VALUE}"),
    ("vault login", rf"vault login\s{{1,4}}{_VALUE}"),
    ("sonar.login", rf"sonar\.login\s?=\s?{_VALUE}"),
    (
        "sqlplus",
        rf"sqlplus\s{{1,4}}(?:-\w{{1,8}}\s{{1,4}}){{0,3}}[\"']?[\w.]{{1,64}}/(?P<value>[^\s@/\"'{CUT}]{{3,100}})@",
    ),
    ("snmp-server", rf"snmp-server community\s{{1,4}}{_VALUE}"),
]
# echo hunter2 | sudo -S ls
_TO_STDIN = (
    r"\s{0,4}\|\s{0,4}(?:sudo\s{1,4}-\w{0,3}S|(?:sudo\s)?passwd\s--stdin"
    rf"|[^\s{CUT}]{{1,40}}\s[^\n{CUT}]{{0,80}}--password-stdin)"
)
_ECHOES = [
    ("echo", rf"echo\s{{1,4}}(?:-n\s)?{_QUOTED}{_TO_STDIN}"),
    ("echo", rf"echo\s{{1,4}}(?:-n\s)?(?P<value>[^\s\"'|{CUT}]{{1,200}}){_TO_STDIN}"),
    (
        "echo",
        rf"echo\s{{1,4}}[\"']?[^\s:\"'{CUT}]{{1,64}}:(?P<value>[^\s\"'|{CUT}]{{1,200}})[\"']?"
        r"\s{0,4}\|\s{0,4}(?:sudo\s)?chpasswd",
    ),
]
# A telling name and its value after a command that sets it.
_NAME = r"[\"']?[\w./:-]{0,60}(?i:password|passwd|passphrase|pwd|pass|token|secret|key|credentials?|auth)\w{0,12}[\"']?"
_SETTERS = [
    ("login", rf"login\s{{1,4}}[^\s{CUT}]{{1,64}}\s{{1,4}}password\s{{1,4}}(?P<value>[^\s{CUT}]{{1,200}})"),
    ("wpa_passphrase", rf"wpa_passphrase\s{{1,4}}[^\s{CUT}]{{1,64}}\s{{1,4}}{_VALUE}"),
    ("requirepass", rf"requirepass\s{{1,4}}{_VALUE}"),
    ("env ", rf"ENV (?<![^\n]....){_NAME}\s{{1,4}}(?!=){_VALUE}"),
    *(
        (word, rf"(?i:{begin}){_NAME}\s{{1,4}}(?!=){_VALUE}")
        for word, begin in (
            ("set", r"setx\s{1,4}(?:/m\s)?|setenv\s{1,4}|set -\w{1,3}\s{1,4}"),
            ("config", r"config(?:ure)? set\s{1,4}|config(?<=git config)\s{1,4}(?:--\w{1,20}\s)?"),
            ("fastcgi_param", r"fastcgi_param\s{1,4}"),
        )
    ),
]


# tool secret set NAME <<< value
_HERE = KeywordPattern(
    "password",
    "<<<",
    0,
    re.compile(rf"<<<\s{{0,4}}{_VALUE}"),
    _is_evident,
    before=re.compile(rf"(?i:token|secret|passw|login|luks|stdin)[^\n{CUT}]{{0,60}}$"),
    ahead=0,
)
# In the configuration of a router a digit before the value says how it is encoded.
_ENCODED = [
    *((word, rf"(?i:{word})\s{{1,2}}[0-9]\s{{1,2}}{_VALUE}") for word in ("password", "secret")),
    # credentials: ann / hunter2
    ("cred", rf"(?i:cred(?:ential)?s)(?: are)?\s?[:=]?\s{{1,2}}[\w.@-]{{1,64}}\s?[/:]\s?{_VALUE}"),
]


def _rows(table: Iterable[tuple[str, str]], check: Callable[[str], bool] = _is_argument) -> list[KeywordPattern]:
    rows = [(word, LONG if len(word) >= LONG and " " not in word else 0, pattern) for word, pattern in table]
    return [KeywordPattern("password", word, least, re.compile(text), check, ahead=0) for word, least, text in rows]


_ANY_OPTION = [(re.compile(pattern), check) for pattern, check in _OPTIONS]
_WITH_OPTION = {option: patterns(_rows(table)) for option, table in _BY_OPTION.items()}
_WITHOUT = patterns([*_rows(_WITHOUT_OPTIONS), *_rows(_IF_EVIDENT, _is_evident), _HERE])
_PIPED = patterns(_rows(_ECHOES))
_SET = patterns([*_rows(_SETTERS), *_rows(_ENCODED, _is_evident)])


def _commands(view: View) -> Iterator[Hit]:
    """Tries a table only if the text contains what all of its commands need."""
    text = view.text
    named = bool(view.places_of(STEMS))
    if " -" in text or "\n-" in text or " /p:" in text or text.startswith("-"):
        if named or "auth" in view.lower or "bearer" in view.lower:
            yield from _options(text)
        for option, rule in _WITH_OPTION.items():
            if option in text:
                yield from rule.find(view)
    if "|" in text:
        yield from _PIPED.find(view)
    if named:
        yield from _SET.find(view)
    yield from _WITHOUT.find(view)


def _options(text: str) -> Iterator[Hit]:
    for pattern, is_value in _ANY_OPTION:
        for match in pattern.finditer(text):
            if is_value(match["value"]):
                yield (*match.span("value"), "password")


COMMANDS = [RedactionRule(frozenset(["password"]), _commands)]
