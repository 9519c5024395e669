"""A write that nobody answered: it says that it may still be applied, and a retry under its id is applied once.

`python -m tests.real.test_store_retry` counts the writes that are there twice.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scalepan.errors import ConflictError, InputError, StoreError
from scalepan.memory import Memory
from scalepan.store import Store
from scalepan.store.own import AddEvent, EventAdded
from tests.real.hang import hang
from tests.real.stress import rounds

OWN = """
import sys
from scalepan.store import Store
Store(sys.argv[1]).sql("SELECT 1")
print(flush=True)
sys.stdin.read()
"""
TRIES = rounds(4)


@contextmanager
def owner_of(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that owns the store, and can be stopped."""
    command = [sys.executable, "-c", OWN, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        assert owner.stdin
        owner.stdout.readline()
        try:
            yield owner
        finally:
            owner.send_signal(signal.SIGCONT)
            owner.stdin.close()
            owner.wait()


def timed_out(owner: "subprocess.Popen[bytes]", store: Store, key: str) -> Any:
    """Write while the owner hangs; the error, after the owner goes on."""
    store.call("store.add_event", AddEvent("ingest", trace_id="before"))  # the connection is there
    hang(owner.pid)
    try:
        store.call("store.add_event", AddEvent("ingest", trace_id=key))
    except StoreError as error:
        return error
    finally:
        owner.send_signal(signal.SIGCONT)
    raise AssertionError("it was answered")


def counts(store: Store, tries: int) -> list[int]:
    return [store.sql(f"SELECT count(*) FROM events WHERE trace_id = 'k{n}'")[0][0] for n in range(tries)]


def test_a_retry_is_applied_once(tmp_path: Path) -> None:
    from scalepan.errors import UnansweredError

    path = tmp_path / "notes.duckdb"
    with owner_of(path) as owner, Store(path, patience=0.3) as store:
        for number in range(TRIES):
            error = timed_out(owner, store, f"k{number}")
            assert isinstance(error, UnansweredError)
            assert error.code == "TIMEOUT"
            assert str(error).endswith(
                f"which does not answer; stop it, or wait; it may still be applied: repeat it with request id "
                f"{error.request_id}, and it is applied once"
            )
            store.patience = 15.0
            first: EventAdded = error.retry()
            again = store.call("store.add_event", AddEvent("ingest", trace_id=f"k{number}"), id=error.request_id)
            assert first == again
            store.patience = 0.3
        store.patience = 15.0
        assert counts(store, TRIES) == [1] * TRIES


def test_a_retry_finds_a_new_owner(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with owner_of(path) as owner, Store(path, patience=0.3) as store:
        error = timed_out(owner, store, "k0")
        owner.kill()
        store.patience = 15.0
        error.retry()
        assert store.is_owner
        assert counts(store, 1) == [1]


def test_reading_is_not_said_to_be_applied(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with owner_of(path) as owner:
        hang(owner.pid)
        with pytest.raises(StoreError, match=r"which does not answer; stop it, or wait$"):
            Store(path, patience=0.3).sql("SELECT 1")


def test_an_id_stands_for_one_call(tmp_path: Path) -> None:
    from scalepan.store.policies import SetPolicy

    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent("ingest"), id="order-17")
        with pytest.raises(ConflictError, match=r"request id order-17 belongs to a store.add_event"):
            store.call("store.set_policy", SetPolicy("", "acme"), id="order-17")
        for bad in ("", "a b", "x" * 201, "a\nb", "é"):
            with pytest.raises(InputError, match="is not a request id"):
                store.call("store.add_event", AddEvent("ingest"), id=bad)
        assert store.sql("SELECT count(*) FROM events") == [[1]]


def test_forked_children_and_other_stores_have_ids_of_their_own(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent("ingest"))
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    for _ in range(5):
                        store.call("store.add_event", AddEvent("ingest"))
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        for _ in range(5):
            store.call("store.add_event", AddEvent("ingest"))
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
        assert store.sql("SELECT count(*) FROM events") == [[21]]


def test_the_steps_of_a_program_are_repeated_under_one_id(tmp_path: Path) -> None:
    from scalepan.store import same_request

    with Memory(tmp_path / "notes.duckdb") as memory:
        claim = memory.add("Plans are cancelled by POST /subscriptions/{id}/cancel")
        for day in (18, 18, 18, 19):
            with same_request(f"nightly-2026-11-{day}"):
                memory.vote(claim, "helpful")
                memory.vote(claim, "helpful")
        assert memory.store.sql("SELECT count(*) FROM feedbacks") == [[4]]


def test_a_command_is_repeated_by_its_id(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        claim = memory.add("Plans are cancelled by POST /subscriptions/{id}/cancel")
    command = [sys.executable, "-m", "scalepan", "--request-id", "3f2a#1", "memory", "vote", claim, "helpful"]
    for _ in range(3):
        subprocess.run([*command, "--store", str(path)], check=True, capture_output=True)
    with Store(path) as store:
        assert store.sql("SELECT count(*) FROM feedbacks") == [[1]]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "notes.duckdb"
        with owner_of(file) as holder, Store(file, patience=0.3) as opened:
            for at in range(TRIES):
                failed = timed_out(holder, opened, f"k{at}")
                opened.patience = 15.0
                if hasattr(failed, "retry"):
                    failed.retry()
                else:
                    opened.call("store.add_event", AddEvent("ingest", trace_id=f"k{at}"))
                opened.patience = 0.3
            opened.patience = 15.0
            print(f"{sum(n > 1 for n in counts(opened, TRIES))} of {TRIES} are there twice or more; {failed}")
