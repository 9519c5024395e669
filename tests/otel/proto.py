"""OTLP's own definitions, as the judge of what is written."""

import base64
import json
from typing import Any

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

IDS = ("traceId", "spanId")


def parsed(line: str | bytes) -> Any:
    """A request as OpenTelemetry's classes read it; an unknown field or a wrong type raises."""
    return Parse(json.dumps(_with_base64_ids(json.loads(line))), ExportLogsServiceRequest())


def records(line: str | bytes) -> list[Any]:
    """The log records of a request, as OpenTelemetry's classes read them."""
    return [
        record
        for resource in parsed(line).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def attributes(record: Any) -> dict[str, Any]:
    """Attributes by name, as plain data."""
    return {pair.key: _plain(pair.value) for pair in record.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
    return getattr(value, kind)


def _with_base64_ids(value: Any) -> Any:
    """Protobuf's own JSON has base64 where OTLP's writes ids in hex."""
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode() if key in IDS else _with_base64_ids(item)
        for key, item in value.items()
    }
