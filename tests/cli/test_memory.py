"""scalepan memory: what people type, what they get, and what programs get."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own, and words only: the encoder has tests of its own."""
    monkeypatch.setenv("SCALEPAN_STORE", str(tmp_path / "notes.duckdb"))
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    return tmp_path


def added(run: Run, text: str, *more: str) -> str:
    done = run("memory", "add", text, "--json", *more)
    assert done.code == 0, done.err
    id_: str = json.loads(done.out)["id"]
    return id_


def test_add_search_and_explain(run: Run) -> None:
    id_ = added(run, "Plans renew on the 1st of each month", "--kind", "policy_hint", "--entity", "Artifact:billing")
    assert run("memory", "add", "Plans renew on the 1st  of each month").out.startswith(f"{id_}  known already")
    shown = run("memory", "search", "when do plans renew?").out
    assert id_ in shown
    assert "words by index, meaning by nothing" in shown
    assert "no encoder found" in shown
    explained = run("memory", "search", "plans", "--explain").out
    assert "recency" in explained
    assert "score_final" in explained
    answer = json.loads(run("memory", "search", "plans", "--json").out)
    assert [claim["id"] for claim in answer["claims"]] == [id_]
    assert {"policy_version", "request_id", "trace_id"} <= set(answer)


def test_what_is_cut_is_said_and_not_kept(run: Run, here: Path) -> None:
    shown = run("memory", "add", "write to hanako@example.com").out
    assert "1 email cut" in shown
    assert "hanako" not in run("memory", "list").out
    assert b"hanako@example" not in (here / "notes.duckdb").read_bytes()


def test_why_a_claim_was_not_recalled(run: Run) -> None:
    renew = added(run, "Plans renew on the 1st")
    night = added(run, "The harbor closes at night", "--kind", "task")
    assert (
        f"{night}: no candidate: no word of the query is in it" in run("memory", "search", "plans", "--why", night).out
    )
    assert f"{renew}: recalled at rank 1" in run("memory", "search", "plans", "--why", renew).out
    assert "no such claim here" in run("memory", "search", "plans", "--why", "clm_none").out
    assert "its kind was not asked for" in run("memory", "search", "harbor", "--kind", "fact", "--why", night).out


def test_a_file_of_claims_with_bad_rows(run: Run, here: Path) -> None:
    rows = ['{"text": "one"}', "no json", '{"text": ""}', '{"text": "two", "kind": "no word"}', "", '{"text": "three"}']
    file = here / "notes.jsonl"
    file.write_text("\n".join(rows))
    done = run("memory", "add", "--file", str(file))
    assert done.code == 0
    assert done.out == "2 kept, 0 known already\n"
    assert f"{file}:2: not JSON" in done.err
    assert f"{file}:4: claim number 4: kind: 'no word' " in done.err
    assert "3 bad rows skipped" in done.err
    strict = run("memory", "add", "--file", str(file), "--strict")
    assert (strict.code, strict.out) == (2, "")
    (here / "empty.jsonl").write_text("\n")
    assert run("memory", "add", "--file", str(here / "empty.jsonl")).code == 2


def test_votes_and_taking_them_back(run: Run) -> None:
    id_ = added(run, "Plans renew on the 1st")
    voted = json.loads(run("memory", "vote", id_, "helpful", "--json").out)
    assert (voted["utility"], voted["confidence"]) == (0.1, 0.55)
    assert "utility +0.000, confidence 0.500" in run("memory", "vote", "--undo", voted["id"]).out
    assert run("memory", "vote", id_).code == 2
    assert "cannot be a duplicate of itself" in run("memory", "vote", id_, "duplicate", "--of", id_).err


def test_activate_keeps_a_context(run: Run) -> None:
    added(run, "Plans renew on the 1st")
    answer = json.loads(run("memory", "activate", "plans renew", "--json").out)
    assert answer["active_context_id"].startswith("ac_")
    rows = run("memory", "sql", "SELECT rank, score FROM active_context_items", "--json").out
    assert json.loads(rows) == {"rank": 1, "score": answer["claims"][0]["score_final"]}


def test_export_and_import_into_another_project(run: Run, here: Path) -> None:
    added(run, "Plans renew on the 1st")
    added(run, "解約は月末まで")
    file = here / "out.jsonl"
    assert run("memory", "export", str(file)).code == 0
    claims = [json.loads(line) for line in file.read_text().splitlines()]
    assert {claim["text"] for claim in claims} == {"Plans renew on the 1st", "解約は月末まで"}
    other = ("--store", str(here / "other.duckdb"))
    assert run("memory", "import", str(file), *other).out == "2 kept, 0 known already\n"
    listed = run("memory", "list", "--json", *other).out.splitlines()
    assert {json.loads(line)["id"] for line in listed} == {claim["id"] for claim in claims}


def test_forget_get_stats_and_rescan(run: Run) -> None:
    id_ = added(run, "Plans renew on the 1st")
    assert "Plans renew" in run("memory", "get", id_).out
    assert json.loads(run("memory", "stats", "--json").out)["claims"] == 1
    assert run("memory", "rescan").out == "1 looked at, 0 changed\n"
    assert run("memory", "forget", id_).out == "1 forgotten\n"
    gone = run("memory", "get", id_)
    assert (gone.code, gone.err) == (2, f"scalepan: no claim '{id_}' here\n")
    assert run("memory", "forget", id_).code == 2


def test_a_purpose_opens_what_its_class_allows(run: Run) -> None:
    added(run, "the office is on the third floor", "--class", "internal")
    assert "third floor" not in run("memory", "search", "office", "--for", "share:outside").out
    assert "third floor" in run("memory", "search", "office", "--for", "tool:map").out


def test_calibration_needs_labels(run: Run, here: Path) -> None:
    added(run, "Plans renew on the 1st")
    assert "too few labels" in run("memory", "calibrate").err
    (here / "queries.jsonl").write_text('{"query": "plans"}\n')
    done = run("memory", "calibrate", str(here / "queries.jsonl"))
    assert (done.code, f"{here / 'queries.jsonl'}:1: expected" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["search", ""], "query"),
        (["add"], "give either TEXT or --file"),
        (["add", "x", "--confidence", "7"], "confidence: 7.0 is not between 0 and 1"),
        (["add", "x", "--scope", "session"], "a session claim needs a session"),
        (["add", "x", "--entity", "Thing:y"], "'Thing' is not one of"),
        (["sql", "DELETE FROM claims"], "only one SELECT at a time"),
        (["add", "--file", "/nowhere/x.jsonl"], "/nowhere/x.jsonl"),
    ],
)
def test_mistakes_are_one_line(run: Run, words: list[str], error: str) -> None:
    done = run("memory", *words)
    assert done.code == 2
    assert error in done.err
    assert done.err.count("\n") == 1
