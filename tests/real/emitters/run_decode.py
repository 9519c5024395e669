"""Inside .venv-logs: decode an OTLP protobuf body with OpenTelemetry's own classes; prints OTLP JSON.

run_decode.py <traces-*.pb or logs-*.pb>
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def with_hex_ids(value: Any) -> Any:
    """OTLP JSON writes ids in hex, where protobuf's own JSON has base64."""
    if isinstance(value, list):
        return [with_hex_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {name: base64.b64decode(one).hex() if name in ids else with_hex_ids(one) for name, one in value.items()}


if __name__ == "__main__":
    file = Path(sys.argv[1])
    message = ExportTraceServiceRequest() if file.name.startswith("traces") else ExportLogsServiceRequest()
    message.ParseFromString(file.read_bytes())
    print(json.dumps(with_hex_ids(MessageToDict(message))))
