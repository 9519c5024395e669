"""Functions that record themselves, and recordings that run at the same time without mixing."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

import scalepan
from scalepan.errors import InputError
from scalepan.trace import Recording, TraceLine, read_jsonl


@scalepan.recorded_tool
def double(number: int, *, sign: int = 1) -> int:
    """Twice a number."""
    if number < 0:
        raise ValueError("negative")
    return 2 * number * sign


@scalepan.recorded_tool
async def slowly(name: str) -> str:
    await asyncio.sleep(0)
    return name


class Shop:
    @scalepan.recorded_tool
    def find(self, order: int) -> str:
        return f"order {order}"


def calls_of(t: Recording) -> list[tuple[str, Any, str | None]]:
    """Name, input and result of each call, paired by the call's id."""
    results = {
        step.origin.call_id: step.content for step in t.trace.steps if step.type == "observation" and step.origin
    }
    return [
        (step.tool.name, step.input, results.get(step.origin.call_id))
        for step in t.trace.steps
        if step.type in ("tool_call", "error_recovery") and step.tool and step.origin
    ]


def test_a_decorated_function_is_recorded_while_a_recording_is_active() -> None:
    assert double(4) == 8
    with scalepan.record("Double") as t:
        assert double(4, sign=-1) == -8
        assert Shop().find(17) == "order 17"
        with pytest.raises(ValueError, match="negative"):
            double(-1)
        with pytest.raises(TypeError, match="unexpected keyword"):
            double(1, wrong=2)  # type: ignore[call-arg]
    assert double(5) == 10
    assert calls_of(t) == [
        ("double", {"number": 4, "sign": -1}, "-8"),
        ("find", {"order": 17}, "order 17"),
        ("double", {"number": -1}, "ValueError: negative"),
        (
            "double",
            {"args": [1], "wrong": 2},
            "TypeError: double() got an unexpected keyword argument 'wrong'",
        ),
    ]


def test_it_is_still_the_function() -> None:
    assert (double.__name__, double.__doc__) == ("double", "Twice a number.")
    assert asyncio.iscoroutinefunction(slowly)


def generates() -> Iterator[int]:
    yield 1


async def generates_slowly() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [generates, generates_slowly, 5])
def test_what_does_not_return_cannot_be_decorated(function: Any) -> None:
    with pytest.raises(InputError, match="is not a function that returns"):
        scalepan.recorded_tool(function)


def test_tools_of_one_task_run_at_the_same_time() -> None:
    async def work() -> Recording:
        with scalepan.record("Ask three") as t:
            await asyncio.gather(*(slowly(name) for name in "abc"))
            await asyncio.to_thread(double, 3)
        return t

    t = asyncio.run(work())
    assert calls_of(t) == [("slowly", {"name": name}, name) for name in "abc"] + [("double", {"number": 3}, "6")]
    assert [step.type for step in t.trace.steps[:3]] == ["tool_call"] * 3


def test_recordings_in_two_tasks_do_not_mix() -> None:
    async def work(name: str) -> Recording:
        with scalepan.record(name) as t:
            for _ in range(5):
                await slowly(name)
        return t

    async def both() -> tuple[Recording, Recording]:
        return await asyncio.gather(work("a"), work("b"))

    for t in asyncio.run(both()):
        assert [text for _, _, text in calls_of(t)] == [t.trace.task.objective] * 5


def test_recordings_in_many_threads_do_not_mix_and_share_a_file(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"

    def work(number: int) -> None:
        with scalepan.record(f"task {number}", file=file):
            for _ in range(20):
                double(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))
    traces = [line.trace for line in read_jsonl(file) if isinstance(line, TraceLine)]
    assert len(traces) == 24
    for trace in traces:
        number = int(trace.task.objective.split()[1])
        assert {step.content for step in trace.steps[1::2]} == {str(2 * number)}
        assert len(trace.steps) == 40


def test_one_recording_takes_steps_from_many_threads() -> None:
    with Recording("Count") as t:

        def work() -> None:
            for number in range(50):
                t.call("count", int, number)
                t.think(str(number))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [step.step_id for step in t.trace.steps] == list(range(8 * 150))
    assert len(calls_of(t)) == 400


def test_a_recording_inside_another_is_of_a_sub_agent() -> None:
    with scalepan.record("Plan a trip") as outer:
        with outer.tool("ask_hotel_agent", {"city": "Oslo"}) as call:
            with scalepan.record("Find a hotel") as inner:
                double(1)
            call.output = "Hotel Fjord"
        double(2)
    assert calls_of(outer) == [("ask_hotel_agent", {"city": "Oslo"}, "Hotel Fjord"), ("double", {"number": 2}, "4")]
    assert calls_of(inner) == [("double", {"number": 1}, "2")]
    assert inner.trace.origin is not None
    assert outer.trace.origin is not None
    assert (inner.trace.origin.parent, outer.trace.origin.parent) == (outer.id, None)


def test_leaving_in_another_context_is_no_error() -> None:
    t = Recording("Count")
    copy_context().run(t.__enter__)
    t.think("hm")
    t.__exit__(None, None, None)
    assert len(t.trace.steps) == 1
