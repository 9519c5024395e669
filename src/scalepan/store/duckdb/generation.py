"""Which commit was the last one? The number is kept in the file and beside it, so that a lost log is noticed.

DuckDB takes a log that is missing, empty or cut for all there was, applies any log to any file, and says nothing. So
every commit writes its number into the file, by way of the log, and then into a small file beside it
(`notes.duckdb.generation`), before anybody is told. Whoever opens the store compares them.

- The number beside is written after the commit is on disk, so it never runs ahead: a process killed between the two
  leaves it behind, which is no loss. That is also why it needs no sync of its own at each commit.
- The epoch counts how often the log was moved into the file. It changes only just before that, so a log that follows
  another state of the file does not carry it.
- The number carries the store's id, so the log of another store is recognized.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from zlib import crc32

from scalepan.errors import StoreError
from scalepan.files import open_private
from scalepan.store.duckdb.schema import duckdb, log_path

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STORE, GENERATION, EPOCH = "store", "generation", "epoch"
"""Keys of the table `meta`."""
LINE = re.compile(r"store ([0-9a-f]{32}) generation (\d{20}) epoch (\d{12}) check ([0-9a-f]{8})\n", re.ASCII)
RECOVER = "'scalepan store recover'"


class Generation(NamedTuple):
    """A state of a store."""

    store: str
    number: int
    """Of its last commit."""
    epoch: int = 0
    """How often the log was moved into the file."""


class LostWritesError(StoreError):
    """Acknowledged writes are missing: the log or the file is not the one that they went into."""

    def __init__(self, problem: str, *, log_fits: bool = True) -> None:
        super().__init__(problem)
        self.log_fits = log_fits
        """Whether what is left of the log belongs to this state of the file."""


def generation_path(path: Path) -> Path:
    """Where the last acknowledged commit is noted."""
    return path.with_name(f"{path.name}.generation")


def noted(path: Path) -> Generation | None:
    """What is noted beside the file; None if nothing is, or nothing that can be relied on."""
    try:
        with generation_path(path).open("rb") as file:
            line = file.read(200).decode("ascii", "replace")
    except OSError:
        return None
    found = LINE.fullmatch(line)
    if found is None or found[4] != _check(line):
        return None  # a power cut in the middle of writing it
    return Generation(found[1], int(found[2]), int(found[3]))


def begin(connection: "DuckDBPyConnection") -> Generation:
    """What the file says, which gets its id and its first number if it has none."""
    there = inside(connection)
    if there is not None:
        return there
    id_ = uuid4().hex
    connection.execute("BEGIN")
    for key, value in ((STORE, id_), (GENERATION, f"{id_} 0"), (EPOCH, "0")):
        connection.execute(f"INSERT OR REPLACE INTO meta VALUES ('{key}', '{value}')")
    connection.execute("COMMIT")
    return Generation(id_, 0)


def inside(connection: "DuckDBPyConnection") -> Generation | None:
    """What the file and its log say; None for a file from before there were generations."""
    keys = (STORE, GENERATION, EPOCH)
    found = dict(connection.execute(f"SELECT key, value FROM meta WHERE key IN {keys}").fetchall())
    if len(found) < len(keys):
        return None
    id_, _, number = found[GENERATION].partition(" ")
    if id_ != found[STORE]:
        raise LostWritesError("its log is another store's", log_fits=False)
    return Generation(id_, int(number), int(found[EPOCH]))


def check(path: Path, connection: "DuckDBPyConnection") -> None:
    """LostWritesError if the file and its log lack what was acknowledged. A note about another store says nothing."""
    wal = log_path(path)
    try:
        there, told = inside(connection), noted(path)
    except LostWritesError:
        raise LostWritesError(
            f"{path} cannot be opened: {wal.name} is the log of another store; put the right one back, or run "
            f"{RECOVER} to move it away and go on with what is in the file",
            log_fits=False,
        ) from None
    if there is None or told is None or told.store != there.store:
        return
    if told.epoch > there.epoch:
        raise LostWritesError(
            f"{path} has lost writes: it is a file from before its last checkpoint ({there.epoch} of {told.epoch}), "
            f"and a log does not fit an older file; put the newer one back, or run {RECOVER} to go on with the older",
            log_fits=False,
        )
    if told.number > there.number:
        lost = told.number - there.number
        missing = f"{lost:,} acknowledged commits are" if lost > 1 else "1 acknowledged commit is"
        raise LostWritesError(
            f"{path} has lost writes: its log was removed, cut or replaced: {missing} missing; commits up to "
            f"{there.number:,} of {told.number:,} can be recovered: put {wal.name} or a backup back, or run {RECOVER} "
            "to go on with these"
        )


class Note:
    """The file beside the store, written after every commit. Where it cannot be written, the store goes on without."""

    def __init__(self, path: Path, at: Generation) -> None:
        self.at = at
        self._handle: int | None = None
        with suppress(OSError):  # a full disk
            self._handle = open_private(generation_path(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
            os.ftruncate(self._handle, len(_line(at)))
        self.write(at, sync=True)

    def committed(self) -> None:
        """One more commit is on disk."""
        self.write(self.at._replace(number=self.at.number + 1))

    def moved(self, epoch: int) -> None:
        """The log was moved into the file."""
        self.write(self.at._replace(epoch=epoch), sync=True)

    def write(self, at: Generation, *, sync: bool = False) -> None:
        """Note this state."""
        self.at = at
        if self._handle is not None:
            with suppress(OSError):
                os.pwrite(self._handle, _line(at), 0)
                if sync:
                    os.fsync(self._handle)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def next_statement(store: str) -> Any:
    """What each transaction does: count itself. Parsed once."""
    (statement,) = duckdb().extract_statements(
        f"UPDATE meta SET value = '{store} ' || (split_part(value, ' ', 2)::BIGINT + 1) WHERE key = '{GENERATION}'"
    )
    return statement


def checkpoint(connection: "DuckDBPyConnection", note: Note) -> None:
    """Move the log into the file, under a new epoch. If that fails, the note stays at the old one, which is no loss."""
    epoch = note.at.epoch + 1
    connection.execute(f"UPDATE meta SET value = '{epoch}' WHERE key = '{EPOCH}'")
    connection.execute("CHECKPOINT")
    note.moved(epoch)


def _line(at: Generation) -> bytes:
    line = f"store {at.store} generation {at.number:020d} epoch {at.epoch:012d} check "
    return f"{line}{_check(line)}\n".encode()


def _check(line: str) -> str:
    return f"{crc32(line.rpartition('check ')[0].encode()):08x}"
