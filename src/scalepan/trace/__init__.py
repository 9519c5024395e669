"""How valuable is this trace? Model, readers, novelty, value."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.trace.gate import Gate, Raise
    from scalepan.trace.model import Metadata, Outcome, ReasoningTrace, Step, Task, Tool, trace_schema
    from scalepan.trace.readers import BadRow, Row, read_jsonl
    from scalepan.trace.value import TraceValuer, ValueDetails, evaluate_value
    from scalepan.trace.vectors import Near, VectorCache

__all__ = [
    "BadRow",
    "Gate",
    "Metadata",
    "Near",
    "Outcome",
    "Raise",
    "ReasoningTrace",
    "Row",
    "Step",
    "Task",
    "Tool",
    "TraceValuer",
    "ValueDetails",
    "VectorCache",
    "evaluate_value",
    "read_jsonl",
    "trace_schema",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.trace.gate": ["Gate", "Raise"],
        "scalepan.trace.model": ["Metadata", "Outcome", "ReasoningTrace", "Step", "Task", "Tool", "trace_schema"],
        "scalepan.trace.readers": ["BadRow", "Row", "read_jsonl"],
        "scalepan.trace.value": ["TraceValuer", "ValueDetails", "evaluate_value"],
        "scalepan.trace.vectors": ["Near", "VectorCache"],
    },
)
