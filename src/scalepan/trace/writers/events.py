"""What is a trace's event about? The span that the trace was read from, where the log was OpenTelemetry's."""

from scalepan.otel import EvaluationSubject
from scalepan.trace.model import ReasoningTrace


def subject_of(trace: ReasoningTrace) -> EvaluationSubject:
    """The trace as other systems know it."""
    origin = trace.origin
    if origin is None:
        return EvaluationSubject(id=trace.id)
    return EvaluationSubject(id=trace.id, trace_id=origin.trace_id, span_id=origin.span_id)
