"""Phone numbers: with a country code, in Japanese and North American formats, and any that the text calls one."""

import re
from collections.abc import Iterator

from scalepan.redact.numbers import digits_of
from scalepan.redact.plain import CUT
from scalepan.redact.rule import Hit, RedactionRule
from scalepan.redact.view import View

_EXTENSION = r"(?P<extension>\s{0,2}(?:x|ext\.?|内線)\s{0,2}[0-9]{1,6})?"
_FIRST = r"[0-9(](?<![0-9A-Za-z_+#$€£¥%-].)(?<![0-9][.,].)"
_NOT_BEHIND = r"(?![0-9A-Za-z_%]|[.,/-][0-9]|-[A-Za-z]{1,3}[0-9])"

# +81 90 1234 5678, +41 (0)96 471 07 95, +1-415-555-0132x12; 00 may replace the +.
_FAR = rf"[1-9](?:[ .()-]{{0,2}}[0-9]){{6,14}}{_EXTENSION}(?![0-9])"
_INTERNATIONAL = re.compile(rf"\+{_FAR}")
_FROM_ABROAD = re.compile(rf"00(?<![0-9A-Za-z_.,+-]..){_FAR}")
_COUNTRY_CODE = re.compile(
    r"1|7|2[07]|2[1-69][0-9]|3[0-469]|3[578][0-9]|4[013-9]|42[0-9]|5[1-8]|5[09][0-9]|6[0-6]|6[7-9][0-9]|8[1246]|8[0578][0-9]|9[0-58]|9[679][0-9]"
)
# Checked after the first character: searching for a character is faster than for a boundary.
_WAYS = (
    # Japan: 10 digits, of which 2 to 5 are the area code, 11 for mobile and IP phones; with or without hyphens.
    r"(?<=0)[1-9](?:[- ][1-9][0-9]{3}|[0-9][- ][0-9]{3}|[0-9]{2}[- ][0-9]{2}|[0-9]{3}[- ][0-9])[- ][0-9]{4}",
    r"(?<=0)[5-9]0(?:[- ][0-9]{4}[- ][0-9]{4}|[1-9][0-9]{7})",
    r"(?<=\()0[1-9][0-9]{0,3}\) ?[0-9]{1,4}[- ][0-9]{4}|(?<=0)[1-9][0-9]{0,3}\([0-9]{1,4}\)[0-9]{4}",
    r"(?<=0)(?:(?:120|800|570|990)[- ][0-9]{2,3}[- ][0-9]{3,4}|120[0-9]{6})",
    # North America: neither the area nor the exchange begins with 0 or 1.
    r"(?:(?<=1)[ .-]\(|(?<=\())[2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-][0-9]{4}",
    r"(?:(?<=1)[ .-][2-9]|(?<=[2-9]))[0-9]{2}(?P<gap>[ .-])[2-9][0-9]{2}(?P=gap)[0-9]{4}",
    # Elsewhere: a 0 for "in this country", then groups of two to four.
    r"(?:(?<=\()0[1-9][0-9]{0,3}\)|(?<=0)[1-9][0-9]{0,3})(?P<part>[ .-])[0-9]{2,4}(?:(?P=part)[0-9]{2,4}){1,3}",
)
_NATIONAL = re.compile(f"{_FIRST}(?:{'|'.join(_WAYS)}){_EXTENSION}{_NOT_BEHIND}")
_BETWEEN = " .:#=*"
# Any number is a phone number if the text right before it says so. For lower-case text.
_CALLED = re.compile(
    r"(?:(?<![a-z])(?:(?:tele|cell|i)?phones?|tele?fax|fax|tel|mobile|cell(?=[:#]|ular| (?:is|no|num))|"
    r"whatsapp|sms|(?:office|home|work|desk|direct|hotline|helpline|reception)(?= ?:)|messages to|"
    r"(?:call|text|dial|ring|phone|reach|contact|message)(?: (?:me|us|him|her|them))?(?= (?:at|on|back|to|via|under) ))"
    r"|電話|携帯|連絡先|ファックス|手机|전화)"
    rf"(?:[{_BETWEEN}]|(?:number|num|no|nr|is|was|at|on|to|via|under|back|home|work|office|番号|は|が)(?![a-z])){{0,12}}"
    r"\n?[ (+\"']{0,3}$"
)
_CALLED_WORD = re.compile(
    "telephone|cellphone|iphone|phone|tele?fax|fax|tel|mobile|cell|whatsapp|sms|call|text|dial|ring|reach|contact|message|"
    "office|home|work|desk|direct|hotline|helpline|reception|電話|携帯|連絡先|ファックス|手机|전화"
)
# Seven digits close together, and no digit close before them.
_SEVEN_DIGITS = re.compile(r"[0-9](?<![0-9].)(?<![0-9][ ().\n-].)(?=(?:[ ().\n-]{0,3}[0-9]){6})")
_ANY = re.compile(rf"[0-9](?:[ .()/-]{{0,2}}[0-9]){{6,14}}{_EXTENSION}(?![0-9A-Za-z_%]|[.,][0-9])")
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[ ./-][01]?[0-9][ ./-][0-3]?[0-9]|[0-3]?[0-9][ ./-][0-3]?[0-9][ ./-](?:19|20)[0-9]{2}"
)
_COLUMN = re.compile("[0-9] ")
# Words that make a number of this format something else. For lower-case text.
_OTHER_NUMBER = re.compile(
    r"(?:order|invoice|ticket|case|ref|reference|isbn|issn|doi|pmid|sku|part|serial|tracking|version|build|account|"
    r"model|item|lot|batch|id|code|room|patent|grant|trial|rev|revision|release|page|pages|vol|volume|"
    rf"注文|受注|伝票|管理|型番|商品|品番|会員|口座|追跡)[^0-9\n{CUT}]{{0,12}}\Z"
)
_WITHIN = 13
"""How far before the number such a word may end."""


def _phones(view: View) -> Iterator[Hit]:
    if not view.numbers:
        return
    for pattern in (_INTERNATIONAL, _FROM_ABROAD):
        for match in pattern.finditer(view.text):
            if _is_international(match):
                yield (*match.span(), "phone")
    for match in _NATIONAL.finditer(view.text):
        if _is_national(view, match):
            yield (*match.span(), "phone")
    if _CALLED_WORD.search(view.lower):
        last = 0
        for first in _SEVEN_DIGITS.finditer(view.text):
            start = first.start()
            called = _is_called(view.lower, max(last, start - 48), start)
            last = start
            number = _ANY.match(view.text, start) if called else None
            if number and not _DATE.match(number.group()):
                yield (*number.span(), "phone")


def _is_called(lower: str, floor: int, start: int) -> bool:
    """Whether the text between `floor` and `start` announces a phone number at `start`."""
    last = lower[floor:start].rstrip("\n (+\"'")[-1:]
    if not last.isalpha() and last not in _BETWEEN:
        return False
    word = _CALLED_WORD.search(lower, floor, start)
    while word:
        if _CALLED.match(lower, word.start(), start):
            return True
        word = _CALLED_WORD.search(lower, word.end(), start)
    return False


def _is_international(match: re.Match[str]) -> bool:
    """Whether the country code exists, and for country code 1 also the area code is possible."""
    digits = _digits(match).removeprefix("00")
    if not 8 <= len(digits) <= 15 or not _COUNTRY_CODE.match(digits):
        return False
    return not digits.startswith("1") or (len(digits) == 11 and digits[1] in "23456789")


def _is_national(view: View, match: re.Match[str]) -> bool:
    start, digits = match.start(), _digits(match)
    if not 9 <= len(digits) <= 11 or _DATE.match(match[0]) or digits == digits[0] * len(digits):
        return False
    if " " in match[0] and start > 1 and _COLUMN.match(view.text, start - 2):
        return False  # another column of a table
    # Without a lower-case or Japanese letter there is no such word.
    ahead = view.lower[max(0, start - _WITHIN) : start]
    if not ahead.islower() and ahead.isascii():
        return True
    return _OTHER_NUMBER.search(view.lower, max(0, start - 32), start) is None


def _digits(match: re.Match[str]) -> str:
    """The digits of a number without its extension."""
    return digits_of(match[0].removesuffix(match["extension"] or ""))


PHONES = [RedactionRule(frozenset(["phone"]), _phones)]
