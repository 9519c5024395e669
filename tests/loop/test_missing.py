"""What is missing does not stop an agent: a store that is broken, busy or not installed, an encoder not there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scalepan.errors import StoreError
from scalepan.loop import Session
from scalepan.memory import Memory
from scalepan.store import Store
from tests.loop.desk import QUERY, WORDS_ONLY, recover


def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "broken.duckdb"
    path.write_bytes(b"this is no database" * 1000)
    os.utime(path, (0, 0))
    return path


def without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    return tmp_path / "none.duckdb"


@pytest.mark.parametrize("store", [broken, without_duckdb])
def test_a_store_out_of_reach(
    store: Callable[[Path, pytest.MonkeyPatch], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store(tmp_path, monkeypatch)
    mine = LookupError("mine")
    s = Session(QUERY, path, policy=WORDS_ONLY, keep=True, ask=lambda _: True)

    def work() -> None:
        with s:
            assert s.recalled == []
            s.use("clm_1")
            recover(s)
            s.answer("It is order L-17.", self_confidence=0.9)
            assert s.may("cancel it").allowed
            raise mine

    with pytest.raises(LookupError) as caught:
        work()
    assert caught.value is mine
    assert mine.__context__ is None
    assert s.value.value is not None
    assert s.votes == []
    assert s.notes[0].startswith("the store's policies are not applied: ")
    assert "nothing was recalled: the store cannot be reached" in s.notes
    assert "clm_1 got no vote: the store cannot be reached" in s.notes


def test_a_store_that_is_busy_is_waited_for_once(tmp_path: Path) -> None:
    path = tmp_path / "busy.duckdb"
    hold = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        memory = Memory(policy=WORDS_ONLY)
        memory.store = Store(path, patience=0.5)
        with Session(QUERY, memory) as s:
            s.use("clm_1", "clm_2", "clm_3")
            s.succeed()
        holder.stdin.write("\n")
    assert "does not answer" in s.notes[0]
    assert len(s.notes) == 5
    assert all("the store cannot be reached" in note for note in s.notes[1:])  # and nobody waited to find that out


def test_a_store_that_goes_while_somebody_is_asked(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(QUERY, memory, ask=lambda _: True) as s:

        def gone(*_: Any) -> Any:
            raise StoreError("the disk is gone")

        monkeypatch.setattr(memory.store, "call", gone)
        assert s.may("cancel it").allowed
        s.use(s.recalled[0])
        s.succeed()
    assert "the decision was not stored: the disk is gone" in s.notes
    assert f"{s.recalled[0].id} got no vote: the store cannot be reached" in s.notes


def test_a_store_that_is_removed_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "gone.duckdb"
    with Session(QUERY, path, policy=WORDS_ONLY) as s:
        s.thought("Go on")
        for file in tmp_path.glob("gone.duckdb*"):
            file.unlink()
        s.succeed()
    assert f"what was stored is lost: {path} was removed during the session" in s.notes


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda _: 1 / 0, "asking failed: ZeroDivisionError: division by zero"),
        (lambda _: "no", "asking failed: ask: 'no' is not an answer; give true, false, an Answer or None"),
    ],
)
def test_asking_that_fails_is_no_and_noted(memory: Memory, ask: Callable[[Any], Any], why: str) -> None:
    with Session("Open the harbor", memory, ask=ask) as s:
        verdict = s.may("open the harbor")
    assert (verdict.allowed, verdict.why) == (False, why)
    assert f"nobody was asked whether to open the harbor: {why}" in s.notes


def test_with_nobody_to_ask_and_no_store_the_answer_is_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session("Open the harbor", broken(tmp_path, monkeypatch), policy=WORDS_ONLY) as s:
        verdict = s.may("open the harbor")
    assert (verdict.allowed, verdict.why) == (False, "nobody can be asked")


def test_an_encoder_that_is_named_and_missing_is_noted(tmp_path: Path) -> None:
    with Session(QUERY, tmp_path / "notes.duckdb", policy={"embed": {"model": "/no/such/folder"}}) as s:
        s.thought("Go on")
    assert any(note.startswith("novelty and agreement are not measured: ") for note in s.notes)
    assert any(note.startswith("nothing was recalled: ") for note in s.notes)
    assert s.value.part("novelty").source == "default"


def test_a_session_without_steps_has_no_value(memory: Memory) -> None:
    with Session(QUERY, memory) as s:
        assert s.value.value is None
    assert (s.trace, s.value.reason) == (None, "no step was recorded")
    assert "not measured: no step was recorded" in str(s.report)
