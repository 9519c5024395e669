"""What the spans and events of each convention become: the same run, told in many ways, is the same steps."""

import copy
from typing import Any

import msgspec
import pytest

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.otlp.traces import traces_of as traces_of_requests
from tests.trace.readers.otlplog import (
    ERROR,
    OK,
    TRACE,
    Json,
    call,
    chat,
    event,
    message,
    record,
    response,
    span,
    spans,
    text,
    thought,
    tool,
)
from tests.trace.readers.otlplog import logs as log_request
from tests.trace.readers.rows import steps_of, traces_of

ASKED = message("user", text("How long is a.txt?"))
SYSTEM = message("system", text("Count lines."))
LOOKED = message("assistant", thought("wc does it"), text("I look."), call("call-0001", "count", path="b.txt"))
MISSED = message("tool", response("call-0001", "no b.txt"))
BOTH = message("assistant", call("call-0002", "count", path="a.txt"), call("call-0003", "echo", say="done"))
FOUND = [message("tool", response("call-0003", "done")), message("tool", response("call-0002", "1 a.txt"))]
DONE = message("assistant", text("It has one line."))

STEPS = [
    ("thought", None, "wc does it"),
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"b.txt"}'),
    ("observation", "count", "no b.txt"),
    ("tool_call", "count", '{"path":"a.txt"}'),
    ("tool_call", "echo", '{"say":"done"}'),
    ("observation", "echo", "done"),
    ("observation", "count", "1 a.txt"),
    ("thought", None, "It has one line."),
]
# Where a span says that the first call failed, the second one is a recovery.
RECOVERED = [*STEPS[:4], ("error_recovery", "count", '{"path":"a.txt"}'), *STEPS[5:]]

CALLS = [
    ([SYSTEM, ASKED], LOOKED),
    ([SYSTEM, ASKED, LOOKED, MISSED], BOTH),
    ([SYSTEM, ASKED, LOOKED, MISSED, BOTH, *FOUND], DONE),
]
TOOLS = [
    span(
        "tool1", (2, 3), tool("count", "call-0001", {"path": "b.txt"}, "no b.txt", error__type="OSError"), status=ERROR
    ),
    span("tool2", (5, 7), tool("count", "call-0002", {"path": "a.txt"}, "1 a.txt")),
    span("tool3", (5, 6), tool("echo", "call-0003", {"say": "done"}, "done")),
]


def models(**more: Any) -> list[Json]:
    """The three calls of the model, by the current conventions."""
    return [
        span(f"chat{n}", (n * 4, n * 4 + 1), chat(history, [answer], gen_ai__usage__input_tokens=10 + n, **more))
        for n, (history, answer) in enumerate(CALLS)
    ]


def only(*requests: Json) -> ReasoningTrace:
    (trace,) = traces_of(list(requests), "traces.jsonl")
    return trace


def test_messages_in_attributes() -> None:
    trace = only(spans(*models(gen_ai__response__finish_reasons=["stop"], gen_ai__conversation__id="c-1")))
    assert steps_of(trace) == STEPS
    assert trace.task.objective == "How long is a.txt?"
    assert trace.outcome.result_summary == "It has one line."
    assert (trace.metadata.success, trace.outcome.confidence) == (None, None)
    assert trace.metadata.created_at == "2026-01-31T12:00:00Z"
    assert trace.metadata.framework == "openai_v2"
    assert trace.id == f"kp:trace:otlp:{TRACE}"
    assert trace.origin is not None
    assert (trace.origin.session, trace.origin.project, trace.origin.model) == ("c-1", "shop", "large-2")
    # 10 + 11 + 12; nothing says how much was written.
    assert (trace.origin.input_tokens, trace.origin.output_tokens, trace.origin.ended) == (33, None, "stop")
    assert trace.origin.unmapped == {"system message": 1}


def test_a_score_can_be_said_of_the_span() -> None:
    """The first call where no agent's span is around the calls, else the agent's."""
    origin = only(spans(*models())).origin
    assert origin is not None
    assert (origin.trace_id, origin.span_id) == (TRACE, models()[0]["spanId"])


def test_messages_as_data_instead_of_text() -> None:
    sent = [
        span(f"chat{n}", (n, n + 0.5), chat() | {"gen_ai.input.messages": history, "gen_ai.output.messages": [answer]})
        for n, (history, answer) in enumerate(CALLS)
    ]
    assert steps_of(only(spans(*sent))) == STEPS


def test_messages_in_the_event_of_details() -> None:
    sent = [span(f"chat{n}", (n, n + 0.5), chat()) for n in range(3)]
    said = [
        record(
            "gen_ai.client.inference.operation.details",
            f"chat{n}",
            n + 0.5,
            attributes={"gen_ai.input.messages": history, "gen_ai.output.messages": [answer]},
        )
        for n, (history, answer) in enumerate(CALLS)
    ]
    assert steps_of(only(log_request(*said), spans(*sent))) == STEPS
    # On the span and in the event: the same once.
    assert steps_of(only(spans(*models()), log_request(*said))) == STEPS


# The same as bodies up to 1.36: thoughts have no place there, and the history says of an answer only its calls.
OLD_LOOKED: Json = {
    "content": "I look.",
    "tool_calls": [
        {"id": "call-0001", "type": "function", "function": {"name": "count", "arguments": '{"path":"b.txt"}'}}
    ],
}
OLD_BOTH: Json = {
    "tool_calls": [
        {"id": "call-0002", "type": "function", "function": {"name": "count", "arguments": '{"path":"a.txt"}'}},
        {"id": "call-0003", "type": "function", "function": {"name": "echo", "arguments": '{"say":"done"}'}},
    ]
}
OLD_HISTORY: list[tuple[str, Json]] = [
    ("system", {"content": "Count lines."}),
    ("user", {"content": "How long is a.txt?"}),
    ("assistant", {"tool_calls": OLD_LOOKED["tool_calls"]}),
    ("tool", {"id": "call-0001", "content": "no b.txt"}),
    ("assistant", OLD_BOTH),
    ("tool", {"id": "call-0003", "content": "done"}),
    ("tool", {"id": "call-0002", "content": "1 a.txt"}),
]
OLD_CALLS: list[tuple[list[tuple[str, Json]], Json]] = [
    (OLD_HISTORY[:2], OLD_LOOKED),
    (OLD_HISTORY[:4], OLD_BOTH),
    (OLD_HISTORY, {"content": "It has one line."}),
]
OLD_SPANS = [
    span(f"chat{n}", (n * 4, n * 4 + 1), chat(gen_ai__system="openai", gen_ai__usage__output_tokens=5))
    for n in range(3)
]


def old_events(make: Any) -> list[list[Json]]:
    """For each call, its events up to 1.36."""
    return [
        [
            *(make(f"gen_ai.{role}.message", n, number, body) for number, (role, body) in enumerate(history)),
            make(
                "gen_ai.choice", n, 50, {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"} | answer}
            ),
        ]
        for n, (history, answer) in enumerate(OLD_CALLS)
    ]


def test_an_event_for_each_message_among_the_logs() -> None:
    made = old_events(lambda name, n, number, body: record(name, f"chat{n}", n * 4 + number / 100, body))
    requests = [log_request(*records) for records in made]
    trace = only(spans(*OLD_SPANS), *requests)
    assert steps_of(trace) == STEPS[1:]
    assert trace.origin is not None
    assert (trace.origin.output_tokens, trace.origin.ended) == (15, "stop")
    # Sent twice, because the exporter got no answer.
    assert steps_of(only(spans(*OLD_SPANS), *requests, *requests)) == STEPS[1:]
    # In any order.
    assert steps_of(only(*reversed(requests), spans(*reversed(OLD_SPANS)))) == STEPS[1:]


@pytest.mark.parametrize("key", ["gen_ai.event.content", None])
def test_an_event_for_each_message_among_the_events_of_a_span(key: str | None) -> None:
    """Such events have no body: emitters put it into one attribute, or each field into its own."""

    def made(name: str, n: int, number: int, body: Json) -> Json:
        if key is not None:
            return event(name, n * 4 + number / 100, {key: msgspec.json.encode(body).decode()})
        fields = {
            field: one if isinstance(one, (str, int)) else msgspec.json.encode(one).decode()
            for field, one in body.items()
        }
        return event(name, n * 4 + number / 100, fields)

    events = old_events(made)
    sent = [one | {"events": said} for one, said in zip(OLD_SPANS, events, strict=True)]
    assert steps_of(only(spans(*sent))) == STEPS[1:]


def test_events_whose_spans_were_not_kept() -> None:
    made = old_events(lambda name, n, number, body: record(name, f"chat{n}", n * 4 + number / 100, body))
    assert steps_of(only(log_request(*[one for records in made for one in records]))) == STEPS[1:]


def flat(prefix: str, said: list[Json]) -> Json:
    """Messages in OpenInference's keys."""
    keys: Json = {}
    for number, one in enumerate(said):
        at = f"llm.{prefix}_messages.{number}.message"
        keys[f"{at}.role"] = one["role"]
        texts = calls = 0
        for part in one["parts"]:
            match part["type"]:
                case "text" | "reasoning":
                    keys[f"{at}.contents.{texts}.message_content.type"] = part["type"]
                    keys[f"{at}.contents.{texts}.message_content.text"] = part["content"]
                    texts += 1
                case "tool_call":
                    made = f"{at}.tool_calls.{calls}.tool_call"
                    keys[f"{made}.id"] = part["id"]
                    keys[f"{made}.function.name"] = part["name"]
                    keys[f"{made}.function.arguments"] = msgspec.json.encode(part["arguments"]).decode()
                    # And again among the contents, as Anthropic's instrumentation does.
                    keys |= {
                        key.replace(f"tool_calls.{calls}", f"contents.{texts}"): held
                        for key, held in keys.items()
                        if made in key
                    }
                    keys[f"{at}.contents.{texts}.message_content.type"] = "tool_use"
                    texts, calls = texts + 1, calls + 1
                case _:
                    keys[f"{at}.tool_call_id"] = part["id"]
                    keys[f"{at}.content"] = part["response"]
    return keys


def openinference(kind: str, **more: Any) -> Json:
    return {"openinference.span.kind": kind} | {key.replace("__", "."): one for key, one in more.items()}


def test_openinference() -> None:
    sent = [
        span(
            f"llm{n}",
            (n * 4, n * 4 + 1),
            openinference(
                "LLM", llm__model_name="large-2", llm__token_count__prompt=10, llm__cost__total=0.25, session__id="s"
            )
            | flat("input", history)
            | flat("output", [answer]),
        )
        for n, (history, answer) in enumerate(CALLS)
    ]
    trace = only(spans(*sent, scope="openinference.instrumentation.langchain"))
    assert steps_of(trace) == STEPS
    assert trace.origin is not None
    assert (trace.origin.model, trace.origin.input_tokens, trace.origin.cost_usd) == ("large-2", 30, 0.75)
    assert (trace.origin.session, trace.metadata.framework) == ("s", "langchain")


def test_openinference_numbers_are_not_sorted_as_text() -> None:
    history = [message("user", text(f"message {n}")) for n in range(12)]
    sent = span("llm", (0, 1), openinference("LLM") | flat("input", history) | flat("output", [DONE]))
    trace = only(spans(sent))
    assert trace.task.objective == "message 0"
    assert [step.content for step in trace.steps][:11] == [f"message {n}" for n in range(1, 12)]


def test_openinference_input_and_output_where_there_are_no_messages() -> None:
    sent = span("llm", (0, 1), openinference("LLM", input__value="How long?", output__value="One line."))
    trace = only(spans(sent))
    assert (trace.task.objective, steps_of(trace)) == ("How long?", [("thought", None, "One line.")])


def test_a_tools_span_and_its_message_are_one_call() -> None:
    trace = only(spans(*models(), *TOOLS))
    assert steps_of(trace) == RECOVERED
    assert [
        (step.origin.call_id, step.origin.failed) for step in trace.steps if step.type == "observation" and step.origin
    ] == [
        ("call-0001", True),
        ("call-0003", None),
        ("call-0002", None),
    ]


def test_a_tools_span_without_the_id_of_its_call() -> None:
    nameless = copy.deepcopy(TOOLS)
    for one in nameless:
        one["attributes"] = [pair for pair in one["attributes"] if pair["key"] != "gen_ai.tool.call.id"]
    assert steps_of(only(spans(*models(), *nameless))) == RECOVERED


def test_parallel_calls_of_one_tool_are_paired_by_what_they_were_given() -> None:
    """The second one ends first, and OpenInference writes the value of the only argument without its name."""
    made = message("assistant", call("call-000a", "count", path="a"), call("call-000b", "count", path="b"))
    results = [message("tool", response("call-000a", "1")), message("tool", response("call-000b", "none"))]
    sent = [
        span("llm1", (0, 1), openinference("LLM") | flat("input", [ASKED]) | flat("output", [made])),
        span("toolb", (1, 2), openinference("TOOL", tool__name="count", input__value="b"), status=ERROR),
        span("toola", (1, 3), openinference("TOOL", tool__name="count", input__value="a"), status=OK),
        span("llm2", (4, 5), openinference("LLM") | flat("input", [ASKED, made, *results]) | flat("output", [DONE])),
    ]
    trace = only(spans(*sent))
    assert [
        (step.content, step.origin.call_id, step.origin.failed)
        for step in trace.steps
        if step.type == "observation" and step.origin
    ] == [
        ("none", "call-000b", True),
        ("1", "call-000a", False),
    ]


def test_a_tool_that_no_message_mentions_is_a_call_of_its_own() -> None:
    failed = span("tool", (0, 1), tool("count", None, {"path": "b"}), status={"code": 2, "message": "no b"})
    again = span("more", (2, 3), tool("count", "c2", {"path": "a"}, {"lines": 1}))
    assert steps_of(only(spans(failed, again))) == [
        ("tool_call", "count", '{"path":"b"}'),
        ("observation", "count", "no b"),
        ("error_recovery", "count", '{"path":"a"}'),
        ("observation", "count", '{"lines":1}'),
    ]


def test_without_content_there_are_steps_all_the_same() -> None:
    bare = [span(f"chat{n}", (n * 4, n * 4 + 1), chat()) for n in range(2)]
    tools = [span("tool1", (2, 3), tool("count", "call-0001", error__type="OSError"))]
    trace = only(spans(*bare, *tools))
    assert steps_of(trace) == [
        ("thought", None, None),
        ("tool_call", "count", None),
        ("observation", "count", None),
        ("thought", None, None),
    ]
    assert trace.steps[2].origin is not None
    assert trace.steps[2].origin.failed is True
    assert trace.task.objective == ""


def test_a_call_inside_a_call_is_the_same() -> None:
    """The SDK of Anthropic makes a span inside that of an instrumentation."""
    outer = models(gen_ai__usage__output_tokens=5)
    inner = [
        span(
            f"sdk{n}",
            (n * 4, n * 4 + 1),
            chat(gen_ai__usage__input_tokens=10 + n, gen_ai__usage__output_tokens=5),
            inside=f"chat{n}",
        )
        for n in range(3)
    ]
    trace = only(spans(*outer, *inner))
    assert steps_of(trace) == STEPS
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.output_tokens) == (33, 15)


def test_the_inner_span_may_be_the_one_with_the_messages() -> None:
    outer = [span(f"outer{n}", (n * 4, n * 4 + 1), chat()) for n in range(3)]
    inner = [one | {"parentSpanId": outer[n]["spanId"]} for n, one in enumerate(models())]
    assert steps_of(only(spans(*outer, *inner))) == STEPS


def test_two_spans_beside_each_other_with_one_answer_are_one_call() -> None:
    told = [span(f"twin{n}", (n * 4, n * 4 + 1), chat(*_said(n), gen_ai__response__id=f"r{n}")) for n in range(3)]
    same = [span(f"chat{n}", (n * 4, n * 4 + 1), chat(*_said(n), gen_ai__response__id=f"r{n}")) for n in range(3)]
    assert steps_of(only(spans(*told, *same))) == STEPS


def _said(n: int) -> tuple[list[Json], list[Json]]:
    return CALLS[n][0], [CALLS[n][1]]


def test_a_span_that_was_sent_twice_counts_once() -> None:
    assert steps_of(only(spans(*models(), *TOOLS), spans(*models(), *TOOLS))) == RECOVERED


def test_a_call_that_failed_is_no_thought() -> None:
    first = span("down", (0, 1), chat([ASKED], error__type="503"), status=ERROR)
    again = span("up", (2, 3), chat([ASKED], [DONE]))
    trace = only(spans(first, again))
    assert steps_of(trace) == [("thought", None, "It has one line.")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"failed model call": 1}


def test_what_is_no_step_is_counted() -> None:
    other = [
        span(name, (0, 1), {"gen_ai.operation.name": name}) for name in ("embeddings", "retrieval", "search_memory")
    ]
    also = [span("rank", (0, 1), openinference("RERANKER")), span("http", (0, 1), {"http.route": "/"})]
    trace = only(spans(*other, *also, span("chat", (2, 3), chat([ASKED], [DONE, LOOKED]))))
    assert trace.origin is not None
    assert trace.origin.unmapped == {
        "embeddings span": 1,
        "other choice": 1,
        "reranker span": 1,
        "retrieval span": 1,
        "search_memory span": 1,
    }


def test_the_same_words_said_twice_are_two_messages() -> None:
    yes = message("user", text("Yes."))
    more = message("assistant", text("More?"))
    sent = [span("c1", (0, 1), chat([ASKED], [more])), span("c2", (2, 3), chat([ASKED, more, yes], [more]))]
    last = span("c3", (4, 5), chat([ASKED, more, yes, more, yes], [DONE]))
    assert [step.content for step in only(spans(*sent, last)).steps] == [
        "More?",
        "Yes.",
        "More?",
        "Yes.",
        "It has one line.",
    ]


def test_short_ids_that_repeat_are_different_calls() -> None:
    turns = [
        (message("assistant", call("0", "count", path=str(n))), message("tool", response("0", f"{n} lines")))
        for n in range(3)
    ]
    said = [one for turn in turns for one in turn]
    sent = [span(f"chat{n}", (n * 2, n * 2 + 1), chat([ASKED, *said[: n * 2]], [turns[n][0]])) for n in range(3)]
    last = span("last", (9, 10), chat([ASKED, *said], [DONE]))
    assert [step.content for step in only(spans(*sent, last)).steps if step.type == "observation"] == [
        "0 lines",
        "1 lines",
        "2 lines",
    ]


@pytest.mark.parametrize(
    ("part", "row"),
    [
        ({"type": "tool_call_response", "id": "c", "result": [1]}, ("observation", None, "1")),
        ({"type": "tool_call_response", "id": "c", "response": {"n": 1}}, ("observation", None, '{"n":1}')),
        ({"type": "blob", "modality": "image", "content": "aGk="}, ("observation", None, "[image]")),
        ({"type": "uri", "uri": "https://example.org/a.png"}, ("observation", None, "[uri]")),
        ({"type": "new", "text": "words"}, ("observation", None, "words")),
    ],
)
def test_parts_of_a_message(part: Json, row: tuple[str, str | None, str]) -> None:
    trace = only(spans(span("chat", (0, 1), chat([ASKED, message("user", part)], [DONE]))))
    assert steps_of(trace)[0] == row


def test_tools_that_the_api_runs_answer_inside_the_message() -> None:
    made = {"type": "server_tool_call", "id": "srv-00001", "name": "web_search", "server_tool_call": {"query": "lines"}}
    found = {"type": "server_tool_call_response", "id": "srv-00001", "server_tool_call_response": {"hits": 2}}
    trace = only(spans(span("chat", (0, 1), chat([ASKED], [message("assistant", made, found, text("Two."))]))))
    assert steps_of(trace) == [
        ("tool_call", "web_search", '{"query":"lines"}'),
        ("observation", "web_search", '{"hits":2}'),
        ("thought", None, "Two."),
    ]


def test_decoded_requests_become_traces_without_a_file() -> None:
    assert [steps_of(trace) for trace in traces_of_requests([spans(*models()), spans(*TOOLS)])] == [RECOVERED]
    assert traces_of_requests([{}, {"resourceMetrics": []}, spans(span("http", (0, 1), {"http.route": "/"}))]) == []


def test_conventions_may_be_mixed_on_one_span() -> None:
    stated = openinference("LLM") | flat("input", [ASKED])
    answer = event("gen_ai.choice", 1, {"message": "It has one line.", "index": 0})
    trace = only(spans(span("llm", (0, 1), stated, events=[answer])))
    assert (trace.task.objective, steps_of(trace)) == ("How long is a.txt?", [STEPS[-1]])


def test_an_answer_that_was_not_captured_is_a_thought_without_content() -> None:
    assert steps_of(only(spans(span("chat", (0, 1), chat([ASKED]))))) == [("thought", None, None)]


def test_half_a_character_does_not_cost_the_line() -> None:
    """JavaScript cuts a text inside an emoji, and writes the half that is left."""
    data = msgspec.json.encode(spans(span("chat", (0, 1), chat([ASKED], [DONE])))).replace(b"one line", b"one\\ud83d")
    (trace,) = traces_of(data, "traces.json")
    assert trace.outcome.result_summary == "It has one?."


def test_events_that_are_no_messages_are_counted() -> None:
    judged = record("gen_ai.evaluation.result", "chat", 2, attributes={"gen_ai.evaluation.name": "Relevance"})
    tried = event("gen_ai.request.attempt", 0.5, {"attempt": 1})
    told = spans(span("chat", (0, 1), chat([ASKED], [DONE]), events=[tried]))
    counts = {"gen_ai.evaluation.result event": 1, "gen_ai.request.attempt event": 1}
    trace = only(told, log_request(judged))
    assert trace.origin is not None
    assert trace.origin.unmapped == counts
    # Of a span that is not there: it is no call of a model.
    trace = only(told, log_request(judged | {"spanId": "00f067aa0ba902b7"}))
    assert (len(trace.steps), trace.origin and trace.origin.unmapped) == (1, counts)
