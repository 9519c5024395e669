"""The requests in a file, and those in the files beside it that belong to them.

Collectors usually write spans and logs into two files of one folder, and half of what a run says is in the logs. So a
file of spans is read together with the files of logs beside it, and a file of logs with those of spans; a trace is made
only if the file that was asked for has a record of it. Where a folder has more than `MAX_BESIDE` files of the other
sort, only those belong together that have the same name but for the word (`traces-1.jsonl`, `logs-1.jsonl`).
"""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from scalepan.errors import InputError, ScalepanError
from scalepan.trace.files import ENDINGS
from scalepan.trace.readers.feed import feed
from scalepan.trace.readers.otlp import wire
from scalepan.trace.readers.otlp.records import LOGS, SPANS, is_request
from scalepan.trace.readers.source import BadRow, Head, JsonRecord, Source, decode_as, open_path

MAX_BESIDE = 8
_MAX_LOOKED_AT = 512
_TELLING = 8
"""So many requests at its beginning tell what is in a file."""
_JSON = msgspec.json.Decoder()
_WORDS = re.compile(r"traces?|spans?|logs?|events?")


class FileRequest(NamedTuple):
    """One request of a file."""

    line: int
    """Its line; in protobuf, its number."""
    size: int
    data: dict[str, Any]
    own: bool = True
    """Whether it is in the file that was asked for, and not in one beside it."""
    cut: BadRow | None = None
    """Instead of data: the last record, of which only the beginning was written."""


def requests_with_others(source: Source) -> Iterator[FileRequest | BadRow]:
    """The requests of a file, and in between those of the files beside it, as far as each is read."""
    with ExitStack() as stack:
        others = [_Beside(stack.enter_context(open_path(path))) for path in _others(source)]
        size = source.path.stat().st_size if others and source.path is not None else 0
        for request in requests_of(source):
            share = source.position / size if size else 1.0
            for other in others:
                yield from other.until(share)
            yield request
        for other in others:
            yield from other.until(None)


def requests_of(source: Source) -> Iterator[FileRequest | BadRow]:
    """The requests of one file, and its bad records."""
    return _json_requests(source) if is_text(source.head) else _protobuf_requests(source)


def is_text(head: Head) -> bool:
    """Whether a file is JSON."""
    return head.start.lstrip()[:1] in (b"{", b"[")


class _Beside:
    """A file beside the one that was asked for. What is wrong with it is said when it is read itself."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._size = max(source.path.stat().st_size, 1) if source.path is not None else 1
        self._requests = requests_of(source)
        self._done = False

    def until(self, share: float | None) -> Iterator[FileRequest]:
        """The next requests, up to a share of the file; None for all that are left."""
        while not self._done and (share is None or self._source.position / self._size <= share):
            try:
                request = next(self._requests, None)
            except ScalepanError:
                request = None
            self._done = request is None
            if isinstance(request, FileRequest):
                yield request._replace(own=False)


def _json_requests(source: Source) -> Iterator[FileRequest | BadRow]:
    def take(record: JsonRecord) -> Iterator[FileRequest | BadRow]:
        data = decode_as(_JSON, record.data)
        if isinstance(data, dict) and is_request(data):
            yield FileRequest(record.line, len(memoryview(record.data)), data)
        else:
            yield source.bad(record.line, f"is not an OTLP request: it has no {SPANS} and no {LOGS}")

    broken = yield from feed(source, take)
    if broken is not None:
        yield FileRequest(broken.line, 0, {}, cut=broken) if "truncated" in broken.error.problem else broken


def _protobuf_requests(source: Source) -> Iterator[FileRequest | BadRow]:
    data = source.whole()
    bodies = wire.frames(data) if wire.is_framed(data[:4096]) else iter([data])
    number = 0
    try:
        for body in bodies:
            number += 1
            try:
                yield FileRequest(number, len(body), wire.decoded(body))
            except InputError as error:
                yield BadRow(number, error.at(file=source.name, line=number))
    except InputError as error:
        broken = BadRow(number + 1, error.at(file=source.name, line=number + 1))
        yield FileRequest(number + 1, 0, {}, cut=broken)


def _others(source: Source) -> list[Path]:
    """The files beside a file that have the other half of its traces."""
    if source.path is None:
        return []
    try:
        beside = sorted(
            Path(entry.path)
            for entry in os.scandir(source.path.parent)
            if entry.is_file() and entry.name.lower().endswith(ENDINGS) and entry.name != source.path.name
        )
        related = [path for path in beside if _stem(path) == _stem(source.path)]
        wanted = LOGS if _sort(source.path) == SPANS else SPANS
        found = [path for path in beside[:_MAX_LOOKED_AT] if _sort(path) == wanted]
        return found if len(found) <= MAX_BESIDE else [path for path in found if path in related]
    except (OSError, ScalepanError):
        return []


def _stem(path: Path) -> str:
    return _WORDS.sub("*", path.name.lower(), count=1)


def _sort(path: Path) -> str | None:
    stat = path.stat()
    return _sort_of(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=2048)
def _sort_of(path: Path, _changed: int, _size: int) -> str | None:
    """Whether a file has spans, or only logs; None if it is not OTLP. A file is looked at once."""
    try:
        with open_path(path) as source:
            if is_text(source.head):
                first = source.head.records[:_TELLING]
            elif wire.is_framed(source.head.start) or wire.is_request(source.head.start):
                begun = islice(requests_of(source), _TELLING)
                first = [request.data for request in begun if isinstance(request, FileRequest)]
            else:
                first = []
    except ScalepanError:
        return None
    if any(SPANS in one for one in first):
        return SPANS
    return LOGS if any(LOGS in one for one in first) else None
