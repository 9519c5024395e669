"""A trace put together from another tool's log, step by step, with the same meaning in every reader.

- What the agent thinks or says is a `thought`.
- A call of a tool is a `tool_call`, or an `error_recovery` if the last result of the same tool was a failure.
- A tool's result, and what a person says after the first request, is an `observation`.

The first request is the objective; the last thing that the agent says is the result. Confidence and success stay open
unless the log states them.
"""

import hashlib
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from scalepan.errors import InputError
from scalepan.trace.model import (
    Metadata,
    Outcome,
    ReasoningTrace,
    Step,
    StepOrigin,
    Task,
    Tool,
    TraceOrigin,
)

CONTEXT: Final = "https://openknowledgepulse.org/schema/v1"
UNKNOWN_DOMAIN = "unknown"
CODE = "code"
"""The domain of traces by agents that are made for writing programs."""


class TraceBuilder:
    """Collects the steps of one run."""

    def __init__(self, format_: str, *, domain: str = UNKNOWN_DOMAIN, framework: str | None = None) -> None:
        self.format = format_
        self.domain = domain
        self.framework = framework
        self.steps: list[Step] = []
        self.objective: str | None = None
        self.result: str | None = None
        self.created_at: str | None = None
        self.success: bool | None = None
        self.confidence: float | None = None
        self.validated_by: str | None = None
        self.agent_id: str | None = None
        self.session: str | None = None
        self.project: str | None = None
        self.parent: str | None = None
        self.trace_id: str | None = None
        self.span_id: str | None = None
        self.model: str | None = None
        self.ended: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cost_usd: float | None = None
        self.unmapped: Counter[str] = Counter()
        self._tools: dict[str, Tool] = {}
        self._calls: dict[str, str] = {}
        self._failed: set[str] = set()

    def request(self, text: str, at: str | None = None) -> None:
        """What a person asks: the first time it is the objective, later an observation."""
        if self.objective is None:
            self.objective = text
        else:
            self.observe(text, at=at)

    def think(self, text: str | None, at: str | None = None) -> None:
        """What the agent reasons; None if it did, and the log does not say what."""
        self._add("thought", text, at=at)

    def say(self, text: str, at: str | None = None) -> None:
        """What the agent says to a person; the last of it is the result."""
        self.result = text
        self._add("thought", text, at=at)

    def call(
        self,
        name: str,
        input_: Any = None,
        call_id: str | None = None,
        at: str | None = None,
        *,
        server: str | None = None,
        latency_ms: float | None = None,
    ) -> None:
        """A call of a tool."""
        if call_id is not None:
            self._calls[call_id] = name
        type_ = "error_recovery" if name in self._failed else "tool_call"
        self._add(
            type_, None, tool=self._tool(name, server), input_=input_, call_id=call_id, at=at, latency_ms=latency_ms
        )

    def observe(
        self,
        text: str | None,
        call_id: str | None = None,
        at: str | None = None,
        *,
        tool: str | None = None,
        failed: bool | None = None,
        refused: bool | None = None,
    ) -> None:
        """A tool's result, paired with its call by `call_id`, or by the `tool`; or a later message of a person."""
        name = self._calls.get(call_id, tool) if call_id is not None else tool
        # A call that a person refused did not fail: trying another way is no recovery.
        if name is not None and not refused:
            if failed:
                self._failed.add(name)
            else:
                self._failed.discard(name)
        self._add(
            "observation",
            text,
            tool=self._tool(name, None) if name is not None else None,
            call_id=call_id,
            failed=failed,
            refused=refused,
            at=at,
        )

    def recover(self, text: str, at: str | None = None) -> None:
        """What the agent says helped after a failure. Calling the tool again is then no second recovery."""
        self._failed.clear()
        self._add("error_recovery", text, at=at)

    def skip(self, kind: str) -> None:
        """Count a record that becomes no step."""
        self.unmapped[kind] += 1

    def build(self, *id_parts: str) -> ReasoningTrace:
        """The trace. `id_parts` name it; the same log gives the same id."""
        id_ = ":".join(["kp:trace", self.format, *id_parts])
        if not self.steps:
            raise InputError("has no step of an agent", id=id_)
        origin = TraceOrigin(
            format=self.format,
            session=self.session,
            project=self.project,
            parent=self.parent,
            trace_id=self.trace_id,
            span_id=self.span_id,
            model=self.model,
            ended=self.ended,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
            unmapped=dict(sorted(self.unmapped.items())),
        )
        return ReasoningTrace(
            context=CONTEXT,
            kind="ReasoningTrace",
            id=id_,
            metadata=Metadata(
                created_at=utc(self.created_at),
                task_domain=self.domain,
                success=self.success,
                quality_score=None,
                visibility="private",
                privacy_level="private",
                agent_id=self.agent_id,
                framework=self.framework,
                validated_by=self.validated_by,
            ),
            task=Task(objective=self.objective or ""),
            steps=self.steps,
            outcome=Outcome(result_summary=self.result or "", confidence=self.confidence),
            origin=origin,
        )

    def _tool(self, name: str, server: str | None) -> Tool:
        tool = self._tools.get(name)
        if tool is None or (server is not None and tool.mcp_server is None):
            tool = self._tools[name] = Tool(name=name, mcp_server=server or _mcp_server(name))
        return tool

    def _add(
        self,
        type_: Any,
        content: str | None,
        *,
        tool: Tool | None = None,
        input_: Any = None,
        call_id: str | None = None,
        failed: bool | None = None,
        refused: bool | None = None,
        at: str | None = None,
        latency_ms: float | None = None,
    ) -> None:
        if self.created_at is None:
            self.created_at = at
        said = call_id is not None or failed is not None or at is not None or refused is not None
        self.steps.append(
            Step(
                step_id=len(self.steps),
                type=type_,
                content=content,
                tool=tool,
                input=input_,
                latency_ms=latency_ms,
                origin=StepOrigin(call_id=call_id, failed=failed, refused=refused, at=at) if said else None,
            )
        )


def _mcp_server(name: str) -> str | None:
    """The server in a tool's name as coding agents write it: `mcp__github__search`."""
    if not name.startswith("mcp__"):
        return None
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return server if tool else None


def utc(text: str | float | None) -> str | None:
    """A log's time as UTC; a number is seconds since 1970. None if it cannot be read, or has no zone.

    >>> utc("2026-01-31T21:00:00+09:00"), utc(0), utc("yesterday")
    ('2026-01-31T12:00:00Z', '1970-01-01T00:00:00Z', None)
    """
    try:
        when = (
            datetime.fromtimestamp(text, UTC) if isinstance(text, (int, float)) else datetime.fromisoformat(text or "")
        )
        if when.tzinfo is None:
            return None
        return when.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError, TypeError):
        return None


def project_name(cwd: str | None) -> str | None:
    """The name of the folder that the agent worked in: enough to tell projects apart, and the path stays private.

    A home directory has a person's name, and is no project.

    >>> project_name("/home/anna/work/shop"), project_name("C:\\\\Users\\\\anna"), project_name("/")
    ('shop', None, None)
    """
    parts = [part for part in (cwd or "").replace("\\", "/").split("/") if part]
    if not parts or (len(parts) > 1 and parts[-2] in ("home", "Users")):
        return None
    return parts[-1]


def digest(data: bytes | memoryview | str) -> str:
    """A short name for a record that has no id of its own.

    >>> digest("a")
    'ca978112ca1bbdca'
    """
    raw = data.encode() if isinstance(data, str) else data
    return hashlib.sha256(raw).hexdigest()[:16]
