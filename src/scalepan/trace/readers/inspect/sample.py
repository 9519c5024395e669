"""One sample of an Inspect evaluation as a trace: its conversation, and what the log's scorer said of it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import TraceBuilder, digest
from scalepan.trace.readers.inspect.conversation import add_messages, resolve
from scalepan.trace.readers.lenient import first_text, items, mapping, number, objects, text, total, whole, words

_CORRECT = {"C": True, "I": False}
MOST_REFERRED = 100_000
"""A conversation has at most so many messages."""


class InspectRun(NamedTuple):
    """What a log says of all its samples."""

    id: str | None
    task: str | None
    model: str | None
    created: str | None
    scorer: str | None
    """The first scorer of the evaluation: its main one."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> "InspectRun":
        """From the `eval` part of a log."""
        scorers = [text(scorer.get("name")) for scorer in objects(data.get("scorers"))]
        return cls(
            id=first_text(data.get("eval_id"), data.get("run_id"), data.get("task_id")),
            task=text(data.get("task")),
            model=text(data.get("model")),
            created=text(data.get("created")),
            scorer=scorers[0] if scorers else None,
        )


class _Fields(msgspec.Struct):
    """What is needed of a sample. Its events are most of it, and stay undecoded unless there are sub-agents."""

    id: Any = None
    epoch: Any = None
    uuid: Any = None
    input: Any = None
    messages: Any = None
    output: Any = None
    score: Any = None
    scores: Any = None
    model_usage: Any = None
    error: Any = None
    limit: Any = None
    invalidation: Any = None
    started_at: Any = None
    attachments: Any = None
    events: msgspec.Raw = msgspec.Raw(b"null")
    events_data: msgspec.Raw = msgspec.Raw(b"null")


resolved(_Fields)


class _Event(msgspec.Struct):
    """What is needed of an event to find the conversations of sub-agents."""

    event: Any = None
    id: Any = None
    parent_id: Any = None
    span_id: Any = None
    type: Any = None
    name: Any = None
    input: Any = None
    input_refs: Any = None
    output: Any = None


resolved(list[_Event])


class Sample:
    """A sample and the run that it belongs to."""

    def __init__(self, data: dict[str, Any], run: InspectRun) -> None:
        self.data = data
        self.run = run
        self.uuid = text(data.get("uuid"))
        self.attachments = mapping(data.get("attachments"))

    @classmethod
    def decoded(cls, data: bytes | msgspec.Raw, run: InspectRun) -> "Sample":
        """From JSON."""
        try:
            fields = msgspec.json.decode(data, type=_Fields)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InputError(f"is not a sample of Inspect: {' '.join(str(error).split())}") from None
        return cls({name: getattr(fields, name) for name in fields.__struct_fields__}, run)

    @property
    def id_parts(self) -> tuple[str, ...]:
        """What names it: the run, the sample and the epoch."""
        name = self.data.get("id")
        shown = text(name) or (str(name) if type(name) is int else None) or digest(repr(self.data.get("input")))
        return (self.run.id or "run", shown, str(whole(self.data.get("epoch")) or 1))

    def events(self) -> list[_Event]:
        """Its events, if any of them can be of a sub-agent."""
        raw = self.data.get("events")
        encoded = bytes(raw) if isinstance(raw, msgspec.Raw) else msgspec.json.encode(objects(raw))
        if b'"agent"' not in encoded:
            return []
        try:
            return msgspec.json.decode(encoded, type=list[_Event])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return []

    def pool(self) -> list[Any]:
        """The messages that events refer to by number."""
        raw = self.data.get("events_data")
        try:
            data = msgspec.json.decode(raw) if isinstance(raw, msgspec.Raw) else raw
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return []
        return items(mapping(data).get("messages"))


def read_sample(sample: Sample) -> Iterator[ReasoningTrace]:
    """The trace of the sample, then those of the agents that it called as tools."""
    builder = _builder(sample)
    data = sample.data
    builder.objective = _objective(resolve(data.get("input"), sample.attachments))
    add_messages(builder, resolve(objects(data.get("messages")), sample.attachments))
    _score(builder, sample)
    _usage(builder, objects(list(mapping(data.get("model_usage")).values())))
    builder.ended = _ended(data)
    trace = builder.build(*sample.id_parts)
    yield trace
    for span, name, messages in _sub_agents(sample):
        builder = _builder(sample)
        builder.parent, builder.agent_id = trace.id, name
        add_messages(builder, resolve(messages, sample.attachments))
        if builder.steps:
            yield builder.build(*sample.id_parts, span)


def _objective(task: Any) -> str | None:
    """The task as the data set has it, without the template that messages may wrap it in.

    If it is a conversation, the last thing that the user says in it; examples and earlier questions come before.
    """
    if isinstance(task, list):
        asked = [words(message.get("content")) for message in objects(task) if message.get("role") == "user"]
        return asked[-1] if asked else None
    return text(task)


def _builder(sample: Sample) -> TraceBuilder:
    builder = TraceBuilder("inspect", framework="inspect")
    builder.session = sample.uuid
    builder.project = sample.run.task
    builder.model = sample.run.model
    builder.created_at = text(sample.data.get("started_at")) or sample.run.created
    return builder


def _score(builder: TraceBuilder, sample: Sample) -> None:
    """Success, if the main scorer says correct or incorrect. Any other value is a measure, not a verdict."""
    scores = mapping(sample.data.get("scores"))
    if sample.data.get("score") is not None:
        scores = {sample.run.scorer or "score": sample.data["score"]}
    name = sample.run.scorer if sample.run.scorer in scores else next(iter(scores), None)
    if name is None or sample.data.get("invalidation") is not None:
        return
    builder.success = _verdict(mapping(scores[name]).get("value"))
    if builder.success is not None:
        builder.validated_by = f"inspect:{name}"


def _verdict(value: Any) -> bool | None:
    """C or I, true or false, 1 or 0.

    >>> _verdict("C"), _verdict(0.0), _verdict(0.5), _verdict("P")
    (True, False, None, None)
    """
    if isinstance(value, str):
        return _CORRECT.get(value)
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


def _usage(builder: TraceBuilder, models: list[dict[str, Any]]) -> None:
    """The tokens of all models; those from a cache are counted apart, and are input too."""
    keys = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    inputs = [found for key in keys if (found := total(models, key)) is not None]
    builder.input_tokens = sum(inputs) if inputs else None
    builder.output_tokens = total(models, "output_tokens")
    builder.cost_usd = total(models, "total_cost", number)


def _ended(data: dict[str, Any]) -> str | None:
    if data.get("error") is not None:
        return "error"
    limit = text(mapping(data.get("limit")).get("type"))
    if limit:
        return f"limit {limit}"
    choices = objects(mapping(data.get("output")).get("choices"))
    return text(choices[0].get("stop_reason")) if choices else None


def _sub_agents(sample: Sample) -> Iterator[tuple[str, str | None, list[dict[str, Any]]]]:
    """Every agent that was called as a tool: its span, its name, and its last conversation with the model."""
    events = sample.events()
    spans = {event.id: event for event in events if event.event == "span_begin" and isinstance(event.id, str)}
    last: dict[str, _Event] = {}
    for event in events:
        if event.event == "model" and (agent := _agent_span(event.span_id, spans)):
            last[agent] = event
    pool = sample.pool() if last else []
    for span, event in last.items():
        messages = objects(event.input) or objects(referred(pool, event.input_refs))
        choices = objects(mapping(event.output).get("choices"))
        answer = [mapping(choice.get("message")) for choice in choices[:1]]
        yield span, words(spans[span].name), [*messages, *answer]


def _agent_span(span: Any, spans: dict[str, _Event]) -> str | None:
    """The sub-agent that a span belongs to: the nearest agent, if a tool's span is around it.

    With a handoff the agent continues the conversation of the one before it, and is no sub-agent.
    """
    agent: str | None = None
    after_tool = False
    for _ in range(len(spans)):
        found = spans.get(span) if isinstance(span, str) else None
        if found is None:
            break
        if agent is None and found.type == "agent":
            agent = span
        elif agent is not None and after_tool:
            return None if found.type == "handoff" else agent
        elif agent is not None and found.type == "tool":
            after_tool = True
        span = found.parent_id
    return agent if after_tool else None


def referred(pool: list[Any], refs: Any) -> list[Any]:
    """The items of a pool that ranges name: `[[0, 3], [5, 6]]` are 0, 1, 2 and 5."""
    found: list[Any] = []
    for pair in items(refs):
        if not isinstance(pair, list) or len(pair) != 2 or None in map(whole, pair):
            continue
        found += pool[pair[0] : pair[1]][: MOST_REFERRED - len(found)]
    return found
