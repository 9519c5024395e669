"""OpenAI Chat Completions: messages with tool calls, in requests, responses and fine-tuning files.

A tool message does not say whether the call failed, so nothing is said about it here either.
"""

from collections.abc import Sequence
from typing import Any

from scalepan.trace.readers.bodies.api import BodyApi, ModelAnswer, tokens
from scalepan.trace.readers.build import utc
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import first_text, items, mapping, number, objects, parsed, text, words


def history(request: dict[str, Any]) -> list[LogEntry]:
    """The messages of a request."""
    return [entry for message in objects(request.get("messages")) for entry in message_entries(message)]


def message_entries(message: dict[str, Any], at: str | None = None) -> list[LogEntry]:
    """What one message says."""
    role, said = text(message.get("role")) or "unknown", words(message.get("content"))
    match role:
        case "user" if said:
            return [LogEntry("request", said, at=at)]
        case "assistant" | "model":
            return _assistant(message, said, at)
        case "tool" | "function":
            call_id, name = text(message.get("tool_call_id")), text(message.get("name"))
            return [LogEntry("result", said, name=name, call_id=call_id, at=at)]
    return [LogEntry("skip", f"{role} message" if said else "empty message")]


def _assistant(message: dict[str, Any], said: str | None, at: str | None) -> list[LogEntry]:
    entries = []
    # Not OpenAI's own: DeepSeek and vLLM have the first, OpenRouter the second.
    thought = first_text(message.get("reasoning_content"), message.get("reasoning"))
    if thought:
        entries.append(LogEntry("think", thought, at=at))
    said = said or text(message.get("refusal"))
    if said:
        entries.append(LogEntry("say", said, at=at))
    calls = objects(message.get("tool_calls")) or objects([message.get("function_call")])
    return [*entries, *(_call(call, at) for call in calls)] or [LogEntry("skip", "empty message")]


def _call(call: dict[str, Any], at: str | None) -> LogEntry:
    made = mapping(call.get("function") or call.get("custom")) or call
    given = made["input"] if "input" in made else parsed(made.get("arguments"))
    return LogEntry("call", name=text(made.get("name")), input=given, call_id=text(call.get("id")), at=at)


def answer(response: dict[str, Any]) -> ModelAnswer | None:
    """The first choice of a response; others are only counted."""
    choices = objects(response.get("choices"))
    if not choices:
        return None
    usage = response.get("usage")
    at = utc(number(response.get("created")))
    entries = message_entries({"role": "assistant"} | mapping(choices[0].get("message")), at)
    return ModelAnswer(
        [*entries, *[LogEntry("skip", "other choice")] * (len(choices) - 1)],
        id=text(response.get("id")),
        model=text(response.get("model")),
        at=at,
        ended=text(choices[0].get("finish_reason")),
        input_tokens=tokens(usage, "prompt_tokens"),
        output_tokens=tokens(usage, "completion_tokens"),
    )


def joined(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Chunks as one response."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[Any, dict[str, Any]] = {}
    reason = None
    for event in events:
        whole |= {key: value for key, value in event.items() if value is not None}
        for choice in objects(event.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            delta = mapping(choice.get("delta"))
            for key in ("content", "reasoning_content", "reasoning", "refusal"):
                if text(delta.get(key)):
                    message[key] = message.get(key, "") + delta[key]
            for call in objects(delta.get("tool_calls")):
                _grow(calls.setdefault(str(call.get("index", len(calls))), {}), call)
            reason = choice.get("finish_reason") or reason
    message["tool_calls"] = list(calls.values())
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    return whole | {"choices": choices} if any(objects(event.get("choices")) for event in events) else whole


def _grow(call: dict[str, Any], piece: dict[str, Any]) -> None:
    """The name comes at once, the arguments in pieces."""
    call["id"] = first_text(call.get("id"), piece.get("id"))
    made, more = call.setdefault("function", {}), mapping(piece.get("function"))
    made["name"] = first_text(made.get("name"), more.get("name"))
    made["arguments"] = made.get("arguments", "") + (text(more.get("arguments")) or "")


def claims(request: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether only this API has such bodies."""
    if "choices" in response:
        return True
    messages = objects(request.get("messages"))
    return any(
        message.get("role") in ("system", "developer", "tool", "function")
        or items(message.get("tool_calls"))
        or "function_call" in message
        for message in messages
    )


API = BodyApi("openai-chat", claims, history, answer, joined)
