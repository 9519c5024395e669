"""Rows of a CSV file as JSON objects, read one by one: quoted fields may hold commas, quotes and line breaks.

Python's own `csv` limits the length of a field by a setting of the whole process, and a logged conversation is longer.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

MIN_COLUMNS = 3
_NAME = rb'"?[A-Za-z_][A-Za-z0-9_. ]{0,63}"?'
_HEADER = re.compile(rb"%s(?:,%s){%d,}\r?$" % (_NAME, _NAME, MIN_COLUMNS - 1))
_FIELD = re.compile(rb'(?:"([^"]*(?:""[^"]*)*)"|([^,"][^,]*)?)(,|$)')


def csv_header(start: bytes) -> list[str] | None:
    """The column names, if the first line of a file is a header; None if the file is something else.

    >>> csv_header(b'"id","trace_id","type"\\r\\n'), csv_header(b"Dear Anna,")
    (['id', 'trace_id', 'type'], None)
    """
    line = start.partition(b"\n")[0].rstrip(b"\r")
    if not _HEADER.match(line):
        return None
    names = split_row(line) or []
    return names if len(set(names)) == len(names) else None


def split_row(row: bytes) -> list[str] | None:
    """The fields of a row; None if it is damaged.

    >>> split_row(b'1,"a, b",')
    ['1', 'a, b', '']
    """
    fields: list[str] = []
    at = 0
    while True:
        found = _FIELD.match(row, at)
        if found is None:
            return None
        quoted, plain, after = found.groups()
        data = quoted.replace(b'""', b'"') if quoted is not None else plain or b""
        try:
            fields.append(data.decode())
        except UnicodeError:
            return None
        at = found.end()
        if not after:
            return fields


def csv_rows(readline: Callable[[], bytes], names: list[str], max_bytes: int) -> Iterator[tuple[int, bytes | str]]:
    """Every row after the header as a JSON object of texts, with its first line; or what is wrong with it.

    Empty fields are left out: CSV has no other way to say that there is nothing.
    """
    number = 1
    readline()
    while line := readline():
        number += 1
        first, row = number, line
        # A quote that is open means that the row goes on.
        pieces, odd = [line], line.count(b'"') % 2
        size = len(line)
        while odd and size <= max_bytes and (line := readline()):
            number += 1
            pieces.append(line)
            size += len(line)
            odd ^= line.count(b'"') % 2
        row = b"".join(pieces).rstrip(b"\r\n")
        if size > max_bytes:
            yield first, f"is longer than {max_bytes:,} bytes"
            continue
        if not row.strip():
            continue
        fields = split_row(row)
        if odd or fields is None:
            yield first, "is not a row of CSV in UTF-8"
        elif len(fields) != len(names):
            yield first, f"has {len(fields)} fields; the header has {len(names)}"
        else:
            yield first, msgspec.json.encode({name: field for name, field in zip(names, fields, strict=True) if field})
