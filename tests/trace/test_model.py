"""ReasoningTrace: strict where the format is, and nothing that it does not know gets lost."""

import copy
import json
from typing import Any

import jsonschema
import pytest

from scalepan.errors import InputError
from scalepan.trace import ReasoningTrace, trace_schema
from tests.trace.traces import trace_dict

STEP_TYPES = "thought, tool_call, observation, error_recovery"


def changed(path: str, value: Any) -> dict[str, Any]:
    """A valid trace with one value replaced; `...` removes it."""
    data: dict[str, Any] = trace_dict(("thought", "tool_call", "observation", "thought"))
    *way, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    place: Any = data
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("steps/3/type", "toolcall", f"steps[3].type: 'toolcall' is not one of {STEP_TYPES}"),
        ("outcome/confidence", 1.7, "outcome.confidence: 1.7 is not between 0 and 1"),
        ("outcome/confidence", float("nan"), "outcome.confidence: nan is not a finite number"),
        ("outcome/confidence", "high", "outcome.confidence: 'high' is not a number"),
        ("outcome/confidence", ..., "outcome.confidence: is missing"),
        ("outcome/confidence", None, "outcome.confidence: is missing"),
        ("metadata/success", None, "metadata.success: is missing"),
        ("metadata/success", "yes", "metadata.success: 'yes' is not true or false"),
        ("metadata/quality_score", -1, "metadata.quality_score: -1 is not between 0 and 1"),
        ("metadata/visibility", "public", "metadata.visibility: 'public' is not one of private, org, network"),
        ("metadata/privacy_level", "x", "metadata.privacy_level: 'x' is not one of aggregated, federated, private"),
        ("metadata/created_at", "now", "metadata.created_at: 'now' is not a UTC time such as 2026-01-31T12:00:00Z"),
        ("metadata/created_at", "2026-01-31T12:00", "metadata.created_at: '2026-01-31T12:00' is not a UTC time"),
        ("metadata/created_at", "2026-01-31T12:00+09:00", "metadata.created_at: '2026-01-31T12:00+09:00' is not a UTC"),
        ("metadata/task_domain", ..., "metadata.task_domain: is missing"),
        ("metadata", None, "metadata: null is not an object"),
        ("task", ..., "task: is missing"),
        ("steps", [], "steps: is empty; at least one is needed"),
        ("steps", {}, "steps: an object is not a list"),
        ("steps/0", "thought", "steps[0]: 'thought' is not an object"),
        ("steps/0/step_id", -1, "steps[0].step_id: -1 is not at least 0"),
        ("steps/1/tool", {}, "steps[1].tool.name: is missing"),
        ("steps/1/latency_ms", -2, "steps[1].latency_ms: -2 is not at least 0"),
        ("@type", "Trace", "@type: 'Trace' is not one of ReasoningTrace"),
    ],
)  # fmt: skip
def test_an_error_names_the_trace_the_path_the_value_and_what_is_legal(path: str, value: Any, error: str) -> None:
    with pytest.raises(InputError) as caught:
        ReasoningTrace.from_dict(changed(path, value))
    assert str(caught.value).startswith(f"trace kp:trace:1: {error}")


def test_an_id_must_be_one_of_ours() -> None:
    with pytest.raises(InputError, match="id: '42' does not start with 'kp:trace:'"):
        ReasoningTrace.from_dict(changed("id", "42"))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[1, 2]", "a list is not a trace object"),
        (b'"text"', "'text' is not a trace object"),
        (b'{"id": "\xff"}', "is not UTF-8 text"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"NaN", "is not JSON"),
    ],
)
def test_what_is_no_trace_at_all_says_so(data: bytes, error: str) -> None:
    with pytest.raises(InputError, match=error):
        ReasoningTrace.from_json(data)


def test_unknown_keys_come_back_at_every_level() -> None:
    data = trace_dict()
    data["x_top"] = {"deep": [1, None]}
    data["metadata"]["x_meta"] = 1
    data["task"]["x_task"] = "2"
    data["steps"][1]["x_step"] = [3]
    data["steps"][1]["tool"]["x_tool"] = True
    data["outcome"]["x_outcome"] = None
    data["knowledge_graph_delta"] = {"entities": [], "relationships": [{"a": 1}], "x_delta": 0}
    trace = ReasoningTrace.from_json(json.dumps(data))
    assert trace.to_dict() == data
    assert json.loads(trace.to_json()) == data
    assert trace.steps[1].extra == {"x_step": [3]}
    assert ReasoningTrace.from_dict(data) == trace


def test_reading_does_not_change_what_was_given() -> None:
    data = trace_dict()
    data["metadata"]["x_meta"] = 1
    before = copy.deepcopy(data)
    ReasoningTrace.from_dict(data)
    assert data == before


@pytest.mark.parametrize(
    "context", ["https://openknowledgepulse.org/schema/v1", "https://knowledgepulse.dev/schema/v1"]
)
def test_both_context_addresses_of_the_spec_are_accepted(context: str) -> None:
    assert ReasoningTrace.from_dict(changed("@context", context)).context == context


def test_the_embedded_text_is_the_objective_and_every_content_with_missing_ones_empty() -> None:
    data = trace_dict(objective="Do it")
    data["steps"] = [
        {"step_id": 0, "type": "thought", "content": "a"},
        {"step_id": 1, "type": "tool_call", "tool": {"name": "t"}},
        {"step_id": 2, "type": "observation", "content": "c"},
    ]
    assert ReasoningTrace.from_dict(data).text == "Do it a  c"


@pytest.mark.parametrize(
    ("path", "value", "valid"),
    [
        ("task/objective", "日本語", True),
        ("task/x_unknown", 1, True),
        ("outcome/confidence", None, False),
        ("outcome/confidence", 1.7, False),
        ("steps", [], False),
        ("steps/0/type", "toolcall", False),
        ("id", "42", False),
    ],
)
def test_the_exported_schema_agrees_with_the_reader(path: str, value: Any, valid: bool) -> None:
    validator = jsonschema.Draft202012Validator(trace_schema())
    assert validator.is_valid(changed(path, value)) is valid
