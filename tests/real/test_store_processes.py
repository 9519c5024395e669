"""The store between real processes: owners that are killed, forked children, strangers, and who is named when stuck."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
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

spawn = multiprocessing.get_context("spawn")


def write_for(path: Path, name: str, seconds: float, out: Any) -> None:
    """Write numbered events for some time; report what was acknowledged and the longest wait."""
    store = Store(path)
    acknowledged, longest = [], 0.0
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        key = f"{name}-{number}"
        start = time.monotonic()
        store.call("store.add_event", AddEvent(topic="ingest", trace_id=key))
        longest = max(longest, time.monotonic() - start)
        acknowledged.append(key)
        number += 1
    out.put((acknowledged, longest))
    out.close()
    out.join_thread()


def mark_commits(in_commit: Any) -> None:
    """From now on `in_commit` is 1 in this process while a commit is under way."""
    from scalepan.store.duckdb import writer

    plain = writer.Writer._commit

    def marked(self: Any, batch: Any) -> None:
        in_commit.value = 1
        plain(self, batch)
        in_commit.value = 0

    writer.Writer._commit = marked  # type: ignore[method-assign]


def own_until_killed(path: Path, in_commit: Any) -> None:
    """Own the store and write all the time."""
    mark_commits(in_commit)
    store = Store(path)
    number = 0
    while True:
        store.call("store.add_event", AddEvent(topic="ingest", trace_id=f"owner-{os.getpid()}-{number}"))
        number += 1


def test_nothing_is_lost_or_doubled_while_owners_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    in_commit = spawn.Value("i", 0)
    results = spawn.Queue()
    writers = [spawn.Process(target=write_for, args=(path, f"w{i}", 20.0, results)) for i in range(8)]
    owner = spawn.Process(target=own_until_killed, args=(path, in_commit))
    owner.start()
    for writer in writers:
        writer.start()
    for _ in range(5):
        time.sleep(3)
        assert owner.pid is not None
        os.kill(owner.pid, signal.SIGKILL)
        owner.join()
        owner = spawn.Process(target=own_until_killed, args=(path, in_commit))
        owner.start()
    acknowledged: list[str] = []
    longest = 0.0
    for _ in writers:
        keys, waited = results.get(timeout=60)
        acknowledged += keys
        longest = max(longest, waited)
    for writer in writers:
        writer.join()
    owner.kill()
    owner.join()
    with Store(path) as store:
        stored = Counter(key for (key,) in _all(store, "SELECT trace_id FROM events WHERE trace_id LIKE 'w%'"))
    print(f"{len(acknowledged):,} writes in 20 s, longest wait {longest:.2f} s")
    assert len(acknowledged) > 500
    assert [key for key in acknowledged if stored[key] != 1] == []
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
    for _ in range(100):
        log.touch()
        before = log.stat().st_size
        process = fork.Process(target=keep_writing, args=(path, in_commit, str(log)))
        process.start()
        while log.stat().st_size == before:  # it has come to write
            time.sleep(0.002)
        time.sleep(random.random() * 0.05)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        inside += in_commit.value
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        in_commit.value = 0
    keys = log.read_text().split()
    with Store(path) as store:
        stored = Counter(key for (key,) in _all(store, "SELECT trace_id FROM events"))
    print(f"{len(keys):,} acknowledged over 100 kills, {inside} of them inside a commit")
    assert [key for key in keys if stored[key] != 1] == []
    assert inside >= 30


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
    owner.send_signal(signal.SIGSTOP)
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
def test_a_process_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        store.sql("SELECT 1")
        for folder in (tmp_path, *tmp_path.parents[:3]):
            folder.chmod(0o755)
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
