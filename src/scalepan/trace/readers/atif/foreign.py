"""A trajectory that another tool wrote: its steps by the meaning that all readers share.

The format says nothing of success and confidence. Who knows them writes them, and the domain, into the document:
`"extra": {"scalepan": {"success": true, "confidence": 0.9, "domain": "code"}}`.
"""

from collections.abc import Iterator
from typing import Any

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import CODE, UNKNOWN_DOMAIN, TraceBuilder, project_name
from scalepan.trace.readers.lenient import (
    first_text,
    flag,
    items,
    mapping,
    number,
    objects,
    text,
    total,
    whole,
    words,
)

CODING_AGENTS = frozenset(
    (
        "aider", "antigravity-cli", "claude-code", "cline", "code-puppy", "codex", "copilot-cli", "cursor-cli", "devin",
        "gemini-cli", "goose", "grok-build", "junie", "kimi-cli", "kimi-code", "mini-swe-agent", "opencode",
        "openhands", "openhands-sdk", "pi", "qwen-code", "qwen-coder", "rovodev-cli", "swe-agent", "terminus",
        "terminus-1", "terminus-2", "trae-agent", "vibe",
    )
)  # fmt: skip
"""Agents that are made for writing programs, by the names that they have in ATIF."""

# What emitters put into the `extra` of a result that failed.
_FAILED_FLAGS = ("is_error", "tool_result_is_error")
_EXIT_CODES = ("exit_code", "exitCode")
_STATUSES = {"error": True, "failed": True, "failure": True, "success": False}


class Trajectory:
    """A document, and its place among others."""

    def __init__(self, document: dict[str, Any], id_parts: tuple[str, ...], parent: str | None) -> None:
        self.document = document
        self.id_parts = id_parts
        self.agent = mapping(document.get("agent"))
        self.agent_extra = mapping(self.agent.get("extra"))
        self.parent = parent or self._parent_session()
        self.steps = objects(document.get("steps"))

    def builder(self) -> TraceBuilder:
        """A builder that knows what the document says of the whole run."""
        name = text(self.agent.get("name"))
        builder = TraceBuilder("atif", domain=CODE if name in CODING_AGENTS else UNKNOWN_DOMAIN, framework=name)
        builder.session = text(self.document.get("session_id"))
        builder.model = text(self.agent.get("model_name"))
        builder.parent = self.parent
        cwds = [*items(self.agent_extra.get("cwds")), None]
        builder.project = project_name(first_text(self.agent_extra.get("cwd"), cwds[0]))
        return builder

    def _parent_session(self) -> str | None:
        """The run that a sub-agent's own file names as its parent."""
        session = text(self.agent_extra.get("parent_session_id"))
        return f"kp:trace:atif:{session}" if session else None


def read_foreign(trajectory: Trajectory) -> Iterator[ReasoningTrace]:
    """The trace of the agent, then those of sub-agents whose steps stand among its own."""
    main: list[dict[str, Any]] = []
    sides: dict[str, list[dict[str, Any]]] = {}
    for step in trajectory.steps:
        extra = mapping(step.get("extra"))
        if flag(extra.get("is_sidechain")):
            sides.setdefault(text(extra.get("agent_id")) or "sidechain", []).append(step)
        else:
            main.append(step)
    builder = trajectory.builder()
    _add_steps(builder, main)
    _outcome(builder, trajectory.document)
    # Totals include the sub-agents; then only the steps say what the agent itself used.
    _usage(builder, main, {} if sides else mapping(trajectory.document.get("final_metrics")))
    if trajectory.document.get("continued_trajectory_ref") is not None:
        builder.ended = "continued"
    trace = builder.build(*trajectory.id_parts)
    yield trace
    for name, steps in sides.items():
        builder = trajectory.builder()
        builder.parent, builder.agent_id = trace.id, name
        _add_steps(builder, steps)
        _usage(builder, steps, {})
        yield builder.build(*trajectory.id_parts, name)


def _add_steps(builder: TraceBuilder, steps: list[dict[str, Any]]) -> None:
    for step in steps:
        if flag(step.get("is_copied_context")):
            builder.skip("copied context")
            continue
        at, source = text(step.get("timestamp")), step.get("source")
        message = words(step.get("message"))
        if source == "agent":
            _agent_step(builder, step, message, at)
        elif source == "user" and not _is_surroundings(message):
            if message is not None:
                builder.request(message, at)
        else:
            builder.skip("system" if source == "system" else "user context" if source == "user" else "unknown source")
        _results(builder, step, at)


def _is_surroundings(message: str | None) -> bool:
    """Codex tells the model its folder and shell in the user's name, before the request."""
    return message is not None and message.startswith("<environment_context>")


def _agent_step(builder: TraceBuilder, step: dict[str, Any], message: str | None, at: str | None) -> None:
    reasoning = words(step.get("reasoning_content"))
    if reasoning is not None:
        builder.think(reasoning, at)
    if message is not None:
        builder.say(message, at)
    for call in objects(step.get("tool_calls")):
        name = text(call.get("function_name"))
        if name is None:
            builder.skip("tool call without a name")
        else:
            builder.call(name, call.get("arguments"), text(call.get("tool_call_id")), at)


def _results(builder: TraceBuilder, step: dict[str, Any], at: str | None) -> None:
    results = objects(mapping(step.get("observation")).get("results"))
    calls = objects(step.get("tool_calls"))
    # Some emitters name no call: then as many results as calls are in the same order.
    unnamed = len(calls) == len(results) and not any(text(result.get("source_call_id")) for result in results)
    for number_, result in enumerate(results):
        call_id = text(calls[number_].get("tool_call_id")) if unnamed else text(result.get("source_call_id"))
        content = words(result.get("content"))
        if content is None and call_id is None:
            # What a system step refers to: the summary that a sub-agent wrote, and the like.
            builder.skip("result without content")
            continue
        builder.observe(content, call_id, at, failed=_failed(mapping(result.get("extra"))))


def _failed(extra: dict[str, Any]) -> bool | None:
    """Whether an emitter says that a call failed; the format itself has no place for it."""
    for key in _FAILED_FLAGS:
        if flag(extra.get(key)) is not None:
            return flag(extra[key])
    if extra.get("error") is True or text(extra.get("error")) is not None:
        return True
    if flag(extra.get("success")) is not None:
        return not extra["success"]
    for key in _EXIT_CODES:
        if type(extra.get(key)) is int:
            return bool(extra[key])
    status = text(extra.get("status"))
    return _STATUSES.get(status.lower()) if status else None


def _outcome(builder: TraceBuilder, document: dict[str, Any]) -> None:
    stated = mapping(mapping(document.get("extra")).get("scalepan"))
    builder.success = flag(stated.get("success"))
    confidence = number(stated.get("confidence"))
    builder.confidence = confidence if confidence is not None and confidence <= 1 else None
    builder.domain = text(stated.get("domain")) or builder.domain


def _usage(builder: TraceBuilder, steps: list[dict[str, Any]], totals: dict[str, Any]) -> None:
    """The tokens and the cost: the document's totals, or else the sum of its own steps."""
    each = [mapping(step.get("metrics")) for step in steps if not flag(step.get("is_copied_context"))]
    prompt, completion = whole(totals.get("total_prompt_tokens")), whole(totals.get("total_completion_tokens"))
    cost = number(totals.get("total_cost_usd"))
    builder.input_tokens = prompt if prompt is not None else total(each, "prompt_tokens")
    builder.output_tokens = completion if completion is not None else total(each, "completion_tokens")
    builder.cost_usd = cost if cost is not None else total(each, "cost_usd", number)
