"""A recording of one's own loop: what becomes a step, how it ended, and what is written."""

import stat
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalepan
from scalepan.errors import InputError, PolicyError, RecordingWarning
from scalepan.trace import ReasoningTrace, Recording, TraceValuer, read_jsonl
from scalepan.trace import value as valuing


def steps_of(trace: ReasoningTrace) -> list[tuple[str, str | None, str | None]]:
    return [(step.type, step.tool.name if step.tool else None, step.content) for step in trace.steps]


def count_lines(path: str) -> str:
    if path != "a.txt":
        raise FileNotFoundError(f"no such file: {path}")
    return "1"


def counts(t: Recording) -> None:
    """An agent that thinks, calls a tool that fails, tries again, and answers."""
    t.think("The file is called missing.txt")
    with pytest.raises(FileNotFoundError, match="no such file"):
        t.call("count_lines", count_lines, path="missing.txt")
    with t.tool("count_lines", {"path": "a.txt"}) as call:
        call.output = count_lines("a.txt")
    t.say("One line.")


def test_what_an_agent_does_becomes_steps() -> None:
    with scalepan.record("How many lines has a.txt?", domain="code") as t:
        counts(t)
    assert steps_of(t.trace) == [
        ("thought", None, "The file is called missing.txt"),
        ("tool_call", "count_lines", None),
        ("observation", "count_lines", "FileNotFoundError: no such file: missing.txt"),
        ("error_recovery", "count_lines", None),
        ("observation", "count_lines", "1"),
        ("thought", None, "One line."),
    ]
    first, second = t.trace.steps[1], t.trace.steps[3]
    assert (first.input, second.input) == ({"path": "missing.txt"}, {"path": "a.txt"})
    assert first.latency_ms is not None
    assert second.latency_ms is not None
    assert [step.origin and (step.origin.call_id, step.origin.failed) for step in t.trace.steps[1:5]] == [
        *(("call_1", None), ("call_1", True), ("call_2", None), ("call_2", False)),
    ]
    trace = t.trace
    assert (trace.task.objective, trace.metadata.task_domain) == ("How many lines has a.txt?", "code")
    assert (trace.id, trace.origin and trace.origin.format) == (t.id, "record")
    assert ReasoningTrace.from_json(trace.to_json()) == trace


def test_what_helped_is_said_once() -> None:
    with Recording("Find order 17") as t:
        with t.tool("live") as call:
            call.fail("not there")
        t.recover("the archive has it")
        with t.tool("live") as call:
            call.output = {"id": 17}
        t.observe("order 17 is open")
    assert steps_of(t.trace) == [
        ("tool_call", "live", None),
        ("observation", "live", "not there"),
        ("error_recovery", None, "the archive has it"),
        ("tool_call", "live", None),
        ("observation", "live", '{"id":17}'),
        ("observation", None, "order 17 is open"),
    ]


def interrupts(t: Recording) -> None:
    with t.tool("sleep"):
        raise KeyboardInterrupt


def test_an_interrupted_tool_did_not_fail() -> None:
    with Recording("Wait") as t:
        with pytest.raises(KeyboardInterrupt):
            interrupts(t)
        t.call("sleep", lambda: None)
    assert [step.type for step in t.trace.steps] == ["tool_call", "observation", "tool_call", "observation"]
    origin = t.trace.steps[1].origin
    assert origin is not None
    assert (origin.refused, origin.failed) == (True, None)


def raises(error: BaseException) -> None:
    raise error


def succeeds_and_raises(t: Recording) -> None:
    t.succeed()
    raise LookupError("while printing")


@pytest.mark.parametrize(
    ("end", "success", "confidence", "result", "ended"),
    [
        (lambda t: None, None, None, "Done", None),
        (lambda t: t.succeed(), True, None, "Done", None),
        (lambda t: t.succeed("all counted", confidence=0.9), True, 0.9, "all counted", None),
        (lambda t: t.fail("no disk", confidence=1), False, 1, "no disk", None),
        (lambda t: raises(LookupError("gone")), False, None, "LookupError: gone", "LookupError"),
        (lambda t: raises(KeyboardInterrupt()), None, None, "Done", "KeyboardInterrupt"),
        (succeeds_and_raises, True, None, "Done", "LookupError"),
    ],
)
def test_what_is_not_stated_stays_open(
    end: Callable[[Recording], object],
    success: bool | None,
    confidence: float | None,
    result: str,
    ended: str | None,
    tmp_path: Path,
) -> None:
    file = tmp_path / "traces.jsonl"
    t = Recording("Count", file=file)
    try:
        with t:
            t.say("Done")
            end(t)
    except (LookupError, KeyboardInterrupt):
        assert ended is not None
    (line,) = read_jsonl(file)
    assert isinstance(line, scalepan.trace.TraceLine)
    for trace in (t.trace, line.trace):
        assert (trace.metadata.success, trace.outcome.confidence) == (success, confidence)
        assert trace.outcome.result_summary == result
        assert trace.origin is not None
        assert trace.origin.ended == ended


def test_an_exception_passes_unchanged() -> None:
    error = StopIteration("mine")
    with Recording("Count") as t, pytest.raises(StopIteration) as caught:
        t.call("next", raises, error)
    assert caught.value is error
    assert error.__context__ is None


def test_a_file_gets_redacted_lines_that_only_its_owner_reads(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_bytes(b'{"half": ')  # of a process that died
    for name in ("first", "second"):
        with scalepan.record(f"{name}: mail ann@example.com", file=file) as t:
            t.think("ann@example.com")
            t.call("send", str.upper, "to ann@example.com")
            t.succeed("sent to ann@example.com", confidence=0.5)
    assert b"example.com" not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    bad, *lines = read_jsonl(file)
    assert isinstance(bad, scalepan.trace.BadRow)
    traces = [line.trace for line in lines if isinstance(line, scalepan.trace.TraceLine)]
    assert [trace.task.objective for trace in traces] == ["first: mail [pii:email]", "second: mail [pii:email]"]
    assert traces[1] == t.trace
    assert t.trace.steps[1].input == {"args": ["to [pii:email]"]}


def test_the_policy_in_force_says_what_is_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = tmp_path / "scalepan.yaml"
    policy.write_text("redact: {rules: [{name: ticket, pattern: 'TCK-[0-9]+', category: pii}]}")
    with Recording("see TCK-123456") as t:
        t.think("hm")
        policy.unlink()
    assert t.trace.task.objective == "see [pii:ticket]"
    policy.write_text("redact: {rules: 5}")
    with pytest.raises(PolicyError, match=r"redact\.rules"):
        Recording("see TCK-123456").__enter__()


def test_a_file_that_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/traces\.jsonl: cannot be written: No such file"):
        Recording("Count", file=tmp_path / "none" / "traces.jsonl").__enter__()


def test_a_trace_that_cannot_be_written_does_not_stop_the_agent(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    t = Recording("Count", file=file).__enter__()
    t.think("hm")
    file.unlink()
    file.mkdir()
    with pytest.warns(RecordingWarning, match=r"traces\.jsonl: the trace was not written: IsADirectoryError"):
        t.__exit__(None, None, None)
    assert steps_of(t.trace) == [("thought", None, "hm")]


def test_nothing_recorded_is_not_a_trace(tmp_path: Path) -> None:
    t = Recording("Count", file=tmp_path / "traces.jsonl").__enter__()
    assert t.score.reason == "the recording is not over"
    with pytest.warns(RecordingWarning, match="has no step of an agent"):
        t.__exit__(None, None, None)
    assert (t.score.value, t.score.reason) == (None, "no step was recorded")
    with pytest.raises(InputError, match="has no step of an agent"):
        t.trace  # noqa: B018


def test_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valuing, "_process_valuer", TraceValuer(embedder=None))
    with scalepan.record("How many lines has a.txt?") as t:
        counts(t)
        t.succeed(confidence=0.9)
    assert t.score.value == TraceValuer(embedder=None).evaluate_value(t.trace).value
    assert t.score is t.score
    assert t.score.part("outcome_confidence").value == 0.9


def test_what_comes_after_the_end_is_dropped() -> None:
    with Recording("Count") as t:
        t.think("hm")
        late = t.tool("slow").start()
    late.output = "too late"
    late.end()
    t.say("more")
    assert [step.type for step in t.trace.steps] == ["thought", "tool_call"]


def twice(t: Recording) -> None:
    with t, t:
        pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Recording(" "), "objective: the objective is empty"),
        (lambda: Recording(5), "objective: 5 is not text"),  # type: ignore[arg-type]
        (lambda: Recording("x", domain=None), "domain: None is not text"),  # type: ignore[arg-type]
        (lambda: Recording("x", file=5), "file: 5 is not a path"),  # type: ignore[arg-type]
        (lambda: Recording("x").succeed(confidence=1.7), "confidence: 1.7 is not between 0 and 1"),
        (lambda: Recording("x").fail(confidence=True), "confidence: true is not between 0 and 1"),
        (lambda: copy_context().run(twice, Recording("x")), "recording: this recording has already started"),
    ],
)
def test_mistakes_of_the_caller_are_errors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


class Unreadable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("caf\udce9", "caf?"),
        (b"two\nlines", "two\nlines"),
        (b"\xff\xd8", "[binary]"),
        (Unreadable(), "Unreadable"),
        (10**30, "1" + "0" * 30),
        ({"a": {1}}, '{"a":[1]}'),
        (float("nan"), "null"),
        (None, None),
    ],
)
def test_any_result_can_be_written(value: Any, text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    with Recording("Try", file=file) as t:
        assert t.call("same", lambda one: one, value) is value
    (line,) = read_jsonl(file)
    assert isinstance(line, scalepan.trace.TraceLine)
    assert line.trace.steps[1].content == text


TEXTS = st.text(max_size=20)
ACTS: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.sampled_from(["think", "say", "observe", "recover"]), TEXTS),
    st.tuples(st.just("tool"), st.sampled_from("ab"), st.booleans(), TEXTS),
)


@given(st.lists(ACTS, min_size=1, max_size=12))
def test_whatever_is_recorded_reads_back_as_it_is(acts: list[tuple[Any, ...]]) -> None:
    expected = 0
    with Recording("Try") as t:
        for kind, *given_ in acts:
            if kind == "tool":
                name, ok, text = given_
                with t.tool(name, {"text": text}) as call:
                    call.output = text
                    if not ok:
                        call.fail(text)
                expected += 2
            else:
                getattr(t, kind)(*given_)
                expected += 1
    assert [step.step_id for step in t.trace.steps] == list(range(expected))
    assert ReasoningTrace.from_json(t.trace.to_json()) == t.trace
