"""Readers by name, by content, and those that another package adds."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from scalepan.errors import InputError
from scalepan.trace.readers import BadRow, Reader, SeenRecords, Source, TraceLine, readers, table
from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.source import decode
from tests.trace.readers.rows import reader_of, steps_of, traces_of


def read_mylog(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """A reader as its author would write it: it expects every record to be complete."""
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        row = decode(record.data)
        builder = TraceBuilder("mylog")
        builder.request(row["question"])
        builder.say(row["answer"])
        yield TraceLine(record.line, builder.build(str(record.line)))


MYLOG = Reader("mylog", "the logs of our help desk", lambda head: "question" in head.records[0], read_mylog)
NOT_A_READER = read_mylog


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """The entry point of an installed package."""
    entry = EntryPoint("mylog", f"{__name__}:{request.param}", table.GROUP)
    monkeypatch.setattr(table, "entry_points", lambda group: [entry] if group == table.GROUP else [])
    readers.cache_clear()
    yield
    readers.cache_clear()


@pytest.mark.parametrize("added", ["MYLOG"], indirect=True)
def test_a_package_adds_a_reader(added: None) -> None:
    log = b'{"question": "Open on Sunday?", "answer": "No"}'
    assert reader_of(log) == "mylog"
    assert [steps_of(trace) for trace in traces_of(log)] == [[("thought", None, "No")]]


@pytest.mark.parametrize("added", ["MYLOG"], indirect=True)
def test_what_an_added_reader_raises_is_one_line_about_the_file(added: None) -> None:
    with pytest.raises(InputError, match=r"log\.json: reader 'mylog' failed: KeyError: 'answer'"):
        traces_of(b'{"question": "Open on Sunday?"}')
    # Its sniff fails on a file without records, which is then nobody's.
    assert reader_of(b"plain text") is None


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ("NOT_A_READER", r"names <function read_mylog .*, which is not a Reader"),
        ("GONE", r"cannot be loaded: AttributeError: .*"),
    ],
    indirect=["added"],
)
def test_an_entry_point_that_cannot_be_used_is_said(added: None, problem: str) -> None:
    with pytest.raises(InputError, match=rf"entry point 'mylog' in scalepan\.readers {problem}"):
        readers()
