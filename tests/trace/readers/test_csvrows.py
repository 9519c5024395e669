"""CSV: what Python's own writer writes is read back, whatever the fields hold; what is damaged is said."""

import csv
import io
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.trace.readers.csvrows import csv_header, csv_rows, split_row

NAMES = ["id", "input", "output"]
FIELDS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('",\r\n'), max_size=12)


def read(data: bytes, max_bytes: int = 10_000) -> Iterator[tuple[int, bytes | str]]:
    return csv_rows(io.BytesIO(data).readline, NAMES, max_bytes)


@given(st.lists(st.tuples(st.just("x"), FIELDS, FIELDS), max_size=5), st.sampled_from(["\r\n", "\n"]))
def test_what_pythons_writer_writes_is_read_back(rows: list[tuple[str, str, str]], ending: str) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=ending)
    writer.writerows([NAMES, *rows])
    found = [msgspec.json.decode(row) for _, row in read(out.getvalue().encode())]
    assert found == [{name: field for name, field in zip(NAMES, row, strict=True) if field} for row in rows]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        # The line is where the row begins.
        (b'id,input,output\n1,"a\nb",c\n2,,\n', [(2, b'{"id":"1","input":"a\\nb","output":"c"}'), (4, b'{"id":"2"}')]),
        (b"id,input,output\n\n1,2,3", [(3, b'{"id":"1","input":"2","output":"3"}')]),
        (b"id,input,output\n1,2\n", [(2, "has 2 fields; the header has 3")]),
        (b'id,input,output\n1,"2" x,3\n', [(2, "is not a row of CSV in UTF-8")]),
        (b'id,input,output\n1,"2,3\n4,5,6', [(2, "is not a row of CSV in UTF-8")]),
        (
            b"id,input,output\n1,\xff,3\n4,5,6",
            [(2, "is not a row of CSV in UTF-8"), (3, b'{"id":"4","input":"5","output":"6"}')],
        ),
        (b"id,input,output\n", []),
        (b"", []),
    ],
)
def test_rows_and_what_is_wrong_with_them(data: bytes, rows: list[tuple[int, bytes | str]]) -> None:
    assert list(read(data)) == rows


def test_a_quote_that_stays_open_does_not_take_the_rest_of_the_file_into_memory() -> None:
    data = b'id,input,output\n1,"open\n' + b"2,2,2\n" * 100
    found = list(read(data, max_bytes=50))
    assert found[0] == (2, "is longer than 50 bytes")
    assert found[-1] == (102, b'{"id":"2","input":"2","output":"2"}')


@pytest.mark.parametrize(
    ("start", "names"),
    [
        (b"id,trace_id,type\n1,2,3", ["id", "trace_id", "type"]),
        (b'"id","Trace Name","type"\r\n', ["id", "Trace Name", "type"]),
        (b"id,type\n", None),
        (b"id,id,type\n", None),
        (b'{"a": 1, "b": 2, "c": 3}', None),
        (b"1,2,3\n", None),
        (b"", None),
    ],
)
def test_a_header_has_names(start: bytes, names: list[str] | None) -> None:
    assert csv_header(start) == names


@pytest.mark.parametrize(
    ("row", "fields"), [(b"", [""]), (b",", ["", ""]), (b'"",a', ["", "a"]), (b'a"b,c', ['a"b', "c"])]
)
def test_fields(row: bytes, fields: list[str]) -> None:
    assert split_row(row) == fields
