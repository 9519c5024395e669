"""What is this trace worth keeping for? Model, readers, novelty, value."""

from karat.trace.gate import Gate, Raise
from karat.trace.model import Metadata, Outcome, ReasoningTrace, Step, Task, Tool, trace_schema
from karat.trace.readers import BadRow, Row, read_jsonl
from karat.trace.value import TraceValuer, ValueDetails, evaluate_value
from karat.trace.vectors import Near, VectorCache

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
