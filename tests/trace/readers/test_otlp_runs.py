"""Which spans are one run: sub-agents, hand-overs, programs that run several agents, conversations in many traces."""

from typing import Any

import pytest

from scalepan.trace.model import ReasoningTrace
from tests.trace.readers.otlplog import (
    ERROR,
    TRACE,
    Json,
    agent,
    call,
    chat,
    id_of,
    message,
    response,
    span,
    spans,
    text,
    tool,
)
from tests.trace.readers.rows import problems_of, steps_of, traces_of

OTHER = "1bf7651916cd43dd8448eb211c80319c"


def said(question: str, answer: str) -> Json:
    """Attributes of a call with one message each way."""
    return chat([message("user", text(question))], [message("assistant", text(answer))])


def told(trace: ReasoningTrace) -> tuple[str, list[str | None]]:
    return trace.task.objective, [step.content for step in trace.steps]


def parent_of(trace: ReasoningTrace) -> str | None:
    return trace.origin.parent if trace.origin else None


ASKED = message("user", text("Write a report"))
DELEGATED = message("assistant", call("call-0001", "research", topic="ants"))
REPORT = message("assistant", text("Here it is."))


def test_an_agent_inside_a_tool_is_a_trace_of_its_own() -> None:
    sent = [
        span("boss", (0, 9), agent("boss")),
        span("boss1", (0, 1), chat([ASKED], [DELEGATED]), inside="boss"),
        span("tool", (1, 5), tool("research", "call-0001", {"topic": "ants"}, "many"), inside="boss"),
        span("helper", (2, 4), agent("helper"), inside="tool"),
        span("help1", (2, 3), said("Find ants", "Ants are many"), inside="helper"),
        span(
            "boss2",
            (6, 7),
            chat([ASKED, DELEGATED, message("tool", response("call-0001", "many"))], [REPORT]),
            inside="boss",
        ),
    ]
    boss, helper = traces_of([spans(*sent)], "traces.jsonl")
    assert steps_of(boss) == [
        ("tool_call", "research", '{"topic":"ants"}'),
        ("observation", "research", "many"),
        ("thought", None, "Here it is."),
    ]
    assert told(helper) == ("Find ants", ["Ants are many"])
    assert (boss.id, parent_of(boss), boss.metadata.agent_id) == (f"kp:trace:otlp:{TRACE}", None, "boss")
    assert (parent_of(helper), helper.metadata.agent_id) == (boss.id, "helper")
    assert helper.id == f"{boss.id}:{id_of('tool')}"


@pytest.mark.parametrize("inner", ["helper", "boss", None])
def test_an_agent_right_inside_an_agent_is_another_one_if_its_name_is(inner: str | None) -> None:
    sent = [
        span("outer", (0, 9), agent("boss")),
        span("out1", (0, 1), said("Write", "I ask"), inside="outer"),
        span("inner", (2, 4), agent(inner), inside="outer"),
        span("in1", (2, 3), said("Find", "Found"), inside="inner"),
    ]
    found = [told(trace) for trace in traces_of([spans(*sent)], "traces.jsonl")]
    if inner == "helper":
        assert found == [("Write", ["I ask"]), ("Find", ["Found"])]
    else:
        assert found == [("Write", ["I ask", "Find", "Found"])]


def test_a_model_that_a_tool_asks_is_not_the_agents_thought() -> None:
    sent = [
        span("chat", (0, 1), chat([ASKED], [DELEGATED])),
        span("tool", (1, 5), tool("research", "call-0001")),
        span("inner", (2, 3), said("Summarize", "Short"), inside="tool"),
        span("fetch", (3, 4), tool("fetch", "call-0009", {"url": "u"}, "page"), inside="tool"),
    ]
    main, inner = traces_of([spans(*sent)], "traces.jsonl")
    assert [step.type for step in main.steps] == ["tool_call", "observation"]
    assert steps_of(inner) == [
        ("thought", None, "Short"),
        ("tool_call", "fetch", '{"url":"u"}'),
        ("observation", "fetch", "page"),
    ]
    assert parent_of(inner) == main.id


def test_a_tool_inside_the_same_tool_is_the_same_call() -> None:
    """A client and a server of MCP both have a span."""
    sent = [
        span("client", (0, 3), tool("fetch", "call-0001", {"url": "u"})),
        span("server", (1, 2), tool("fetch", None, None, "page"), inside="client"),
        span("inside", (1, 2), tool("dns"), inside="client"),
    ]
    (trace,) = traces_of([spans(*sent)], "traces.jsonl")
    assert steps_of(trace) == [("tool_call", "fetch", '{"url":"u"}'), ("observation", "fetch", "page")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"execute_tool span": 1}


def test_a_part_of_a_call_may_be_what_says_that_it_failed() -> None:
    """Claude Code has a span for the time that a tool waits for a person, and one for its execution."""
    part = {"gen_ai.tool.call.id": "call-0001", "gen_ai.provider.name": "anthropic"}
    sent = [
        span("tool", (0, 3), tool("Bash", "call-0001")),
        span("execution", (1, 2), part, inside="tool", status={"code": 2, "message": "Shell command failed"}),
    ]
    (trace,) = traces_of([spans(*sent)], "traces.jsonl")
    assert steps_of(trace) == [("tool_call", "Bash", None), ("observation", "Bash", "Shell command failed")]
    assert trace.steps[1].origin is not None
    assert trace.steps[1].origin.failed is True


AGENTS = [
    span("anna", (0, 2), agent("anna"), inside="root"),
    span("anna1", (0, 1), said("First", "One"), inside="anna"),
    span("bert", (3, 5), agent("bert"), inside="root"),
    span("bert1", (3, 4), said("Second", "Two"), inside="bert"),
]


@pytest.mark.parametrize("around", [{"gen_ai.operation.name": "invoke_workflow"}, {"openinference.span.kind": "CHAIN"}])
def test_agents_in_a_workflow_hand_over_to_each_other(around: Json) -> None:
    (trace,) = traces_of([spans(span("root", (0, 9), around), *AGENTS)], "traces.jsonl")
    assert told(trace) == ("First", ["One", "Second", "Two"])


def test_agents_that_a_program_runs_one_after_another_are_runs_of_their_own() -> None:
    found = traces_of([spans(span("root", (0, 9), {"http.route": "/batch"}), *AGENTS)], "traces.jsonl")
    assert [told(trace) for trace in found] == [("First", ["One"]), ("Second", ["Two"])]
    assert [parent_of(trace) for trace in found] == [None, None]
    assert len({trace.id for trace in found}) == 2


def test_an_agent_that_only_starts_others_is_no_trace() -> None:
    sent = [span("root", (0, 9), agent("boss")), *AGENTS]
    found = traces_of([spans(*sent)], "traces.jsonl")
    assert [(told(trace), parent_of(trace)) for trace in found] == [
        (("First", ["One"]), None),
        (("Second", ["Two"]), None),
    ]


def test_conversations_with_different_ids_are_different_runs() -> None:
    sent = [
        span(
            f"chat{n}",
            (n, n + 0.5),
            said(f"Question {n}", f"Answer {n}") | {"gen_ai.conversation.id": f"c{n % 2}"},
            inside="root",
        )
        for n in range(4)
    ]
    found = traces_of([spans(span("root", (0, 9), {}), *sent)], "traces.jsonl")
    assert [told(trace) for trace in found] == [
        ("Question 0", ["Answer 0", "Question 2", "Answer 2"]),
        ("Question 1", ["Answer 1", "Question 3", "Answer 3"]),
    ]
    assert [trace.origin.session for trace in found if trace.origin] == ["c0", "c1"]
    assert len({trace.id for trace in found}) == 2


def test_the_outermost_conversation_counts() -> None:
    sent = [
        span("agent", (0, 9), agent("a", gen_ai__conversation__id="mine")),
        span("c1", (0, 1), said("First", "One") | {"gen_ai.conversation.id": "api-1"}, inside="agent"),
        span("c2", (2, 3), said("Second", "Two") | {"gen_ai.conversation.id": "api-2"}, inside="agent"),
    ]
    (trace,) = traces_of([spans(*sent)], "traces.jsonl")
    assert trace.origin is not None
    assert trace.origin.session == "mine"


def test_a_conversation_in_two_traces_is_told_once() -> None:
    first = [message("user", text("Hi")), message("assistant", text("Hello"))]
    more = message("user", text("And now?"))
    done = message("assistant", text("Now this."))
    sent = [
        span("c1", (0, 1), chat(first[:1], first[1:])),
        span("c2", (60, 61), chat([*first, more], [done]), trace=OTHER),
    ]
    assert [told(trace) for trace in traces_of([spans(*sent)], "t.jsonl")] == [
        ("Hi", ["Hello"]),
        ("And now?", ["Now this."]),
    ]
    # Without the first, what it said is known from the second alone.
    assert [told(trace) for trace in traces_of([spans(sent[1])], "t.jsonl")] == [
        ("Hi", ["Hello", "And now?", "Now this."])
    ]


def test_the_same_task_twice_is_two_traces() -> None:
    sent = [span("c1", (n, n + 1), said("Hi", "Hello"), trace=id_of(f"t{n}", 32)) for n in range(2)]
    assert [told(trace) for trace in traces_of([spans(*sent)], "t.jsonl")] == [("Hi", ["Hello"])] * 2


def test_what_an_agent_was_asked_and_answered_where_the_calls_do_not_say() -> None:
    whole = chat([ASKED], [REPORT]) | {"gen_ai.operation.name": "invoke_agent"}
    sent = [span("agent", (0, 9), whole), span("tool", (1, 2), tool("research", "call-0001"), inside="agent")]
    (trace,) = traces_of([spans(*sent)], "t.jsonl")
    assert trace.task.objective == "Write a report"
    assert steps_of(trace) == [
        ("tool_call", "research", None),
        ("observation", "research", None),
        ("thought", None, "Here it is."),
    ]


def test_an_agent_that_failed_says_how_it_ended() -> None:
    sent = [span("agent", (0, 9), agent("a"), status=ERROR), span("tool", (1, 2), tool("research"), inside="agent")]
    (trace,) = traces_of([spans(*sent)], "t.jsonl")
    assert trace.origin is not None
    assert (trace.origin.ended, trace.metadata.success) == ("error", None)


@pytest.mark.parametrize(
    ("broken", "steps"),
    [
        ({"parentSpanId": id_of("c1")}, 1),  # its own parent
        ({"parentSpanId": id_of("gone")}, 1),  # a parent that is not there
        ({"startTimeUnixNano": "9" * 30, "endTimeUnixNano": None}, 1),
        ({"attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}, {"value": 1}, 7]}, 1),
    ],
)
def test_spans_that_are_damaged(broken: dict[str, Any], steps: int) -> None:
    (trace,) = traces_of([spans(span("c1", (0, 1), said("Hi", "Hello")) | broken)], "t.jsonl")
    assert len(trace.steps) == steps


def test_spans_around_each_other_in_a_circle() -> None:
    sent = [span("a", (0, 1), said("Hi", "Hello"), inside="b"), span("b", (0, 1), agent("x"), inside="a")]
    (trace,) = traces_of([spans(*sent)], "t.jsonl")
    assert told(trace) == ("Hi", ["Hello"])


def test_a_trace_without_a_step_is_refused_with_a_reason() -> None:
    only = spans(span("e", (0, 1), {"gen_ai.operation.name": "embeddings"}))
    assert problems_of([only], "t.jsonl") == [f"t.jsonl:1: trace kp:trace:otlp:{TRACE}: has no step of an agent"]
