"""Columns called password, token or the like in SQL: `INSERT INTO users (name, password) VALUES ('ann', 'hunter2')`.

Reading stops at the first value that is not a literal, or that is cut already. So cuts can only shorten the rows, and
redacting twice changes nothing.
"""

import re
from collections.abc import Iterator

from scalepan.redact.names import STEMS
from scalepan.redact.plain import CUT
from scalepan.redact.rule import Hit, RedactionRule, everywhere
from scalepan.redact.tables import TextColumn, is_secret_cell, secret_columns
from scalepan.redact.view import View

# For lower-case text.
_INSERT = re.compile(
    rf"insert\s{{1,4}}(?:ignore\s{{1,4}})?into\s{{1,4}}[^\s({CUT}]{{1,80}}\s{{0,4}}"
    rf"\((?P<columns>[^(){CUT}]{{1,1000}})\)\s{{0,40}}values\s{{0,40}}"
)
_ROW = re.compile(r"\s{0,40},?\s{0,40}\(")
# A string, perhaps as the argument of a function; a number, or a function without a string.
_VALUE = re.compile(
    rf"\s{{0,40}}(?:(?P<call>\w{{1,30}}\()?'(?P<text>(?:[^'\\{CUT}]|''|\\[^{CUT}]){{0,1000}})'(?(call)\))"
    rf"|[^'\"(),{CUT}]{{1,200}}(?:\([^'\"(){CUT}]{{0,80}}\))?)\s{{0,40}}(?P<next>[,)])"
)


def _inserts(view: View) -> Iterator[Hit]:
    if not view.places_of(STEMS):
        return
    done = 0
    for at in everywhere(view.lower, "insert"):
        head = _INSERT.match(view.lower, at) if at >= done else None
        columns = secret_columns(view.text[slice(*head.span("columns"))].split(",")) if head else []
        if head and columns:
            done = head.end()
            for start, end, kind in _rows(view.text, head.end(), columns):
                done = end
                yield start, end, kind


def _rows(text: str, at: int, columns: list[TextColumn]) -> Iterator[Hit]:
    by_number = {column.number: column for column in columns}
    while row := _ROW.match(text, at):
        at, number, more = row.end(), 0, True
        while more:
            value = _VALUE.match(text, at)
            if value is None:
                return
            column = by_number.get(number)
            if column and value["text"] and is_secret_cell(column, value["text"]):
                yield (*value.span("text"), column.kind)
            at, number, more = value.end(), number + 1, value["next"] == ","


INSERTS = [RedactionRule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _inserts)]
