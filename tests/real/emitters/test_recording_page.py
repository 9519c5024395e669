"""The examples of docs/recording.md run as they stand, each with its framework and a stand-in for the model."""

import pytest

from scalepan.trace import TraceLine, read_jsonl
from tests.pages import ROOT, blocks
from tests.real.emitters.agents import BIN, Place
from tests.real.emitters.conftest import Script
from tests.real.emitters.turns import call, say

EXAMPLES = blocks(ROOT / "docs" / "recording.md", "py")
FRAMEWORKS = ["openai-agents", "langchain", "pydantic-ai"]


@pytest.mark.parametrize(("framework", "example"), list(zip(FRAMEWORKS, EXAMPLES, strict=True)), ids=FRAMEWORKS)
def test_an_example_runs_and_records(stand_in: Script, place: Place, framework: str, example: str) -> None:
    model = stand_in([[call("count_lines", path="a.txt")], [say("One line.")]])
    env = {
        "OPENAI_API_KEY": "stand-in",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "HTTPS_PROXY": model.url,  # what the Agents SDK sends to OpenAI stays here
        "PYTHONPATH": str(ROOT / "src"),
    }
    printed = place.run(BIN / "python", "-P", "-c", example, **env)
    assert printed == "One line.\n"
    (line,) = read_jsonl(place.work / "recorded.jsonl")
    assert isinstance(line, TraceLine)
    assert line.trace.metadata.framework == framework
    assert line.trace.task.objective == "How many lines has a.txt?"
    assert [(step.type, step.content) for step in line.trace.steps] == [
        ("tool_call", None),
        ("observation", "1"),
        ("thought", "One line."),
    ]
