"""The shapes in which people log requests and responses, each as a call of a model.

{"request": ..., "response": ...} with bodies as objects, as JSON text or as the text of a stream; a body alone; lines
of batch files ({"body": ...}); entries of a HAR file.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from scalepan.trace.readers.bodies import anthropic, chat, responses
from scalepan.trace.readers.bodies.api import BodyApi, ModelCall
from scalepan.trace.readers.build import utc
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import first_text, mapping, number, objects, text

# In the order in which they are asked whether a body is theirs.
APIS = {api.name: api for api in (anthropic.API, responses.API, chat.API)}
_PATHS = {
    "/messages": "anthropic",
    "/responses": "openai-responses",
    "/chat/completions": "openai-chat",
}
_TIMES = ("timestamp", "startedDateTime", "created_at", "time", "start_time")


class LoggedBodies(NamedTuple):
    """A request and a response as a log has them; either may be empty."""

    request: dict[str, Any]
    response: dict[str, Any]
    events: Sequence[dict[str, Any]] = ()
    """The response, if it is a stream."""
    said: str | None = None
    """The response, if it is only text."""
    url: str | None = None
    at: str | None = None


def logged(record: dict[str, Any]) -> LoggedBodies:
    """The bodies in a record."""
    request, _, _ = _body(record.get("request", record.get("body")))
    response, events, said = _body(record.get("response"))
    if not request and ("messages" in record or "input" in record):
        request = record
    if not response and not events and said is None and _is_response(record):
        response = record
    asked = mapping(record.get("request"))
    at = next((when for key in _TIMES if (when := _time(record.get(key)))), None)
    return LoggedBodies(request, response, events, said, first_text(record.get("url"), asked.get("url")), at)


def har_logged(entry: dict[str, Any]) -> LoggedBodies:
    """The bodies in an entry of a HAR file."""
    request, response = mapping(entry.get("request")), mapping(entry.get("response"))
    content = mapping(response.get("content"))
    printed = content.get("text")
    if content.get("encoding") == "base64":
        printed = _unpacked(printed)
    asked, _, _ = _body(mapping(request.get("postData")).get("text"))
    answered, events, _ = _body(printed)
    return LoggedBodies(asked, answered, events, None, text(request.get("url")), _time(entry.get("startedDateTime")))


def api_of(bodies: LoggedBodies) -> BodyApi | None:
    """The API that bodies belong to; None if they could be of several."""
    if bodies.url is not None:
        path = bodies.url.split("?")[0].rstrip("/")
        name = next((name for end, name in _PATHS.items() if path.endswith(end)), None)
        if name is not None:
            return APIS[name]
    response = bodies.response
    if bodies.events:
        joined = (api.joined(bodies.events) for api in APIS.values())
        response = next((one for api, one in zip(APIS.values(), joined, strict=True) if api.claims({}, one)), {})
    return next((api for api in APIS.values() if api.claims(bodies.request, response)), None)


def is_model_call(bodies: LoggedBodies) -> bool:
    """Whether these are bodies of a conversation, and not of embeddings, lists of models and so on."""
    if response_is_list(bodies.response) or "encoding_format" in bodies.request:
        return False
    return bool(
        objects(bodies.request.get("messages"))
        or ("input" in bodies.request and api_of(bodies) is APIS["openai-responses"])
        or bodies.events
        or _is_response(bodies.response)
    )


def response_is_list(response: dict[str, Any]) -> bool:
    """Embeddings and lists."""
    return response.get("object") == "list"


def model_call(bodies: LoggedBodies, line: int, api: BodyApi) -> ModelCall:
    """A call of a model."""
    request = bodies.request
    response = api.joined(bodies.events) if bodies.events else bodies.response
    if bodies.said is not None:
        response = {"choices": [{"message": {"content": bodies.said}}]}
        answer = chat.answer(response)
    else:
        answer = api.answer(response) if response else None
    history = api.history(request)
    if response and answer is None:
        history.append(LogEntry("skip", "error response"))
    thread = request.get("conversation")
    return ModelCall(
        api.name,
        line,
        history,
        answer,
        previous=text(request.get("previous_response_id")),
        thread=first_text(thread, mapping(thread).get("id")),
        model=text(request.get("model")),
        at=bodies.at,
    )


def _body(value: Any) -> tuple[dict[str, Any], list[dict[str, Any]], str | None]:
    """A body as an object, as the events of a stream, or as plain text."""
    if isinstance(value, list):
        return {}, objects(value), None
    if isinstance(value, dict):
        inner = value.get("body")
        return _body(inner) if isinstance(inner, (dict, str)) and "messages" not in value else (value, [], None)
    if not isinstance(value, str) or not value.strip():
        return {}, [], None
    if value.lstrip().startswith(("event:", "data:", ":")):
        return {}, _events(value), None
    decoded = _decoded(value)
    return (decoded, [], None) if isinstance(decoded, dict) else ({}, [], value)


def _events(stream: str) -> list[dict[str, Any]]:
    lines = (line[5:].strip() for line in stream.splitlines() if line.startswith("data:"))
    return objects([_decoded(line) for line in lines])


def _decoded(value: str) -> Any:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _unpacked(value: Any) -> str | None:
    try:
        return base64.b64decode(value or "", validate=False).decode(errors="replace")
    except (binascii.Error, ValueError, TypeError):
        return None


def _is_response(record: dict[str, Any]) -> bool:
    kind, role = record.get("type"), record.get("role")
    return (
        bool(objects(record.get("choices")))
        or (record.get("object") == "response" and "output" in record)
        or (kind == "message" and role == "assistant" and "content" in record and "model" in record)
    )


def _time(value: Any) -> str | None:
    return utc(text(value) or number(value))
