"""scalepan doctor --judge: one line that says what works, or what to do."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Run
from tests.modelserver import Behaviour, ModelServer, fails, refuses, says

KEY = "sk-doctor-0123456789abcdef"
GOOD = says('{"evaluation": 1.0, "coverage": 1.0}')


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("SCALEPAN_JUDGE_KEY", KEY)


def tried(run: Run, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, *args: str) -> Done:
    with ModelServer(behaviour) as server:
        monkeypatch.setenv("SCALEPAN_JUDGE__BASE_URL", server.base_url)
        monkeypatch.setenv("SCALEPAN_JUDGE__MODEL", "stand-in")
        monkeypatch.setenv("SCALEPAN_JUDGE__BACKOFF_S", "0")
        done = run("doctor", "--judge", *args)
    assert KEY not in done.out + done.err
    assert done.out.count("\n") == 1
    return done


def test_what_works(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tried(run, monkeypatch, GOOD)
    assert done.code == 0
    assert done.out.startswith("✓ judge: stand-in at http://127.0.0.1:")
    assert done.out.endswith(": 1 for a right answer; structured answers, 107 tokens, key from SCALEPAN_JUDGE_KEY\n")
    plain = tried(run, monkeypatch, refuses("response_format", GOOD))
    assert "; answers parsed from text, " in plain.out


@pytest.mark.parametrize(
    ("behaviour", "says_"),
    [
        (
            fails(401, f"bad key {KEY}"),
            "SCALEPAN_JUDGE_KEY (401): bad key [secret:judge-key]; put a valid key into SCALEPAN_JUDGE_KEY",
        ),
        (fails(404, "no model"), "no such address or model (404): no model; check judge.base_url and judge.model"),
        (
            says("What a question!"),
            "in the answer; the model does not answer with a number; try another judge.model",
        ),
        (fails(500), "the endpoint answered 500 4 times"),
    ],
)
def test_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, says_: str) -> None:
    done = tried(run, monkeypatch, behaviour)
    assert done.code == 1
    assert done.out.startswith("✗ judge: stand-in at http://127.0.0.1:")
    assert says_ in done.out


def test_for_programs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tried(run, monkeypatch, GOOD, "--json")
    found = json.loads(done.out)
    assert (found["name"], found["state"], done.code) == ("judge", "ok", 0)


def test_where_none_is_set(run: Run) -> None:
    done = run("doctor", "--judge")
    assert done.code == 1
    assert done.out == (
        "– judge: no judge is set; set judge.base_url and judge.model in a file named with --policy or in your "
        "configuration folder, or SCALEPAN_JUDGE__BASE_URL and SCALEPAN_JUDGE__MODEL\n"
    )


def test_where_nobody_listens(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("judge: {base_url: 'http://127.0.0.1:9/v1', model: m, backoff_s: 0}\n")
    done = run("doctor", "--judge", "--policy", tmp_path / "p.yaml")
    assert done.code == 1
    assert "cannot be reached" in done.out
    assert done.out.endswith("start the server, or correct judge.base_url\n")
