"""A run as a file: one JSON line a case, appended as results come, so that a killed run goes on where it was.

Details quote pages and outputs, so a run file is redacted like everything that is kept, and is its owner's alone.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.files import open_private, write_private
from scalepan.redact import Redactor


class RunFile:
    """Results on disk. `resume` keeps what a file has; without it, a file that has something is not touched."""

    def __init__(self, path: Path, *, resume: bool, redactor: Redactor | None = None) -> None:
        self.path = path
        self._redactor = redactor if redactor is not None else Redactor()
        self.done: list[bool] = []
        """Whether each case passed that the file has a result for already."""
        self._ids: Counter[str] = Counter()
        try:
            if path.exists() and path.stat().st_size:
                if not resume:
                    raise InputError("has results already; --resume goes on with them, or name another", file=str(path))
                whole = self._read()
                self._file: BinaryIO = os.fdopen(open_private(path, os.O_RDWR), "r+b")
                # A process that was killed while writing leaves half a line behind.
                self._file.truncate(whole)
                self._file.seek(whole)
            else:
                self._file = write_private(path)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None

    def takes(self, case_id: str) -> bool:
        """Whether a case is still to be judged. Cases are asked about once each, in their order.

        Ids are redacted, so several may look alike in the file; then the first ones are those that it has.
        """
        redacted = self._redactor.redact(case_id).text
        if self._ids[redacted]:
            self._ids[redacted] -= 1
            return False
        return True

    def add(self, row: dict[str, object]) -> None:
        """Append one result; it is the file's when this returns."""
        self._file.write(redacted_json(row, self._redactor) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Put everything on disk and let go of the file."""
        self._file.flush()
        if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            os.fsync(self._file.fileno())
        self._file.close()

    def _read(self) -> int:
        """Take in what is there; where the last whole line ends."""
        end = 0
        for line, data in enumerate(_whole_lines(self.path), 1):
            try:
                result = msgspec.json.decode(data, type=_Result)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                raise InputError("is not a result of a run", file=str(self.path), line=line) from None
            self.done.append(result.passed)
            self._ids[result.id] += 1
            end += len(data)
        if not end and not self.path.read_bytes().startswith(b'{"id":'):
            raise InputError("is not a result of a run", file=str(self.path), line=1)
        return end


def redacted_json(row: dict[str, object], redactor: Redactor) -> bytes:
    """A row as JSON with every text redacted: alone, and then beside its key, which may be what announces a secret."""
    plain = _redacted(msgspec.to_builtins(row, enc_hook=str), redactor)
    line = msgspec.json.encode(plain)
    again = redactor.redact(line.decode()).text.encode()
    if again == line:
        return line
    try:
        msgspec.json.decode(again, type=_Result)
    except (msgspec.DecodeError, UnicodeError):
        # The cut went through the JSON itself. What stands beside its key is then cut value by value.
        return msgspec.json.encode(_redacted(plain, redactor, with_keys=True))
    return again


def _redacted(value: Any, redactor: Redactor, *, with_keys: bool = False) -> Any:
    if isinstance(value, str):
        return redactor.redact(value).text
    if isinstance(value, dict):
        return {
            redactor.redact(key).text: _pair(key, item, redactor)
            if with_keys and not isinstance(item, (dict, list))
            else _redacted(item, redactor, with_keys=with_keys)
            for key, item in value.items()
        }
    return [_redacted(item, redactor, with_keys=with_keys) for item in value] if isinstance(value, list) else value


def _pair(key: str, value: Any, redactor: Redactor) -> Any:
    """A value as it is, or a placeholder where its key and it together are a secret."""
    pair = msgspec.json.encode({key: value}).decode()
    found = redactor.redact(pair)
    if found.text == pair:
        return value
    try:
        (again,) = msgspec.json.decode(found.text.encode(), type=dict[str, Any]).values()
    except (msgspec.DecodeError, UnicodeError, ValueError):
        return f"[{found.findings[0].category}:{found.findings[0].kind}]"
    return again


class _Result(msgspec.Struct):
    """As much of a line as is needed to go on; a golden case is no result."""

    id: str
    passed: bool
    scores: dict[str, object]


resolved(_Result)


def _whole_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for data in file:
            if data.endswith(b"\n"):
                yield data
