"""OpenAI Responses: items in and out. The API may hold the conversation itself; then a request has only what is new."""

from collections.abc import Sequence
from typing import Any

from scalepan.trace.readers.bodies.api import BodyApi, ModelAnswer, tokens
from scalepan.trace.readers.build import utc
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.items import item_entries
from scalepan.trace.readers.lenient import mapping, number, objects, text


def history(request: dict[str, Any]) -> list[LogEntry]:
    """The items that a request sends."""
    instructions = [LogEntry("skip", "system message")] if request.get("instructions") else []
    sent = request.get("input")
    if isinstance(sent, str):
        return [*instructions, LogEntry("request", sent)]
    return [*instructions, *(entry for item in objects(sent) for entry in item_entries(item))]


def answer(response: dict[str, Any]) -> ModelAnswer | None:
    """The items of a response."""
    if response.get("error") or not isinstance(response.get("output"), list):
        return None
    at = utc(number(response.get("created_at")))
    reason = mapping(response.get("incomplete_details")).get("reason")
    return ModelAnswer(
        [entry for item in objects(response["output"]) for entry in item_entries(item, at)],
        id=text(response.get("id")),
        model=text(response.get("model")),
        at=at,
        ended=text(reason) or text(response.get("status")),
        input_tokens=tokens(response.get("usage"), "input_tokens"),
        output_tokens=tokens(response.get("usage"), "output_tokens"),
    )


def joined(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The last event of a stream has the whole response; if it was cut off, the items that were completed."""
    response: dict[str, Any] = {}
    done = []
    for event in events:
        response = mapping(event.get("response")) or response
        if event.get("type") == "response.output_item.done":
            done.append(event.get("item"))
    return response if response.get("output") or not done else response | {"output": done}


def claims(request: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether only this API has such bodies."""
    if response.get("object") == "response":
        return True
    return "input" in request and "messages" not in request and isinstance(request["input"], (str, list))


API = BodyApi("openai-responses", claims, history, answer, joined)
