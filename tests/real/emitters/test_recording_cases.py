"""Streams, conversations, pauses for a person, structured answers: what becomes of them in a recording."""

import pytest

from tests.real.emitters.agents import Place, recorded_case
from tests.real.emitters.conftest import Script
from tests.real.emitters.test_recording import Row, rows, traces
from tests.real.emitters.turns import Turn, call, say

COUNT = call("count_lines", path="a.txt")
CALL: Row = ("tool_call", "count_lines", {"path": "a.txt"}, None)
RESULT: Row = ("observation", "count_lines", "1", False)
ASK: Row = ("tool_call", "ask", {"question": "Sure?"}, None)
NOT_A_NUMBER = (
    '{"error":[{"type":"int_parsing","loc":["count"],'
    '"msg":"Input should be a valid integer, unable to parse string as an integer","input":"x"}]}'
)


def thought(text: str) -> Row:
    return ("thought", None, text, None)


@pytest.mark.parametrize(
    ("case", "turns", "expected"),
    [
        # Two calls that are the same in name and input.
        (
            "agents-streamed",
            [[COUNT, COUNT], [say("One.")]],
            [("Count", [CALL, CALL, RESULT, RESULT, thought("One.")])],
        ),
        (
            "agents-conversation",
            [[say("One.")], [say("Still one.")]],
            [("Count", [thought("One.")]), ("Again", [thought("Still one.")])],
        ),
        # Only that there was a call of this tool, and that it did not fail.
        (
            "agents-private",
            [[COUNT], [say("One.")]],
            [("", [("tool_call", "count_lines", None, None), ("observation", "count_lines", None, False)])],
        ),
        (
            "langchain-by-hand",
            [[say("I look."), COUNT], [say("One.")]],
            [("Count", [thought("I look."), CALL, RESULT, thought("One.")])],
        ),
        (
            "langchain-retriever",
            [[say("One.")]],
            [
                (
                    "How many?",
                    [
                        ("tool_call", "Shelf", {"query": "How many?"}, None),
                        ("observation", "Shelf", "a.txt has 1 line.\n\nb.txt has none.", False),
                        thought("One."),
                    ],
                )
            ],
        ),
        # The pause is no failure. The second run makes the call again, as LangGraph does.
        (
            "langgraph-interrupt",
            [[call("ask", question="Sure?")], [say("Done.")]],
            [("Delete it", [ASK]), ("Delete it", [ASK, ("observation", "ask", "yes", False), thought("Done.")])],
        ),
        (
            "langgraph-retry",
            [[call("flaky")], [say("It is up.")]],
            [
                (
                    "Try",
                    [
                        ("tool_call", "flaky", {}, None),
                        ("observation", "flaky", "ConnectionError: down", True),
                        ("error_recovery", "flaky", {}, None),
                        ("observation", "flaky", "up", False),
                        thought("It is up."),
                    ],
                )
            ],
        ),
        # The tool for the answer is the answer.
        (
            "pydantic-structured",
            [[call("final_result", count="x")], [call("final_result", count=1)]],
            [
                (
                    "Count",
                    [thought('{"count":"x"}'), ("observation", None, NOT_A_NUMBER, None), thought('{"count":1}')],
                )
            ],
        ),
        (
            "pydantic-approval",
            [[COUNT], [say("One.")]],
            [("Count", [CALL]), ("Count", [CALL, RESULT, thought("One.")])],
        ),
        (
            "pydantic-denial",
            [[COUNT], [say("I see.")]],
            [
                ("Count", [CALL]),
                ("Count", [CALL, ("observation", "count_lines", "The tool call was denied.", None), thought("I see.")]),
            ],
        ),
    ],
)
def test_what_becomes_of(
    stand_in: Script, place: Place, case: str, turns: list[Turn], expected: list[tuple[str, list[Row]]]
) -> None:
    found = traces(recorded_case(stand_in(turns), place, case))
    assert [(trace.task.objective, rows(trace)) for trace in found] == expected


def test_a_persons_no_is_not_a_failure(stand_in: Script, place: Place) -> None:
    _, second = traces(recorded_case(stand_in([[COUNT], [say("I see.")]]), place, "pydantic-denial"))
    assert [step.origin.refused for step in second.steps if step.origin is not None] == [None, True, None]
