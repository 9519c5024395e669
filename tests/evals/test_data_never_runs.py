"""Data never runs (contract evals.7): cases, presets and stores name registered scorers, and nothing else."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs
import pytest
import yaml

from scalepan.errors import InputError, PolicyError
from scalepan.evals import Case, Evaluator, Expected, Output, registry, scorer
from scalepan.policy import load_policy
from scalepan.serve import judging, requests
from scalepan.serve.envelope import Caller
from scalepan.serve.service import Service, Settings
from scalepan.store.policies import SetPolicy
from tests.cli.conftest import Run, run

__all__ = ["run"]

OWN = "import scalepan\n\n\n@scalepan.scorer({name!r}, threshold=0.5)\ndef half(actual, expected):\n    return 0.5\n"


@pytest.fixture(autouse=True)
def no_scorers_stay() -> Iterator[None]:
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


def planted(proof: Path) -> list[dict[str, Any]]:
    """Scorers that would leave a proof behind, each by another door."""
    touch = f"touch '{proof}'"
    return [
        {"type": "subprocess:Popen", "args": touch, "shell": True, "threshold": 0.5},
        {"type": "os:system", "threshold": 0.5},
        {"type": "planted:Scorer", "threshold": 0.5},
        {"type": "planted", "threshold": 0.5},
        {"type": "builtins:eval", "threshold": 0.5},
        {"type": "scalepan.evals.scorers.exact:score", "threshold": 0.5},
        {"type": ":", "threshold": 0.5},
    ]


def plant(folder: Path, proof: Path) -> None:
    """Modules in the working folder, of names that a case may give and that Scalepan imports late."""
    code = f"open({str(proof)!r}, 'w').close()\nclass Scorer:\n    def score(self, a, e):\n        return 1.0\n"
    for name in ("planted", "regex", "rich", "difflib", "Stemmer", "scorers"):
        (folder / f"{name}.py").write_text(code)
    info = folder / "planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scalepan.scorers]\nplanted = planted:Scorer\n")


@pytest.mark.parametrize("number", range(7))
def test_a_golden_case_cannot_name_code(run: Run, tmp_path: Path, number: int) -> None:
    proof = tmp_path / "ran"
    plant(tmp_path, proof)
    cases = [{"id": "a", "expected": {"output": "x"}, "scorers": [planted(proof)[number]]}]
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(cases))
    (tmp_path / "outputs.jsonl").write_text('{"id": "a", "output": "x"}')
    for args in (["lint", "cases.yaml"], ["run", "cases.yaml", "--outputs", "outputs.jsonl", "--explain", "a"]):
        done = run("eval", *args)
        assert done.code == 2
        assert "--scorers-from FILE" in done.err
        assert not proof.exists()


@pytest.mark.parametrize("number", range(7))
def test_a_preset_of_a_policy_found_upward_cannot_name_code(run: Run, tmp_path: Path, number: int) -> None:
    proof = tmp_path / "ran"
    plant(tmp_path, proof)
    evals = {"preset": "mine", "presets": {"mine": [planted(proof)[number]]}}
    (tmp_path / "scalepan.yaml").write_text(yaml.safe_dump({"evals": evals}))
    (tmp_path / "cases.yaml").write_text("[{id: a, expected: {output: x}}]")
    (tmp_path / "outputs.jsonl").write_text('{"id": "a", "output": "x"}')
    for args in (["lint", "cases.yaml"], ["run", "cases.yaml", "--outputs", "outputs.jsonl"]):
        assert run("eval", *args).code == 2
        assert not proof.exists()


def test_a_file_beside_the_cases_never_takes_the_place_of_a_package(tmp_path: Path) -> None:
    """The working folder was put before all packages, so that a `regex.py` in it was run by `eval run`."""
    proof = tmp_path / "ran"
    plant(tmp_path, proof)
    (tmp_path / "cases.yaml").write_text("[{id: a, expected: {matches: 'x+(y|z)*'}}]")
    (tmp_path / "outputs.jsonl").write_text('{"id": "a", "output": "no"}')
    command = Path(sys.executable).with_name("scalepan")
    ran = subprocess.run(
        [command, "eval", "run", "cases.yaml", "--outputs", "outputs.jsonl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (1, "")
    assert not proof.exists()


CALLER = Caller(request_id="r", trace_id="t")


@pytest.mark.parametrize("number", range(7))
def test_neither_a_caller_nor_a_policy_in_the_store_can_name_code(tmp_path: Path, number: int) -> None:
    """What HTTP and MCP call is the service's `output_score`, for both doors."""
    proof = tmp_path / "ran"
    service = Service(Settings(store=tmp_path / "s.duckdb"))
    try:
        case = {"id": "a", "expected": {"output": "x"}, "scorers": [planted(proof)[number]]}
        with pytest.raises(InputError, match=r"names code|no scorer"):
            judging.output_score(service, requests.OutputScore(case=case, output={"output": "x"}), CALLER)
        listed = {"evals": {"presets": {"mine": [planted(proof)[number]]}}}
        plain = {"id": "a", "expected": {"output": "x"}}
        set_policy = SetPolicy(yaml.safe_dump(listed), service.settings.tenant)
        with suppress(PolicyError):  # a store does not take such a policy; should one be there, nothing of it runs
            service.store.call("store.set_policy", set_policy)
        service._policy = (0.0, None)
        with pytest.raises(InputError, match=r"names code|no scorer|no preset"):
            judging.output_score(
                service, requests.OutputScore(case=plain, output={"output": "x"}, preset="mine"), CALLER
            )
    finally:
        service.close()
    assert not proof.exists()


def test_a_file_that_the_user_names_is_run_and_registers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("VALUE = 0.5\n")
    (tmp_path / "mine.py").write_text(OWN.format(name="mine-half") + "\nfrom helper import VALUE  # noqa\n")
    (tmp_path / "cases.yaml").write_text("[{id: a, expected: {output: x}, scorers: [{type: mine-half}]}]")
    (tmp_path / "outputs.jsonl").write_text('{"id": "a", "output": "x"}')
    assert run("eval", "lint", "cases.yaml").code == 2
    assert run("eval", "lint", "cases.yaml", "--scorers-from", "mine.py").code == 0
    assert run("eval", "run", "cases.yaml", "--outputs", "outputs.jsonl", "--scorers-from", "mine.py").code == 0
    assert str(tmp_path) not in sys.path


def test_the_evaluator_takes_such_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN.format(name="own-half"))
    listed = [{"type": "own-half"}]
    with pytest.raises(InputError):
        Evaluator(listed)
    result = Evaluator(listed, scorers_from=tmp_path / "mine.py").evaluate(Case(id="a", expected=Expected()), Output())
    assert (result.passed, result.weighted_average) == (True, 0.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("x = 1\n", "registers no scorer"),
        ("def (:\n", "cannot be loaded: SyntaxError"),
        ("raise SystemExit(3)\n", "cannot be loaded: SystemExit"),
        ("import scalepan, subprocess\nscalepan.scorer('p')(subprocess.Popen)\n", "Popen has no score"),
        ("import scalepan\nscalepan.scorer('p')(7)\n", "neither a function nor a class"),
    ],
)
def test_a_file_that_is_none_is_one_line(run: Run, tmp_path: Path, text: str | None, words: str) -> None:
    (tmp_path / "cases.yaml").write_text("[{id: a, expected: {output: x}}]")
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    done = run("eval", "lint", "cases.yaml", "--scorers-from", "mine.py")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert words in done.err


def test_options_reach_a_scorer_class_and_no_other() -> None:
    """A class that is no scorer would do with the options whatever it does: `Popen(args=..., shell=True)`."""
    registry._registered["popen"] = registry._Registered(subprocess.Popen, 0.5)
    with pytest.raises(InputError, match="without score"):
        Evaluator([{"type": "popen", "args": "exit 1", "shell": True}])
    scorer("plain", threshold=0.5)(lambda actual, expected: 1.0)
    with pytest.raises(InputError, match="takes no options"):
        Evaluator([{"type": "plain", "shell": True}])


def test_the_users_own_file_is_used_if_nobody_else_can_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "config"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(platformdirs, "user_config_path", lambda name: folder)
    (folder / "scorers.py").write_text(OWN.format(name="users-half"))
    (folder / "scorers.py").chmod(0o666)
    with pytest.raises(InputError, match="another user owns it or may write to it"):
        Evaluator([{"type": "users-half"}])
    (folder / "scorers.py").chmod(0o600)
    assert [one.type for one in Evaluator([{"type": "users-half"}], load_policy()).bound] == ["users-half"]
