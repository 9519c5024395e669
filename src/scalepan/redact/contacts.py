"""E-mail addresses and IP addresses."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address
from string import ascii_letters, digits, hexdigits

from scalepan.redact.plain import CUT
from scalepan.redact.rule import Hit, RedactionRule
from scalepan.redact.view import View

_LETTER = "0-9A-Za-z\u00c0-\u024f"
LONGEST_LOCAL = 64
# The standard allows more characters before the @, but most belong to the surrounding text: a=b@c, x/y@z, 'a@b'.
_PLAIN = ascii_letters + digits + "._%+-"
_LOCAL = _PLAIN + "".join(map(chr, range(0xC0, 0x250)))
_DOMAIN = re.compile(
    rf"@(?:[{_LETTER}](?:[{_LETTER}-]{{0,62}}[{_LETTER}])?\.){{1,8}}(?P<top>[A-Za-z]{{2,24}}|xn--[0-9A-Za-z-]{{2,59}})(?![{_LETTER}_])"
)
# icon@2x.png is an image, and lib@next.js a package.
_ENDINGS = "png jpg jpeg gif svg webp ico bmp avif pdf js ts mjs cjs css html json xml yml yaml txt"
_FILE_ENDINGS = frozenset(_ENDINGS.split())
# Shared accounts of code hosts: git@github.com is not a person.
_ROLES = frozenset(["git", "hg", "svn"])
_IN_ADDRESS = re.compile(rf"://[^\s/{CUT}]*\Z")

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
# Searched for by its first dot: a search for one character is many times faster than one for any digit.
_IPV4 = re.compile(rf"\.(?<=[0-9]\.){_BYTE}(?:\.{_BYTE}){{2}}(?![0-9A-Za-z_]|\.[0-9]|-[0-9])")
# Loopback, "any" and netmasks are on every machine.
_FIRST_BYTE = re.compile(r"(?<![0-9A-Za-z_.-])(?!127|255)(?:25[0-4]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]?)\Z")
# A number with dots after one of these is a version, a section or an enzyme.
_NUMBERED = """
v ver version versions release build firmware driver section sections sec chapter clause figure fig table appendix ec
article item step rule python chrome windows node バージョン 第
"""
_NUMBERED_WORDS = frozenset(_NUMBERED.split())
_LAST_WORD = re.compile(r"[^\W\d_]{1,12}(?=\.?$)")
# Searched for by its first colon. Before it is a group of up to four digits, which begins at a word boundary.
_FIRST_GROUP = "|".join(rf"(?<=[0-9A-Fa-f]{{{n}}}:)(?<![0-9A-Za-z_:.][0-9A-Fa-f]{{{n}}}:)" for n in range(5))
_IPV6 = re.compile(
    rf":(?=[0-9A-Fa-f]{{0,4}}:)(?:{_FIRST_GROUP})[0-9A-Fa-f]{{0,4}}(?::[0-9A-Fa-f]{{0,4}}){{1,7}}"
    r"(?:\.[0-9]{1,3}){0,3}(?![0-9A-Za-z_:])"
)
# Single colons between groups, and a double colon at most once.
_WELL_PARTED = re.compile(r"(?!.*::.*::|.*:::|:[^:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4})*(?<![^:]:)")
_DIGIT = re.compile("[0-9]")


def _emails(view: View) -> Iterator[Hit]:
    text = view.text
    has_url = "://" in text
    characters = _PLAIN if text.isascii() else _LOCAL
    for match in _DOMAIN.finditer(text):
        if match["top"].lower() in _FILE_ENDINGS:
            continue
        at = match.start()
        ahead = text[max(0, at - LONGEST_LOCAL) : at]
        local = ahead[len(ahead.rstrip(characters)) :].lstrip(".-%+")
        start = at - len(local)
        if not local or local in _ROLES or (has_url and _IN_ADDRESS.search(text[max(0, start - 128) : start])):
            continue
        yield start, match.end(), "email"


def _ip_addresses(view: View) -> Iterator[Hit]:
    text = view.text
    if "." in text:
        for match in _IPV4.finditer(text):
            first = _FIRST_BYTE.search(text, max(0, match.start() - 3), match.start())
            if first and not _is_numbered(text[max(0, first.start() - 24) : first.start()]):
                yield first.start(), match.end(), "ip-address"
    if ":" in text:
        for match in _IPV6.finditer(text):
            group = text[max(0, match.start() - 4) : match.start()]
            start = match.start() - len(group) + len(group.rstrip(hexdigits))
            if _is_ipv6(text[start : match.end()]):
                yield start, match.end(), "ip-address"


def _is_numbered(before: str) -> bool:
    """Whether the text before says that this is a version or the number of a chapter."""
    before = before.rstrip(" :=^~<>\"'-")
    last = before[-1:]
    if last != "." and not last.isalpha():
        return last in ("/", "§")
    word = _LAST_WORD.search(before)
    return word is not None and word.group().lower() in _NUMBERED_WORDS


def _is_ipv6(characters: str) -> bool:
    """Whether this is an address, in full or shortened, and not a time of day or a qualified name."""
    groups = [group for group in characters.split(":") if group]
    if "::" in characters and (len(groups) < 2 or len(groups[0]) < 3 or not _DIGIT.search(characters)):
        return False
    if "." in characters:
        return _is_mapped(characters)
    fits = len(groups) <= 7 if "::" in characters else len(groups) == 8
    return fits and _WELL_PARTED.fullmatch(characters) is not None and characters.lstrip("0:") != "1"


def _is_mapped(characters: str) -> bool:
    """Whether this is an address that ends in the notation of IPv4."""
    try:
        return not IPv6Address(characters).is_loopback
    except AddressValueError:
        return False


CONTACTS = [RedactionRule(frozenset(["email"]), _emails), RedactionRule(frozenset(["ip-address"]), _ip_addresses)]
