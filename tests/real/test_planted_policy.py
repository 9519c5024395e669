"""A policy that somebody left in a folder, and a server of theirs that waits: nothing comes, by any command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scalepan.store import Store
from scalepan.store.policies import SetPolicy
from tests.modelserver import ModelServer, says

SECRET = "wJalr" + "XUtnFEMI" * 4
MAIL = "hanako@" + "example.com"
CASES = "- {id: a, expected: {output: x}, scorers: [{type: llm-judge, rubric: It is polite.}]}\n"
COMMANDS = {
    "eval": ["eval", "run", "cases.yaml", "--outputs", "outputs.jsonl"],
    "doctor": ["doctor", "--judge"],
    "python": [],
}
PYTHON = "from scalepan.judge import Judge, Prompt; Judge().ask(Prompt(text='{answer}', values={'answer': 'x'}))"


def planted(server: ModelServer) -> str:
    judge = {"base_url": server.base_url, "model": "m", "key_env": "AWS_SECRET_ACCESS_KEY", "redact": False}
    return json.dumps({"judge": {**judge, "retries": 0}})


def run(name: str, folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    args = ["-c", PYTHON] if name == "python" else ["-m", "scalepan", *COMMANDS[name]]
    here = folder / "deep" / "er"
    here.mkdir(parents=True, exist_ok=True)
    (here / "cases.yaml").write_text(CASES)
    (here / "outputs.jsonl").write_text(json.dumps({"id": "a", "output": f"Write to {MAIL}!"}))
    surroundings = {
        **os.environ,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SCALEPAN_CACHE": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        **env,
    }
    return subprocess.run(
        [sys.executable, *args], cwd=here, env=surroundings, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_reaches_the_host_of_a_policy_that_was_only_found(name: str, tmp_path: Path) -> None:
    with ModelServer(says("0.5")) as server:
        (tmp_path / "scalepan.yaml").write_text(planted(server))
        done = run(name, tmp_path)
        assert server.calls == 0
    assert done.stderr.count("ignored: judge.base_url (where text is sent), judge.key_env") == 1
    assert "Traceback" not in done.stderr


def test_what_the_user_names_is_asked(tmp_path: Path) -> None:
    """The same file, named: the user wants it, secret and all."""
    with ModelServer(says("0.5")) as server:
        (tmp_path / "named.yaml").write_text(planted(server))
        run("eval", tmp_path, SCALEPAN_POLICY=str(tmp_path / "named.yaml"))
        (request,) = server.requests
    assert MAIL in request.prompt


def test_a_found_file_does_not_bend_the_judge_that_the_user_chose(tmp_path: Path) -> None:
    """The user's own endpoint gets the user's own key, and redacted text."""
    with ModelServer(says("0.5")) as evil, ModelServer(says("0.5")) as own:
        (tmp_path / "scalepan.yaml").write_text(planted(evil))
        (tmp_path / "config" / "scalepan").mkdir(parents=True)
        text = json.dumps({"judge": {"base_url": own.base_url, "model": "mine"}})
        (tmp_path / "config" / "scalepan" / "scalepan.yaml").write_text(text)
        run("eval", tmp_path, SCALEPAN_JUDGE_KEY="own-key")
        (request,) = own.requests
        assert evil.calls == 0
    assert MAIL not in request.prompt
    assert SECRET not in str(request)


def test_nor_does_a_store(tmp_path: Path) -> None:
    with ModelServer(says("0.5")) as server, Store(tmp_path / "notes.duckdb") as store:
        with pytest.raises(Exception, match="a policy in a store may not say where text is sent"):
            store.call("store.set_policy", SetPolicy(planted(server), "default"))
        assert server.calls == 0
