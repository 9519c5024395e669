"""Damaged files: one clear line that names the file, and nothing is touched, so that a repair can still be tried."""

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scalepan.errors import StoreError
from scalepan.store import Store
from scalepan.store.duckdb.schema import log_path
from scalepan.store.own import AddEvent, Nothing

# 40 events are in the file, 20 more in the log of an owner that was killed.
OLD, NEW = 40, 20
WRITE_AND_DIE = """
import os, signal, sys
from scalepan.store import Store
from scalepan.store.own import AddEvent
for number in range(int(sys.argv[2])):
    Store(sys.argv[1]).call("store.add_event", AddEvent(topic="ingest", payload="x" * 500, trace_id=f"new-{number}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """The bytes of a file and its log."""
    path = tmp_path_factory.mktemp("sound") / "notes.duckdb"
    with Store(path) as store:
        for number in range(OLD):
            store.call("store.add_event", AddEvent("ingest", os.urandom(8000).hex(), trace_id=f"{number}"))
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(path), str(NEW)], check=False)
    return path.read_bytes(), log_path(path).read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.duckdb"


def put(path: Path, file: bytes, log: bytes) -> None:
    path.write_bytes(file)
    log_path(path).write_bytes(log)


def over(data: bytes, at: int, what: bytes) -> bytes:
    return data[:at] + what + data[at + len(what) :]


def catalog(file: bytes) -> int:
    """Where the block that describes the tables begins, by the newer of the two headers."""
    headers = [struct.unpack_from("<QQQ", file, at) for at in (4096, 8192)]
    pointer: int = max(headers, key=lambda header: int(header[1]))[2]
    return 12288 + (pointer & (1 << 56) - 1) * 262144


def test_a_sound_file_and_log_are_whole(path: Path, sound: tuple[bytes, bytes]) -> None:
    put(path, *sound)
    with Store(path) as store:
        assert store.sql("SELECT count(*) FROM events") == [[OLD + NEW]]


DAMAGES: dict[str, tuple[Callable[[bytes, bytes], tuple[bytes, bytes]], str]] = {
    "header": (lambda file, log: (over(file, 0, bytes(100)), log), "not a valid DuckDB database file"),
    "both headers": (lambda file, log: (over(file, 4096, b"\xff" * 8192), log), "Corrupt database file"),
    "catalog": (lambda file, log: (over(file, catalog(file) + 64, os.urandom(4096)), log), "Corrupt database file"),
    "cut in the header": (lambda file, log: (file[:5000], log), "Could not read enough bytes"),
    "cut in half": (lambda file, log: (file[: len(file) // 2], log), "Could not read enough bytes"),
    "empty": (lambda file, log: (b"", log), "not a valid DuckDB database file"),
    "text": (lambda file, log: (b"no database at all\n" * 500, log), "not a valid DuckDB database file"),
    "log's header": (lambda file, log: (file, over(log, 0, b"\xff" * 64)), "is damaged, and may hold writes"),
    "log's first entry": (lambda file, log: (file, over(log, 20, b"\xff")), "Corrupt WAL file"),
    "log is text": (lambda file, log: (file, b"no log at all\n" * 500), "is damaged, and may hold writes"),
    "zeros after the log": (lambda file, log: (file, log + bytes(1000)), "Corrupt WAL file"),
}


@pytest.mark.parametrize(("damage", "error"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_one_clear_line_and_nothing_is_touched(
    path: Path, sound: tuple[bytes, bytes], damage: Callable[[bytes, bytes], tuple[bytes, bytes]], error: str
) -> None:
    file, log = damage(*sound)
    put(path, file, log)
    with pytest.raises(StoreError, match=error) as caught:
        Store(path).sql("SELECT 1")
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert (path.read_bytes(), log_path(path).read_bytes()) == (file, log)


def test_a_damaged_block_is_named_when_it_is_read(path: Path, sound: tuple[bytes, bytes]) -> None:
    file = over(sound[0], len(sound[0]) // 2, os.urandom(4096))
    put(path, file, sound[1])
    with Store(path) as store:
        with pytest.raises(StoreError, match=rf"^{path}: store.sql: Corrupt database file: [^\n]+$"):
            store.sql("SELECT max(hash(payload)) FROM events")
        (problem,) = store.call("store.check", Nothing()).problems
        assert problem.startswith("events: Corrupt database file")
    assert path.read_bytes() == file


def test_a_log_that_was_cut_keeps_what_comes_before(path: Path, sound: tuple[bytes, bytes]) -> None:
    put(path, sound[0], sound[1][:-10])  # in the middle of the last commit, as a power cut would
    with Store(path) as store:
        assert store.sql("SELECT count(*) FROM events") == [[OLD + NEW - 1]]


def test_a_log_of_zeros_was_never_synced(path: Path, sound: tuple[bytes, bytes]) -> None:
    put(path, sound[0], bytes(1000))
    with Store(path) as store:
        assert store.sql("SELECT count(*) FROM events") == [[OLD]]
