"""Which spans belong to one run of an agent: the tree of a trace, cut where another agent begins.

- A trace is one run, unless it holds several.
- What happens inside a call of a tool is not what the agent did but how the tool works. Calls of a model there are a
  run of their own: a sub-agent of the run that called the tool.
- An agent inside an agent of another name is a sub-agent as well. One of the same name, or without a name, is the same
  agent: frameworks have spans for every turn and every node of a graph.
- Agents beside each other are one run if a workflow is around them: they hand over to each other. If only spans that
  are not GenAI are around them, as in a program that runs one agent after another, each is a run.
- Conversations with different ids are different runs. The outermost id counts: calls inside may have ids of the API.
- A call of a model inside a call of a model is the same call, and so is one of a tool inside one of the same tool or
  with the same id: two instrumentations report it, or one reports its parts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from scalepan.trace.readers.otlp.calls import same_tool_call
from scalepan.trace.readers.otlp.kinds import SpanKind, agent_name, conversation_of, kind_of
from scalepan.trace.readers.otlp.records import SpanRecord

MAIN = ""


class SpanPlace(NamedTuple):
    """Where the spans inside a span are."""

    run: str = MAIN
    """The span that began the sub-agent's run."""
    top: str = MAIN
    """The outermost agent, if no workflow is around it."""
    agent: str | None = None
    """The name of the agent."""
    in_agent: bool = False
    in_workflow: bool = False
    model: str | None = None
    """The call of a model that this is inside of."""
    tool: str | None = None
    """The call of a tool that this is inside of."""
    conversation: str | None = None


class SpanRun:
    """The spans of one run."""

    def __init__(self, key: str, conversation: str | None, parent: str | None) -> None:
        self.key = key
        """The span that began it; empty for the main run."""
        self.conversation = conversation
        self.parent = parent
        """The key of the run that started it as a sub-agent."""
        self.around: list[SpanRecord] = []
        """Agents and workflows."""
        self.models: dict[str, list[SpanRecord]] = {}
        """Calls of a model: the outer span, and those inside that repeat it."""
        self.tools: dict[str, list[SpanRecord]] = {}
        self.others: list[SpanRecord] = []
        """What becomes no step."""

    @property
    def spans(self) -> Iterator[SpanRecord]:
        """All of them."""
        yield from self.around
        for call in (*self.models.values(), *self.tools.values()):
            yield from call
        yield from self.others


def runs_of(spans: dict[str, SpanRecord]) -> list[SpanRun]:
    """The runs of a trace, in the order in which they began."""
    return _Tree(spans).runs()


class _Tree:
    def __init__(self, spans: dict[str, SpanRecord]) -> None:
        self._spans = spans
        self._kinds = {span.id: kind_of(span.attributes) for span in spans.values()}
        self._inside: dict[str, SpanPlace] = {}
        self._started_in: dict[str, SpanPlace] = {}
        """Where each sub-agent was started."""
        self._tops: set[str] = set()
        self._runs: dict[tuple[str, str | None], SpanRun] = {}

    def runs(self) -> list[SpanRun]:
        ordered = sorted(self._spans.values(), key=lambda span: (span.start, -span.end))
        told = [span for span in ordered if self._kinds[span.id] is not SpanKind.PLAIN]
        for span in told:
            self._within(span.id)
        placed = [(self._key(span), span) for span in told]
        # A span without a conversation belongs to the one before it, or else to the first.
        last: dict[str, str | None] = {}
        for key, span in placed:
            last[key] = last.get(key) or self._inside[span.id].conversation
        inner: list[tuple[SpanRun, SpanRecord]] = []
        for key, span in placed:
            last[key] = self._inside[span.id].conversation or last[key]
            run = self._run(key, last[key])
            if not self._add(run, span):
                inner.append((run, span))
        by_key = {run.key: run for run in self._runs.values()}
        for run, span in inner:
            self._add_inner_tool(run, span, by_key)
        return list(self._runs.values())

    def _within(self, id_: str | None) -> SpanPlace:
        """The place inside a span; on the way, those inside all that are around it."""
        path: dict[str, SpanRecord] = {}
        while id_ is not None and id_ in self._spans and id_ not in self._inside and id_ not in path:
            path[id_] = self._spans[id_]
            id_ = path[id_].parent
        place = self._inside.get(id_ or "", SpanPlace())
        for span in reversed(path.values()):
            place = self._inside[span.id] = self._entered(span, place)
        return place

    def _entered(self, span: SpanRecord, around: SpanPlace) -> SpanPlace:
        kind = self._kinds[span.id]
        around = around._replace(conversation=around.conversation or conversation_of(span.attributes))
        if kind in (SpanKind.AGENT, SpanKind.WORKFLOW) and around.tool is not None:
            self._started_in.setdefault(around.tool, self._inside[around.tool])
            around = SpanPlace(run=around.tool, conversation=around.conversation)
        match kind:
            case SpanKind.AGENT:
                return self._entered_agent(span, around)
            case SpanKind.WORKFLOW:
                return around._replace(in_workflow=True)
            case SpanKind.TOOL:
                return around._replace(tool=around.tool or span.id, model=None)
            case SpanKind.MODEL:
                return around._replace(model=around.model or span.id)
        return around

    def _entered_agent(self, span: SpanRecord, around: SpanPlace) -> SpanPlace:
        name = agent_name(span.attributes)
        if around.in_agent and None not in (name, around.agent) and name != around.agent:
            self._started_in[span.id] = around
            around = around._replace(run=span.id)
        elif not (around.in_agent or around.in_workflow or around.run):
            self._tops.add(span.id)
            around = around._replace(top=span.id)
        return around._replace(agent=name or around.agent, in_agent=True, model=None)

    def _key(self, span: SpanRecord) -> str:
        """The run that a span belongs to. All places must be known."""
        around = self._within(span.parent)
        kind = self._kinds[span.id]
        if kind is SpanKind.MODEL and around.tool is not None:
            self._started_in.setdefault(around.tool, self._inside[around.tool])
            return around.tool
        # An agent belongs to the run that it begins.
        return self._resolved(self._inside[span.id] if kind in (SpanKind.AGENT, SpanKind.WORKFLOW) else around)

    def _resolved(self, place: SpanPlace) -> str:
        return place.run or (place.top if len(self._tops) > 1 else MAIN)

    def _run(self, key: str, conversation: str | None) -> SpanRun:
        if (key, conversation) not in self._runs:
            started = self._started_in.get(key)
            parent = self._resolved(started) if started is not None else None
            self._runs[key, conversation] = SpanRun(key, conversation, parent)
        return self._runs[key, conversation]

    def _add(self, run: SpanRun, span: SpanRecord) -> bool:
        """Whether the span has found its place: that of a tool inside a tool is known when all runs are."""
        around = self._within(span.parent)
        match self._kinds[span.id]:
            case SpanKind.MODEL:
                _put(run.models, around.model or span.id, span)
            case SpanKind.TOOL if around.tool is None:
                _put(run.tools, span.id, span)
            case SpanKind.TOOL:
                return False
            case SpanKind.OTHER:
                run.others.append(span)
            case _:
                run.around.append(span)
        return True

    def _add_inner_tool(self, run: SpanRun, span: SpanRecord, by_key: dict[str, SpanRun]) -> None:
        """A tool inside a tool: the same call again, a call of the agent that works inside, or none of an agent."""
        outer = self._within(span.parent).tool or MAIN
        inner = by_key.get(outer)
        if same_tool_call(span, self._spans[outer]):
            _put(run.tools, outer, span)
        elif inner is not None:
            _put(inner.tools, span.id, span)
        else:
            run.others.append(span)


def _put(calls: dict[str, list[SpanRecord]], key: str, span: SpanRecord) -> None:
    """Add a span to a call; the outer one comes first, even if the clock says that the inner one began with it."""
    calls.setdefault(key, []).insert(0 if span.id == key else len(calls[key]), span)
