"""The reader of HAR files: the calls of language models among everything that a browser or a proxy recorded."""

from collections.abc import Iterator
from itertools import chain

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.trace.readers.bodies.api import ModelCall
from scalepan.trace.readers.bodies.reader import loop_traces
from scalepan.trace.readers.bodies.shapes import api_of, har_logged, is_model_call, model_call
from scalepan.trace.readers.lenient import mapping
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords


class HarLog(msgspec.Struct):
    """What is inside."""

    entries: list[msgspec.Raw]


class HarFile(msgspec.Struct):
    """The document."""

    log: HarLog


resolved(HarFile)


def read_har(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of a HAR file; their line is the number of the entry."""
    try:
        entries = msgspec.json.decode(source.whole(), type=HarFile).log.entries
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        yield source.bad(1, f"is not a HAR file: {error}")
        return
    calls = _calls(entries, source)
    first = next(calls, None)
    if first is None:
        yield source.bad(1, "has no call of a language model that can be read")
    else:
        yield from loop_traces(chain([first], calls), source, seen)


def _calls(entries: list[msgspec.Raw], source: Source) -> Iterator[ModelCall | BadRow]:
    for number, entry in enumerate(entries, 1):
        try:
            bodies = har_logged(decode(entry))
        except InputError as error:
            yield BadRow(number, error.at(file=source.name, line=number))
            continue
        api = api_of(bodies)
        if api is not None and is_model_call(bodies):
            yield model_call(bodies, number, api)


def _sniff(head: Head) -> bool:
    log = mapping(head.first.get("log"))
    return "entries" in log or {"version", "creator"} <= log.keys()


READER = Reader("har", "HAR files with calls of the APIs above", _sniff, read_har)
