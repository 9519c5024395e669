"""A run as a file: one JSON line per case, appended as results come, so that a killed run can resume.

Details quote pages and outputs, so a run file is redacted like everything stored, and only its owner can read it.
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
    """Results on disk. `resume` continues a file; without it, a file that has results is an error."""

    def __init__(self, path: Path, *, resume: bool, redactor: Redactor | None = None) -> None:
        self.path = path
        self._redactor = redactor if redactor is not None else Redactor()
        self.done: list[bool] = []
        """By case that the file already has: whether it passed."""
        self._ids: Counter[str] = Counter()
        try:
            if path.exists() and path.stat().st_size:
                if not resume:
                    raise InputError("already has results; add --resume, or name another file", file=str(path))
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
        """Whether a case has yet to be scored. Ask once per case, in order.

        Ids are redacted, so several may look alike in the file; then the first ones count as done.
        """
        redacted = self._redactor.redact(case_id).text
        if self._ids[redacted]:
            self._ids[redacted] -= 1
            return False
        return True

    def add(self, row: dict[str, object]) -> None:
        """Append one result; it is written when this returns."""
        self._file.write(redacted_json(row, self._redactor) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Flush to disk and close the file."""
        self._file.flush()
        if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            os.fsync(self._file.fileno())
        self._file.close()

    def _read(self) -> int:
        """Read the results that are there; returns where the last whole line ends."""
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
    """A row as JSON with every text redacted: alone, and then together with its key, which may announce a secret."""
    plain = _redacted(msgspec.to_builtins(row, enc_hook=str), redactor)
    line = msgspec.json.encode(plain)
    again = redactor.redact(line.decode()).text.encode()
    if again == line:
        return line
    try:
        msgspec.json.decode(again, type=_Result)
    except (msgspec.DecodeError, UnicodeError):
        # Redaction broke the JSON syntax, so redact value by value instead.
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
    """The value, or a placeholder if it is a secret together with its key."""
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
    """As much of a line as is needed to resume; a golden case is not a result."""

    id: str
    passed: bool
    scores: dict[str, object]


resolved(_Result)


def _whole_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for data in file:
            if data.endswith(b"\n"):
                yield data
