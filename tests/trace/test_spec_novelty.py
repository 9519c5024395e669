"""Novelty: how unlike a trace is what came before it, and what counts where the embedder does not do its work."""

import time
from collections.abc import Sequence
from threading import Event

import numpy as np
import pytest

from scalepan.policy import load_policy
from scalepan.trace import TraceValuer, VectorCache
from tests.trace.spec import (
    EAST,
    FIVE_STEPS,
    FIVE_TOOLS,
    NORTH,
    Table,
    Vectors,
    compass,
    facing,
    novelty,
    trace_of,
    value_of,
)

# Novelty


def test_an_empty_cache_gives_one_half() -> None:
    score = compass().evaluate_value(facing("east"))
    assert novelty(score) == (0.5, "default")
    assert score.details.nearest is None


def test_an_exact_repeat_is_not_new_and_a_stranger_is() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    repeat = valuer.evaluate_value(facing("east"))
    assert novelty(repeat) == (0.0, "measured")
    assert repeat.details.nearest.id == "kp:trace:east"
    assert repeat.details.nearest.similarity == pytest.approx(1.0, abs=1e-6)
    assert novelty(valuer.evaluate_value(facing("north"))) == (1.0, "measured")
    # Of east (.6) and north (.8) the nearest counts: 1 - .8
    assert novelty(valuer.evaluate_value(facing("northeast"))) == (0.2, "measured")
    # Opposite to east, but at right angles to north: 1 - 0
    assert novelty(valuer.evaluate_value(facing("west"))) == (1.0, "measured")


def test_novelty_is_never_above_1() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    score = valuer.evaluate_value(facing("west"))
    assert score.part("novelty").value == 1.0  # 1 - (-1) = 2
    assert score.value == value_of(FIVE_STEPS, FIVE_TOOLS, 0.9, success=True, n=1.0)


def test_novelty_is_never_below_0() -> None:
    """Rounding in the cosine of float32 vectors may pass 1."""
    rng = np.random.default_rng(7)
    vectors = {f"v{i}": rng.normal(size=384).tolist() for i in range(200)}
    valuer = TraceValuer(load_policy(overrides={"value": {"budget_ms": None}}), VectorCache(), Table(**vectors))
    for word in vectors:
        valuer.evaluate_value(facing(word))
    for word in vectors:
        n = valuer.peek(facing(word)).part("novelty").value
        assert 0.0 <= n < 1e-6


def test_the_embedded_text_is_the_objective_and_every_content() -> None:
    table = Table(Sort=EAST)
    trace = trace_of(["thought", "tool_call", "observation"], [None, "a"], objective="Sort the coins")
    trace["steps"] = [
        {"step_id": 0, "type": "thought", "content": "By weight"},
        {"step_id": 1, "type": "tool_call", "tool": {"name": "scale"}, "input": {"coin": 1}, "output_summary": "2 g"},
        {"step_id": 2, "type": "observation", "content": "Done"},
    ]
    valuer = TraceValuer(load_policy(overrides={"value": {"budget_ms": None}}), VectorCache(dimensions=3), table)
    score = valuer.evaluate_value(trace)
    assert table.asked == ["Sort the coins By weight  Done"]  # the missing content is empty, its space stays
    assert score.details.text_length == len("Sort the coins By weight  Done")


def test_an_embedder_needs_no_more_than_encode() -> None:
    class Bare:
        def encode(self, texts: list[str]) -> Vectors:
            return np.array([EAST] * len(texts), dtype=np.float32)

    policy = load_policy(overrides={"value": {"budget_ms": None}})
    valuer = TraceValuer(policy, VectorCache(dimensions=3), Bare())  # type: ignore[arg-type]
    assert [novelty(valuer.evaluate_value(facing("east"))) for _ in range(2)] == [(0.5, "default"), (0.0, "measured")]


def test_peek_does_not_remember() -> None:
    valuer = compass()
    assert [novelty(valuer.peek(facing("east"))) for _ in range(3)] == [(0.5, "default")] * 3
    valuer.evaluate_value(facing("east"))
    assert [novelty(valuer.peek(facing("north"))) for _ in range(3)] == [(1.0, "measured")] * 3
    assert novelty(valuer.peek(facing("east"))) == (0.0, "measured")
    assert novelty(valuer.evaluate_value(facing("north"))) == (1.0, "measured")
    assert novelty(valuer.evaluate_value(facing("north"))) == (0.0, "measured")


def test_evaluate_many_remembers_as_single_calls_do() -> None:
    directions = ["east", "north", "east", "northeast", "north"]
    one_by_one = compass()
    expected = [one_by_one.evaluate_value(facing(d)).value for d in directions]
    batch = [score.value for score in compass().evaluate_many(facing(d) for d in directions)]
    assert batch == expected
    assert [expected[2], expected[4]] == [  # repeats: N 0
        pytest.approx(value_of(FIVE_STEPS, FIVE_TOOLS, 0.9, success=True, n=0.0), abs=1e-6)
    ] * 2


def test_the_scoring_cache_honours_the_ttl_of_the_policy() -> None:
    table = Table(east=EAST, north=NORTH)
    valuer = TraceValuer(
        load_policy(overrides={"value": {"budget_ms": None, "novelty": {"ttl_ms": 300}}}), embedder=table
    )
    valuer.evaluate_value(facing("east"))
    assert novelty(valuer.evaluate_value(facing("east"))) == (0.0, "measured")
    time.sleep(0.4)
    assert novelty(valuer.evaluate_value(facing("east"))) == (0.5, "default")


def test_the_scoring_cache_has_the_capacity_of_the_policy() -> None:
    table = Table(east=EAST, north=NORTH)
    overrides = {"value": {"budget_ms": None, "novelty": {"max_elements": 1}}}
    valuer = TraceValuer(load_policy(overrides=overrides), embedder=table)
    for direction, n in [("east", 0.5), ("north", 1.0), ("north", 0.0), ("east", 1.0)]:
        assert novelty(valuer.evaluate_value(facing(direction)))[0] == n


# When the embedder does not do its work


class Broken(Table):
    def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
        raise RuntimeError("out of memory")


class Slow(Table):
    """Answers only when told to."""

    def __init__(self) -> None:
        super().__init__(east=EAST, north=NORTH)
        self.go = Event()

    def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
        assert self.go.wait(20)
        return super().encode(texts)


def test_a_broken_embedder_gives_one_half_and_says_so() -> None:
    score = TraceValuer(embedder=Broken(east=EAST), cache=VectorCache(dimensions=3)).evaluate_value(facing("east"))
    assert novelty(score) == (0.5, "failed")
    assert score.part("novelty").note
    assert score.value == value_of(FIVE_STEPS, FIVE_TOOLS, 0.9, success=True)
    assert score.status == "ok"


def test_a_late_embedder_gives_one_half_and_its_vector_joins_the_cache_later() -> None:
    slow = Slow()
    cache = VectorCache(dimensions=3)
    valuer = TraceValuer(load_policy(overrides={"value": {"budget_ms": 50}}), cache, slow)
    started = time.perf_counter()
    late = valuer.evaluate_value(facing("east"))
    assert time.perf_counter() - started < 5
    assert novelty(late) == (0.5, "failed")
    assert late.details.took_ms >= 50
    assert cache.size == 0
    slow.go.set()
    for _ in range(200):
        if cache.size:
            break
        time.sleep(0.02)
    assert cache.size == 1
    assert cache.max_cosine_similarity(np.array(EAST, dtype=np.float32)) == pytest.approx(1.0)


def test_a_batch_has_no_budget() -> None:
    class Steady(Table):
        def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
            time.sleep(0.05)
            return super().encode(texts)

    valuer = TraceValuer(
        load_policy(overrides={"value": {"budget_ms": 1}}), VectorCache(dimensions=3), Steady(east=EAST)
    )
    scores = list(valuer.evaluate_many([facing("east"), facing("east")]))
    assert [novelty(score) for score in scores] == [(0.5, "default"), (0.0, "measured")]
