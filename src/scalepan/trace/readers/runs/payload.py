"""What a run was given and what it gave back: the inputs and outputs of a model call, of a tool, of a whole trace."""

from typing import Any, NamedTuple

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import as_json, first_text, items, mapping, objects, text, words
from scalepan.trace.readers.runs.messages import entries_of, is_message, message_list

# Where a program's own input has the request, if it has several fields.
_REQUESTS = ("input", "question", "query", "prompt", "message", "objective", "task", "request", "text", "content")
_CALL_IDS = ("tool_call_id", "call_id", "toolCallId", "tool_use_id")


class ToolOutput(NamedTuple):
    """What a tool gave back."""

    text: str | None
    failed: bool | None = None
    call_id: str | None = None


def history_of(inputs: Any, at: str | None = None) -> list[LogEntry]:
    """The conversation that a model was given."""
    given = mapping(inputs)
    system = [LogEntry("skip", "system message")] if given.get("system") or given.get("instructions") else []
    for found in (given.get("messages"), given.get("input"), given.get("prompt"), inputs):
        if is_message(found):
            found = [found]
        if messages := message_list(found):
            return [*system, *(entry for message in messages for entry in entries_of(message, at))]
    prompts = [prompt for prompt in items(given.get("prompts")) if isinstance(prompt, str)]
    said = "\n".join(prompts) or requested(inputs) or (as_json(inputs) if inputs else None)
    return [*system, LogEntry("request", said, at=at)] if said else system


def answer_of(outputs: Any, at: str | None = None) -> list[LogEntry]:
    """What a model answered; of several candidates the first."""
    if isinstance(outputs, str):
        return [LogEntry("say", outputs, at=at)] if outputs else []
    candidates = _candidates(outputs)
    if candidates:
        others = [LogEntry("skip", "other choice")] * (len(candidates) - 1)
        return [*_spoken(candidates[0], at), *others]
    given = mapping(outputs)
    inner = given.get("output")
    for found in (given.get("message"), given.get("messages"), inner, mapping(inner).get("messages"), outputs):
        if is_message(found):
            return _spoken(found, at)
        if messages := message_list(found):
            return [entry for message in messages for entry in _spoken(message, at)]
    if "content" in given:
        return _spoken(given | {"role": "assistant"}, at)
    said = text(inner) or (as_json(outputs) if any(mapping(outputs).values()) or items(outputs) else None)
    return [LogEntry("say", said, at=at)] if said else []


def _candidates(outputs: Any) -> list[Any]:
    """The messages that a model offers: LangChain's generations, OpenAI's choices."""
    generations = items(mapping(outputs).get("generations"))
    if generations and isinstance(generations[0], list):
        generations = generations[0]
    found: list[Any] = [one.get("message") or text(one.get("text")) for one in objects(generations)]
    return found or [choice.get("message") for choice in objects(mapping(outputs).get("choices"))]


def _spoken(message: Any, at: str | None) -> list[LogEntry]:
    """A message of the model, also if its role is missing."""
    if isinstance(message, str):
        return [LogEntry("say", message, at=at)]
    if isinstance(message, dict) and not is_message(message):
        message = message | {"role": "assistant"}
    return entries_of(message, at)


def requested(inputs: Any) -> str | None:
    """What a whole trace was asked: the last message of a person, or the text of the input; None if it is neither."""
    given = mapping(inputs)
    for found in (given.get("messages"), given.get("input"), inputs):
        messages = message_list(found) or ([found] if is_message(found) else [])
        asked = [entry.text for message in messages for entry in entries_of(message) if entry.kind == "request"]
        if messages:
            return asked[-1] if asked else None
    if "args" in given and "kwargs" in given:
        given = {str(index): value for index, value in enumerate(items(given["args"]))} | mapping(given["kwargs"])
    said = [value for value in given.values() if isinstance(value, str) and value]
    named = first_text(*(given.get(key) for key in _REQUESTS))
    return text(inputs) or named or (said[0] if len(said) == 1 else None)


def tool_input(inputs: Any) -> Any:
    """What a tool was called with, without what a client puts around it."""
    given = mapping(inputs)
    if given.keys() == {"args", "kwargs"}:
        return given["kwargs"] if not given["args"] else given["args"] if not given["kwargs"] else inputs
    if "toolCallId" in given:
        return given.get("args", given.get("input"))
    return inputs


def tool_output(outputs: Any) -> ToolOutput:
    """What a tool gave back: a message for the model, or any value, inside `output` or not."""
    given = mapping(outputs)
    inner = next((given[key] for key in ("output", "result") if key in given), outputs)
    for found in (inner, outputs, *message_list(mapping(mapping(inner).get("update")).get("messages"))):
        if is_message(found) and (said := [one for one in entries_of(found) if one.kind == "result"]):
            return ToolOutput(said[0].text, said[0].failed, said[0].call_id or call_id_of(outputs))
    return ToolOutput(words(inner) if inner or inner == 0 else None, None, call_id_of(outputs))


def call_id_of(*places: Any) -> str | None:
    """The id of the call, where one of these states it."""
    return first_text(*(mapping(place).get(key) for place in places for key in _CALL_IDS))
