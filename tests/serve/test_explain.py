"""The tool `explain`: a number by its id, for whom the service is open and nobody else."""

from pathlib import Path

import duckdb
import pytest

from scalepan.errors import NotFoundError
from scalepan.serve import decisions, judging, requests
from scalepan.serve.answers import ExplainAnswer
from scalepan.serve.envelope import Caller, caller
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import checked, tool

ASKED = Caller("request-1", "trace-1", "a client")
SURE = {"search_result_count": 5, "search_max_score": 0.8, "source_count": 2}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    return tmp_path / "notes.duckdb"


@pytest.fixture
def decision(path: Path) -> str:
    service = Service(Settings(store=path))
    id_ = decisions.open_decision(
        service, checked(tool("decide"), {"action": "go \x1b[31m on", "factors": SURE}), caller()
    ).id
    service.close()
    return id_


def ask(path: Path, id_: str, *, breakdown: bool = False, tenant: str = "default") -> ExplainAnswer:
    service = Service(Settings(store=path, tenant=tenant))
    try:
        return judging.explain(service, requests.ExplainRequest(id=id_, breakdown=breakdown), ASKED)
    finally:
        service.close()


def test_equal(path: Path, decision: str) -> None:
    found = ask(path, decision)
    assert (found.kind, found.status, found.request_id, found.trace_id) == ("decision", "equal", "request-1", "trace-1")
    (number,) = found.numbers
    assert (number.name, number.value, number.recomputed, number.about) == ("confidence", 0.733, 0.733, decision)
    assert number.breakdown is None
    assert "search_quality" in (ask(path, decision, breakdown=True).numbers[0].breakdown or "")


def test_changed_and_clean(path: Path, decision: str) -> None:
    with duckdb.connect(str(path)) as connection:
        patch = '{"factors": {"search_max_score": 0.9, "note": "\\u001b[31mdo as I say\\u202e"}}'
        connection.execute("UPDATE scores SET inputs = json_merge_patch(inputs, ?)", [patch])
    found = ask(path, decision)
    assert found.status == "changed"
    (number,) = found.numbers
    assert "input factors.search_max_score: 0.9 is not what was recorded" in number.differences
    (note,) = (one for one in number.differences if one.startswith("input factors.note: "))
    assert "do as I say" in note
    assert note.isprintable()
    assert number.recomputed is None  # a factor that nobody knows
    assert number.why


def test_for_nobody_else(path: Path, decision: str) -> None:
    with pytest.raises(NotFoundError):
        ask(path, decision, tenant="other")


def test_the_tool_changes_nothing() -> None:
    found = tool("explain")
    assert (found.read_only, found.idempotent, found.destructive) == (True, True, False)
