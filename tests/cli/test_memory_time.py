"""scalepan memory: where a claim stands, when it is true, what replaces what, and what may contradict what."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HIGH, LOW = "Refunds above 500 euros need approval", "Refunds above 300 euros need approval"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCALEPAN_STORE", str(tmp_path / "notes.duckdb"))
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    return tmp_path


def added(run: Run, text: str, *more: str) -> str:
    done = run("memory", "add", text, "--json", *more)
    assert done.code == 0, done.err
    id_: str = json.loads(done.out)["id"]
    return id_


def recalled(run: Run, *words: str) -> list[str]:
    return [claim["text"] for claim in json.loads(run("memory", "search", *words, "--json").out)["claims"]]


def test_where_a_claim_stands(run: Run) -> None:
    place = ["--conversation", "stand-up", "--turn", "0", "--speaker", "Aoi", "--said-at", "2023-05-08T13:56:00"]
    id_ = added(run, HIGH, *place, "--source", "handbook.md", "--position", "7")
    claim = json.loads(run("memory", "get", id_, "--json").out)
    said = {name: claim[name] for name in ("conversation", "turn", "speaker", "said_at", "position")}
    assert said == {
        "conversation": "stand-up",
        "turn": 0,
        "speaker": "Aoi",
        "said_at": "2023-05-08T13:56:00+00:00",
        "position": 7,
    }
    assert claim["provenance"]["source"] == "handbook.md"


def test_replacing_and_taking_it_back(run: Run) -> None:
    old = added(run, HIGH)
    new = added(run, LOW, "--supersedes", old)
    assert recalled(run, "refunds") == [LOW]
    assert recalled(run, "refunds", "--as-of", "2020-01-01") == [HIGH]
    assert f"superseded by {new}" in " ".join(
        run("memory", "search", "refunds", "--as-of", "2020-01-01", "--explain").out.split()
    )
    assert f"known already, and replaced by {new}" in run("memory", "add", HIGH).out
    assert run("memory", "update", new, "--clear", "supersedes").out.startswith(new)
    assert sorted(recalled(run, "refunds")) == [LOW, HIGH]


def test_contradictions_are_listed(run: Run) -> None:
    added(run, HIGH)
    added(run, LOW)
    shown = " ".join(run("memory", "contradictions").out.split())
    assert HIGH in shown
    assert "83% of their words alike; number: 300 instead of 500" in shown
    assert "1 pair; 2 claims looked at" in shown
    (pair,) = json.loads(run("memory", "contradictions", "--json").out)["pairs"]
    assert (pair["newer"]["text"], pair["older"]["text"], pair["kind"]) == (LOW, HIGH, "number")


def test_files_bring_the_older_one_first(run: Run, here: Path) -> None:
    old = added(run, HIGH)
    added(run, LOW, "--supersedes", old, "--conversation", "stand-up")
    run("memory", "export", "out.jsonl")
    done = run("memory", "import", "out.jsonl", "--project", "other")
    assert done.code != 0  # the ids are taken in this store
    rows = [json.loads(line) for line in (here / "out.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == [HIGH, LOW]
    (here / "in.jsonl").write_text("".join(json.dumps(row).replace("clm_", "new_") + "\n" for row in rows))
    assert run("memory", "import", "in.jsonl", "--project", "other").code == 0
    assert recalled(run, "refunds", "--project", "other") == [LOW]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["add", "x", "--supersedes", "clm_x"], "no claim 'clm_x' here to supersede"),
        (["add", "x", "--valid-from", "soon"], "valid_from: 'soon' is not a time"),
        (["add", "x", "--turn", "-1"], "turn: -1 is not between 0 and 1e+09"),
        (["search", "x", "--as-of", "then"], "as_of: 'then' is not a time"),
        (["update", "clm_x", "--clear", "supersedes"], "no claim 'clm_x' here"),
        (["contradictions", "--claim", "clm_x"], "no claim 'clm_x' here that is in force"),
    ],
)
def test_mistakes_are_one_line(run: Run, words: list[str], error: str) -> None:
    done = run("memory", *words)
    assert done.code != 0
    assert error in done.err
    assert done.err.count("\n") == 1
