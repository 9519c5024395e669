"""What a request of OTLP holds: spans and log events, each with what GenAI readers need of it.

An ExportTraceServiceRequest or an ExportLogsServiceRequest comes as OTLP JSON has it, whether it was in a file, in an
HTTP body or in protobuf.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from scalepan.trace.readers.lenient import mapping, objects, text
from scalepan.trace.readers.otlp.values import any_value, attributes, hex_id, nanoseconds

SPANS, LOGS, METRICS = "resourceSpans", "resourceLogs", "resourceMetrics"
DETAILS = "gen_ai.client.inference.operation.details"
_ERROR = (2, "2", "STATUS_CODE_ERROR")
_OK = (1, "1", "STATUS_CODE_OK")
# Long, and of no use here: what tools there are, and how the model was set up.
_UNREAD = ("gen_ai.tool.definitions", "llm.tools", "llm.invocation_parameters", "logfire.json_schema", "metadata")


class SpanEvent(NamedTuple):
    """Something that happened at a time: an event of a span, or a log record that names a span."""

    name: str
    attributes: dict[str, Any]
    body: Any
    nanos: int

    @property
    def has_messages(self) -> bool:
        """Whether it says what was sent to a model, or what it answered."""
        name = self.name
        told = name == "gen_ai.choice" or name.startswith("gen_ai.content.") or name.endswith(".message")
        return name == DETAILS or (told and name.startswith("gen_ai."))


class SpanRecord(NamedTuple):
    """One span."""

    trace_id: str
    id: str
    parent: str | None
    name: str
    start: int
    end: int
    failed: bool | None
    """True for an error, False if the status is OK, None if it was not set."""
    message: str | None
    """What the status says."""
    attributes: dict[str, Any]
    events: list[SpanEvent]
    scope: str | None
    """The instrumentation that made it."""
    service: str | None


class LoggedEvent(NamedTuple):
    """A log record of a GenAI event."""

    trace_id: str
    span_id: str
    event: SpanEvent
    scope: str | None
    service: str | None


def is_request(record: dict[str, Any]) -> bool:
    """Whether a record is a request of OTLP; one of metrics, which says nothing here, is one too."""
    return any(isinstance(record.get(key), list) for key in (SPANS, LOGS, METRICS))


def is_told(record: dict[str, Any]) -> bool:
    """Whether a record is a request of spans or logs."""
    return any(isinstance(record.get(key), list) for key in (SPANS, LOGS))


def spans_of(request: dict[str, Any]) -> Iterator[SpanRecord]:
    """The spans of a request that have ids."""
    for service, scope, raw in _inside(request, SPANS, ("scopeSpans", "instrumentationLibrarySpans"), "spans"):
        trace_id, span_id = hex_id(raw.get("traceId")), hex_id(raw.get("spanId"))
        if trace_id is None or span_id is None:
            continue
        status = mapping(raw.get("status"))
        code = status.get("code")
        start = nanoseconds(raw.get("startTimeUnixNano"))
        yield SpanRecord(
            trace_id,
            span_id,
            hex_id(raw.get("parentSpanId")),
            text(raw.get("name")) or "",
            start,
            max(nanoseconds(raw.get("endTimeUnixNano")), start),
            True if code in _ERROR else False if code in _OK else None,
            text(status.get("message")),
            _read(raw.get("attributes")),
            [_event(one, text(one.get("name")), "timeUnixNano") for one in objects(raw.get("events"))],
            scope,
            service,
        )


def logged_events_of(request: dict[str, Any]) -> Iterator[LoggedEvent]:
    """The GenAI events among the log records of a request; those without a trace belong to no run."""
    for service, scope, raw in _inside(request, LOGS, ("scopeLogs", "instrumentationLibraryLogs"), "logRecords"):
        trace_id, span_id = hex_id(raw.get("traceId")), hex_id(raw.get("spanId"))
        name = text(raw.get("eventName"))
        event = _event(raw, name, "timeUnixNano", "observedTimeUnixNano")
        if trace_id is not None and span_id is not None and event.name.startswith("gen_ai."):
            yield LoggedEvent(trace_id, span_id, event, scope, service)


def _inside(
    request: dict[str, Any], key: str, scopes: tuple[str, str], records: str
) -> Iterator[tuple[str | None, str | None, dict[str, Any]]]:
    """Every record with the service and the instrumentation that it is from."""
    for resource in objects(request.get(key)):
        service = text(attributes(mapping(resource.get("resource")).get("attributes")).get("service.name"))
        named = service if service is not None and not service.startswith("unknown_service") else None
        for scoped in [one for name in scopes for one in objects(resource.get(name))]:
            scope = text(mapping(scoped.get("scope", scoped.get("instrumentationLibrary"))).get("name"))
            for raw in objects(scoped.get(records)):
                yield named, scope, raw


def _event(raw: dict[str, Any], name: str | None, *times: str) -> SpanEvent:
    said = _read(raw.get("attributes"))
    nanos = next((found for key in times if (found := nanoseconds(raw.get(key)))), 0)
    return SpanEvent(name or text(said.get("event.name")) or "", said, any_value(raw.get("body")), nanos)


def _read(pairs: Any) -> dict[str, Any]:
    wanted = [pair for pair in objects(pairs) if not str(pair.get("key")).startswith(_UNREAD)]
    return attributes(wanted)
