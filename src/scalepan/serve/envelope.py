"""The envelope of every answer: the data, and its policy, request and trace (contract memory.53)."""

import logging
import re
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec

from scalepan.errors import InputError, MissingExtraError, ScalepanError, UnansweredError
from scalepan.names import check_trace_id
from scalepan.serve.fence import clean

CODES = (
    *("VALIDATION_ERROR", "BOUNDARY_DENIED", "POLICY_INVALID", "NOT_FOUND", "CONFLICT", "RATE_LIMIT", "TIMEOUT"),
    "INTERNAL",
)
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_FOLDERS = re.compile(r"(?<![\w.:/])~?/(?:[^/\s:'\"]+/)*(?=\S)")
log = logging.getLogger("scalepan.serve")


class Caller(msgspec.Struct, frozen=True):
    """One request: its ids, and the program it comes from."""

    request_id: str
    trace_id: str
    client: str | None = None
    identity: str | None = None
    """The caller's token. Whoever asked a question may not answer it."""
    may_answer: bool | None = None
    """Whether the token may answer questions; None where there is no token, and the client is this user's own."""
    project: str | None = None
    """The one project that the token opens; None: any of the tenant."""
    key: str | None = None
    """By what the client knows a request that it may send again."""


def caller(meta: Mapping[str, Any] | None = None, client: str | None = None) -> Caller:
    """Ids of a request. The trace is the client's where it names one: `traceparent` (W3C) or `trace_id`.

    >>> caller({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}).trace_id
    '0af7651916cd43dd8448eb211c80319c'
    """
    said = meta or {}
    found = _TRACEPARENT.fullmatch(str(said.get("traceparent", "")))
    trace_id = found[1] if found else _trace_id(said.get("trace_id")) or uuid4().hex
    return Caller(uuid4().hex, trace_id, client)


def _trace_id(given: object) -> str | None:
    try:
        return check_trace_id(given) if isinstance(given, str) else None
    except InputError:
        return None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer carries."""

    policy_version: str
    request_id: str
    trace_id: str


def ids(asked: Caller, version: str) -> dict[str, Any]:
    """The fields of an envelope."""
    return {"policy_version": version, "request_id": asked.request_id, "trace_id": asked.trace_id}


def failure(error: BaseException, asked: Caller) -> dict[str, Any]:
    """An error as the caller gets it. What Scalepan did not expect goes to the log, and only its request id out."""
    if isinstance(error, TimeoutError):
        code, message = "TIMEOUT", str(error) or "a time limit passed"
    elif isinstance(error, UnansweredError):  # its words are for who can see the store
        log.error("request %s: %s", asked.request_id, error)
        code, message = error.code, "the store does not answer; the request may still be applied"
        message += ", once: send it again under its key" if asked.key is not None else ""
    elif isinstance(error, ScalepanError):
        code, message = error.code, str(error)
        if code == "INTERNAL" and not isinstance(error, MissingExtraError):
            log.error("request %s: %s", asked.request_id, message)
    else:
        log.error("request %s failed", asked.request_id, exc_info=error)
        code, message = "INTERNAL", f"something broke inside Scalepan; its log has request {asked.request_id}"
    if code in ("INTERNAL", "POLICY_INVALID"):
        message = _FOLDERS.sub("", message)  # the log has them; where files lie is nothing to a caller
    problem = {"code": code, "message": clean(message)}
    return {"error": problem, "request_id": asked.request_id, "trace_id": asked.trace_id}
