"""Outputs from an HTTP address: the case is posted as JSON, and the answer is the output.

No redirect is followed and no proxy of the environment is used: cases go to the address that was named and to no other.
"""

import ssl
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

import scalepan
from scalepan.errors import InputError, shorten

MOST_BYTES = 16 * 1024 * 1024
SHOWN = 200


class HttpTaskError(Exception):
    """The address did not give an output."""


def http_task(address: str, timeout_s: float) -> Callable[[bytes], bytes]:
    """A function that posts a case and returns the body of the answer; HttpTaskError says why there is none."""
    parts = _checked(address)

    def post(body: bytes) -> bytes:
        connection = _connection(parts, timeout_s)
        try:
            connection.request("POST", _target(parts), body, _headers())
            return _body(connection.getresponse())
        except TimeoutError:
            raise HttpTaskError(f"did not answer within {timeout_s:g} s") from None
        except (OSError, HTTPException) as error:
            said = str(error) or type(error).__name__
            raise HttpTaskError(f"cannot be reached: {shorten(said, SHOWN)}") from None
        finally:
            connection.close()

    return post


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise InputError(f"task '{address}' is not an address: {error}") from None
    if not parts.hostname or port == 0:
        raise InputError(f"task '{address}' is not an address; an example: http://127.0.0.1:8000/answer")
    if parts.username is not None or any(not character.isprintable() or character == " " for character in address):
        raise InputError("the task's address has a user, a password or a space in it; give host, port and path alone")
    return parts


def _connection(parts: SplitResult, timeout_s: float) -> HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme.lower() == "https":
        return HTTPSConnection(host, parts.port, timeout=timeout_s, context=ssl.create_default_context())
    return HTTPConnection(host, parts.port, timeout=timeout_s)


def _target(parts: SplitResult) -> str:
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path


def _headers() -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": f"scalepan/{scalepan.__version__}",
    }


def _body(reply: HTTPResponse) -> bytes:
    body = reply.read(MOST_BYTES + 1)
    if 300 <= reply.status < 400:
        raise HttpTaskError(f"answered {reply.status}, a redirect, which is not followed; name the address itself")
    if not 200 <= reply.status < 300:
        said = shorten(" ".join(body[: 4 * SHOWN].decode(errors="replace").split()), SHOWN)
        raise HttpTaskError(f"answered {reply.status}{': ' if said else ''}{said}")
    if len(body) > MOST_BYTES:
        raise HttpTaskError(f"answered with more than {MOST_BYTES:,} bytes")
    return body
