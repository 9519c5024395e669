"""Where are events sent? To one OTLP/HTTP address that the user named; with retries, a time limit and no redirects.

No proxy of the environment is used: what is sent goes to that address and to no other.
"""

import json
import ssl
import threading
from base64 import b64encode
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from socket import SHUT_RDWR
from time import monotonic, sleep
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import scalepan
from scalepan.errors import DeliveryError, InputError, shorten
from scalepan.judge.retry import asked_for, jitter

LOGS_PATH = "/v1/logs"
RETRYABLE = frozenset((429, 502, 503, 504))
"""The statuses that OTLP calls temporary."""
TRIES = 5
TRY_S = 10.0
"""How long one try may take, from connecting to the end of the reply, in seconds."""
BACKOFF_S, MOST_WAIT_S = 0.5, 15.0
"""The first pause before a retry, and the longest, in seconds."""
STOPPED_S = 2.0
"""The same for a user who stops the run."""
TOTAL_S = 60.0
"""When no further try is started, in seconds."""
MOST_REPLY = 1 << 16
SHOWN = 200


class _EndpointReply(NamedTuple):
    status: int
    retry_after: str | None
    date: str | None
    location: str | None
    body: bytes


class OtlpEndpoint:
    """An address that takes OTLP over HTTP, as JSON.

    >>> OtlpEndpoint("http://127.0.0.1:4318").name
    'http://127.0.0.1:4318/v1/logs'
    """

    def __init__(
        self,
        url: str,
        *,
        tries: int = TRIES,
        try_s: float = TRY_S,
        backoff_s: float = BACKOFF_S,
        total_s: float = TOTAL_S,
    ) -> None:
        parts = _checked(url)
        self._host, self._port, self._tls = parts.hostname or "", parts.port, parts.scheme == "https"
        path = parts.path.rstrip("/")
        path = path if path.endswith(LOGS_PATH) else path + LOGS_PATH
        self._target = f"{path}?{parts.query}" if parts.query else path
        host = f"[{self._host}]" if ":" in self._host else self._host
        port = f":{self._port}" if self._port else ""
        self.name = f"{parts.scheme}://{host}{port}{path}"
        """The address as messages show it: without user, password and query."""
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"scalepan/{scalepan.__version__}",
        }
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        self._tries, self._try_s, self._backoff_s, self._total_s = tries, try_s, backoff_s, total_s
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes, *, once: bool = False) -> tuple[int, str]:
        """Send a request body: how many records the server rejected, and why. DeliveryError if it did not take it.

        With `once` there is one short try: whoever stops a run does not want to wait for a server.
        """
        until, tries = monotonic() + self._total_s, 1 if once else self._tries
        limit = min(self._try_s, STOPPED_S) if once else self._try_s
        for number in range(1, tries + 1):
            try:
                reply = self._try(body, limit)
            except (OSError, HTTPException) as error:
                self.close()
                # A certificate that is not trusted now will not be trusted in a second.
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise DeliveryError(f"{self.name} cannot be trusted: {error.verify_message}") from None
                problem, lasting, asked = f"{self.name} cannot be reached: {_said_by(error)}", False, None
            else:
                if 200 <= reply.status < 300:
                    return _rejected(reply.body)
                problem, lasting = self._refusal(reply), reply.status not in RETRYABLE
                asked = asked_for(reply.retry_after, reply.date)
            pause = self._backoff(number) if asked is None else asked
            if lasting or number == tries or monotonic() + pause > until:
                times = f" ({number} tries)" if number > 1 else ""
                raise DeliveryError(f"{problem}{times}")
            sleep(pause)
        raise AssertionError("unreachable: the last try returns or raises")

    def close(self) -> None:
        """End the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _try(self, body: bytes, limit: float) -> _EndpointReply:
        connection = self._connection = self._connection or self._connect(limit)
        if connection.sock is None:
            connection.connect()
        socket, late = connection.sock, threading.Event()

        def give_up() -> None:
            late.set()
            with suppress(OSError):
                socket.shutdown(SHUT_RDWR)

        # The socket's own limit is for one read: a server that sends a byte now and then would never reach it.
        timer = threading.Timer(limit, give_up)
        timer.daemon = True
        timer.start()
        try:
            connection.request("POST", self._target, body, self._headers)
            response = connection.getresponse()
            reply = _read(response)
        except (OSError, HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise TimeoutError(f"no answer within {limit:g} s") from None
            raise
        finally:
            timer.cancel()
        if not response.isclosed():  # there is more of the reply than anybody reads
            self.close()
        return reply

    def _connect(self, limit: float) -> HTTPConnection:
        if self._tls:
            return HTTPSConnection(self._host, self._port, timeout=limit, context=ssl.create_default_context())
        return HTTPConnection(self._host, self._port, timeout=limit)

    def _backoff(self, number: int) -> float:
        return min(self._backoff_s * 2.0 ** (number - 1), MOST_WAIT_S) * (0.5 + jitter() / 2)

    def _refusal(self, reply: _EndpointReply) -> str:
        if 300 <= reply.status < 400:
            to = urlsplit(reply.location or "")
            where = shorten(f"{to.scheme}://{to.hostname}{to.path}" if to.hostname else to.path, SHOWN)
            return f"{self.name} redirects to {where}, which is not followed; name the address itself"
        said = _message(reply.body)
        more = f": {shorten(said, SHOWN)}" if said else ""
        return f"{self.name} answered {reply.status}{more}"


def is_address(target: str) -> bool:
    """Whether a target is an address and not a file.

    >>> is_address("https://collector:4318"), is_address("events.jsonl"), is_address("grpc://collector")
    (True, False, True)
    """
    return "://" in target


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        shown = shorten(f"{parts.scheme}://{parts.hostname or ''}")
        port = parts.port
    except ValueError as error:
        raise InputError(f"is not an address: {error}", path="events") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"'{shown}' is not an http or https address such as http://127.0.0.1:4318", path="events")
    if not (parts.path + parts.query + parts.hostname).isascii() or any(c <= " " for c in url):
        raise InputError(f"'{shown}' has characters that an address cannot hold; write them as %XX", path="events")
    if parts.username is not None and parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise InputError(f"'{shown}' would send the password unencrypted; use https", path="events")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(response: HTTPResponse) -> _EndpointReply:
    body = response.read(MOST_REPLY)
    headers = response.headers
    return _EndpointReply(
        response.status, headers.get("Retry-After"), headers.get("Date"), headers.get("Location"), body
    )


def _said_by(error: OSError | HTTPException) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return shorten(said, SHOWN) or type(error).__name__


def _rejected(body: bytes) -> tuple[int, str]:
    """How many records the server took the request without, and what it says about them."""
    try:
        partial = json.loads(body)["partialSuccess"]
        return max(0, int(partial.get("rejectedLogRecords", 0))), shorten(str(partial.get("errorMessage", "")), SHOWN)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 0, ""  # an empty reply is a full success


def _message(body: bytes) -> str:
    """What the server says about a failure: OTLP's Status has a message."""
    try:
        said = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return said if isinstance(said, str) else ""
