"""How do other systems see a score? As an OpenTelemetry event, in a file or sent to an OTLP endpoint."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.otel.event import EvaluationSubject, evaluation_event, logs_request
    from scalepan.otel.writer import EvaluationWriter

__all__ = ["EvaluationSubject", "EvaluationWriter", "evaluation_event", "logs_request"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.otel.event": ["EvaluationSubject", "evaluation_event", "logs_request"],
        "scalepan.otel.writer": ["EvaluationWriter"],
    },
)
