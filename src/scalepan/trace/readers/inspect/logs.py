"""Which samples are in a log of Inspect: those of an archive, member by member, or those of one JSON document."""

import io
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.files import open_source
from scalepan.trace.readers.inspect.archive import Archive
from scalepan.trace.readers.inspect.sample import InspectRun, Sample, read_sample, referred
from scalepan.trace.readers.lenient import items, mapping, text, whole
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords

_ZIP = b"PK\x03\x04"
_FIRST_MEMBERS = (b"_journal/", b"header.json", b"samples/", b"summaries.json")
_WHOLE_SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")
_SHELL = re.compile(r"(samples/.+_epoch_\d+)/sample\.json")
_CHUNK = re.compile(r"(samples/.+_epoch_\d+)/(messages|events|attachments)/(\d{1,12})\.json")


class _Document(msgspec.Struct):
    """The JSON form of a log; samples stay undecoded until their turn."""

    eval: Any = None
    samples: list[msgspec.Raw] | None = None


resolved(_Document)


def _read(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    samples = _of_archive(source) if source.head.start.startswith(_ZIP) else _of_document(source)
    for number, sample in enumerate(samples, 1):
        if isinstance(sample, InputError):
            yield BadRow(number, sample.at(file=source.name, line=number))
            continue
        # A repeated run copies the samples that it does not have to run again.
        if sample.uuid is not None and not seen.first(f"inspect:{sample.uuid}"):
            continue
        try:
            for trace in read_sample(sample):
                yield TraceLine(number, trace)
        except InputError as error:
            yield BadRow(number, error.at(file=source.name, line=number))


def _of_document(source: Source) -> Iterator[Sample | InputError]:
    try:
        document = msgspec.json.decode(source.whole(), type=_Document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        yield InputError(f"is not a log of Inspect: {' '.join(str(error).split())}")
        return
    run = InspectRun.of(mapping(document.eval))
    for raw in document.samples or []:
        try:
            yield Sample.decoded(raw, run)
        except InputError as error:
            yield error


def _of_archive(source: Source) -> Iterator[Sample | InputError]:
    with ExitStack() as stack:
        if source.path is not None and not source.name.endswith((".gz", ".zst")):
            # Read in place: only one member is in memory at a time.
            file = stack.enter_context(open_source(source.path))
        else:
            file = io.BytesIO(source.whole())
        try:
            archive = Archive(file)
        except InputError as error:
            yield error
            return
        run = _run_of(archive)
        chunks = _chunks(archive)
        for name in archive.members:
            shell = _SHELL.fullmatch(name)
            try:
                if shell:
                    yield Sample(_joined(archive, name, chunks.get(shell[1], {})), run)
                elif _WHOLE_SAMPLE.fullmatch(name):
                    yield Sample.decoded(archive.read(name), run)
            except InputError as error:
                yield error


def _run_of(archive: Archive) -> InspectRun:
    """What the log says of all samples. The header is written at the end: a run that died has only its beginning."""
    for name in ("header.json", "_journal/start.json"):
        try:
            return InspectRun.of(mapping(decode(archive.read(name)).get("eval")))
        except (InputError, KeyError):
            continue
    return InspectRun.of({})


def _chunks(archive: Archive) -> dict[str, dict[str, list[str]]]:
    """The pieces of samples that are stored in pieces: by sample, then by kind, in their order."""
    found: dict[str, dict[str, list[tuple[int, str]]]] = {}
    for name in archive.members:
        if match := _CHUNK.fullmatch(name):
            found.setdefault(match[1], {}).setdefault(match[2], []).append((int(match[3]), name))
    return {
        sample: {kind: [name for _, name in sorted(names)] for kind, names in kinds.items()}
        for sample, kinds in found.items()
    }


def _joined(archive: Archive, shell: str, chunks: dict[str, list[str]]) -> dict[str, Any]:
    """A sample that is stored in pieces, as if it were whole."""
    sample = decode(archive.read(shell))
    messages = _sequence(archive, chunks.get("messages", []))
    attachments = _sequence(archive, chunks.get("attachments", []))
    return sample | {
        "messages": referred(messages, sample.get("message_refs")),
        "events": _sequence(archive, chunks.get("events", [])),
        "events_data": {"messages": messages},
        "attachments": {str(index): content for index, content in enumerate(attachments)},
    }


def _sequence(archive: Archive, names: list[str]) -> list[Any]:
    found: list[Any] = []
    for name in names:
        try:
            found += items(msgspec.json.decode(archive.read(name)))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InputError(f"'{name}' is not JSON: {error}") from None
    return found


def _sniff(head: Head) -> bool:
    if head.start.startswith(_ZIP):
        return head.name.endswith(".eval") or head.start[30:].startswith(_FIRST_MEMBERS)
    run = mapping(head.first.get("eval"))
    return whole(head.first.get("version")) is not None and text(run.get("task")) is not None and "model" in run


READER = Reader("inspect", "Inspect evaluation logs", _sniff, _read)
