"""A trace as it may be stored or passed on: every text that somebody wrote, redacted. Ids, times and types stay."""

from typing import Any

import msgspec

from scalepan.inforce import redacted
from scalepan.redact import Redactor
from scalepan.trace.model import ReasoningTrace

VERBATIM = frozenset(
    (
        *("context", "kind", "id", "step_id", "type", "created_at", "visibility", "privacy_level"),
        *("format", "session", "parent", "trace_id", "span_id", "call_id", "at"),
    )
)
"""Fields that join things or are words of the format; everything else may be text."""


def redacted_trace(trace: ReasoningTrace, redactor: Redactor) -> ReasoningTrace:
    """The same trace with redacted texts, unknown keys included. Its value without an encoder is the same."""
    redacted_: ReasoningTrace = _redacted(trace, redactor)
    return redacted_


def _redacted(node: Any, redactor: Redactor) -> Any:
    if isinstance(node, list):
        return [_redacted(item, redactor) for item in node]
    if not isinstance(node, msgspec.Struct):
        return redacted(node, redactor)
    changed = {
        name: _redacted(value, redactor)
        for name in node.__struct_fields__
        if name not in VERBATIM and (value := getattr(node, name)) is not None and value != {}
    }
    return msgspec.structs.replace(node, **changed)
