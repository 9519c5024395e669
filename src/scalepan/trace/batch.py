"""Files of traces, read and valued one after the other, in constant memory."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import msgspec

from scalepan.errors import InputError, ScalepanError
from scalepan.trace.files import InputFile
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import (
    BadRow,
    SeenRecords,
    Source,
    TraceLine,
    find_reader,
    open_path,
    read_source,
    reader_named,
)
from scalepan.trace.value import TraceValuer
from scalepan.trace.valued import Valued


class TraceItem(msgspec.Struct, frozen=True):
    """A trace or a bad record, and where it is."""

    file: str
    number: int
    """Its number in the file, from 1, bad records counted."""
    row: TraceLine | BadRow
    valued: Valued | None = None
    """The trace with its value, after `value_items`."""


class Skipped(NamedTuple):
    """A file in a folder that holds no traces."""

    file: str


TELL_EVERY = 16
"""Asking the system for a position costs as much as valuing a trace."""
Position = Callable[[int], None]
"""Told how many bytes of all files have been read."""


def read_files(
    files: Iterable[InputFile],
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    position: Position | None = None,
) -> Iterator[TraceItem | Skipped]:
    """Every trace and bad record of all files in order. A file that breaks is one bad record; then comes the next."""
    if format is not None:
        reader_named(format)  # a name that does not exist is the caller's mistake, not each file's
    seen = SeenRecords()
    before = 0
    for file in files:
        number = 0
        try:
            with _opened(file) as source:
                if format is None and not file.named and find_reader(source.head) is None:
                    yield Skipped(file.name)
                    continue
                for row in read_source(source, format, seen):
                    number += 1
                    yield TraceItem(file.name, number, row)
                    if position is not None and number % TELL_EVERY == 1:
                        position(before + source.position)
        except (ScalepanError, RecursionError) as error:
            said = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
            problem = error if isinstance(error, InputError) else InputError(said, file=file.name)
            yield TraceItem(file.name, number + 1, BadRow(problem.line or 0, problem))
        before += file.size


@contextmanager
def _opened(file: InputFile) -> Iterator[Source]:
    if file.problem is not None:
        raise InputError(file.problem, file=file.name)
    if file.path is not None:
        with open_path(file.path, file.name) as source:
            yield source
    else:
        yield Source(sys.stdin.buffer, file.name)


def value_items(
    items: Iterable[TraceItem | Skipped], valuer: TraceValuer, *, strict: bool = False
) -> Iterator[TraceItem | Skipped]:
    """The same items, each trace with its value; with `strict` the first bad record is raised."""
    if valuer.batch_size == 1:
        for item in items:
            yield _with_value(item, valuer.value_alone, strict=strict)
        return
    remaining = iter(items)
    while some := list(islice(remaining, valuer.batch_size)):
        value = _encoded_together(some, valuer)
        for item in some:
            yield _with_value(item, value, strict=strict)


def _encoded_together(items: list[TraceItem | Skipped], valuer: TraceValuer) -> Callable[[ReasoningTrace], Valued]:
    traces = [item.row.trace for item in items if isinstance(item, TraceItem) and isinstance(item.row, TraceLine)]
    values = valuer.value_many(traces)
    return lambda _: next(values)


def _with_value(
    item: TraceItem | Skipped, value: Callable[[ReasoningTrace], Valued], *, strict: bool
) -> TraceItem | Skipped:
    if isinstance(item, Skipped):
        return item
    row = item.row
    if isinstance(row, TraceLine):
        return TraceItem(item.file, item.number, row, value(row.trace))
    if strict:
        raise row.error
    return item
