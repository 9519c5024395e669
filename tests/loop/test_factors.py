"""Where the questions meet: factors from a trace, factors from a recall."""

from pathlib import Path

import pytest

from scalepan.loop import Session, factors_from_recall, factors_from_trace
from scalepan.memory import Memory
from scalepan.policy import load_policy
from scalepan.samples import sample_trace


def test_factors_from_a_trace() -> None:
    trace = sample_trace()
    factors = factors_from_trace(trace)
    kinds = [step.type for step in trace.steps]
    assert factors.tool_execution_count == kinds.count("tool_call")
    assert factors.source_count == kinds.count("observation")
    # Three recoveries, each of another call.
    assert factors.tool_success_count == kinds.count("tool_call") - 3
    assert factors.llm_self_confidence == trace.outcome.confidence
    assert not factors.is_search_step


def test_factors_from_a_recall(tmp_path: Path) -> None:
    words_only = load_policy(overrides={"embed": {"model": "none"}})
    with Memory(tmp_path / "notes.duckdb", policy=words_only) as memory:
        memory.add("plans renew on the first", confidence=1.0)
        memory.add("the harbor closes at night")
        factors = factors_from_recall(memory.search("when do plans renew?"), [True, False])
    # One claim: S 1.0 x (.6 + .4 x .5) x 1.0 x 1.0 = .8
    assert (factors.search_result_count, factors.source_count) == (1, 1)
    assert abs(factors.search_max_score - 0.8) < 1e-3
    assert factors.tool_success_rate == 0.5


def test_by_evidence_a_claim_is_as_strong_as_it_is_likely_to_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALEPAN_RETRIEVAL__PROFILE", "default")
    policy = load_policy(overrides={"embed": {"model": "none"}})
    with Memory(tmp_path / "notes.duckdb", policy=policy) as memory:
        memory.add("plans renew on the first", confidence=1.0)
        found = memory.search("when do plans renew?")
        factors = factors_from_recall(found, [True])
    assert factors.search_max_score == found.p_useful == found[0].p_useful


def test_a_failure_that_is_told_is_counted_once_wherever_the_recovery_stands(tmp_path: Path) -> None:
    with Session("look up an order", tmp_path / "notes.duckdb", policy={"embed": {"model": "none"}}) as s:
        s.tool("live").__exit__(None, LookupError("not there"), None)
        s.call("archive", str)
        s.recovered("the archive has it")
    assert s.trace is not None
    assert (factors_from_trace(s.trace).tool_success_count, s.factors().tool_success_count) == (1, 1)
