"""From what a model wrote to the numbers it means: JSON first, then prose with one number in it. Never a guess.

Several different numbers, a count, a bound or a range are not a score: each is a failure with its reason.
"""

import json
import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, NamedTuple
from unicodedata import category

from scalepan.errors import shorten
from scalepan.policy.judge import Parse

LONGEST = 20_000
"""The longest answer in characters, without the thinking part."""


class UnreadableError(Exception):
    """The answer has no usable number, and why."""


class Parsed(NamedTuple):
    """The numbers by name, and what was done to them."""

    values: dict[str, float]
    notes: tuple[str, ...] = ()


def parse(text: str, fields: Sequence[str] = ("score",), mode: Parse = "clamp") -> Parsed:
    """Every field's number, or UnreadableError.

    >>> parse("8/10").values, parse("この回答は８０％です。").values, parse('{"score": 1.2}').notes
    ({'score': 0.8}, {'score': 0.8}, ('score 1.2 was clamped to 1',))
    """
    plain = _without_thinking(text.translate(_WIDTHS)).strip()
    if not plain:
        raise UnreadableError("the answer is empty")
    if len(plain) > LONGEST:
        raise UnreadableError(f"the answer has {len(plain):,} characters; a number was asked for")
    objects = list(_objects(plain))
    numbers = {field: _only(_candidates(plain, objects, field, alone=len(fields) == 1), field) for field in fields}
    values, notes = {}, []
    for field, number in numbers.items():
        values[field] = min(1.0, max(0.0, number)) + 0.0  # not -0.0
        if values[field] != number:
            if mode == "strict":
                raise UnreadableError(f"{field} is {number:g}, which is not between 0 and 1 (judge.parse: strict)")
            notes.append(f"{field} {number:g} was clamped to {values[field]:g}")
    return Parsed(values, tuple(notes))


def _only(candidates: Iterator[float], field: str) -> float:
    found = list(dict.fromkeys(round(number, 12) for number in candidates))
    if not found:
        raise UnreadableError(f"no number for '{field}' in the answer")
    if len(found) > 1:
        raise UnreadableError(f"several numbers for '{field}' in the answer: {', '.join(f'{n:g}' for n in found[:5])}")
    if not isfinite(found[0]):
        raise UnreadableError(f"the number for '{field}' is not finite")
    return found[0]


def _candidates(plain: str, objects: list[Any], field: str, *, alone: bool) -> Iterator[float]:
    """Everything that could be this field's number. If JSON has it, the prose around it is ignored."""
    if objects:
        found = [value for item in objects for value in _named(item, field)]
        if not found and alone:
            # `{"rating": 0.8}`: another name, but only one number.
            found = [value for item in objects for value in _leaves(item)]
        yield from (_number_of(value, field) for value in found)
    elif alone:
        yield from _in_prose(plain, field)
    else:
        yield from _labelled(plain, re.escape(field).replace("_", "[_ -]?"))


# --- JSON ---------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
_MOST_OBJECTS = 20


def _objects(text: str) -> Iterator[Any]:
    """The JSON in an answer: all of it, what is fenced, or the objects between words."""
    if text[0] in "{[":
        whole = _decoded(text)
        if whole is not None:
            yield whole
            return
    fenced = [found for block in _FENCE.findall(text) if isinstance(found := _decoded(block.strip()), (dict, list))]
    if fenced:
        yield from fenced
        return
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def _decoded(text: str) -> Any:
    try:
        found, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return found if not text[end:].strip() else None


class _Twice(NamedTuple):
    """The values of a key that occurs more than once in an object."""

    values: list[Any]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key, value in pairs:
        name = key.strip().lower()
        merged[name] = _Twice([merged[name], value]) if name in merged else value
    return merged


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def _named(item: Any, field: str) -> Iterator[Any]:
    """Every value under this name, at any depth."""
    match item:
        case dict():
            for key, value in item.items():
                if key == field and not isinstance(value, dict):
                    yield from _flat(value)
                elif key == field and len(value) == 1:
                    yield from _leaves(value)  # {"accuracy": {"score": 0.8}}
                else:
                    yield from _named(value, field)
        case _Twice(values) | list(values):
            for value in values:
                yield from _named(value, field)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (_Twice, list)):
        for one in value.values if isinstance(value, _Twice) else value:
            yield from _flat(one)
    else:
        yield value


def _leaves(item: Any) -> Iterator[Any]:
    """Every number, at any depth, and text that is nothing but one."""
    match item:
        case dict():
            for value in item.values():
                yield from _leaves(value)
        case _Twice(values) | list(values):
            for value in values:
                yield from _leaves(value)
        case bool():
            return
        case int() | float():
            yield item
        case str() if _WHOLE.fullmatch(item.strip()):
            yield item


def _number_of(value: Any, field: str) -> float:
    if isinstance(value, str):
        return _only(_in_prose(value.strip(), field), field)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnreadableError(f"'{field}' is {shorten(json.dumps(value, default=str))}, which is not a number")
    try:
        return float(value)
    except OverflowError:
        raise UnreadableError(f"the number for '{field}' is not finite") from None


# --- Prose --------------------------------------------------------------------------------------------------------

# Full-width characters as ASCII. Not NFKC, which would read 0.8² as 0.82.
_WIDTHS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x2212: "-", 0x2044: "/"}
_THINKING = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
# GPT-4, v2.1.3, Q3: names, not numbers.
_NAMES = re.compile(r"(?<![A-Za-z0-9.])[A-Za-z]+-?[0-9](?:[0-9A-Za-z.-]*[0-9A-Za-z])?")
_CONTINUES = re.compile(r"[.,][0-9]")
_SPACES = re.compile(r"\s+")

_N = r"(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]+|0,[0-9]+)"
_SIGNED = rf"[-+]?{_N}"
_SCALED = rf"""
      (?P<percent>{_SIGNED})\s*(?:%|percent\b|パーセント)
    | (?P<tenths>{_N})\s*割(?!り)
    | (?P<full>{_N})\s*点満点\s*(?:中|で|の|のうち)?[、,:\s]*(?P<points>{_N})\s*点
    | (?P<over>{_SIGNED})\s*(?:点\s*)?(?:/|out\s+of)\s*(?P<under>{_N})(?:\s*点)?(?:満点)?
"""
_NUMBER = re.compile(rf"{_SCALED} | (?P<plain>{_SIGNED})", re.VERBOSE | re.IGNORECASE)
_WHOLE = re.compile(
    rf"[\s*_`\"'(「『]*(?:{_SCALED} | (?P<plain>{_SIGNED})\s*点?)[\s*_`\"')」』.。]*", re.VERBOSE | re.IGNORECASE
)
# The scale of the question, repeated, is not an answer.
_SCALE = re.compile(
    r"(?<![0-9.])0(?:\.0+)?\s*(?:-|–|—|~|〜|\.\.\.?|to|and|through|から|と|以上)\s*1(?:\.0+)?(?![0-9.]*[0-9%])"
)
_BOUND = re.compile(
    r"[<>≤≥≦≧±]\s*=?\s*$|(?:^|[^a-z])(?:not|below|above|under|over|than|least|most|between)\s*$", re.IGNORECASE
)
_BOUND_AFTER = re.compile(r"\s*(?:以上|以下|未満|より|を超え|±|\+/-|or (?:more|less|higher|lower))", re.IGNORECASE)
_LABELS = (
    "score|rating|rate|grade|value|confidence|accuracy|coverage|evaluation|number|result|answer|verdict|"
    "スコア|評価|点数|得点|採点|信頼度|正確[性さ]|網羅[度性]|数値|値|結果|回答|答え"
)
_LINK = (
    r"""["'*_`)\]]{0,4}\s*(?:[値点]\s*)?(?:\bis\b|\bas\b|\bat\b|\bof\b|[はが:=→|]|->|-)?"""
    r"""\s*["'*_`(\[「]{0,4}\s*"""
)


def _without_thinking(text: str) -> str:
    """Without the thinking part of some models; a model that never stopped thinking has not answered."""
    tags = list(_THINKING.finditer(text))
    if not tags:
        return text
    if not tags[-1][1]:
        raise UnreadableError("the answer ends while the model is still thinking; a larger judge.max_tokens may help")
    return text[tags[-1].end() :]


def _in_prose(text: str, field: str) -> Iterator[float]:
    """The numbers of a text that could be the score."""
    text = _SPACES.sub(" ", text).strip()
    whole = _WHOLE.fullmatch(text)
    if whole:
        if whole["plain"] and text.rstrip(" *_`\"')」』.。").endswith("点"):
            _refuse_points(whole["plain"])
        yield _value(whole)
        return
    text = _SCALE.sub(lambda found: " " * len(found[0]), text)
    label = _label(rf"{re.escape(field)}|{_LABELS}")
    for found in _numbers(text):
        number, value = found["plain"], _value(found)
        clear = number is None or (_is_decimal(number) and 0 <= value <= 1) or _stands_behind(label, text, found)
        if not clear:
            # One error, three reasons, chapter 2: a count or a name, which clamping would turn into a score.
            raise UnreadableError(f"{shorten(found[0].strip())} in the answer is not clearly a score")
        yield value


def _labelled(text: str, names: str) -> Iterator[float]:
    """Numbers directly after a name: `score: 0.8`, `スコアは0.8`."""
    text, label = _SPACES.sub(" ", text), _label(names)
    yield from (_value(found) for found in _numbers(text) if _stands_behind(label, text, found))


def _label(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{names}){_LINK}$", re.IGNORECASE)


def _stands_behind(label: re.Pattern[str], text: str, number: re.Match[str]) -> bool:
    return label.search(text, max(0, number.start() - 60), number.start()) is not None


def _numbers(text: str) -> Iterator[re.Match[str]]:
    """Every number that could be a score. A number that cannot be one is an error: the answer is not clear."""
    for found in _NUMBER.finditer(_NAMES.sub(lambda name: " " * len(name[0]), text)):
        before, after = text[: found.start()][-1:], text[found.end() : found.end() + 2]
        if _is_letter(after[:1]) and not found["percent"]:
            continue  # 2nd, 10k
        if found[0][0] in "-+" and before.isalnum():
            raise UnreadableError(f"'{shorten(before + found[0])}' in the answer is a range, not a number")
        part_of_more = (before in ("/", ".") and found.start() > 1) or after[:1] == "/" or _CONTINUES.match(after)
        if part_of_more or _is_odd_digit(after[:1]):
            raise UnreadableError(f"'{shorten(found[0] + after)}' in the answer is not a number that could be a score")
        if found["plain"] is not None and after[:1] == "点":
            _refuse_points(found["plain"])
        if _BOUND.search(text, max(0, found.start() - 12), found.start()) or _BOUND_AFTER.match(text, found.end()):
            raise UnreadableError(f"'{shorten(found[0])}' in the answer is a bound, not a number")
        yield found


def _refuse_points(number: str) -> None:
    if _float(number) > 1:
        raise UnreadableError(f"{number}点 does not say out of how many")


def _value(found: re.Match[str]) -> float:
    parts = found.groupdict()
    if parts["percent"]:
        return _float(parts["percent"]) / 100
    if parts["tenths"]:
        return _float(parts["tenths"]) / 10
    if parts["full"] or parts["under"]:
        over, under = _float(parts["points"] or parts["over"]), _float(parts["full"] or parts["under"])
        if under <= 0:
            raise UnreadableError(f"'{shorten(found[0].strip())}' divides by 0")
        return over / under
    return _float(parts["plain"])


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _is_decimal(text: str) -> bool:
    return not text.lstrip("-+").isdecimal()


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _is_odd_digit(character: str) -> bool:
    """A digit that is not one of 0 to 9: 0.8² must not be read as 0.8."""
    return character != "" and category(character) in ("Nd", "No")
