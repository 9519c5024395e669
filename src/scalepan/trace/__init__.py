"""How valuable is this trace? Model, readers, novelty, value."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.trace.arrow import value_table
    from scalepan.trace.gate import Raise, ValueGate
    from scalepan.trace.model import Metadata, Outcome, ReasoningTrace, Step, Task, Tool, trace_schema
    from scalepan.trace.readers import BadRow, TraceLine, read_jsonl
    from scalepan.trace.recording import Recording, record, recorded_tool
    from scalepan.trace.value import TraceValuer, ValueDetails, evaluate_value
    from scalepan.trace.vectors import Near, VectorCache

__all__ = [
    "BadRow",
    "Metadata",
    "Near",
    "Outcome",
    "Raise",
    "ReasoningTrace",
    "Recording",
    "Step",
    "Task",
    "Tool",
    "TraceLine",
    "TraceValuer",
    "ValueDetails",
    "ValueGate",
    "VectorCache",
    "evaluate_value",
    "read_jsonl",
    "record",
    "recorded_tool",
    "trace_schema",
    "value_table",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.trace.arrow": ["value_table"],
        "scalepan.trace.gate": ["ValueGate", "Raise"],
        "scalepan.trace.model": ["Metadata", "Outcome", "ReasoningTrace", "Step", "Task", "Tool", "trace_schema"],
        "scalepan.trace.readers": ["BadRow", "TraceLine", "read_jsonl"],
        "scalepan.trace.recording": ["Recording", "record", "recorded_tool"],
        "scalepan.trace.value": ["TraceValuer", "ValueDetails", "evaluate_value"],
        "scalepan.trace.vectors": ["Near", "VectorCache"],
    },
)
