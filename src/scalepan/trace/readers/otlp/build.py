"""One run of an agent as a trace: its calls in their order, its tools, its tokens, and what became no step."""

from typing import Any

from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.entries import play
from scalepan.trace.readers.otlp.calls import ModelSpan, model_span, tool_span
from scalepan.trace.readers.otlp.conversations import KnownConversations
from scalepan.trace.readers.otlp.kinds import agent_name, operation_of, unmapped_name
from scalepan.trace.readers.otlp.records import DETAILS, LoggedEvent, SpanEvent, SpanRecord
from scalepan.trace.readers.otlp.runs import SpanRun
from scalepan.trace.readers.otlp.story import RunStory
from scalepan.trace.readers.otlp.values import when

FORMAT = "otlp"
# The operation of a span that is not there: only its events are.
_EVENTS_ALONE = "events alone"
_INSTRUMENTATIONS = (
    "opentelemetry.instrumentation.genai.",
    "opentelemetry.instrumentation.",
    "openinference.instrumentation.",
)

Logged = dict[str, list[LoggedEvent]]
"""Events among the logs, by the span that they belong to."""


def built_run(run: SpanRun, logged: Logged, conversations: KnownConversations) -> TraceBuilder:
    """The trace of a run, but for its id and its parent."""
    spans = sorted(run.spans, key=lambda span: span.start)
    builder = TraceBuilder(FORMAT, framework=_framework(spans))
    builder.session = run.conversation
    # What a score of the trace is said of: the agent's own span, else the first of its calls.
    judged = next(iter(run.around or spans), None)
    if judged is not None:
        builder.trace_id, builder.span_id = judged.trace_id, judged.id
    builder.project = next((span.service for span in spans if span.service), None)
    builder.agent_id = next((name for span in spans if (name := agent_name(span.attributes))), None)
    builder.created_at = next((when(span.start) for span in spans if span.start), None)
    story = RunStory()
    calls = _once([_model_call(spans, logged) for spans in run.models.values()])
    for call in calls:
        _count(call, builder)
    _tell(calls, story, conversations)
    if not any(call.has_content for call in calls):
        _tell_whole(run, calls, logged, story)
    story.add_tools([tool_span(call[0], call[1:]) for call in run.tools.values()])
    play(story.entries(), builder)
    _count_unmapped(run, spans, logged, builder)
    if builder.ended is None and any(span.failed for span in run.around[:1]):
        builder.ended = "error"
    return builder


def span_of_events(trace_id: str, span_id: str, events: list[LoggedEvent]) -> SpanRecord:
    """The span of events whose span was not recorded: a call of a model if they have messages."""
    times = [one.event.nanos for one in events]
    called = any(one.event.has_messages for one in events)
    details = next((one.event.attributes for one in events if one.event.name == DETAILS), {})
    stated = {"gen_ai.operation.name": "chat" if called else _EVENTS_ALONE} | details
    scope, service = events[0].scope, events[0].service
    return SpanRecord(trace_id, span_id, None, "", min(times), max(times), None, None, stated, [], scope, service)


def _model_call(spans: list[SpanRecord], logged: Logged) -> ModelSpan:
    return model_span(spans[0], spans[1:], [event for span in spans for event in _events(span, logged)])


def _events(span: SpanRecord, logged: Logged) -> list[SpanEvent]:
    return [one.event for one in logged.get(span.id, [])]


def _once(calls: list[ModelSpan]) -> list[ModelSpan]:
    """Without those that two instrumentations report beside each other: the model gives every answer an id."""
    answers: set[str] = set()
    kept = []
    for call in calls:
        if call.id is None or call.id not in answers:
            kept.append(call)
        if call.id is not None:
            answers.add(call.id)
    return kept


def _count(call: ModelSpan, builder: TraceBuilder) -> None:
    builder.model = call.model or builder.model
    builder.ended = call.ended or builder.ended
    builder.input_tokens = _sum(builder.input_tokens, call.input_tokens)
    builder.output_tokens = _sum(builder.output_tokens, call.output_tokens)
    builder.cost_usd = _sum(builder.cost_usd, call.cost_usd)


def _tell(calls: list[ModelSpan], story: RunStory, conversations: KnownConversations) -> None:
    first = next((call for call in calls if call.history), None)
    for call in calls:
        if call is first:
            story.share(conversations.beginning(call.history))
        story.add_history(call.history, call.start)
        story.add_answer(call)
        conversations.note([*call.history, *call.answer])


def _tell_whole(run: SpanRun, calls: list[ModelSpan], logged: Logged, story: RunStory) -> None:
    """What the agent was asked and what it answered, where its calls do not say it."""
    agents = (model_span(span, (), _events(span, logged)) for span in run.around)
    whole = next((agent for agent in agents if agent.has_content), None)
    if whole is not None:
        story.add_history(whole.history, whole.start)
        story.add_history(whole.answer, max(whole.end, *(call.end for call in calls), 0))


def _count_unmapped(run: SpanRun, spans: list[SpanRecord], logged: Logged, builder: TraceBuilder) -> None:
    for span in run.others:
        if operation_of(span.attributes) != _EVENTS_ALONE:
            builder.skip(unmapped_name(span.attributes))
    for span in spans:
        for event in (*span.events, *_events(span, logged)):
            if event.name.startswith("gen_ai.") and not event.has_messages:
                builder.skip(f"{event.name[:60]} event")


def _framework(spans: list[SpanRecord]) -> str | None:
    """The library that made the spans, by the name of its instrumentation."""
    scope = next((span.scope for span in spans if span.scope), None)
    # A helper that several instrumentations share.
    if scope is None or scope.startswith("opentelemetry.util."):
        return None
    for start in _INSTRUMENTATIONS:
        if scope.startswith(start):
            return scope.removeprefix(start)
    return scope


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one + (other or 0)
