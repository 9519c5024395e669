"""What a client sees, by the MCP inspector's command line: tools, a call, resources, prompts; over stdio and HTTP."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalepan.memory import Memory
from scalepan.serve.tools import TOOLS
from tests.scalepanserver import serving

HERE = Path(__file__).resolve().parents[2] / ".venv-inspector"
if not (HERE / ".ready").exists():
    pytest.skip("the MCP inspector is not installed: 'make inspector' sets it up", allow_module_level=True)
INSPECTOR = [str(HERE / "bin" / "node"), str(HERE / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]


class Inspector:
    """The inspector, pointed at one server."""

    def __init__(self, home: Path, *target: str) -> None:
        self.home = home
        self.target = target

    def run(self, method: str, *options: str) -> "subprocess.CompletedProcess[str]":
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "SCALEPAN_EMBED__MODEL": "none"}
        # Over stdio the server gets a few variables of the client only, and those that it is given.
        command = [*INSPECTOR, "-e", "SCALEPAN_EMBED__MODEL=none", *self.target, "--method", method, *options]
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)

    def ask(self, method: str, *options: str) -> dict[str, Any]:
        """What the inspector prints."""
        done = self.run(method, *options)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy={"embed": {"model": "none"}}) as memory:
        memory.add("The staging database is reset every Monday")
    return path


@pytest.fixture(params=["stdio", "http"])
def inspector(request: pytest.FixtureRequest, store: Path, tmp_path: Path) -> Iterator[Inspector]:
    if request.param == "stdio":
        yield Inspector(tmp_path, sys.executable, "-m", "scalepan", "mcp", "--store", str(store))
        return
    with serving(store) as server:
        yield Inspector(tmp_path, f"{server.url}/mcp", "--transport", "http")


def test_every_tool_is_listed_with_schemas_that_any_client_can_use(inspector: Inspector) -> None:
    done = inspector.run("tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    listed = {tool["name"]: tool for tool in json.loads(done.stdout)["tools"]}
    assert list(listed) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        assert listed[tool.name]["annotations"]["readOnlyHint"] is tool.read_only
        assert listed[tool.name]["outputSchema"]["properties"]["request_id"]


def test_a_call_is_answered(inspector: Inspector) -> None:
    answer = inspector.ask(
        "tools/call", "--tool-name", "pce_memory_search", "--tool-arg", "query=when is staging reset?"
    )
    (claim,) = answer["structuredContent"]["claims"]
    assert "reset every Monday" in claim["text"]


def test_a_dotted_name_is_listed_and_called(store: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scalepan", "mcp", "--store", str(store), "--tool-names", "dotted"]
    dotted = Inspector(tmp_path, *command)
    answer = dotted.ask("tools/call", "--tool-name", "pce.memory.search", "--tool-arg", "query=staging")
    assert len(answer["structuredContent"]["claims"]) == 1


def test_an_error_is_told_as_one(inspector: Inspector) -> None:
    done = inspector.run("tools/call", "--tool-name", "memory_vote", "--tool-arg", "claim=clm_x", "signal=helpful")
    assert "NOT_FOUND" in done.stdout
    assert "no claim 'clm_x' here" in done.stdout


def test_resources_and_prompts_are_there(inspector: Inspector) -> None:
    assert {one["name"] for one in inspector.ask("resources/list")["resources"]} == {"policy", "events"}
    (policy,) = inspector.ask("resources/read", "--uri", "scalepan://policy")["contents"]
    assert json.loads(policy["text"])["retrieval"]["threshold"] == 0.15
    names = [one["name"] for one in inspector.ask("prompts/list")["prompts"]]
    assert len(names) == 2
