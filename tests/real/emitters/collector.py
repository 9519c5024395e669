"""An OTLP receiver: it keeps the bodies that exporters send, as they came.

with Collector() as collector:
    ... OTEL_EXPORTER_OTLP_ENDPOINT=collector.url ...
collector.bodies["/v1/traces"]
"""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Collector:
    """Serves while it is entered."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[tuple[str, bytes]]] = {}
        """By path: the content type and the body of each request."""

    def __enter__(self) -> Self:
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                """Not to the terminal."""

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                kind = self.headers.get("Content-Type", "")
                bodies.setdefault(self.path, []).append((kind, data))
                # An empty message is a full success in protobuf, and so is {} in JSON.
                empty = b"{}" if "json" in kind else b""
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(empty)))
                self.end_headers()
                self.wfile.write(empty)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """What OTEL_EXPORTER_OTLP_ENDPOINT wants."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def save(self, folder: Path) -> list[Path]:
        """One file for each request: traces-1.pb, logs-1.json and so on."""
        made = []
        for path, bodies in self.bodies.items():
            for number, (kind, data) in enumerate(bodies, 1):
                ending = "json" if "json" in kind else "pb"
                file = folder / f"{path.rsplit('/', 1)[-1]}-{number}.{ending}"
                file.write_bytes(data)
                made.append(file)
        return made

    def spans(self) -> list[dict[str, Any]]:
        """All spans that came as JSON."""
        return flat_spans(self._json("/v1/traces"))

    def records(self) -> list[dict[str, Any]]:
        """All log records that came as JSON."""
        return flat_records(self._json("/v1/logs"))

    def _json(self, path: str) -> list[dict[str, Any]]:
        return [json.loads(data) for kind, data in self.bodies.get(path, []) if "json" in kind]


def flat_spans(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All spans in OTLP JSON bodies, each with its attributes by name."""
    return [
        {**span, "attributes": attributes(span)}
        for request in requests
        for resource in request.get("resourceSpans", [])
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def flat_records(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All log records in OTLP JSON bodies, each with its attributes by name."""
    return [
        {**record, "attributes": attributes(record)}
        for request in requests
        for resource in request.get("resourceLogs", [])
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]


def attributes(owner: dict[str, Any]) -> dict[str, Any]:
    """By name; an integer is a string, as OTLP JSON has it."""
    return {one["key"]: next(iter(one["value"].values()), None) for one in owner.get("attributes", [])}
