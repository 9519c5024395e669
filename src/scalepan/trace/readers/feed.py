"""Records of a log, given to its reader one by one; only the reader knows whether half a last line matters."""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from scalepan.errors import InputError
from scalepan.trace.readers.source import BadRow, JsonRecord, Source

T = TypeVar("T")


def feed(source: Source, take: Callable[[JsonRecord], Iterable[T]]) -> "Generator[T | BadRow, None, BadRow | None]":
    """What `take` makes of each record, and the bad ones in their place; an InputError that it raises makes one.

    The fault of the very last record is returned instead: a log that is still being written, or was when the machine
    stopped, ends in half a line.
    """
    broken: BadRow | None = None
    for record in source.records():
        if broken is not None:
            yield broken
            broken = None
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            yield from take(record)
        except RecursionError:
            broken = source.bad(record.line, "is nested too deeply")
        except InputError as error:
            broken = BadRow(record.line, error.at(file=source.name, line=record.line))
    return broken
