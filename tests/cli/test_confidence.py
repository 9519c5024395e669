"""scalepan confidence: factors in, decisions out, and questions answered."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.store import Store
from tests.cli.conftest import Run

GOOD = b'{"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}\n'
LOW = b'{"search_result_count": 1, "search_max_score": 0.5, "source_count": 1}\n'


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    monkeypatch.setenv("SCALEPAN_STORE", str(tmp_path / "notes.duckdb"))


def test_json_for_programs(run: Run) -> None:
    done = run("confidence", "--json", "-", stdin=GOOD + LOW)
    first, second = map(json.loads, done.out.splitlines())
    # (.6 x .8 + .4 x 1 + .2 x 0) / 1.2 = .733
    assert (first["value"], first["level"], first["action"]) == (0.733, "NOTIFY", "proceed_with_status")
    assert (second["value"], second["level"]) == (0.52, "CONFIRM")
    assert set(first) == {"value", "level", "action", "breakdown", "penalties", "parts", "rules"}


def test_a_waterfall_for_people(run: Run) -> None:
    shown = run("confidence", "-", stdin=b'{"tool_success_rate": 0.5}\n').out
    assert "tool_failures(rate=0.50)" in shown
    assert "no_sources" in shown
    assert "ESCALATE  request_clarification" in shown


@pytest.mark.parametrize(("method", "value"), [("mean", 0.6265), ("min", 0.52), ("weighted", (0.733 + 2 * 0.52) / 3)])
def test_steps_of_one_plan(run: Run, method: str, value: float) -> None:
    done = run("confidence", "-", "--json", "--aggregate", method, stdin=GOOD + LOW)
    assert json.loads(done.out)["value"] == pytest.approx(value)


def test_bad_rows_are_named_and_skipped(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "factors.jsonl"
    file.write_bytes(GOOD + b'{"search_max_score": 1.7}\nno json\n{"serch": 1}\n')
    done = run("confidence", "factors.jsonl", "--json")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert "factors.jsonl:2: search_max_score: 1.7 is not between 0 and 1" in done.err
    assert "factors.jsonl:3: not JSON" in done.err
    assert "factors.jsonl:4: serch: unknown key" in done.err
    assert "3 bad rows skipped" in done.err
    assert run("confidence", "factors.jsonl", "--strict").code == 2
    assert run("confidence", "-", stdin=b"\n").code == 2
    assert run("confidence", "nowhere.jsonl").code == 2


def test_an_answer_is_judged_by_stand_ins(run: Run, tmp_path: Path) -> None:
    (tmp_path / "refunds.md").write_text("Refunds above 500 euros need a second approval by finance.")
    words = ("confidence", "--query", "Who approves refunds?", "--answer", "Finance approves refunds above 500 euros.")
    done = run(*words, "--source", "refunds.md", "--json")
    assert done.code == 0
    assert "judged by stand-ins" in done.err
    assert 0 < json.loads(done.out)["value"] <= 1
    assert "go together" in run("confidence", "--query", "x").err


def test_a_picture(run: Run, tmp_path: Path) -> None:
    done = run("confidence", "-", "--plot", "factors.svg", stdin=GOOD)
    assert "picture written to factors.svg" in done.err
    picture = (tmp_path / "factors.svg").read_text()
    ElementTree.fromstring(picture)
    assert "search_max_score" in picture


def test_questions_wait_and_are_answered(run: Run, tmp_path: Path) -> None:
    assert run("confidence", "pending").out == "nothing waits for an answer\n"
    low = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
    with Store(tmp_path / "notes.duckdb") as store:
        gate = Gate(store=store, timeout_seconds=60)
        gate.actor, gate._process = "agent 7", None
        id_ = gate.open(low, "send the mail", {"to": "Bo"}).id
    waits = " ".join(run("confidence", "pending").out.split())
    assert "Approve" in waits
    assert "52 % confident" in waits
    refused = run("confidence", "answer", id_, "yes", "--actor", "Agent 7")
    assert (refused.code, refused.err) == (
        2,
        f"scalepan: '{id_}' was asked by agent 7, who cannot answer it; another person or token must\n",
    )
    done = run("confidence", "answer", id_, "no", "--why", "wrong customer", "--actor", "Aoi")
    assert done.out == f"{id_}  denied by Aoi\n"
    again = run("confidence", "answer", id_, "yes")
    assert (again.code, again.err) == (2, f"scalepan: '{id_}' is denied already, by Aoi\n")
    assert json.loads(run("confidence", "pending", "--all", "--json").out)["why"] == "wrong customer"
    assert run("confidence", "answer", "dec_none", "yes").err == "scalepan: no decision 'dec_none' here\n"
    with Store(tmp_path / "notes.duckdb") as store:
        assert store.sql("SELECT * FROM labels") == []  # an answer is no label
    assert json.loads(run("confidence", "pending", "--all", "--json").out)["label"] is None
    assert run("confidence", "label", id_, "wrong", "--actor", "Bo").out == f"{id_}  wrong\n"
    assert run("confidence", "label", id_, "right", "--actor", "Bo").out == f"{id_}  right\n"
    assert json.loads(run("confidence", "pending", "--all", "--json").out)["label"] == "right"
    assert " right " in run("confidence", "pending", "--all").out
    assert run("confidence", "label", id_, "wrong", "--actor", "agent 7").code == 2
    with Store(tmp_path / "notes.duckdb") as store:
        found = store.sql("SELECT target_id, label, actor FROM labels ORDER BY rowid")
    assert found == [[id_, "wrong", "Bo"], [id_, "right", "Bo"]]


def test_an_agent_cannot_answer_by_running_the_command(tmp_path: Path) -> None:
    """The command's ancestors are looked at: an agent that starts it is one of them, a person's shell is not."""
    low = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
    with Store(tmp_path / "notes.duckdb") as store:
        id_ = Gate(store=store, timeout_seconds=60).open(low, "wipe the disk").id
    code = [sys.executable, "-m", "scalepan", "confidence", "answer", id_, "yes", "--store", "notes.duckdb"]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "which runs this command and cannot answer it" in done.stderr
