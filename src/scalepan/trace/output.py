"""What a run writes: a row per trace, the rejected records, the traces worth sharing.

Rows are appended in complete lines, so that a run that was stopped or killed leaves a file that can be read, and that
`resume` continues. A Parquet file is written at the end, from such a file beside it.
"""

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Self
from zlib import crc32

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.files import open_private, write_private
from scalepan.trace.gate import Verdict
from scalepan.trace.rows import COLUMNS, ValueRow

PARQUET = ".parquet"
BUFFER_BYTES = 1 << 20
_START = b'{"id":"kp:trace:'
"""How every row begins."""
TOGETHER = 256
"""How many rows are encoded at once."""
_encoder = msgspec.json.Encoder(enc_hook=str)


class _WrittenRow(msgspec.Struct):
    """What continuing a run needs of a row."""

    id: str
    file: str
    number: Annotated[int, msgspec.Meta(ge=1, lt=2**62)]
    verdict: Verdict
    policy: str


resolved(_WrittenRow)
_row = msgspec.json.Decoder(_WrittenRow)


class DoneFile:
    """What an earlier run has written of one input file, and whether the file is still the same."""

    def __init__(self) -> None:
        self.last = 0
        """Number of the last trace that has a row."""
        self.reached = 0
        """Number of the last of them that this run has read."""
        self._shared = array("Q")
        self._expected = self._found = 0

    def add(self, number: int, id_: str, verdict: Verdict) -> None:
        """One more row."""
        self.last = number
        if verdict == "share":
            self._shared.append(number)
        self._expected = _checksum(number, id_, self._expected)

    def read(self, number: int, id_: str) -> bool:
        """A trace that has a row is read again; whether all of them so far can be those that the rows are of."""
        self.reached = number
        self._found = _checksum(number, id_, self._found)
        return number < self.last or self._found == self._expected

    def shared(self, number: int) -> bool:
        """Whether a trace passed the gate."""
        at = bisect_left(self._shared, number)
        return at < len(self._shared) and self._shared[at] == number


def _checksum(number: int, id_: str, before: int) -> int:
    return crc32(f"{number} {id_}\n".encode("utf-8", "surrogatepass"), before)


class RowsFile:
    """A file of rows, JSON lines or Parquet by its name."""

    def __init__(self, path: Path, policy: str, *, resume: bool = False) -> None:
        """`policy` is the version of the policy that all rows are computed under."""
        self.path = path
        self._policy = policy
        self._lines = path.with_name(f"{path.name}.part.jsonl") if path.suffix == PARQUET else path
        self.done: dict[str, DoneFile] = {}
        """The files that were read before."""
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
        done = self.done.get(file)
        return done is not None and number <= done.last

    def read_again(self, file: str, number: int, id_: str) -> bool:
        """A trace that has a row: whether it passed the gate. InputError if its file is not what it was."""
        done = self.done[file]
        if not done.read(number, id_):
            raise self._changed(file)
        return done.shared(number)

    def check_read(self, files: Iterable[str]) -> None:
        """After everything was read: InputError if one of the files has fewer traces than rows."""
        for file in files:
            done = self.done.get(file)
            if done is not None and done.reached < done.last:
                raise self._changed(file)

    def _changed(self, file: str) -> InputError:
        return InputError(f"has changed since its rows were written to {self.path}; write to another file", file=file)

    def add(self, row: ValueRow) -> None:
        """Write one row."""
        self._waiting.append(row)
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
        # Ctrl-C may come at any point. A row that is lost will be written when the run continues; none may come twice.
        rows, self._waiting = self._waiting, []
        self._file.write(_encoder.encode_lines(rows))
        self.added += len(rows)

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
                row = self._decoded(line, number)
                self.done.setdefault(row.file, DoneFile()).add(row.number, row.id, row.verdict)
                self.rows += 1
                whole += len(line)
            file.truncate(whole)

    def _decoded(self, line: bytes, number: int) -> _WrittenRow:
        try:
            row = _row.decode(line)
        except (msgspec.DecodeError, UnicodeError) as error:
            problem = f"is not a row of 'scalepan value': {error}"
            raise InputError(problem, file=str(self._lines), line=number) from None
        done = self.done.get(row.file)
        if row.number <= (done.last if done is not None else 0):
            raise InputError(f"is a row of {row.file} that is not in its place", file=str(self._lines), line=number)
        if row.policy != self._policy:
            raise InputError(
                f"has a value under policy {row.policy}, not under {self._policy}, which is in force now; "
                "write to another file",
                file=str(self._lines),
                line=number,
            )
        return row


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
