"""Gemini CLI writes what readers of its chats depend on."""

from typing import Any

import pytest

from tests.real.emitters import scenes
from tests.real.emitters.agents import Made, Place, gemini
from tests.real.emitters.conftest import Script
from tests.real.emitters.oracles import agent_turns, harbor
from tests.real.emitters.turns import call, say


def latest(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages in order. One is written again when its calls have ended: the last writing counts."""
    return list({line["id"]: line for line in lines if "id" in line}.values())


def calls(lines: list[dict[str, Any]]) -> list[list[str]]:
    """The ids of the calls of each answer of the model."""
    return [[one["id"] for one in line.get("toolCalls", [])] for line in latest(lines) if line["type"] == "gemini"]


@pytest.fixture
def session(stand_in: Script, place: Place) -> Made:
    return gemini(stand_in(scenes.gemini(place.work)), place, scenes.PROMPT)


SHELL = "run_shell_command__call"


def test_calls_and_their_results_are_in_the_message(session: Made) -> None:
    assert calls(session.lines) == [
        [f"{SHELL}_01_2"],
        [f"{SHELL}_02_0"],
        ["read_file__call_03_0", f"{SHELL}_03_1"],
        ["write_file__call_04_0"],
        [],
    ]
    first = next(line for line in latest(session.lines) if line["type"] == "gemini")
    assert first["thoughts"][0]["subject"] == "Counting"
    (shell,) = first["toolCalls"]
    assert shell["result"][0]["functionResponse"]["id"] == shell["id"]


def test_a_command_that_fails_is_a_call_that_succeeds(session: Made) -> None:
    """The exit code is in the text only."""
    first = next(line for line in latest(session.lines) if line["type"] == "gemini")
    (shell,) = first["toolCalls"]
    assert shell["status"] == "success"
    assert "Exit Code: 1" in shell["result"][0]["functionResponse"]["response"]["output"]


def test_results_come_again_as_users(session: Made) -> None:
    users = [line["content"] for line in latest(session.lines) if line["type"] == "user"]
    assert sum("functionResponse" in content[0] for content in users) == 4


def test_tokens_are_counted_for_each_answer(session: Made) -> None:
    tokens = [line["tokens"] for line in latest(session.lines) if line["type"] == "gemini"]
    assert [(one["input"], one["output"], one["cached"]) for one in tokens] == [(100 + n, 7, 30) for n in range(1, 6)]


def test_harbor_reads_the_same_calls(session: Made, place: Place) -> None:
    trajectory = harbor(place, "gemini-cli", session.files[0])
    assert [made for source, made, _ in agent_turns(trajectory) if source == "agent"] == calls(session.lines)


def test_a_resumed_session_grows(stand_in: Script, place: Place) -> None:
    model = stand_in([[say("One.")], [say("Two.")]])
    gemini(model, place, "Say one.")
    resumed = gemini(model, place, "Say two.", "--yolo", "--resume", "latest")
    # A file is named by the minute: a resumed session goes on in another file if that has changed.
    assert len(resumed.files) in (1, 2)
    assert any("One." in file.read_text(encoding="utf-8") for file in resumed.files)
    assert latest(resumed.lines)[-1]["content"] == "Two."


def test_a_tool_that_nobody_may_allow_fails(stand_in: Script, place: Place) -> None:
    model = stand_in([[call("run_shell_command", command="touch b.txt")], [say("I may not.")]])
    made = gemini(model, place, "Touch b.txt.", "--approval-mode", "default")
    statuses = [one["status"] for line in latest(made.lines) for one in line.get("toolCalls", [])]
    assert statuses == ["error"]
    assert not (place.work / "b.txt").exists()
