"""The runs that LangSmith's SDK sends, read as an export would have them: each step of the scene once."""

from pathlib import Path

import msgspec
import pytest

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import TraceLine, open_path, read_source
from tests.real.emitters import scenes
from tests.real.emitters.agents import Place
from tests.real.emitters.collector import Collector
from tests.real.emitters.conftest import Script
from tests.trace.readers.rows import steps_of


def exported(stand_in: Script, place: Place, kind: str) -> Path:
    """The runs of one agent, one per line; starts and ends are lines of their own."""
    model = stand_in(scenes.counting())
    with Collector() as collector:
        place.script("langsmith", kind, model.url, collector.url, LANGSMITH_TRACING="true", LANGSMITH_PROJECT="shop")
    sent = [msgspec.json.decode(body) for _, body in collector.bodies["/runs/batch"]]
    runs = [run for one in sent for part in ("post", "patch") for run in one.get(part) or []]
    file = place.home / "runs.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, runs)))
    return file


def read(file: Path) -> ReasoningTrace:
    with open_path(file) as source:
        (row,) = read_source(source)
    assert isinstance(row, TraceLine), row
    return row.trace


@pytest.mark.parametrize("kind", ["openai", "anthropic", "langgraph"])
def test_every_step_of_the_scene_once(stand_in: Script, place: Place, kind: str) -> None:
    trace = read(exported(stand_in, place, kind))
    # Chat Completions has no thoughts; Anthropic's come back with the next request.
    thought = [("thought", None, "Look first.")] if kind == "anthropic" else []
    steps = [(type_, tool, text if type_ != "observation" else None) for type_, tool, text in steps_of(trace)]
    assert steps == [
        *thought,
        ("thought", None, "I look."),
        ("tool_call", "count_lines", '{"path":"missing.txt"}'),
        ("observation", "count_lines", None),
        ("error_recovery", "count_lines", '{"path":"a.txt"}'),
        ("error_recovery", "count_lines", '{"path":"b.txt"}'),
        ("observation", "count_lines", None),
        ("observation", "count_lines", None),
        ("thought", None, "a.txt has 1 line."),
    ]
    assert (trace.task.objective, trace.outcome.result_summary) == ("How many lines has a.txt?", "a.txt has 1 line.")
    results = [(step.content, step.origin.failed) for step in trace.steps if step.type == "observation" and step.origin]
    assert results[0][1] is True
    assert "no such file: missing.txt" in (results[0][0] or "")
    # Parallel calls may end in any order.
    assert sorted(failed is True for _, failed in results[1:]) == [False, True]
    assert "1" in {text for text, _ in results}
    assert trace.origin is not None
    assert trace.origin.project == "shop"
    assert (trace.origin.input_tokens, trace.origin.output_tokens) != (None, None)
