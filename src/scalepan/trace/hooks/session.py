"""The value of a session that has just ended: a row for it and one for each of its sub-agents, at the end of a file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from scalepan import clock
from scalepan.errors import InputError
from scalepan.files import append_line, make_folder
from scalepan.trace.batch import TraceItem, read_files, value_items
from scalepan.trace.files import input_files
from scalepan.trace.hooks.event import HookEvent, transcript_files
from scalepan.trace.rows import row_of
from scalepan.trace.value import TraceValuer

FILE_NAME = "sessions.jsonl"


def sessions_file() -> Path:
    """Where the rows go: the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("scalepan") / FILE_NAME


def value_session(event: HookEvent, valuer: TraceValuer, *, format: str) -> Iterator[TraceItem]:  # noqa: A002
    """Every trace of the session with its value. A session without a step of an agent is an InputError."""
    files = input_files(transcript_files(event))
    problem: InputError | None = None
    found = 0
    for item in value_items(read_files(files, format=format), valuer):
        if isinstance(item, TraceItem) and item.valued is not None:
            found += 1
            yield item
        elif isinstance(item, TraceItem):
            problem = problem or getattr(item.row, "error", None)
    if not found:
        raise problem or InputError("no trace in it", file=event.transcript_path)


def append_rows(items: list[TraceItem], event: HookEvent, file: Path) -> None:
    """Add the rows to the file. A session that is resumed and ends again has a later row with the same id."""
    make_folder(file.parent)
    at = datetime.fromtimestamp(clock.time(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    for item in items:
        if item.valued is not None:
            row = msgspec.to_builtins(row_of(item.file, item.number, item.valued))
            append_line(file, msgspec.json.encode({"valued_at": at, "reason": event.reason, **row}))
