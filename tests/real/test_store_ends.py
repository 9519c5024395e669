"""How a store ends: closed while others use it, by a process that exits, under a crowd, with its file taken away."""

import os
import resource
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scalepan.errors import StoreError, UnansweredError
from scalepan.memory import Memory
from scalepan.store import Store
from scalepan.store.duckdb.opening import _make
from scalepan.store.own import AddEvent
from scalepan.store.paths import socket_path
from tests.real.hang import hang

STRESS = float(os.environ.get("SCALEPAN_STRESS", "1"))
POLICY = {"embed": {"model": "none"}}


def owner(path: Path, before: str = "") -> Any:
    """A process that has the store, until it is killed."""
    code = f"""
        import time
        {before}
        from scalepan.store import Store
        store = Store({str(path)!r})
        store.sql("SELECT 1")
        print("it has it", flush=True)
        time.sleep(120)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "it has it\n"
    return process


def test_a_crowd_at_an_owner_that_hangs_is_told_so_and_nothing_else(tmp_path: Path) -> None:
    """More than the system lets wait at a socket: the rest is refused at once, which is no reason to give up."""
    path = tmp_path / "notes.duckdb"
    hung = owner(path)
    hang(hung.pid)
    outcomes: Counter[str] = Counter()

    def call(number: int) -> None:
        try:
            Store(path, patience=2).call("store.add_event", AddEvent(topic="ingest", trace_id=f"t{number}"))
        except BaseException as error:
            outcomes[type(error).__name__] += 1

    threads = [threading.Thread(target=call, args=(number,)) for number in range(90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hung.kill()
    hung.communicate()
    assert outcomes == {"UnansweredError": 90}


def test_an_owner_that_ran_out_of_file_descriptors_listens_again(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    few = owner(path, before="import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))")
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(50)]
    for one in crowd:
        one.connect(str(socket_path(path)))
    time.sleep(0.3)
    for one in crowd:
        one.close()
    with Store(path) as store:
        assert store.sql("SELECT 42") == [[42]]
        assert not store.is_owner
    few.kill()
    few.communicate()


def test_a_caller_without_a_file_descriptor_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    other = owner(path)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    store = Store(path)
    taken: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[0], 256), limits[1]))
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        with pytest.raises(StoreError, match="Too many open files"):
            store.sql("SELECT 1")
    finally:
        for handle in taken:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    other.kill()
    other.communicate()


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_what_is_written_to_a_file_that_was_taken_away_is_not_said_to_be_kept(tmp_path: Path, how: str) -> None:
    path, other = tmp_path / "notes.duckdb", tmp_path / "other.duckdb"
    with Memory(other, policy=POLICY) as memory:
        memory.add("other")
    with Memory(path, policy=POLICY) as memory:
        claim = memory.add("one")
        memory.add("two")
        memory.forget(claim)  # so that closing writes the file anew: over whatever is there?
        if how == "removed":
            path.unlink()
        elif how == "moved":
            path.rename(tmp_path / "moved.duckdb")
        else:
            other.replace(path)
        with pytest.raises(StoreError, match="was moved, replaced or removed while process") as caught:
            memory.add("three")
        assert "\n" not in str(caught.value)
    expected = {"removed": [], "moved": [], "replaced": ["other"]}[how]
    with Memory(path, policy=POLICY) as memory:
        assert [found.text for found in memory.list()] == expected
    if how == "moved":
        with Memory(tmp_path / "moved.duckdb", policy=POLICY) as memory:
            assert [found.text for found in memory.list()] == ["two"]


def test_a_store_that_two_make_at_once_still_notices_a_lost_log(tmp_path: Path) -> None:
    """Whoever finds that another was quicker must not take away what that one wrote beside the file."""
    path = tmp_path / "notes.duckdb"
    quick = owner(path)
    _make(path)  # as a process does that looked before the file was there
    with Store(path) as store:
        store.call("store.add_event", AddEvent(topic="ingest"))
    quick.kill()
    quick.communicate()
    (tmp_path / "notes.duckdb.wal").unlink()
    with pytest.raises(StoreError, match="has lost writes"):
        Store(path).sql("SELECT 1")


def test_calls_beside_close_are_answered(tmp_path: Path) -> None:
    """Closing waits for what is under way; whoever comes later opens the file again."""
    path = tmp_path / "notes.duckdb"
    memory = Memory(path, policy=POLICY)
    stop = threading.Event()
    told: list[str] = []
    failed: list[str] = []

    def use(name: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                memory.add(text := f"claim {number} of thread {name}")
                told.append(text)
                memory.search("claim")
            except BaseException as error:
                failed.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=use, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 4 * STRESS
    while time.monotonic() < end:
        time.sleep(0.03)
        memory.close()
    stop.set()
    for thread in threads:
        thread.join()
    memory.close()
    with Memory(path, policy=POLICY) as memory:
        kept = Counter(claim.text for claim in memory.list())
    assert failed == []
    assert kept == Counter(told)
    assert len(told) > 6


def test_a_call_that_takes_longer_than_closing_waits_keeps_the_file_from_being_opened_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second handle in one process would end the lock of the first when it is closed."""
    from scalepan.store.duckdb import owner as owner_module
    from scalepan.store.operation import Operation, _operations, reads
    from scalepan.store.own import Nothing

    monkeypatch.setattr(owner_module, "GREETING_SECONDS", 0.1)
    begun, over = threading.Event(), threading.Event()

    @reads(Operation("store.slow_for_a_test", Nothing, Nothing))
    def slow(here: Any, _: Nothing) -> Nothing:
        here._connection.execute("SELECT 1").fetchall()
        begun.set()
        over.wait(30)
        return Nothing()

    try:
        path = tmp_path / "notes.duckdb"
        store = Store(path)
        thread = threading.Thread(target=lambda: store.call("store.slow_for_a_test", Nothing()))
        thread.start()
        begun.wait(10)
        store.close()
        with pytest.raises(UnansweredError, match="this process, which is closing it"):
            Store(path, patience=0.3).sql("SELECT 1")
        over.set()
        thread.join()
        with Store(path) as again:
            assert again.sql("SELECT 1") == [[1]]
    finally:
        over.set()
        del _operations["store.slow_for_a_test"]


WORKING = """
    import sys, threading, time
    from scalepan.memory import Memory
    memory = Memory(sys.argv[1], policy={"embed": {"model": "none"}})
    memory.add("zero")
    memory.search("zero")
    log = open(sys.argv[2], "w", buffering=1)
    def use(name):
        number = 0
        while True:
            number += 1
            text = f"claim {number} of thread {name}"
            memory.add(text)
            log.write(text + "\\n")
            memory.search("claim")
    for name in range(4):
        threading.Thread(target=use, args=(name,), daemon=True).start()
    time.sleep(float(sys.argv[3]))
"""


def test_a_process_that_ends_while_its_threads_work_ends_well(tmp_path: Path) -> None:
    """No abort by a thread inside DuckDB, no second opening, and what was acknowledged is there."""
    for number in range(max(int(6 * STRESS), 1)):
        path, log = tmp_path / f"notes{number}.duckdb", tmp_path / f"log{number}"
        seconds = str(0.2 + 0.03 * (number % 10))
        args = [sys.executable, "-c", textwrap.dedent(WORKING), str(path), str(log), seconds]
        ended = subprocess.run(args, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, ended.stderr
        assert "damaged" not in ended.stderr
        with Memory(path, policy=POLICY) as memory:
            kept = {claim.text for claim in memory.list()}
        assert set(log.read_text().splitlines()) <= kept
        assert not path.with_name(f"{path.name}.wal").stat().st_size


def test_a_call_of_another_process_to_an_owner_that_is_ending_goes_to_the_next(tmp_path: Path) -> None:
    """An encoder refuses to begin while its process ends; that is the owner's end, not the caller's."""
    path = tmp_path / "notes.duckdb"
    code = f"""
        import sys
        from scalepan import exits
        from scalepan.memory import Memory, state
        class Ending:
            model_id, dimensions = "ending@1", 2
            def load(self): pass
            def is_cut(self, text, kind="passage"): return False
            def encode(self, texts, kind="passage"):
                exits._native.ending = True
                with exits.before_exit():
                    raise SystemError("it began")
        state.find_encoder = lambda *_, **__: Ending()
        memory = Memory({str(path)!r})
        memory.stats()
        print("it has it", flush=True)
        sys.stdin.read()
    """
    ending = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert ending.stdin is not None
    assert ending.stdout is not None
    assert ending.stdout.readline() == "it has it\n"
    threading.Timer(0.5, ending.stdin.close).start()
    with Memory(path, policy=POLICY) as memory:
        asked = Memory(memory.store, policy={})
        claim = asked.add("kept by the next")
        assert memory.get(claim).text == "kept by the next"
        assert memory.store.is_owner
    assert ending.wait(30) == 0
    ending.stdout.close()
