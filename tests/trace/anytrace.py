"""Any valid trace: Hypothesis strategies for native ones, and for those that were read from another tool's log."""

from typing import Any

from hypothesis import strategies as st

from tests.real.wholetrace import TYPES, Trace

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
not_null = json_values.filter(lambda value: value is not None)  # null is a key that is not there
# The Python names of fields that JSON spells otherwise are unknown keys too.
unknown_keys = st.dictionaries(
    st.sampled_from(["extra", "context", "kind", "note", "", "x-1", "__class__", "金", "@id", "toDict"]),
    json_values,
    max_size=2,
)
words = st.text(max_size=20)


def with_unknown(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[Trace]:
    """An object with these keys, and any unknown ones beside them."""
    known = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda known, unknown: unknown | known, known, unknown_keys)


STEP: dict[str, st.SearchStrategy[Any]] = {"step_id": st.integers(0, 2**62), "type": st.sampled_from(TYPES)}
OF_STEP: dict[str, st.SearchStrategy[Any]] = {
    "content": words,
    "tool": with_unknown({"name": words}, mcp_server=words),
    "input": not_null,
    "output_summary": words,
    "latency_ms": st.integers(0, 2**53) | st.floats(0, 1e300),
}
steps = with_unknown(STEP, **OF_STEP)
traces = with_unknown(
    {
        "@context": st.sampled_from(
            ["https://openknowledgepulse.org/schema/v1", "https://knowledgepulse.dev/schema/v1"]
        ),
        "@type": st.just("ReasoningTrace"),
        "id": words.map("kp:trace:{}".format),
        "metadata": with_unknown(
            {
                "created_at": st.datetimes().map(lambda at: at.isoformat() + "Z"),
                "task_domain": st.sampled_from(["default", "finance", "code", "medical", "customer_service"]) | words,
                "success": st.booleans(),
                "quality_score": st.floats(0, 1) | st.integers(0, 1),
                "visibility": st.sampled_from(["private", "org", "network"]),
                "privacy_level": st.sampled_from(["aggregated", "federated", "private"]),
            },
            agent_id=words,
            framework=words,
        ),
        "task": with_unknown({"objective": words}, input_schema=not_null),
        "steps": st.lists(steps, min_size=1, max_size=6),
        "outcome": with_unknown({"result_summary": words, "confidence": st.floats(0, 1) | st.integers(0, 1)}),
    },
    source_skill=words,
)

# Ids and times come from few values, so that they meet: calls and results that pair, and some that do not.
call_ids = st.sampled_from(["c1", "c2", "scalepan-1", ""])
times = st.sampled_from(["2026-01-31T12:00:00Z", "2026-01-31T21:00:00+09:00", "1769860800", "yesterday"])
step_origins = with_unknown({}, call_id=call_ids, failed=st.booleans(), refused=st.booleans(), at=times)
logged_steps = with_unknown(STEP, **OF_STEP, **{"scalepan:origin": step_origins})
origins = with_unknown(
    {"format": st.sampled_from(["claude-code", "atif"])},
    session=words,
    parent=words,
    model=words,
    ended=words,
    input_tokens=st.integers(0, 2**40),
    output_tokens=st.integers(0, 2**40),
    cost_usd=st.floats(0, 1e6),
    unmapped=st.dictionaries(words, st.integers(1, 9), min_size=1, max_size=2),
)


@st.composite
def logged_traces(draw: st.DrawFn) -> Trace:
    """A trace that was read from a log: it may leave open what a native one states."""
    trace = draw(traces) | {"steps": draw(st.lists(logged_steps, min_size=1, max_size=8))}
    for key in ("success", "quality_score", "created_at"):
        if draw(st.booleans()):
            trace["metadata"] = trace["metadata"] | {key: None}
    if draw(st.booleans()):
        trace["outcome"] = trace["outcome"] | {"confidence": None}
    return trace | {"scalepan:origin": draw(origins)}
