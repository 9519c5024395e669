"""A run as a file: a header, then one JSON line per output, appended as results come, so that a killed run can resume.

Details quote pages and outputs, so a run file is redacted like everything stored, and only its owner can read it.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.evals.runs.header import PREFIX, RunHeader, read_header
from scalepan.evals.runs.redaction import redacted_json
from scalepan.evals.runs.row import StoredRow
from scalepan.files import make_folder, open_private, open_source, write_private
from scalepan.redact import Redactor

FOLDER = Path("runs")
"""Where runs are that are named, not given as a path."""
NO_RUN = "is not a result of a run"
_ROW = msgspec.json.Decoder(StoredRow)


def named_run(name: str) -> Path:
    """`main` is runs/main.jsonl."""
    if not name or name != Path(name).name or name.startswith("."):
        raise InputError(f"'{name}' is not a name for a run: it has no folder and no leading dot; --out takes a path")
    return FOLDER / f"{name}.jsonl"


def find_run(given: Path) -> Path:
    """A run by its path, or by its name if there is no such file."""
    if not given.exists() and given.name == str(given):
        named = FOLDER / f"{given}.jsonl"
        return named if named.exists() else given
    return given


class RunFile:
    """Results on disk. `resume` continues a file; without it, a file that has results is an error."""

    def __init__(
        self, path: Path, *, resume: bool, redactor: Redactor | None = None, header: RunHeader | None = None
    ) -> None:
        self.path = path
        self._redactor = redactor if redactor is not None else Redactor()
        self.done = 0
        """How many results the file already has."""
        self._ids: Counter[str] = Counter()
        try:
            if path.exists() and path.stat().st_size:
                if not resume:
                    raise InputError("already has results; add --resume, or name another file", file=str(path))
                self._continue(header)
            else:
                if path.parent == FOLDER:
                    make_folder(FOLDER)
                self._file: BinaryIO = write_private(path)
                self._begin(header)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None

    def _begin(self, header: RunHeader | None) -> None:
        if header is not None:
            self._file.write(header.line())
            self._file.flush()

    def _continue(self, header: RunHeader | None) -> None:
        """Go on after the last whole line: a process that was killed while writing leaves half a line behind."""
        whole = self._read(header)
        self._file = os.fdopen(open_private(self.path, os.O_RDWR), "r+b")
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._begin(header)

    def takes(self, case_id: str) -> bool:
        """Whether a case has yet to be scored. Ask once per case and try, in order.

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

    def _read(self, header: RunHeader | None) -> int:
        """Read the results that are there; returns where the last whole line ends."""
        end = 0
        for line, data in enumerate(_whole_lines(self.path), 1):
            end += len(data)
            if line == 1 and data.startswith(PREFIX):
                self._check_same(read_header(data), header)
                continue
            try:
                result = msgspec.json.decode(data, type=_Result)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                raise InputError(NO_RUN, file=str(self.path), line=line) from None
            self.done += 1
            self._ids[result.id] += 1
        if not end:
            with open_source(self.path) as file:
                if not file.read(len(PREFIX)).startswith((b'{"id":', PREFIX)):
                    raise InputError(NO_RUN, file=str(self.path), line=1)
        return end

    def _check_same(self, found: RunHeader | None, header: RunHeader | None) -> None:
        """One file holds one run: what was judged by other scorers or against other cases does not go on in it."""
        if found is None:
            raise InputError("is not the header of a run", file=str(self.path), line=1)
        if header is not None and (differs := header.differs(found)):
            raise InputError(f"cannot be resumed: {differs}; name another file", file=str(self.path))


def run_header(path: Path) -> RunHeader | None:
    """The header of a run file; None in files of earlier versions."""
    try:
        with open_source(path, again=True) as file:
            return read_header(file.readline())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def run_rows(path: Path) -> Iterator[StoredRow]:
    """The rows of a run file, one by one. Half a line at the end is passed over: the run was killed, or still runs."""
    try:
        for number, data in enumerate(_whole_lines(path), 1):
            if number == 1 and data.startswith(PREFIX):
                continue
            try:
                yield _ROW.decode(data)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise InputError(f"{NO_RUN}: {error}", file=str(path), line=number) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


class _Result(msgspec.Struct):
    """As much of a line as is needed to resume; a golden case is not a result."""

    id: str
    passed: bool
    scores: dict[str, object]


resolved(_Result)


def _whole_lines(path: Path) -> Iterator[bytes]:
    with open_source(path, again=True) as file:
        for data in file:
            if data.endswith(b"\n"):
                yield data
