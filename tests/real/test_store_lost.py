"""Files that go missing under a store: a log that is removed, cut, emptied or another's, an older file, no file at all.

`python -m tests.real.test_store_lost` counts the losses that nobody is told of.
"""

import atexit
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scalepan.errors import StoreError
from scalepan.store import Here, Operation, Store, commits
from scalepan.store.own import AddEvent, Nothing
from tests.real.stress import rounds

BEFORE, AFTER = 20, 20
"""Events that are in the file, and in the log of an owner that was killed."""
KILLS = rounds(10)
WRITE_AND_DIE = """
import os, signal, sys
from scalepan.store import Store
from scalepan.store.own import AddEvent
with open(sys.argv[3], "w", buffering=1) as lengths:
    for number in range(int(sys.argv[2])):
        Store(sys.argv[1]).call("store.add_event", AddEvent("ingest", "x" * 300, trace_id=sys.argv[4]))
        lengths.write(f"{os.stat(sys.argv[1] + '.wal').st_size}\\n")
os.kill(os.getpid(), signal.SIGKILL)
"""


@cache
def killed(name: str) -> Path:
    """A folder with the files of a killed owner, and older ones. Each name is a store of its own, made once."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    file = folder / "notes.duckdb"
    for copy in ("oldest.copy", "older.copy"):
        with Store(file) as store:
            for _ in range(BEFORE // 2):
                store.call("store.add_event", AddEvent("ingest", "x" * 300, trace_id=name))
        shutil.copy(file, folder / copy)
    command = [sys.executable, "-c", WRITE_AND_DIE, str(file), str(AFTER), str(folder / "lengths"), name]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    return folder


class Killed:
    """A folder with copies of all that, to be damaged."""

    def __init__(self, folder: Path) -> None:
        for name in ("notes.duckdb", "notes.duckdb.wal", "notes.duckdb.generation", "older.copy", "oldest.copy"):
            shutil.copy(killed("ours") / name, folder)
        self.file = folder / "notes.duckdb"
        self.log = folder / "notes.duckdb.wal"
        self.older, self.oldest = folder / "older.copy", folder / "oldest.copy"
        self.ends = [int(line) for line in (killed("ours") / "lengths").read_text().split()]
        """Where each commit ends in the log."""

    def cut(self, length: int) -> None:
        os.truncate(self.log, length)

    def put_back_older(self) -> None:
        shutil.copy(self.older, self.file)
        self.log.unlink()

    def of_another(self) -> None:
        """The log of another store, as long and with as many commits."""
        shutil.copy(killed("another's") / self.log.name, self.log)


ATTACKS: dict[str, Callable[[Killed], object]] = {
    "log removed": lambda k: k.log.unlink(),
    "log moved away": lambda k: k.log.rename(k.log.with_suffix(".elsewhere")),
    "log emptied": lambda k: k.cut(0),
    "log cut to its head": lambda k: k.cut(20),
    "log cut to a quarter": lambda k: k.cut(k.ends[-1] // 4),
    "log cut in half": lambda k: k.cut(k.ends[-1] // 2),
    "log cut by one byte": lambda k: k.cut(k.ends[-1] - 1),
    "log cut after the first commit": lambda k: k.cut(k.ends[0]),
    "log cut between commits": lambda k: k.cut(k.ends[9]),
    "last commit cut off": lambda k: k.cut(k.ends[-2]),
    "log of zeros": lambda k: k.log.write_bytes(bytes(k.ends[-1])),
    "end of the log is zeros": lambda k: k.log.write_bytes(k.log.read_bytes()[: k.ends[9]] + bytes(500)),
    "log of another store": lambda k: k.of_another(),
    "older file, no log": lambda k: k.put_back_older(),
    "oldest file with the newer log": lambda k: shutil.copy(k.oldest, k.file),
    "no file, only the log": lambda k: k.file.unlink(),
}


def attack(folder: Path, name: str) -> tuple[str, list[str]]:
    """What the store says of it, '' if nothing, and which of the files it has changed."""
    files = Killed(folder)
    ATTACKS[name](files)
    before = {file.name: file.read_bytes() for file in (files.file, files.log) if file.exists()}
    try:
        with Store(files.file) as store:
            count = store.sql("SELECT count(*) FROM events WHERE trace_id = 'ours'")[0][0]
        told = "" if count < BEFORE + AFTER else "nothing was lost"
    except StoreError as error:
        told = str(error)
    after = {file.name: file.read_bytes() for file in (files.file, files.log) if file.exists()}
    # An empty log holds nothing; DuckDB removes it.
    return told, [key for key in before if before[key] and after.get(key) != before[key]]


@pytest.mark.parametrize("name", ATTACKS)
def test_a_loss_is_said_in_one_line_and_nothing_is_touched(tmp_path: Path, name: str) -> None:
    told, changed = attack(tmp_path, name)
    assert told.startswith(str(tmp_path / "notes.duckdb"))
    assert "\n" not in told
    assert "scalepan store recover" in told
    assert changed == []


@pytest.mark.parametrize("name", ATTACKS)
def test_recovering_goes_on_with_what_is_there_and_keeps_the_log(tmp_path: Path, name: str) -> None:
    from scalepan.store.duckdb.recover import recover

    files = Killed(tmp_path)
    ATTACKS[name](files)
    log = files.log.read_bytes() if files.log.exists() else b""
    done = recover(files.file)
    assert (done.kept.read_bytes() if done.kept else b"") == log
    if done.kept:
        assert done.kept.stat().st_mode & 0o777 == 0o600
    with Store(files.file) as store:
        (count,) = store.sql("SELECT count(*) FROM events")[0]
        store.call("store.add_event", AddEvent("ingest"))
    with Store(files.file) as store:
        assert store.sql("SELECT count(*) FROM events") == [[count + 1]]
    with pytest.raises(StoreError, match=r"is sound: .* nothing to recover$"):
        recover(files.file)


def test_a_killed_owner_lost_nothing(tmp_path: Path) -> None:
    files = Killed(tmp_path)
    with Store(files.file) as store:
        assert store.sql("SELECT count(*) FROM events") == [[BEFORE + AFTER]]


def test_a_copy_of_the_file_alone_opens_elsewhere_after_a_clean_close(tmp_path: Path) -> None:
    files = Killed(tmp_path)
    with Store(files.file) as store:
        store.sql("SELECT 1")
    for place in ("copy.duckdb", "another.duckdb"):
        shutil.copy(files.file, tmp_path / place)
        with Store(tmp_path / place) as store:
            assert store.sql("SELECT count(*) FROM events") == [[BEFORE + AFTER]]


@pytest.mark.parametrize("note", [None, b"", b"store", bytes(105), b"\xff" * 105], ids=repr)
def test_without_a_note_that_can_be_read_the_file_counts(tmp_path: Path, note: bytes | None) -> None:
    files = Killed(tmp_path)
    beside = tmp_path / "notes.duckdb.generation"
    if note is None:
        beside.unlink()
    else:
        beside.write_bytes(note)
    with Store(files.file) as store:
        assert store.sql("SELECT count(*) FROM events") == [[BEFORE + AFTER]]
    assert beside.read_bytes().startswith(b"store ")  # and is written anew


def test_a_store_that_was_deleted_on_purpose_begins_anew(tmp_path: Path) -> None:
    files = Killed(tmp_path)
    files.file.unlink()
    files.log.unlink()
    with Store(files.file) as store:
        assert store.sql("SELECT count(*) FROM events") == [[0]]


def _die(*_: object, **__: object) -> None:
    os._exit(9)


def _half_a_checkpoint(connection: Any, note: Any) -> None:
    connection.execute(f"UPDATE meta SET value = '{note.at.epoch + 1}' WHERE key = 'epoch'")
    os._exit(9)


@commits(Operation("test.rewrite", Nothing, Nothing))
def ask(here: Here, requests: Sequence[Nothing]) -> list[Nothing]:
    from scalepan.store.duckdb.rewrite import ask_for_rewrite

    ask_for_rewrite(here._connection)
    return list(requests)


# Where a process dies: the name that is replaced, and by what.
POINTS: dict[str, tuple[str, Callable[..., None]]] = {
    "making": ("scalepan.store.duckdb.opening.os.link", _die),
    "committed, not noted": ("scalepan.store.duckdb.generation.Note.committed", _die),
    "new epoch, not moved": ("scalepan.store.duckdb.writer.checkpoint", _half_a_checkpoint),
    "moved, not noted": ("scalepan.store.duckdb.generation.Note.moved", _die),
    "moved, no log made": ("scalepan.store.duckdb.writer.make_log", _die),
    "closing, moved, not noted": ("scalepan.store.duckdb.generation.Note.moved", _die),
    "closing, noted, still open": ("scalepan.store.duckdb.owner.Owner._let_go", _die),
    "written anew, not in place": ("scalepan.store.duckdb.rewrite.close_to_others", _die),
    "written anew, in place": ("scalepan.store.duckdb.rewrite.backups", _die),
}


def die_at(path: Path, point: str, pipe: Any) -> None:
    """Write five events, tell of each, then go on until this point."""
    name, replacement = POINTS[point]
    patch = pytest.MonkeyPatch()
    if point == "making":
        patch.setattr(name, replacement)
    with Store(path) as store:
        for _ in range(5):
            pipe.send(store.call("store.add_event", AddEvent("ingest")).id)
        patch.setattr(name, replacement)
        if "closing" not in point:
            patch.setattr("scalepan.store.duckdb.writer.LONGEST_LOG", 0)  # move the log after the next write
        if "written anew" in point:
            store.call("test.rewrite", Nothing())
        pipe.send(store.call("store.add_event", AddEvent("ingest")).id)
    os._exit(0)


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_dies_at_this_point_loses_nothing_and_is_no_alarm(tmp_path: Path, point: str) -> None:
    path = tmp_path / "notes.duckdb"
    fork = multiprocessing.get_context("fork")
    told: list[str] = []
    for _ in range(3):
        ours, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=die_at, args=(path, point, theirs))
        process.start()
        theirs.close()
        with suppress(EOFError):
            while True:
                told.append(ours.recv())
        process.join()
        assert process.exitcode == 9
    with Store(path) as store:
        stored = [id_ for (id_,) in store.sql("SELECT id FROM events")]
    assert set(told) <= set(stored)
    assert len(stored) == len(set(stored))


def own_and_write(path: Path, log: str, longest: int) -> None:
    """Write for as long as it lives, moving the log into the file often; note what was acknowledged."""
    from scalepan.store.duckdb import writer

    writer.LONGEST_LOG = longest
    store = Store(path)
    with open(log, "a", buffering=1) as notes:
        number = 0
        while True:
            key = f"{os.getpid()}-{number}"
            store.call("store.add_event", AddEvent("ingest", "x" * 1000, trace_id=key))
            notes.write(f"{key}\n")
            number += 1
            if number % 7 == 0:
                store.close()


def test_owners_killed_at_any_moment_are_no_false_alarm(tmp_path: Path) -> None:
    """Between a commit and its note, in a checkpoint, while closing and opening."""
    path, log = tmp_path / "notes.duckdb", tmp_path / "acknowledged"
    fork = multiprocessing.get_context("fork")
    random = Random(14)
    for _ in range(KILLS):
        log.touch()
        before = log.stat().st_size
        process = fork.Process(target=own_and_write, args=(path, str(log), 4_000))
        process.start()
        while log.stat().st_size == before and process.is_alive():
            time.sleep(0.001)
        time.sleep(random.random() * 0.15)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL, "refused to open: a false alarm"
    keys = set(log.read_text().split())
    with Store(path) as store:
        rows = store.sql("SELECT trace_id FROM events", limit=100_000)
    stored = [row[0] for row in rows]
    assert keys <= set(stored)
    assert len(stored) == len(set(stored))
    print(f"{len(keys):,} acknowledged, none lost, none doubled, no false alarm")


if __name__ == "__main__":
    silent = touched = 0
    for name in ATTACKS:
        with tempfile.TemporaryDirectory() as place:
            told, changed = attack(Path(place), name)
        silent += not told
        touched += bool(changed)
        print(f"{name:32} {'SILENT' if not told else told.replace(place, '')[:140]}{' TOUCHED' if changed else ''}")
    print(f"{silent} of {len(ATTACKS)} losses were silent, {touched} changed the files")
