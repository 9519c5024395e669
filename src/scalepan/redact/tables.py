"""Columns called password, token or the like in CSV, TSV and Markdown.

A table begins with a header line and ends at the first line with another number of cells or with a cut. So cuts can
only shorten it, and redacting twice changes nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from scalepan.redact.names import CODES, STEMS
from scalepan.redact.pairs import name_kind
from scalepan.redact.plain import CUT
from scalepan.redact.plausible import like_key, like_password, random_letters, stand_in, strong_key
from scalepan.redact.rule import Hit, RedactionRule
from scalepan.redact.view import View
from scalepan.redact.words import COMMON

LINE = 1000
"""Maximum length of a header line."""

_NAME_CELL = re.compile(r"[\w .:#/*-]{1,40}")
_RULE_CELL = re.compile(r"\s*:?-{2,}:?\s*")
_TRIMMED = " \t\r\n\"'`*"


class TextColumn(NamedTuple):
    """A column that contains secrets."""

    number: int
    kind: str
    word: str
    owned: bool


def _tables(view: View) -> Iterator[Hit]:
    text = view.text
    done = 0
    for at in view.places_of(STEMS):
        if at < done:
            continue
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        start = text.rfind("\n", max(0, at - LINE), at) + 1
        done = end
        if end - start > LINE:
            continue
        line = text[start:end]
        separator = _separator(line)
        if separator is None or CUT in line:
            continue
        columns = _columns(line, separator)
        if columns:
            for hit in _rows(text, end + 1, line.count(separator), separator, columns):
                done = hit[1]
                yield hit
        if separator == "|":
            yield from _row_of_two(text, start, line, end)


def _separator(line: str) -> str | None:
    """The separator of a header line; None if it is not one."""
    return next((one for one in "|\t;," if one in line), None)


def _columns(line: str, separator: str) -> list[TextColumn]:
    """The columns of a header line that contain secrets."""
    if separator in ";," and (line[:1].isspace() or line.rstrip().endswith((".", ":", "?", "!"))):
        return []
    cells = [cell.strip(_TRIMMED) for cell in line.split(separator)]
    inner = [cell for cell in cells if cell] if separator == "|" else cells
    if len(inner) < 2 or len(set(inner)) < len(inner) or not all(map(_NAME_CELL.fullmatch, inner)):
        return []
    if separator in ";," and any(cell.count(" ") > 2 for cell in inner):
        return []
    return secret_columns(cells)


def secret_columns(names: list[str]) -> list[TextColumn]:
    """The columns that contain secrets, by their names."""
    named = [(number, name_kind(name.strip(_TRIMMED).replace(" ", "_"))) for number, name in enumerate(names)]
    return [TextColumn(number, *found) for number, found in named if found]


def _rows(text: str, at: int, count: int, separator: str, columns: list[TextColumn]) -> Iterator[Hit]:
    """The secrets in the lines with as many cells as the header."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if line.count(separator) != count and '"' in line and separator != "|":
            spans = _quoted_cells(line, separator)
        else:
            spans = _cells(line, separator)
        if len(spans) != count + 1 or CUT in line:
            return
        for column in columns:
            first, last = spans[column.number]
            cell = line[first:last]
            start = first + len(cell) - len(cell.lstrip(_TRIMMED))
            value = cell.strip(_TRIMMED)
            if value and is_secret_cell(column, value):
                yield at + start, at + start + len(value), column.kind
        at = end + 1


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    spans, at = [], 0
    for cell in line.split(separator):
        spans.append((at, at + len(cell)))
        at += len(cell) + 1
    return spans


def _quoted_cells(line: str, separator: str) -> list[tuple[int, int]]:
    """The same for a line in which a quoted cell may contain the separator."""
    spans, start, quoted = [], 0, False
    for at, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            spans.append((start, at))
            start = at + 1
    return [*spans, (start, len(line))]


def is_secret_cell(column: TextColumn, value: str) -> bool:
    """Whether a value in this column is a secret, and not a word about it."""
    if _RULE_CELL.fullmatch(value) or " " in value or value.lower() in COMMON or stand_in(value):
        return False
    if column.word in CODES:
        return value.isdecimal() and 3 <= len(value) <= 8
    if not column.owned:
        return strong_key(value)
    if column.kind in ("password", "secret"):
        return len(value) > 2 and like_password(value, quoted=True) and not value.replace(".", "").isdecimal()
    return like_key(value) or random_letters(value, 8)


def _row_of_two(text: str, start: int, line: str, end: int) -> Iterator[Hit]:
    """`| Password | hunter2 |`: a name and its value in one row, unless it is a header line."""
    spans = [(first, last) for first, last in _cells(line, "|") if line[first:last].strip()]
    if (
        len(spans) != 2
        or not line.lstrip().startswith("|")
        or _RULE_CELL.match(text[end + 1 : end + 80].lstrip("\n |"))
    ):
        return
    (first, last), (first_2, last_2) = spans
    named = name_kind(line[first:last].strip(_TRIMMED).replace(" ", "_"))
    cell = line[first_2:last_2]
    value = cell.strip(_TRIMMED)
    if (
        named
        and len(value) > 3
        and is_secret_cell(TextColumn(1, *named), value)
        and (not value.isalpha() or random_letters(value, 6))
    ):
        at = start + first_2 + len(cell) - len(cell.lstrip(_TRIMMED))
        yield at, at + len(value), named[0]


TABLES = [RedactionRule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _tables)]
