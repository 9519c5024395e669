"""TraceValuer: comparing, remembering, and going on when the encoder does not."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from scalepan.errors import InputError
from scalepan.policy import load_policy
from scalepan.trace import ReasoningTrace, TraceValuer, VectorCache
from tests.law import assert_law
from tests.trace.traces import trace, trace_dict


class Letters:
    """An encoder that counts letters: small, exact, and different for different texts."""

    def __init__(self, before: Callable[[], object] = bool) -> None:
        self.before = before
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        self.before()
        return np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)


def valuer(embedder: Any = None, **value: Any) -> TraceValuer:
    return TraceValuer(load_policy(overrides={"value": value}), embedder=embedder)


def test_the_first_trace_has_nothing_to_be_compared_with() -> None:
    novelty = valuer(Letters()).evaluate_value(trace()).part("novelty")
    assert (novelty.value, novelty.source) == (0.5, "default")


def test_a_repeat_is_not_new_and_the_nearest_is_named() -> None:
    tried = valuer(Letters())
    tried.evaluate_value(trace(id="kp:trace:first"))
    score = tried.evaluate_value(trace(id="kp:trace:again"))
    assert score.part("novelty").value == pytest.approx(0.0, abs=1e-6)
    assert score.part("novelty").source == "measured"
    assert score.details.nearest.id == "kp:trace:first"
    assert score.details.text_length == len(trace().text)
    assert_law(score)


def test_peek_scores_and_does_not_remember() -> None:
    tried = valuer(Letters())
    tried.evaluate_value(trace())
    assert tried.peek(trace(objective="zzz")).value == tried.peek(trace(objective="zzz")).value
    assert tried.cache is not None
    assert tried.cache.size == 1


def test_without_an_encoder_novelty_is_a_default_and_nothing_was_embedded() -> None:
    score = valuer().evaluate_value(trace())
    assert (score.part("novelty").value, score.part("novelty").source) == (0.5, "default")
    assert (score.details.text_length, score.details.text_cut, score.details.nearest) == (None, None, None)


def raise_error() -> None:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("embedder", "note"),
    [
        (Letters(raise_error), "encoder failed: out of memory"),
        (Letters(lambda: time.sleep(0.2)), "encoder took longer than 20 ms"),
    ],
)
def test_an_encoder_that_fails_or_is_late_counts_as_half_and_says_so(embedder: Letters, note: str) -> None:
    score = valuer(embedder, budget_ms=20).evaluate_value(trace())
    part = score.part("novelty")
    assert (part.value, part.source, part.note) == (0.5, "failed", note)
    assert_law(score)


@pytest.mark.parametrize("vectors", [[[1.0, float("nan")]], [], [[]], "text", None])
def test_an_encoder_that_returns_nonsense_does_not_reach_the_caller(vectors: Any) -> None:
    class Nonsense:
        def encode(self, texts: Sequence[str]) -> Any:
            return vectors

    tried = valuer(Nonsense())
    for _ in range(2):
        assert_law(tried.evaluate_value(trace()))
    assert_law(next(tried.evaluate_many([trace()])))


def test_a_late_vector_still_joins_the_cache() -> None:
    hold = threading.Event()
    tried = valuer(Letters(lambda: hold.wait(5)), budget_ms=10)
    assert tried.evaluate_value(trace(id="kp:trace:late")).part("novelty").source == "failed"
    assert tried.cache is None
    hold.set()
    deadline = time.monotonic() + 5
    while tried.cache is None or tried.cache.size == 0:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert tried.peek(trace()).details.nearest.id == "kp:trace:late"


def test_the_time_of_loading_does_not_count() -> None:
    class SlowToLoad(Letters):
        def load(self) -> None:
            time.sleep(0.1)

    score = valuer(SlowToLoad(), budget_ms=50).evaluate_value(trace())
    assert score.part("novelty").source == "default"  # not failed: nothing to compare with yet
    assert score.details.took_ms < 100


def test_without_a_budget_the_encoder_may_take_its_time() -> None:
    score = valuer(Letters(lambda: time.sleep(0.15)), budget_ms=None).evaluate_value(trace())
    assert score.part("novelty").source == "default"
    assert score.details.took_ms >= 150


def test_batches_give_the_same_numbers_with_fewer_calls() -> None:
    traces = [trace(objective=f"task {chr(97 + i % 26) * (i + 1)}", id=f"kp:trace:{i}") for i in range(100)]
    one_by_one, batched = Letters(), Letters()
    expected = [valuer_score.value for valuer_score in map(valuer(one_by_one).evaluate_value, traces)]
    got = [score.value for score in valuer(batched).evaluate_many(traces)]
    assert got == expected
    assert (one_by_one.calls, batched.calls) == (100, 2)


def test_one_text_that_cannot_be_encoded_costs_only_itself_in_a_batch() -> None:
    class Picky(Letters):
        def encode(self, texts: Sequence[str]) -> Any:
            if any("BAD" in text for text in texts):
                raise ValueError("cannot read BAD")
            return super().encode(texts)

    traces = [trace(objective=objective) for objective in ("aaa", "BAD", "bbb")]
    sources = [score.part("novelty").source for score in valuer(Picky()).evaluate_many(traces)]
    assert sources == ["default", "failed", "measured"]


def test_a_cache_of_ones_own_is_used() -> None:
    cache = VectorCache(dimensions=26)
    TraceValuer(load_policy(), cache, Letters()).evaluate_value(trace())
    assert cache.size == 1


def unstated(success: bool | None, confidence: float | None) -> ReasoningTrace:
    """A trace as a reader of another tool's log makes it."""
    known = trace(("thought", "tool_call", "error_recovery", "error_recovery", "error_recovery"), ("a", "b"))
    return msgspec.structs.replace(
        known,
        metadata=msgspec.structs.replace(known.metadata, success=success),
        outcome=msgspec.structs.replace(known.outcome, confidence=confidence),
    )


# C = 3/4 x .5 + .3 + 5/20 x .2 = .725, N = .5, D = min(1, 1/5 x 3) = .6 (one tool_call step, one tool)
# base without O = .725 x .25 + .5 x .35 + .6 x .15 = .44625; one tool costs .1; 3 recoveries earn .1 if it succeeded
@pytest.mark.parametrize(
    ("success", "confidence", "value", "worst", "best"),
    [
        (None, None, 0.44625 + 0.125 - 0.1, 0.44625 - 0.1, 0.44625 + 0.25),  # O from 0 to 1, bonus only at best
        (True, None, 0.44625 + 0.125, 0.44625, 0.44625 + 0.25),
        (False, None, 0.44625 + 0.0375 - 0.1, 0.44625 - 0.1, 0.44625 + 0.075 - 0.1),  # O from 0 to .3
        (None, 0.8, 0.44625 + 0.13 - 0.1, 0.44625 + 0.06 - 0.1, 0.44625 + 0.2),  # O from .24 to .8, so .52
    ],
)
def test_what_is_not_stated_counts_half_of_what_it_could_and_gives_a_range(
    success: bool | None, confidence: float | None, value: float, worst: float, best: float
) -> None:
    score = valuer().evaluate_value(unstated(success, confidence))
    assert score.value == pytest.approx(value)
    assert score.details.range == pytest.approx((worst, best))
    assert score.part("outcome_confidence").source == "default"
    assert_law(score)


def test_a_trace_that_states_everything_has_no_range() -> None:
    assert valuer().evaluate_value(trace()).details.range is None


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_trace_put_together_in_python_is_checked_too(confidence: float) -> None:
    with pytest.raises(InputError, match=r"outcome.confidence: .* is not between 0 and 1"):
        valuer().evaluate_value(unstated(True, confidence))


def test_one_trace_as_every_profile_sees_it() -> None:
    tried = valuer(Letters())
    tried.evaluate_value(trace(objective="something else"))
    valued = trace()
    score = tried.evaluate_value(valued)
    seen = tried.by_profile(valued, score)
    assert list(seen) == ["default", "finance", "code", "medical", "customer_service"]
    assert seen["default"].value == score.value
    assert {other.part("novelty").value for other in seen.values()} == {score.part("novelty").value}


def test_own_profiles_and_aliases() -> None:
    weights = {"complexity": 0.1, "novelty": 0.2, "toolDiversity": 0.3, "outcomeConfidence": 0.4}
    tried = valuer(profiles={"law": weights}, aliases={"legal": "law"})
    for domain in ("law", "legal"):
        score = tried.peek(trace_dict(domain=domain))
        assert [part.weight for part in score.parts] == [0.1, 0.2, 0.3, 0.4]
        assert score.details.profile == "law"
    assert tried.peek(trace_dict(domain="Law")).details.profile == "default"  # domains match exactly


def test_a_score_carries_the_version_of_its_section_only() -> None:
    plain = valuer().peek(trace()).policy
    assert valuer(gate=0.5).peek(trace()).policy != plain
    other_section = TraceValuer(load_policy(overrides={"embed": {"batch_size": 7}}))
    assert other_section.peek(trace()).policy == plain


class Counting:
    """What `find_encoder` would find, and how often it was looked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, settings: Any) -> Any:
        self.asked.append(settings.model)
        return Letters()


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr("scalepan.trace.value.shared_encoder", counting)
    return counting


def test_a_valuer_uses_the_encoder_that_the_policy_in_force_names(
    found: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract confidence.23: every constructor without a policy loads the policy in force, as the commands do."""
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "minilm")
    monkeypatch.setenv("SCALEPAN_VALUE__GATE", "0.123")
    tried = TraceValuer()
    tried.evaluate_value(trace())
    score = tried.peek(trace())
    assert found.asked == ["minilm"]
    assert score.part("novelty").source == "measured"
    assert score.details.gate.threshold == 0.123


@pytest.mark.parametrize("embedder", ["minilm", "org/model", "/a/folder"])
def test_a_model_may_be_named(found: Counting, embedder: str) -> None:
    TraceValuer(embedder=embedder)
    assert found.asked == [embedder]


def test_no_encoder_is_none(found: Counting) -> None:
    assert TraceValuer(embedder=None).peek(trace()).part("novelty").note == "no encoder"
    assert found.asked == []


def test_a_policy_may_be_a_file_or_a_few_keys(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("value: {gate: 0.25}\n")
    for given in (file, str(file), {"value": {"gate": 0.25}}):
        assert TraceValuer(given, embedder=None).peek(trace()).details.gate.threshold == 0.25
