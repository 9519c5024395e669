"""What a coding agent tells a hook: which session, and where its transcript is. It is data; none of it is run."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError, quoted

LARGEST = 1 << 20
"""Bytes that an event may have. Claude Code's are a few hundred."""


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of Claude Code, as far as it is used here. Other keys are ignored."""

    transcript_path: str
    session_id: str | None = None
    hook_event_name: str | None = None
    reason: str | None = None
    """Why a session ended."""
    cwd: str | None = None


resolved(HookEvent)


def read_event(stream: BinaryIO) -> HookEvent:
    """The event on standard input."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"the event has more than {LARGEST:,} bytes", file="standard input")
    try:
        return msgspec.json.decode(data, type=HookEvent)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"is not an event of a hook: {error}", file="standard input") from None


def transcript_files(event: HookEvent) -> list[Path]:
    """The transcript, and the folder of its sub-agents if there is one. InputError unless it is a regular file."""
    path = Path(event.transcript_path).expanduser()
    try:
        regular = path.is_absolute() and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        regular = False
    if not regular:
        raise InputError(f"{quoted(event.transcript_path)} is not the path of a file", path="transcript_path")
    helpers = path.with_suffix("") / "subagents"
    return [path, helpers] if path.suffix and helpers.is_dir() else [path]
