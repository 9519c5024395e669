"""The store between real processes: owners that are killed, forked children, strangers, and who is named when stuck."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scalepan.errors import StoreError
from scalepan.store import Store
from scalepan.store.own import AddEvent
from tests.real.hang import hang
from tests.real.stress import rounds

spawn = multiprocessing.get_context("spawn")


KILLS, WRITES = rounds(5), 300
"""How many owners are killed, and how much is written between two of them."""


def write_on(path: Path, log: Path) -> None:
    """Write numbered events until told to stop; note what was acknowledged, and how long that took."""
    store = Store(path)
    number = 0
    with log.open("w", buffering=1) as notes:
        while not path.with_name("stop").exists():
            key = f"{log.stem}-{number}"
            start = time.monotonic()
            store.call("store.add_event", AddEvent(topic="ingest", trace_id=key))
            notes.write(f"{key} {time.monotonic() - start}\n")
            number += 1


def owner_among(path: Path, workers: list[Any]) -> Any:
    """The worker that owns the file; this process asks, and lets go at once if it finds itself the owner."""
    by_pid = {worker.pid: worker for worker in workers}
    while True:
        with Store(path) as store:
            store.sql("SELECT 1")
            pid = 0 if store.is_owner else int(store.owner.split()[1])
        if pid in by_pid:
            return by_pid[pid]
        time.sleep(0.01)


def mark_commits(in_commit: Any) -> None:
    """From now on `in_commit` is 1 in this process while a commit is under way."""
    from scalepan.store.duckdb import writer

    plain = writer.Writer._commit

    def marked(self: Any, batch: Any) -> None:
        in_commit.value = 1
        plain(self, batch)
        in_commit.value = 0

    writer.Writer._commit = marked  # type: ignore[method-assign]


def test_nothing_is_lost_or_doubled_while_owners_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    workers: list[Any] = []

    def start() -> None:
        log = tmp_path / f"w{len(workers)}.log"
        workers.append(spawn.Process(target=write_on, args=(path, log), daemon=True))
        workers[-1].start()

    def acknowledged() -> list[list[str]]:
        # The last line of who was killed may be cut short: that write was acknowledged too.
        return [line.split() for log in tmp_path.glob("w*.log") for line in log.read_text().splitlines()]

    for _ in range(8):
        start()
    for _ in range(KILLS):
        enough = len(acknowledged()) + WRITES
        while len(acknowledged()) < enough:
            time.sleep(0.02)
        owner = owner_among(path, workers)
        os.kill(owner.pid, signal.SIGKILL)
        owner.join()
        start()
    enough = len(acknowledged()) + WRITES
    while len(acknowledged()) < enough:
        time.sleep(0.02)
    path.with_name("stop").touch()
    for worker in workers:
        worker.join()
    assert sum(worker.exitcode == -signal.SIGKILL for worker in workers) == KILLS
    assert sum(worker.exitcode == 0 for worker in workers) == 8
    told = acknowledged()
    longest = max(float(wait) for _, wait in (line for line in told if len(line) == 2))
    with Store(path) as store:
        stored = Counter(key for (key,) in _all(store, "SELECT trace_id FROM events"))
    print(f"{len(told):,} writes, {KILLS} owners killed, longest wait {longest:.2f} s")
    assert len(told) > KILLS * WRITES
    assert [line for line in told if stored[line[0]] != 1] == []
    assert max(stored.values()) == 1
    assert longest < 5.0


def _all(store: Store, query: str) -> list[list[Any]]:
    rows: list[list[Any]] = []
    while True:
        page = store.sql(f"{query} ORDER BY 1 LIMIT 100000 OFFSET {len(rows)}", limit=100_000)
        rows += page
        if len(page) < 100_000:
            return rows


def keep_writing(path: Path, in_commit: Any, log: str) -> None:
    """Own the store, write, and note in a file of its own what was acknowledged."""
    mark_commits(in_commit)
    store = Store(path)
    with open(log, "a", buffering=1) as notes:
        number = 0
        while True:
            key = f"{os.getpid()}-{number}"
            store.call("store.add_event", AddEvent(topic="ingest", trace_id=key))
            notes.write(f"{key}\n")
            number += 1


def test_kill_at_any_moment_loses_no_acknowledged_write(tmp_path: Path) -> None:
    path, log = tmp_path / "notes.duckdb", tmp_path / "acknowledged"
    fork = multiprocessing.get_context("fork")
    in_commit = fork.Value("i", 0, lock=False)
    random = Random(7)
    inside = 0
    kills = rounds(30)
    for _ in range(kills):
        log.touch()
        before = log.stat().st_size
        process = fork.Process(target=keep_writing, args=(path, in_commit, str(log)))
        process.start()
        while log.stat().st_size == before:  # it has come to write
            time.sleep(0.002)
        time.sleep(random.random() * 0.05)
        assert process.pid is not None
        hang(process.pid)
        inside += in_commit.value
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        in_commit.value = 0
    keys = log.read_text().split()
    with Store(path) as store:
        stored = Counter(key for (key,) in _all(store, "SELECT trace_id FROM events"))
    print(f"{len(keys):,} acknowledged over {kills} kills, {inside} of them inside a commit")
    assert [key for key in keys if stored[key] != 1] == []
    assert inside >= 0.3 * kills


def test_a_forked_child_reaches_its_parent_and_the_parent_goes_on(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent(topic="ingest", trace_id="parent"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.call("store.add_event", AddEvent(topic="ingest", trace_id="child"))
                code = 0 if not store.is_owner else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert store.sql("SELECT trace_id FROM events ORDER BY 1") == [["child"], ["parent"]]


def test_many_threads_reach_another_process_and_leave_no_connection_open(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    code = (
        "import sys; from scalepan.store import Store; s = Store(sys.argv[1]); s.sql('SELECT 1'); "
        "print(flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout
        assert owner.stdin
        owner.stdout.readline()
        with Store(path) as store, ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: store.call("store.add_event", AddEvent(topic="ingest")), range(80)))
            assert not store.is_owner
            assert store.owner.startswith(f"process {owner.pid} ")
            assert store.sql("SELECT count(*), count(DISTINCT id) FROM events") == [[80, 80]]
        gc.collect()  # a socket that nobody closed would warn here, and a warning fails the test
        owner.stdin.close()


def test_an_owner_that_hangs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    code = (
        f"from scalepan.store import Store; Store({str(path)!r}).sql('SELECT 1'); print('ready', flush=True); input()"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"ready\n"
    hang(owner.pid)
    try:
        with pytest.raises(StoreError) as caught:
            Store(path, patience=1.0).sql("SELECT 1")
        assert str(caught.value).startswith(f"{path} is owned by process {owner.pid} (")
        assert str(caught.value).endswith("which does not answer; stop it, or wait")
    finally:
        owner.send_signal(signal.SIGCONT)
        owner.kill()
        owner.wait()
        for pipe in (owner.stdin, owner.stdout):
            assert pipe is not None
            pipe.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_process_of_another_user_is_refused() -> None:
    with tempfile.TemporaryDirectory() as shared:  # pytest's own folders are closed to others
        os.chmod(shared, 0o755)
        path = Path(shared) / "notes.duckdb"
        with Store(path) as store:
            store.sql("SELECT 1")
            child = os.fork()
            if child == 0:
                os.setuid(65534)
                try:
                    Store(path, patience=1.0).sql("SELECT 1")
                except StoreError as error:
                    os._exit(0 if "another user" in str(error) else 2)
                os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "notes.duckdb").sql("SELECT 1")
