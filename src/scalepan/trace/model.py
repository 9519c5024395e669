"""ReasoningTrace: what an agent was asked, what it did step by step, and how that ended (contract value.1 to value.4).

A native trace is strict: what the format requires must be present and in range. Unknown keys are stored in `extra` and
written back where they were.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct

from scalepan.check import in_order, json_schema, problems
from scalepan.errors import InputError, quoted, shorten

Context = Literal["https://openknowledgepulse.org/schema/v1", "https://knowledgepulse.dev/schema/v1"]
StepType = Literal["thought", "tool_call", "observation", "error_recovery"]
Visibility = Literal["private", "org", "network"]
PrivacyLevel = Literal["aggregated", "federated", "private"]

Share = Annotated[float, Meta(ge=0, le=1)]
STEP_TYPES: frozenset[str] = frozenset(("thought", "tool_call", "observation", "error_recovery"))


# The key under which `extra` travels through msgspec.
_EXTRA = "scalepan:extra"

# Where a trace that was made from another tool's log, and each of its steps, says so.
_ORIGIN = "scalepan:origin"


class _Unknown(dict[str, Any]):
    """Unknown keys. Its own type, so that no JSON can pass for one; read-only, as all nodes without any share one."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a trace is immutable; build another one from its to_dict()")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return _Unknown, (dict(self),)


class _Node(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of a trace. Immutable; `extra` holds unknown keys."""

    # The quickest function that returns always the same.
    extra: _Unknown = msgspec.field(default_factory=repeat(_Unknown()).__next__, name=_EXTRA)


class StepOrigin(_Node, frozen=True, kw_only=True):
    """What another tool's log says of a step beyond the format."""

    call_id: str | None = None
    """Joins a call and its observation."""
    failed: bool | None = None
    """Of an observation: whether the log says that the call failed; None if it does not say."""
    refused: bool | None = None
    """Of an observation: a person refused the call, or interrupted it."""
    at: str | None = None
    """When, as the log has it."""


class TraceOrigin(_Node, frozen=True, kw_only=True):
    """Which log a reader made a trace from. Such a trace may leave open what a native one must state."""

    format: str
    """The reader's name."""
    session: str | None = None
    project: str | None = None
    parent: str | None = None
    """Id of the trace whose agent started this one as a sub-agent."""
    trace_id: str | None = None
    """Of a log in OpenTelemetry: the trace, in hexadecimal digits."""
    span_id: str | None = None
    """The span of the agent's run in it."""
    model: str | None = None
    ended: str | None = None
    """How the run ended, in the log's own word. It is not success."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    unmapped: dict[str, int] = {}
    """Records of the log that became no step, counted by kind."""


class Tool(_Node, frozen=True, kw_only=True):
    """The tool that a step used."""

    name: str
    mcp_server: str | None = None


class Step(_Node, frozen=True, kw_only=True):
    """One thing that the agent did."""

    step_id: Annotated[int, Meta(ge=0)]
    type: Annotated[StepType, in_order(StepType)]
    content: str | None = None
    tool: Tool | None = None
    input: Any = None
    output_summary: str | None = None
    latency_ms: Annotated[float, Meta(ge=0)] | None = None
    origin: StepOrigin | None = msgspec.field(default=None, name=_ORIGIN)


class Metadata(_Node, frozen=True, kw_only=True):
    """When, in which field, with what success. None stands only where another tool's log does not say."""

    created_at: str | None
    task_domain: str
    success: bool | None
    quality_score: Share | None
    visibility: Annotated[Visibility, in_order(Visibility)]
    privacy_level: Annotated[PrivacyLevel, in_order(PrivacyLevel)]
    agent_id: str | None = None
    framework: str | None = None
    validated_by: str | list[str] | None = None


class Task(_Node, frozen=True, kw_only=True):
    """What was asked."""

    objective: str
    input_schema: Any = None


class Outcome(_Node, frozen=True, kw_only=True):
    """How it ended. `confidence` is None only if another tool's log does not say."""

    result_summary: str
    confidence: Share | None


class KnowledgeGraphDelta(_Node, frozen=True, kw_only=True):
    """What the trace adds to a knowledge graph."""

    entities: list[Any] | None = None
    relationships: list[Any] | None = None


class ReasoningTrace(_Node, frozen=True, kw_only=True):
    """One run of an agent.

    >>> trace = ReasoningTrace.from_dict({
    ...     "@context": "https://openknowledgepulse.org/schema/v1", "@type": "ReasoningTrace", "id": "kp:trace:1",
    ...     "metadata": {"created_at": "2026-01-31T12:00:00Z", "task_domain": "code", "success": True,
    ...                  "quality_score": 0, "visibility": "private", "privacy_level": "private"},
    ...     "task": {"objective": "Rename a column"},
    ...     "steps": [{"step_id": 0, "type": "thought", "content": "Two tables use it", "mood": "calm"}],
    ...     "outcome": {"result_summary": "Renamed", "confidence": 0.9},
    ... })
    >>> trace.steps[0].extra
    {'mood': 'calm'}
    >>> trace.to_dict()["steps"][0]["mood"]
    'calm'
    """

    context: Annotated[Context, in_order(Context)] = msgspec.field(name="@context")
    kind: Literal["ReasoningTrace"] = msgspec.field(name="@type")
    id: Annotated[str, Meta(pattern="^kp:trace:")]
    metadata: Metadata
    task: Task
    steps: Annotated[list[Step], Meta(min_length=1)]
    outcome: Outcome
    source_skill: str | None = None
    knowledge_graph_delta: KnowledgeGraphDelta | None = None
    origin: TraceOrigin | None = msgspec.field(default=None, name=_ORIGIN)

    @property
    def text(self) -> str:
        """What is embedded: the objective, then every step's content, joined by spaces."""
        return " ".join([self.task.objective, *[step.content or "" for step in self.steps]])

    @classmethod
    def from_json(cls, data: bytes | str | memoryview | msgspec.Raw) -> "ReasoningTrace":
        """A trace from JSON; InputError names the trace, the path, the value and what is legal."""
        try:
            trace = _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            # Slower, so only after a failure: there may be unknown keys, or something is wrong.
            return cls.from_dict(_plain_json(data))
        _check_whole(trace)
        return trace

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ReasoningTrace":
        """A trace from plain data; unknown keys are preserved at every level."""
        if not isinstance(data, Mapping):
            raise InputError(f"{quoted(data)} is not a trace object")
        sorted_out = _gather_extra(data, cls)
        try:
            trace = msgspec.convert(sorted_out, cls)
        except (msgspec.ValidationError, UnicodeError, RecursionError):
            raise _explained(sorted_out) from None
        _check_whole(trace)
        return trace

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the format's own keys, unknown ones included."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return cast("dict[str, Any]", _spread_extra(data, type(self)))

    def to_json(self) -> bytes:
        """One line of JSON."""
        return msgspec.json.encode(self.to_dict())


_DECODER = msgspec.json.Decoder(ReasoningTrace)


@lru_cache(maxsize=1)
def trace_schema() -> dict[str, Any]:
    """JSON Schema of a native trace. Unknown keys are legal; confidence and success are not optional."""
    document = json_schema(ReasoningTrace)
    for definition in document["$defs"].values():
        definition["properties"].pop(_EXTRA, None)
        del definition["additionalProperties"]
    definitions = document["$defs"]
    share = {"type": "number", "minimum": 0, "maximum": 1}
    definitions["Outcome"]["properties"]["confidence"] = share
    definitions["Metadata"]["properties"] |= {
        "success": {"type": "boolean"},
        "quality_score": share,
        "created_at": {"type": "string", "format": "date-time"},
    }
    for definition in (definitions["ReasoningTrace"], definitions["Step"]):
        del definition["properties"][_ORIGIN]
    del definitions["TraceOrigin"], definitions["StepOrigin"]
    return document


def _plain_json(data: bytes | str | memoryview | msgspec.Raw) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(data)
    except UnicodeError:
        raise InputError("is not UTF-8 text") from None
    except RecursionError:
        raise InputError("is nested too deeply to be a trace") from None
    except msgspec.DecodeError as error:
        raise InputError(f"is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise InputError(f"{quoted(raw)} is not a trace object")
    return raw


def _explained(data: Mapping[str, Any]) -> InputError:
    """Why plain data is not a trace: the first fault by path, then the others."""
    who = data.get("id")
    who = shorten(who) if isinstance(who, str) else None
    try:
        first, *others = problems(data, ReasoningTrace)
    except RecursionError:
        return InputError("is nested too deeply to be a trace", id=who)
    path = first.path.removeprefix(f"{_EXTRA}.")
    return InputError(first.message, id=who, path=path, more=list(map(str, others)))


def _check_whole(trace: ReasoningTrace) -> None:
    """Problems that types cannot express, and what only other tools' logs may leave out."""
    metadata, confidence = trace.metadata, trace.outcome.confidence
    stated = metadata.success, metadata.quality_score, metadata.created_at
    if (confidence is None or None in stated) and trace.origin is None:
        raise InputError("is missing", id=trace.id, path=_not_stated(trace))
    problem = _utc_fault(metadata.created_at) if metadata.created_at is not None else None
    if problem:
        raise InputError(problem, id=trace.id, path="metadata.created_at")


def _not_stated(trace: ReasoningTrace) -> str:
    """The first thing that a native trace must state and this one does not."""
    if trace.outcome.confidence is None:
        return "outcome.confidence"
    keys = ("success", "quality_score", "created_at")
    return next(f"metadata.{key}" for key in keys if getattr(trace.metadata, key) is None)


_NONE = timedelta(0)


def _utc_fault(text: str) -> str | None:
    try:
        offset = datetime.fromisoformat(text).utcoffset()
    except ValueError:
        offset = None
    if offset == _NONE:
        return None
    example = datetime(2026, 1, 31, 12, tzinfo=UTC).isoformat().replace("+00:00", "Z")
    return f"{quoted(text)} is not a UTC time such as {example}"


def check_stated(trace: ReasoningTrace) -> None:
    """Checks what the formula needs: a trace built in Python was not checked by decoding."""
    confidence = trace.outcome.confidence
    if confidence is not None and (type(confidence) not in (int, float) or not 0.0 <= confidence <= 1.0):
        raise InputError(f"{quoted(confidence)} is not between 0 and 1", id=trace.id, path="outcome.confidence")
    if not trace.steps:
        raise InputError("is empty; at least one is needed", id=trace.id, path="steps")


# Which fields hold further pieces, so that unknown keys are found at every level.
_CHILDREN: dict[type[_Node], dict[str, type[_Node]]] = {
    ReasoningTrace: {
        "metadata": Metadata,
        "task": Task,
        "steps": Step,
        "outcome": Outcome,
        "knowledge_graph_delta": KnowledgeGraphDelta,
        _ORIGIN: TraceOrigin,
    },
    Step: {"tool": Tool, _ORIGIN: StepOrigin},
}


_NO_CHILDREN: dict[str, type[_Node]] = {}
_KEYS = {
    node: frozenset(node.__struct_encode_fields__) - {_EXTRA}
    for node in (*_CHILDREN, *(child for children in _CHILDREN.values() for child in children.values()))
}
"""The keys of each piece."""


def _gather_extra(data: Any, node: type[_Node]) -> Any:
    """The same data with unknown keys of `node` and its children moved under `extra`; what has none is not copied."""
    if type(data) is not dict:
        if not isinstance(data, Mapping):
            return data
        data = dict(data)
    known, keys = data, _KEYS[node]
    if not keys.issuperset(data):
        known = {key: value for key, value in data.items() if key in keys}
        known[_EXTRA] = _Unknown({key: value for key, value in data.items() if key not in keys})
    for key, child in _CHILDREN.get(node, _NO_CHILDREN).items():
        before = data.get(key)
        if before is not None and (after := _each(_gather_extra, before, child)) is not before:
            known = dict(data) if known is data else known
            known[key] = after
    return known


def _spread_extra(data: Any, node: type[_Node]) -> Any:
    """The reverse: keys under `extra` move back to where they were."""
    extra = data.pop(_EXTRA, {})
    for key, child in _CHILDREN.get(node, {}).items():
        if key in data:
            data[key] = _each(_spread_extra, data[key], child)
    return data | extra


def _each(change: Callable[[Any, type[_Node]], Any], value: Any, node: type[_Node]) -> Any:
    """One child, or a list of them."""
    return [change(item, node) for item in value] if isinstance(value, list) else change(value, node)
