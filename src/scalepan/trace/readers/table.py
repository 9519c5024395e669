"""Every format that can be read: a table of names, how each is recognized, and how it is read.

A package adds its own by an entry point in the group `scalepan.readers` that names a `Reader`.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple

from scalepan.arguments import wrong
from scalepan.errors import InputError, named
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine

GROUP = "scalepan.readers"


class SeenRecords:
    """Keys of records that were read before, so that a copy in another file of the same folder is not counted twice."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def first(self, key: str) -> bool:
        """Whether this key is new; it is not from now on."""
        before = len(self._keys)
        self._keys.add(key)
        return len(self._keys) > before


class Reader(NamedTuple):
    """One format."""

    name: str
    """What `--format` takes."""
    title: str
    """What people call it."""
    sniff: Callable[[Head], bool]
    """Whether a file with this beginning is in the format. Exactly one reader says yes."""
    read: Callable[[Source, SeenRecords], Iterator[TraceLine | BadRow]]
    """The traces of a file, and its bad records, in their order."""


MODULES = (
    "native",
    "claude.session",
    "claude.stream",
    "atif",
    "dataset",
    "codex.reader",
    "inspect",
    "mini_swe_agent",
    "gemini.reader",
    "otlp.reader",
    "langsmith",
    "langfuse",
    "har",
    "anthropic",
    "openai_responses",
    "openai_chat",
)
"""The modules beside this one that have a READER, in the order in which they are asked."""


@lru_cache(maxsize=1)
def readers() -> dict[str, Reader]:
    """Every reader by name: the built-in ones, then those of installed packages."""
    built_in: list[Reader] = [import_module(f"{__package__}.{module}").READER for module in MODULES]
    table = {reader.name: reader for reader in built_in}
    for entry in entry_points(group=GROUP):
        try:
            reader = entry.load()
        except Exception as error:
            raise InputError(f"entry point '{entry.name}' in {GROUP} cannot be loaded: {named(error)}") from error
        if not isinstance(reader, Reader):
            raise InputError(f"entry point '{entry.name}' in {GROUP} names {reader!r}, which is not a Reader")
        table.setdefault(reader.name, _guarded(reader))
    return table


def _guarded(reader: Reader) -> Reader:
    """A reader of another package. Whatever it raises is a fault of the file that it was reading."""

    def sniff(head: Head) -> bool:
        try:
            return bool(reader.sniff(head))
        except Exception:
            return False

    def read(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
        try:
            yield from reader.read(source, seen)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"reader '{reader.name}' failed: {named(error)}", file=source.name) from error

    return reader._replace(sniff=sniff, read=read)


def reader_named(name: str) -> Reader:
    """The reader of a format that the user names."""
    table = readers()
    if name not in table:
        raise wrong("format", name, f"one of {', '.join(table)}")
    return table[name]


def find_reader(head: Head) -> Reader | None:
    """The reader of a file, found by its content."""
    return next((reader for reader in readers().values() if reader.sniff(head)), None)


def read_source(
    source: Source,
    format: str | None = None,  # noqa: A002 - the option's name
    seen: SeenRecords | None = None,
) -> Iterator[TraceLine | BadRow]:
    """Every trace of a source, or the reason why a record is none; the format is found, or the one that is named."""
    reader = reader_named(format) if format is not None else find_reader(source.head)
    if reader is None:
        if not source.head.start.strip():
            return iter(())
        raise InputError(
            f"is in no format that can be read ({', '.join(readers())}); --format NAME forces one", file=source.name
        )
    return reader.read(source, seen if seen is not None else SeenRecords())
