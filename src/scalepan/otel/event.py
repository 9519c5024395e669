"""How is a score written as an OpenTelemetry event? As a log record `gen_ai.evaluation.result`, in OTLP's JSON form.

Names follow the GenAI semantic conventions where they have one; what only Scalepan knows stands under `scalepan.`.
Plain data in, plain data out: nothing is redacted, written or sent here but by the function that the caller gives.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite, isnan
from typing import Any

import msgspec

import scalepan
from scalepan.score import Score

EVENT = "gen_ai.evaluation.result"
INFO, WARN = (9, "INFO"), (13, "WARN")
UNKNOWN_ERROR = "_OTHER"
"""What the conventions say for an error without a class of its own."""
MOST_TEXT = 4000
"""Longest text of an attribute, in characters. Backends cut or refuse longer ones."""

JSON = dict[str, Any]
Clean = Callable[[str], str]


class EvaluationSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What was judged, as other systems know it. Everything is optional."""

    id: str | None = None
    """Scalepan's own id: of a trace, a case, a claim, a decision."""
    trace_id: str | None = None
    """OpenTelemetry's, 32 hexadecimal digits: the event becomes part of that trace."""
    span_id: str | None = None
    """16 hexadecimal digits: the span of the operation that was judged."""
    response_id: str | None = None
    """The model's response, where there is no span."""


NOTHING = EvaluationSubject()


def evaluation_event(
    score: Score,
    subject: EvaluationSubject = NOTHING,
    *,
    at: float,
    label: str | None = None,
    evaluator: str = "scalepan",
    version: str = scalepan.__version__,
    error_type: str | None = None,
    clean: Clean = str,
) -> JSON:
    """A score as a log record. One that was not measured has no `gen_ai.evaluation.score.value`, and says why.

    `at` is in seconds since 1970, `label` a word for people (share, keep, pass, fail). `clean` redacts every free text.

    >>> from scalepan.score import not_measured
    >>> event = evaluation_event(not_measured("novelty", "no encoder found"), at=1.5)
    >>> event["eventName"], event["timeUnixNano"], len(event["attributes"])
    ('gen_ai.evaluation.result', '1500000000', 5)
    """
    failed = score.status == "failed"
    severity, word = WARN if failed else INFO
    # A clock's float is good for a fraction of a microsecond; the digits after that would be invented.
    nanoseconds = f"{round(at * 1e6)}000"
    record: JSON = {
        "timeUnixNano": nanoseconds,
        "observedTimeUnixNano": nanoseconds,
        "severityNumber": severity,
        "severityText": word,
        "eventName": EVENT,
        "attributes": _pairs(
            {
                "gen_ai.evaluation.name": score.name,
                "gen_ai.evaluation.score.value": score.value,
                "gen_ai.evaluation.score.label": label,
                "gen_ai.evaluation.explanation": _explanation(score, clean),
                "gen_ai.response.id": subject.response_id,
                "error.type": (error_type or UNKNOWN_ERROR) if failed else None,
                "scalepan.subject.id": subject.id,
                "scalepan.evaluator.name": evaluator,
                "scalepan.evaluator.version": version,
                "scalepan.policy.version": score.policy or None,
                "scalepan.status": score.status,
                "scalepan.base": score.base,
                "scalepan.parts": [_noted(msgspec.structs.asdict(part), clean) for part in score.parts] or None,
                "scalepan.rules": [_noted(msgspec.structs.asdict(rule), clean) for rule in score.rules] or None,
            }
        ),
    }
    if _is_id(subject.trace_id, 32):
        record["traceId"] = str(subject.trace_id).lower()
        # A span is known within its trace only.
        if _is_id(subject.span_id, 16):
            record["spanId"] = str(subject.span_id).lower()
    return record


def logs_request(records: Iterable[JSON]) -> JSON:
    """Log records as the body of one request, an ExportLogsServiceRequest."""
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": _pairs({"service.name": "scalepan"})},
                "scopeLogs": [
                    {"scope": {"name": "scalepan", "version": scalepan.__version__}, "logRecords": list(records)}
                ],
            }
        ]
    }


def _explanation(score: Score, clean: Clean) -> str:
    text = score.reason if score.value is None else str(score)
    return clean(text)[:MOST_TEXT]


def _noted(row: JSON, clean: Clean) -> JSON:
    """A part or a rule, its note redacted; an empty note is left out."""
    note = clean(row.pop("note"))[:MOST_TEXT]
    return row | {"note": note} if note else row


def _is_id(text: str | None, digits: int) -> bool:
    """Whether it is an id; OpenTelemetry takes one of zeros for none."""
    return text is not None and re.fullmatch(rf"[0-9a-fA-F]{{{digits}}}", text) is not None and set(text) != {"0"}


def _pairs(values: Mapping[str, Any]) -> list[JSON]:
    """Attributes as OTLP has them; those that are None are left out."""
    return [{"key": key, "value": _any_value(value)} for key, value in values.items() if value is not None]


def _any_value(value: Any) -> JSON:
    match value:
        case str():
            # Half of a surrogate pair is not text that UTF-8 can hold.
            return {"stringValue": value.encode("utf-8", "replace").decode()}
        case int() | float() if isfinite(value):
            return {"doubleValue": float(value)}
        case int() | float():
            return {"doubleValue": "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"}
        case Mapping():
            return {"kvlistValue": {"values": _pairs(value)}}
        case _:
            return {"arrayValue": {"values": [_any_value(item) for item in value]}}
