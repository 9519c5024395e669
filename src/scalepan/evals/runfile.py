"""A run as a file: one JSON line a case, appended as results come, so that a killed run goes on where it was."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from scalepan.errors import InputError


class RunFile:
    """Results on disk. `resume` keeps what a file has; without it, a file that has something is not touched."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        self.done: dict[str, bool] = {}
        """The cases that the file has a result for already, and whether each passed."""
        try:
            if path.exists() and path.stat().st_size:
                if not resume:
                    raise InputError("has results already; --resume goes on with them, or name another", file=str(path))
                whole = self._read()
                self._file: BinaryIO = path.open("r+b")
                # A process that was killed while writing leaves half a line behind.
                self._file.truncate(whole)
                self._file.seek(whole)
            else:
                self._file = path.open("wb")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None

    def add(self, row: dict[str, object]) -> None:
        """Append one result; it is the file's when this returns."""
        self._file.write(msgspec.json.encode(row, enc_hook=str) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Put everything on disk and let go of the file."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def _read(self) -> int:
        """Take in what is there; where the last whole line ends."""
        end = 0
        for line, data in enumerate(_whole_lines(self.path), 1):
            try:
                result = msgspec.json.decode(data, type=_Result)
            except (msgspec.DecodeError, UnicodeError):
                raise InputError("is not a result of a run", file=str(self.path), line=line) from None
            self.done[result.id] = result.passed
            end += len(data)
        if not end and not self.path.read_bytes().startswith(b'{"id":'):
            raise InputError("is not a result of a run", file=str(self.path), line=1)
        return end


class _Result(msgspec.Struct):
    """As much of a line as is needed to go on; a golden case is no result."""

    id: str
    passed: bool
    scores: dict[str, object]


def _whole_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for data in file:
            if data.endswith(b"\n"):
                yield data
