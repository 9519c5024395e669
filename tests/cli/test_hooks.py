"""scalepan init claude-code and scalepan value --hook: set up once, quiet ever after."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

SESSION = "5b7c1d2e-0000-4000-8000-000000000000"
LINES: list[dict[str, Any]] = [
    {"type": "user", "message": {"role": "user", "content": "How many lines has a.txt?"}},
    {
        "type": "assistant",
        "message": {
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "wc -l a.txt"}}],
        },
    },
    {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1 a.txt"}]},
    },
    {
        "type": "assistant",
        "message": {"id": "msg_2", "role": "assistant", "content": [{"type": "text", "text": "One."}]},
    },
]


def transcript(file: Path, **more: Any) -> Path:
    """A short session as Claude Code writes it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for number, line in enumerate(LINES):
        place = {"uuid": f"{file.stem}-{number}", "parentUuid": f"{file.stem}-{number - 1}" if number else None}
        rest = {"sessionId": SESSION, "timestamp": "2026-01-31T12:00:00Z", "isSidechain": False, "cwd": "/work"}
        written.append(json.dumps(line | place | rest | more))
    file.write_text("\n".join(written) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "SCALEPAN_STORE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def event(path: object, **more: object) -> bytes:
    """What Claude Code tells a hook when a session ends."""
    data = {"session_id": SESSION, "transcript_path": str(path), "cwd": "/work", "hook_event_name": "SessionEnd"}
    return json.dumps(data | {"reason": "prompt_input_exit"} | more).encode()


def rows(home: Path) -> list[dict[str, Any]]:
    file = home / ".local/share/scalepan/sessions.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def test_a_session_and_its_sub_agents_get_rows(run: Run, home: Path) -> None:
    file = transcript(home / f".claude/projects/work/{SESSION}.jsonl")
    transcript(file.with_suffix("") / "subagents/agent-a1.jsonl", isSidechain=True, agentId="a1")
    done = run("value", "--hook", "claude-code", stdin=event(file))
    assert done == (0, "", "")
    main, helper = rows(home)
    assert (main["id"], main["session"], main["file"]) == (f"kp:trace:claude-code:{SESSION}", SESSION, str(file))
    assert (main["steps"], main["tools"], main["reason"]) == (3, 1, "prompt_input_exit")
    assert helper["parent"] == main["id"]
    assert main["valued_at"].endswith("Z")
    assert "One." not in json.dumps([main, helper])


def test_a_session_that_is_resumed_gets_another_row(run: Run, home: Path) -> None:
    file = transcript(home / f"{SESSION}.jsonl")
    for _ in range(2):
        run("value", "--hook", "claude-code", stdin=event(file))
    first, second = rows(home)
    assert first["id"] == second["id"]


def test_the_number_can_be_kept_and_the_file_named(run: Run, home: Path, tmp_path: Path) -> None:
    file = transcript(home / f"{SESSION}.jsonl")
    options = ["--keep", "--store", "s.duckdb", "--out", "mine.jsonl"]
    assert run("value", "--hook", "claude-code", *options, stdin=event(file)).code == 0
    assert rows(home) == []
    (line,) = (tmp_path / "mine.jsonl").read_text(encoding="utf-8").splitlines()
    explained = run("explain", json.loads(line)["id"], "--store", "s.duckdb")
    assert explained.code == 0
    assert "complexity" in explained.out


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (b"", "standard input: is not an event of a hook: Input data was truncated"),
        (b"[]", "standard input: is not an event of a hook: Expected `object`, got `array`"),
        (b'{"transcript_path": 5}', "is not an event of a hook: Expected `str`, got `int` - at `$.transcript_path`"),
        (b'{"session_id": "x"}', "is not an event of a hook: Object missing required field `transcript_path`"),
        (b" " * (1 << 20) + b"{}", "standard input: the event has more than 1,048,576 bytes"),
        (b'{"transcript_path": "/none/x.jsonl"}', "transcript_path: '/none/x.jsonl' is not the path of a file"),
        (b'{"transcript_path": "/"}', "transcript_path: '/' is not the path of a file"),
        (b'{"transcript_path": "/dev/zero"}', "transcript_path: '/dev/zero' is not the path of a file"),
        (b'{"transcript_path": "a.jsonl"}', "transcript_path: 'a.jsonl' is not the path of a file"),
        (b'{"transcript_path": "/x\\u0000y"}', "is not the path of a file"),
        (b"\xff", "is not an event of a hook"),
    ],
)
def test_whatever_is_wrong_is_a_line_and_no_failure(run: Run, home: Path, told: bytes, message: str) -> None:
    transcript(Path("a.jsonl"))
    done = run("value", "--hook", "claude-code", stdin=told)
    assert (done.code, done.out) == (0, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert rows(home) == []


def test_a_pipe_is_not_read(run: Run, home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    done = run("value", "--hook", "claude-code", stdin=event(tmp_path / "pipe.jsonl"))
    assert (done.code, "is not the path of a file" in done.err) == (0, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no trace in it"),
        ("not JSON", "is not JSON"),
        ("{}", ""),
    ],
)
def test_a_transcript_without_a_trace_is_a_line(run: Run, home: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    done = run("value", "--hook", "claude-code", stdin=event(tmp_path / "t.jsonl"))
    assert (done.code, done.out, rows(home)) == (0, "", [])
    assert message in done.err


def test_a_policy_that_does_not_fit_is_a_line(run: Run, home: Path) -> None:
    file = transcript(home / f"{SESSION}.jsonl")
    Path("scalepan.yaml").write_text("value: {weights: 5}")
    done = run("value", "--hook", "claude-code", stdin=event(file))
    assert (done.code, done.out, rows(home)) == (0, "", [])
    assert "scalepan.yaml" in done.err


ENTRY = {"type": "command", "command": "scalepan value --hook claude-code", "timeout": 30}
WRITTEN = {"hooks": {"SessionEnd": [{"hooks": [ENTRY]}]}}


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scalepan that a shell finds."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "scalepan").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "scalepan").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.mark.usefixtures("on_path")
def test_init_writes_the_hook_once(run: Run, home: Path) -> None:
    done = run("init", "claude-code")
    assert done.code == 0
    assert "to undo, remove the hook with this command from hooks.SessionEnd in .claude/settings.json" in done.out
    file = Path(".claude/settings.json")
    text = file.read_text()
    assert json.loads(text) == WRITTEN
    again = run("init", "claude-code")
    assert again.out == ".claude/settings.json: the hook is there already; nothing was changed\n"
    assert file.read_text() == text
    assert not home.exists()


@pytest.mark.usefixtures("on_path")
def test_init_for_all_projects_of_the_user(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("init", "claude-code", "--user").code == 0
    assert json.loads((home / ".claude/settings.json").read_text()) == WRITTEN
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "other"))
    assert run("init", "claude-code", "--user").code == 0
    assert json.loads((home / "other/settings.json").read_text()) == WRITTEN
    assert not Path(".claude").exists()


@pytest.mark.usefixtures("on_path")
def test_print_writes_nothing(run: Run, home: Path) -> None:
    done = run("init", "claude-code", "--print")
    assert (done.code, json.loads(done.out)) == (0, WRITTEN)
    assert not Path(".claude").exists()


def test_without_scalepan_on_the_path_the_hook_names_this_python(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/none")
    monkeypatch.setattr("sys.executable", "/my venv/bin/python")
    done = run("init", "claude-code", "--print")
    (group,) = json.loads(done.out)["hooks"]["SessionEnd"]
    assert group["hooks"][0]["command"] == "'/my venv/bin/python' -m scalepan value --hook claude-code"


def test_settings_that_are_not_json_are_not_touched(run: Run, home: Path) -> None:
    Path(".claude").mkdir()
    Path(".claude/settings.json").write_text("{,}")
    done = run("init", "claude-code")
    assert done.code == 2
    assert done.err.startswith("scalepan: .claude/settings.json: is not valid JSON (")
    assert "nothing was written" in done.err
    assert Path(".claude/settings.json").read_text() == "{,}"


def test_a_folder_of_that_name_is_still_a_folder(run: Run) -> None:
    assert run("init", "./claude-code").code == 0
    assert Path("claude-code/traces.jsonl").exists()


def test_options_of_a_hook_do_not_go_with_a_folder(run: Run) -> None:
    done = run("init", "here", "--user")
    assert done.code == 2
    assert "--user and --print go with claude-code, not with a folder" in done.err
    assert not Path("here").exists()
