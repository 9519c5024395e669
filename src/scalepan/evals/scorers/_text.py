"""What scorers of free text share: the two texts, and how they are normalized before they are compared."""

from typing import Any
from unicodedata import normalize

import msgspec

from scalepan.errors import InputError
from scalepan.evals.cases import Expected, Output
from scalepan.evals.result import ScorerDetails


class TextOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`ignoreCase`; `ignoreSpace`: white space is collapsed and trimmed; `nfkc`: full and half width are equal."""

    ignore_case: bool = False
    ignore_space: bool = False
    nfkc: bool = False


class TextDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """What was compared."""

    expected: Any
    actual: Any


def alike(text: str, options: TextOptions) -> str:
    """The text as it is compared."""
    if options.nfkc:
        text = normalize("NFKC", text)
    if options.ignore_space:
        text = " ".join(text.split())
    return text.casefold() if options.ignore_case else text


def expected_of(expected: Expected) -> Any:
    """What a free-text case expects; InputError if it expects nothing."""
    if expected.output is None:
        raise InputError("the case has no expected.output", path="expected.output")
    return expected.output


def all_expected(own: str | list[str] | None, expected: Expected) -> list[Any]:
    """What one scorer expects: under its own key, else as the output; one text or a list of them."""
    wanted = own if own is not None else expected_of(expected)
    return wanted if isinstance(wanted, list) else [wanted]


def text_of(value: Any) -> str:
    """Text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def actual_text(actual: Output) -> str:
    """The output as text. An output without one is empty, not the word `null`."""
    return "" if actual.output is None else text_of(actual.output)


def texts(actual: Output, expected: Expected, options: TextOptions) -> tuple[str, str]:
    """Both sides as they are compared: actual, expected."""
    return alike(actual_text(actual), options), alike(text_of(expected_of(expected)), options)
