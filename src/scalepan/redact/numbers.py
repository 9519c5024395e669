"""Numbers that identify a person: cards, My Number, bank accounts, US social security."""

import re
from collections.abc import Iterator
from functools import cache

from scalepan.redact.checks import iban_length, is_card, is_iban, is_my_number, luhn
from scalepan.redact.plain import CUT
from scalepan.redact.rule import Hit, RedactionRule
from scalepan.redact.view import View

# The boundary is checked after the first digit: searching for a digit is several times faster than for a boundary.
_FIRST = r"[0-9](?<![0-9A-Za-z_].)(?<![0-9][.,].)"
_NOT_BEHIND = r"(?![0-9A-Za-z_]|[.,-][0-9])"
_CARD = re.compile(
    rf"{_FIRST}[0-9]{{3}}(?:(?P<gap>[ .-])[0-9]{{4}}(?P=gap)[0-9]{{4}}(?P=gap)[0-9]{{1,4}}(?:(?P=gap)[0-9]{{3}})?"
    rf"|[ -][0-9]{{6}}[ -][0-9]{{4,5}}|[0-9]{{9,15}}){_NOT_BEHIND}"
)
_TWELVE = re.compile(rf"{_FIRST}[0-9]{{3}}(?:[0-9]{{8}}|([ -])[0-9]{{4}}\1[0-9]{{4}}){_NOT_BEHIND}(?![ -][0-9]{{4}})")
_CARD_WORD = re.compile(rf"(?:card|visa|maestro|amex|カード)[^0-9\n{CUT}]{{0,24}}$")
# In a URL or after a # it is more likely the number of a page or an order.
_MY_NUMBER_EDGE = re.compile(r"(?<![=/#])")
# Area 000 and 666, group 00 and serial 0000 were never issued.
_US_SSN = re.compile(
    r"[0-9](?<![0-9A-Za-z_-].)(?<!(?=000|666).)[0-9]{2}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![0-9A-Za-z_-])"
)
# Searched for by its digits: every word has two letters, few have two digits after them.
_IBAN_DIGITS = re.compile(r"[0-9]{2}(?<=[A-Za-z]{2}..)(?<![0-9A-Za-z]....)(?=[ -]?[0-9A-Za-z]{4})")


def digits_of(text: str) -> str:
    """The digits of a number, without separators."""
    return text.encode().translate(None, b" +-./()").decode()


def _personal_numbers(view: View) -> Iterator[Hit]:
    if not view.numbers:
        return
    if "-" in view.text:
        for match in _US_SSN.finditer(view.text):
            yield (*match.span(), "us-ssn")
    for match in _CARD.finditer(view.text):
        if is_card(digits_of(match.group())):
            yield (*match.span(), "card")
    for match in _TWELVE.finditer(view.text):
        if _is_called_card(view.lower, match):
            yield (*match.span(), "card")
        if _MY_NUMBER_EDGE.match(view.text, match.start()) and is_my_number(digits_of(match.group())):
            yield (*match.span(), "my-number")


def _is_called_card(lower: str, match: re.Match[str]) -> bool:
    """Whether 12 digits are a Maestro card. Many other numbers have 12 digits, so the text must call it a card."""
    if _CARD_WORD.search(lower, max(0, match.start() - 40), match.start()) is None:
        return False
    return match.group()[0] in "056" and luhn(digits_of(match.group()))


def _iban(view: View) -> Iterator[Hit]:
    if not view.numbers:
        return
    for digits in _IBAN_DIGITS.finditer(view.text):
        start = digits.start() - 2
        length = iban_length(view.text[start : start + 2])
        match = _signs(length).match(view.text, start) if length else None
        if match and is_iban(match.group()):
            yield start, match.end(), "iban"


@cache
def _signs(count: int) -> re.Pattern[str]:
    """A pattern for this many letters and digits, with or without separators after every four."""
    fours, rest = divmod(count - 1, 4)
    group = "[0-9A-Za-z]{4}"
    grouped = f"{group}(?P<gap>[ -])(?:{group}(?P=gap)){{{fours - 1}}}[0-9A-Za-z]{{{rest + 1}}}"
    return re.compile(f"(?:[0-9A-Za-z]{{{count}}}|{grouped})(?![0-9A-Za-z])")


NUMBERS = [
    RedactionRule(frozenset(["card", "my-number", "us-ssn"]), _personal_numbers),
    RedactionRule(frozenset(["iban"]), _iban),
]
