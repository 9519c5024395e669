"""What a run writes: a row per trace, the rejected records, the traces worth sharing.

Rows are appended in complete lines, so that a run that was stopped or killed leaves a file that can be read, and that
`resume` continues. A Parquet file is written at the end, from such a file beside it.
"""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.files import open_private, write_private
from scalepan.trace.rows import COLUMNS, ValueRow

PARQUET = ".parquet"
BUFFER_BYTES = 1 << 20
_START = b'{"id":"kp:trace:'
"""How every row begins."""
TOGETHER = 256
"""How many rows are encoded at once."""
_encoder = msgspec.json.Encoder(enc_hook=str)


class _Place(msgspec.Struct):
    file: str
    number: int


resolved(_Place)


class RowsFile:
    """A file of rows, JSON lines or Parquet by its name."""

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        self.path = path
        self._lines = path.with_name(f"{path.name}.part.jsonl") if path.suffix == PARQUET else path
        self.done: dict[str, int] = {}
        """Of each file that was read before: the number of the last trace that has a row."""
        self.rows = 0
        """How many rows there were before."""
        self.added = 0
        """How many this run has written."""
        self._waiting: list[ValueRow] = []
        if resume:
            self._continue()
        else:
            for there in {path, self._lines}:
                if os.path.lexists(there) and not _is_device(there):
                    raise InputError("exists already; --resume continues it", file=str(there))
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if resume else os.O_TRUNC)
        self._file: BinaryIO = open(open_private(self._lines, flags), "wb", BUFFER_BYTES)  # noqa: SIM115 - `close`

    def has(self, file: str, number: int) -> bool:
        """Whether a trace has its row from before."""
        return number <= self.done.get(file, 0)

    def add(self, row: ValueRow) -> None:
        """Write one row."""
        self._waiting.append(row)
        self.added += 1
        if len(self._waiting) == TOGETHER:
            self._write()

    def close(self, *, complete: bool = True) -> None:
        """Finish the file. After a run that was stopped, what is needed to continue stays beside a Parquet file."""
        self._write()
        self._file.close()
        if self._lines is self.path:
            return
        from scalepan.store.duckdb.parquet import write_parquet

        write_parquet(self._lines, self.path, COLUMNS)
        if complete:
            self._lines.unlink()

    def _write(self) -> None:
        self._file.write(_encoder.encode_lines(self._waiting))
        self._waiting.clear()

    def _continue(self) -> None:
        if self._lines is not self.path and self.path.exists() and not self._lines.exists():
            from scalepan.store.duckdb.parquet import write_json_lines

            write_json_lines(self.path, self._lines)
        if not self._lines.exists():
            return
        with open(open_private(self._lines, os.O_RDWR), "r+b") as file:
            whole = 0
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n") and line[: len(_START)] == _START[: len(line)]:
                    break  # half a row, from a process that was killed
                try:
                    place = msgspec.json.decode(line, type=_Place)
                except (msgspec.DecodeError, UnicodeError) as error:
                    raise InputError(
                        f"is not a row of 'scalepan value': {error}", file=str(self._lines), line=number
                    ) from None
                self.done[place.file] = max(place.number, self.done.get(place.file, 0))
                self.rows += 1
                whole += len(line)
            file.truncate(whole)


class LinesFile:
    """A file of JSON lines, written anew and readable by its owner alone."""

    def __init__(self, path: Path) -> None:
        self._file = write_private(path)

    def add(self, data: Any) -> None:
        """Write one line."""
        self._file.write((data if isinstance(data, bytes) else _encoder.encode(data)) + b"\n")

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()
