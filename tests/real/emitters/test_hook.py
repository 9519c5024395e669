"""Claude Code runs the hook that `scalepan init claude-code` writes; then the session's value is there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.real.emitters import scenes
from tests.real.emitters.agents import Place, claude_code, read_lines
from tests.real.emitters.conftest import Script
from tests.real.emitters.turns import call, say

ALLOWED = ["--allowedTools", "Bash,Read,Write,Task"]
TASK = {"description": "Count", "prompt": "Count the lines of a.txt.", "subagent_type": "general-purpose"}


def init(place: Place, *options: str) -> None:
    """`scalepan init claude-code` in the folder where the agent works, without Scalepan on the PATH."""
    env = {**os.environ, "HOME": str(place.home), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "scalepan", "init", "claude-code", *options]
    subprocess.run(command, cwd=place.work, env=env, check=True, capture_output=True, timeout=60)


def rows(place: Place) -> list[dict[str, Any]]:
    """What the hook wrote."""
    return read_lines((place.home / ".local/share/scalepan/sessions.jsonl").read_text(encoding="utf-8"))


def test_a_session_is_valued_when_it_ends(stand_in: Script, place: Place) -> None:
    init(place)
    made = claude_code(stand_in(scenes.claude(place.work)), place, scenes.PROMPT, *ALLOWED)
    (row,) = rows(place)
    assert row["session"] == made.files[0].stem
    # Two thoughts and a text, a call that failed and one that mended it, two at once, one more, the answer.
    assert (row["steps"], row["tools"], row["recoveries"]) == (14, 3, 1)
    assert (row["format"], row["reason"], row["file"]) == ("claude-code", "other", str(made.files[0]))
    assert 0 < row["value"] < 1
    assert (row["success"], row["outcome_source"], row["novelty_source"]) == (None, "default", "default")


def test_sub_agents_have_rows_of_their_own(stand_in: Script, place: Place) -> None:
    init(place, "--user")
    # The helper works in the background: who is asked first is not known, so all say the same.
    model = stand_in([[call("Task", **TASK)], *[[say("One line.")]] * 4])
    claude_code(model, place, "Let a helper count.", *ALLOWED)
    main, helper = rows(place)
    assert (main["parent"], helper["parent"]) == (None, main["id"])
    assert (helper["steps"], helper["tools"]) == (1, 0)
    assert main["tools"] == 1


def test_other_settings_and_hooks_stay(stand_in: Script, place: Place) -> None:
    theirs = {"type": "command", "command": f"touch {place.home}/theirs"}
    settings: dict[str, Any] = {"env": {"A": "1"}, "hooks": {"SessionEnd": [{"hooks": [theirs]}]}}
    file = place.work / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(settings), encoding="utf-8")
    init(place)
    claude_code(stand_in([[say("Hello.")]]), place, "Say hello.")
    assert (place.home / "theirs").exists()
    assert [row["steps"] for row in rows(place)] == [1]
    assert json.loads(file.read_text(encoding="utf-8"))["env"] == {"A": "1"}


def test_a_hook_that_fails_does_not_disturb_the_session(stand_in: Script, place: Place) -> None:
    init(place)
    (place.work / "scalepan.yaml").write_text("value: {weights: 5}", encoding="utf-8")
    made = claude_code(stand_in([[say("Hello.")]]), place, "Say hello.")
    assert made.printed_lines[-1]["result"] == "Hello."
    assert not Path(place.home / ".local/share/scalepan").exists()
