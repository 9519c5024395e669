"""A gate whose process is killed while it asks: the action is not done, and the question is in the store."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from scalepan.confidence.requests import AnswerQuestion, AskDecisions
from scalepan.store import Store

CODE = """
import sys
from pathlib import Path
from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.store import Store
folder = Path(sys.argv[1])
gate = Gate(store=Store(folder / "notes.duckdb"), timeout_seconds=120)
with gate.allowed(ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1), "wipe the disk"):
    (folder / "done").touch()
"""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", CODE, str(folder)])


def waiting(store: Store) -> str:
    while not (found := store.call("confidence.decisions", AskDecisions()).decisions):
        time.sleep(0.05)
    assert found[0].action == "wipe the disk"
    id_: str = found[0].id
    return id_


def test_killed_while_asking(tmp_path: Path) -> None:
    process = start(tmp_path)
    with Store(tmp_path / "notes.duckdb") as store:
        id_ = waiting(store)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "done").exists()
        assert waiting(store) == id_
        # Answering it now is kept, and does nothing else: an approval is no label.
        store.call("confidence.answer", AnswerQuestion(id_, True, actor="Aoi"))
        assert store.sql("SELECT * FROM labels") == []
    assert not (tmp_path / "done").exists()


def test_answered_from_another_process(tmp_path: Path) -> None:
    process = start(tmp_path)
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("confidence.answer", AnswerQuestion(waiting(store), True, actor="Aoi"))
    assert process.wait(timeout=60) == 0
    assert (tmp_path / "done").exists()
