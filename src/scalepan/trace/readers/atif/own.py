"""A trajectory that Scalepan wrote: exactly the trace that it was made from.

Every step of the trace is one piece of the document: a text, a call of a tool, a result, or a message of the user. What
such a piece says by itself is its plain reading. Where the trace says something else, `extra.scalepan.step` beside the
piece has the difference, and `extra.scalepan.trace` of the document the difference for the whole. The writer uses the
same plain reading, so nothing can get lost between the two.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import CONTEXT
from scalepan.trace.readers.lenient import mapping, objects, text

MARK = "scalepan"
ORIGIN = "scalepan:origin"
UNNAMED = "unknown"
"""Name of an agent, version or tool that the trace does not name, where the format wants one."""
WRAPPED, RESULT, SUMMARY = "wrapped", "result", "output_summary"

MADE_ID = re.compile(r"scalepan-\d+")
"""Ids of calls that have none in the trace, for the format wants one."""
_NESTED = frozenset(("metadata", "task", "outcome", "tool", ORIGIN))


class Piece(NamedTuple):
    """A piece of the document that is one step of the trace: its plain reading, and the `extra` beside it."""

    plain: dict[str, Any]
    extra: dict[str, Any]
    call_id: Any = None
    """Of a call: what its result names."""


def marked(holder: dict[str, Any]) -> dict[str, Any]:
    """What Scalepan wrote beside a piece of a document."""
    return mapping(mapping(holder.get("extra")).get(MARK))


def is_own(document: dict[str, Any]) -> bool:
    """Whether Scalepan wrote the document."""
    return isinstance(marked(document).get("trace"), dict)


def read_own(document: dict[str, Any]) -> ReasoningTrace:
    """The trace; InputError if somebody changed the document so that it no longer is one."""
    steps = []
    tools: dict[str, dict[str, Any]] = {}
    for number, piece in enumerate(pieces(document, tools)):
        step = merged({"step_id": number, **piece.plain}, mapping(piece.extra.get("step")))
        if isinstance(piece.call_id, str) and isinstance(step.get("tool"), dict):
            tools[piece.call_id] = step["tool"]
        steps.append(step)
    whole = merged(plain_trace(document), mapping(marked(document).get("trace")))
    return ReasoningTrace.from_dict(whole | {"steps": steps})


def pieces(document: dict[str, Any], tools: dict[str, dict[str, Any]]) -> Iterator[Piece]:
    """Every piece in its order. `tools` has the tools of the calls so far, by the id of the call."""
    for step in objects(document.get("steps"))[1:]:
        if step.get("source") == "agent":
            yield from _texts(step)
            yield from _calls(step)
        elif step.get("source") == "user":
            yield Piece(plain_user(step), marked(step))
        for result in objects(mapping(step.get("observation")).get("results")):
            if marked(result).get("is") != SUMMARY:
                yield Piece(plain_result(result, step, tools), marked(result))


def _texts(step: dict[str, Any]) -> Iterator[Piece]:
    mark = marked(step)
    texts = [step.get("reasoning_content")]
    if step.get("message") and mark.get("message") != RESULT:
        texts.append(step["message"])
    for content in texts:
        if content is not None:
            yield Piece(plain_text(content, step), mark)


def _calls(step: dict[str, Any]) -> Iterator[Piece]:
    for call in objects(step.get("tool_calls")):
        yield Piece(plain_call(call, step), marked(call), call.get("tool_call_id"))


def plain_text(content: Any, step: dict[str, Any]) -> dict[str, Any]:
    """A text of the agent, as a step."""
    return {"type": "thought", "content": content} | _origin(step)


def plain_user(step: dict[str, Any]) -> dict[str, Any]:
    """A later message of the user, as a step."""
    return {"type": "observation", "content": step.get("message")} | _origin(step)


def plain_call(call: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """A call, as a step."""
    call_id = call.get("tool_call_id")
    plain: dict[str, Any] = {"type": "tool_call", "tool": {"name": call.get("function_name")}}
    arguments = call.get("arguments")
    if marked(call).get("input") == WRAPPED:
        plain["input"] = mapping(arguments).get("input")
    elif arguments:
        plain["input"] = arguments
    for result in objects(mapping(step.get("observation")).get("results")):
        if marked(result).get("is") == SUMMARY and result.get("source_call_id") == call_id:
            plain["output_summary"] = result.get("content")
    return plain | _origin(step, call_id)


def plain_result(result: dict[str, Any], step: dict[str, Any], tools: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A result, as a step; its tool is the one of the call that it names."""
    call_id, content = result.get("source_call_id"), result.get("content")
    plain: dict[str, Any] = {"type": "observation"}
    if content is not None:
        plain["content"] = content
    if isinstance(call_id, str) and not MADE_ID.fullmatch(call_id) and call_id in tools:
        plain["tool"] = tools[call_id]
    return plain | _origin(step, call_id, mapping(result.get("extra")).get("is_error"))


def _origin(step: dict[str, Any], call_id: Any = None, failed: Any = None) -> dict[str, Any]:
    said = {"at": step.get("timestamp"), "failed": failed}
    if not (isinstance(call_id, str) and MADE_ID.fullmatch(call_id)):
        said["call_id"] = call_id
    said = {key: value for key, value in said.items() if value is not None}
    return {ORIGIN: said} if said else {}


def plain_trace(document: dict[str, Any]) -> dict[str, Any]:
    """The trace without its steps."""
    first = (objects(document.get("steps")) or [{}])[0]
    agent, totals, mark = mapping(document.get("agent")), mapping(document.get("final_metrics")), marked(document)
    messages = [text(step.get("message")) for step in objects(document.get("steps")) if step.get("source") == "agent"]
    trace: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "ReasoningTrace",
        "id": document.get("trajectory_id"),
        "metadata": {
            "created_at": first.get("timestamp"),
            "task_domain": mark.get("domain"),
            "success": mark.get("success"),
            "visibility": "private",
            "privacy_level": "private",
        },
        "task": {"objective": first.get("message")},
        "outcome": {
            "result_summary": next(filter(None, reversed(messages)), ""),
            "confidence": mark.get("confidence"),
        },
    }
    if agent.get("name") != UNNAMED:
        trace["metadata"]["framework"] = agent.get("name")
    origin = {
        "session": document.get("session_id"),
        "model": agent.get("model_name"),
        "input_tokens": totals.get("total_prompt_tokens"),
        "output_tokens": totals.get("total_completion_tokens"),
        "cost_usd": totals.get("total_cost_usd"),
    }
    origin = {key: value for key, value in origin.items() if value is not None}
    return trace | ({ORIGIN: origin} if origin else {})


def difference(actual: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """What has to be known beside the plain reading; null for a key that is not there.

    >>> difference({"type": "thought", "tool": {"name": "x", "v": 2}}, {"content": "a", "tool": {"name": "x"}})
    {'content': None, 'type': 'thought', 'tool': {'v': 2}}
    """
    found: dict[str, Any] = {key: None for key in plain if key not in actual}
    for key, value in actual.items():
        if key not in plain:
            found[key] = value
        elif key in _NESTED and isinstance(value, dict) and isinstance(plain[key], dict):
            if inside := difference(value, plain[key]):
                found[key] = inside
        elif value != plain[key]:
            found[key] = value
    return found


def merged(plain: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The plain reading, and what is known beside it.

    >>> merged({"content": "a", "tool": {"name": "x"}}, {"content": None, "tool": {"v": 2}})
    {'tool': {'name': 'x', 'v': 2}}
    """
    both = dict(plain)
    for key, value in found.items():
        if key in plain and value is None:
            del both[key]
        elif key in plain and key in _NESTED and isinstance(value, dict) and isinstance(plain[key], dict):
            both[key] = merged(plain[key], value)
        else:
            both[key] = value
    return both
