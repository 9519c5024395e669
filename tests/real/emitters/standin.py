"""A stand-in for the language model behind real agents: it plays a script in whichever API the agent speaks.

    with StandIn([[think("Look first."), call("Bash", command="ls")], [say("Two files.")]]) as model:
        ... model.url, model.requests ...

Every request takes the next turn, whoever sends it: a sub-agent's turns stand between the call and the answer of its
parent. Token counts and other paths take none.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tests.real.emitters.dialects import dialect_of
from tests.real.emitters.turns import JSON, Turn, say


class StandIn:
    """Serves the script from a thread while it is entered."""

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.requests: list[tuple[str, JSON]] = []
        """Path and body of every request that took a turn."""
        self.aside: list[str] = []
        """Paths of the requests that took none."""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
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
        """Without a path: Anthropic and Gemini clients want it so, OpenAI clients want /v1 behind it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, body: JSON) -> tuple[int, Turn]:
        """The next turn and its number. After the last one the model has nothing more to do."""
        with self._lock:
            self.requests.append((path, body))
            number = len(self.requests)
        return number, self.turns[number - 1] if number <= len(self.turns) else [say("Done.")]

    def answer(self, path: str, body: JSON) -> tuple[int, str, bytes]:
        """Status, content type and body for one POST."""
        dialect = dialect_of(path)
        if dialect is None:
            self.aside.append(path)
            return 404, "application/json", b'{"error": {"message": "no such path", "type": "not_found"}}'
        counted = dialect.count(path)
        if counted is not None:
            self.aside.append(path)
            return 200, "application/json", json.dumps(counted).encode()
        number, turn = self.take(path, body)
        if turn[0].kind == "failure":
            error = {"error": {"message": turn[0].text, "type": "server_error"}, "type": "error"}
            return turn[0].status, "application/json", json.dumps(error).encode()
        if dialect.streams(path, body):
            return 200, "text/event-stream", "".join(dialect.events(number, turn, body)).encode()
        return 200, "application/json", json.dumps(dialect.whole(number, turn, body)).encode()


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Not to the terminal."""

        def do_HEAD(self) -> None:
            self._send(200, "application/json", b"")

        def do_GET(self) -> None:
            stand_in.aside.append(self.path)
            self._send(200, "application/json", b'{"object": "list", "data": [], "models": []}')

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self._send(*stand_in.answer(self.path.split("?")[0], json.loads(data or b"{}")))

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
