"""scalepan explain: equal, changed, unknown or not there, each with its exit code."""

import json
from pathlib import Path

import duckdb
import pytest

from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.memory import Memory
from tests.cli.conftest import Run

FACTORS = ConfidenceFactors(search_result_count=5, search_max_score=0.8, source_count=2)


@pytest.fixture(autouse=True)
def words_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    monkeypatch.setenv("SCALEPAN_STORE", str(tmp_path / "notes.duckdb"))


@pytest.fixture
def decision() -> str:
    with Memory() as memory:
        return Gate(store=memory.store).check(FACTORS, "go").id or ""


def test_equal(run: Run, decision: str) -> None:
    done = run("explain", decision)
    assert done.code == 0
    first, *table = done.out.splitlines()
    assert first.startswith("equal  confidence 0.733  scr_")
    assert first.endswith(f"about {decision}")
    assert "  search_quality    0.800  x 0.50  +0.400  5 results, the best 0.8" in table
    assert run("explain", "--last").out == done.out


def test_changed(run: Run, decision: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "notes.duckdb")) as connection:
        connection.execute('UPDATE scores SET inputs = json_merge_patch(inputs, \'{"factors": {"source_count": 0}}\')')
    done = run("explain", decision)
    assert done.code == 1
    first, second, *_ = done.out.splitlines()
    assert first.startswith("changed  confidence 0.733")
    assert second == "  input factors.source_count: 0 is not what was recorded"
    # Without sources: (.6 x .8 + .4) / 1 x .7 = .616, and the agreement of sources is no part any more.
    assert "  value: stored 0.733, recomputed 0.616" in done.out.splitlines()
    assert "  part source_agreement: stored 0, recomputed nothing" in done.out.splitlines()
    data = json.loads(run("explain", decision, "--json").out)
    assert (data["kind"], data["status"]) == ("decision", "changed")
    assert data["numbers"][0]["differences"][0] == {"what": "input factors.source_count", "stored": 0}


def test_unknown_and_not_there(run: Run, decision: str) -> None:
    with Memory() as memory:
        claim = memory.add("The harbor opens at dawn")
    done = run("explain", decision, claim)
    assert done.code == 3
    assert "  cannot be made again: nobody voted: it is as it was given" in done.out.splitlines()
    done = run("explain", "scr_none", decision)
    assert done.code == 2
    assert "no number 'scr_none' here; ids are of a number (scr_…)" in done.err
    assert done.out.startswith("equal")  # the others are explained all the same
    assert run("explain", decision, "--tenant", "other").code == 2
    for wrong in ((), (decision, "--last")):
        assert run("explain", *wrong).code == 2


def test_an_empty_context(run: Run) -> None:
    with Memory() as memory:
        context = memory.activate("nothing is known").active_context_id
    done = run("explain", context)
    assert (done.code, done.out) == (3, f"unknown  {context}: there is no number in it\n")


def test_what_value_and_eval_keep(run: Run, samples: Path, tmp_path: Path) -> None:
    done = run("value", samples, "--keep")
    assert "30 numbers kept in" in done.err
    assert run("explain", "finance-0001").out.startswith("equal  value 0.9395  scr_")
    cases, outputs = samples.with_name("cases.yaml"), samples.with_name("outputs.jsonl")
    kept = run("eval", "run", cases, "--outputs", outputs, "--keep", "--json")
    for row in map(json.loads, kept.out.splitlines()):
        data = json.loads(run("explain", row["id"], "--json").out)
        assert (data["status"], data["numbers"][0]["value"]) == ("equal", row["weighted_average"])
        assert data["numbers"][0]["breakdown"]["details"] == {"verdict": "passed" if row["passed"] else "failed"}


def test_nothing_is_kept_unless_it_is_asked_for(run: Run, samples: Path, tmp_path: Path) -> None:
    run("value", samples)
    assert not (tmp_path / "notes.duckdb").exists()
