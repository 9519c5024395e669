"""Whatever is kept, under whatever policy, comes out again to the last digit that counts."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.evals import CaseResult, ScorerResult
from scalepan.evals.result import case_score, is_passed
from scalepan.memory import Memory
from scalepan.policy import load_policy
from scalepan.receipts import case_receipt, explain, keep, value_receipt
from scalepan.store import Store
from scalepan.store.receipts import altered, seal
from scalepan.trace import ReasoningTrace, TraceValuer
from tests.examples import examples
from tests.memory.conftest import DAY, Clock
from tests.receipts.conftest import TRACE

share = st.floats(0, 1)
tens = st.integers(0, 10)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("receipts") / "notes.duckdb") as store:
        yield store


@pytest.fixture(scope="module")
def clock() -> Iterator[Clock]:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scalepan.clock.time", clock)
        yield clock


def memory_of(store: Store, **retrieval: Any) -> Memory:
    """A memory of a tenant of its own."""
    policy = {"retrieval": retrieval, "embed": {"model": "none"}}
    return Memory(store, tenant=uuid4().hex, policy=policy)


def assert_equal(memory: Memory, id_: str | None) -> None:
    assert id_
    found = explain(memory, id_)
    assert found.numbers
    assert [(number.status, number.differences) for number in found.numbers] == [("equal", [])] * len(found.numbers)


factors = st.builds(
    ConfidenceFactors,
    search_result_count=tens,
    search_avg_score=share,
    search_max_score=share,
    search_score_variance=st.floats(0, 10),
    source_agreement=share,
    source_count=tens,
    llm_self_confidence=share,
    tool_success_rate=share,
    query_coverage=share,
    is_search_step=st.booleans(),
)


@examples(40)
@given(factors, st.floats(0.5, 1), st.integers(0, 12))
def test_confidence(store: Store, given_: ConfidenceFactors, no_sources: float, places: int) -> None:
    policy = load_policy(overrides={"confidence": {"penalties": {"no_sources": no_sources}, "places": places}})
    with_store = Gate(policy, store=store, ask=lambda _: False)
    assert_equal(Memory(store), with_store.check(given_, "go").id)


votes = st.lists(
    st.tuples(
        st.sampled_from(["helpful", "harmful", "outdated", "undo", "set", "merge", "unmerge"]), st.floats(0, 90), share
    ),
    max_size=12,
)


@examples(40)
@given(votes, st.floats(-1, 1), share)
def test_a_claim_and_its_votes(store: Store, clock: Clock, steps: list[Any], utility: float, confidence: float) -> None:
    """Votes under a policy that changes all the time, taken back, merged, and confidence set by hand in between."""
    tenant = uuid4().hex
    memory = Memory(store, tenant=tenant, policy={"embed": {"model": "none"}})
    claim = memory.add("q", utility=utility, confidence=confidence)
    other = memory.add("another q")
    cast: list[str] = []
    merges: list[str] = []
    for what, days, number in steps:
        clock.now += days * DAY
        change = {"utility": number, "confidence": -number}
        policy = {"retrieval": {"feedback": {"helpful": change, "utility_half_life_days": 1 + days}}}
        memory = Memory(store, tenant=tenant, policy={**policy, "embed": {"model": "none"}})
        if what == "undo":
            if cast:
                memory.undo_vote(cast.pop())
        elif what == "set":
            memory.update(claim, confidence=number)
        elif what == "merge":
            if not merges:
                merges.append(memory.vote(other, "duplicate", of=claim).id)
        elif what == "unmerge":
            if merges:
                memory.undo_vote(merges.pop())
        else:
            target = claim if merges or number < 0.7 else other
            cast.append(memory.vote(target, what).id)
    for id_ in cast + merges:
        assert_equal(memory, id_)
    for id_ in (claim, other):
        found = explain(memory, id_)
        assert found.status == "equal" or {number.reason for number in found.numbers} == {
            "nobody voted: it is as it was given"
        }, found


@examples(25)
@given(st.lists(st.tuples(share, st.floats(-1, 1), share, st.floats(0, 400)), min_size=1, max_size=6), st.booleans())
def test_an_active_context(store: Store, clock: Clock, claims: list[Any], use_quality: bool) -> None:
    memory = memory_of(store, threshold=0.0, rerank={"use_quality": use_quality})
    for place, (confidence, utility, quality, days) in enumerate(claims):
        clock.now += days * DAY
        memory.add(f"q number {place}", confidence=confidence, utility=utility, quality=quality)
    answer = memory.activate("q number 1")
    assert len(answer) == len(explain(memory, answer.active_context_id or "").numbers)
    assert_equal(memory, answer.active_context_id)


@examples(25)
@given(
    st.lists(st.sampled_from(["thought", "tool_call", "observation", "error_recovery"]), min_size=1, max_size=30),
    share,
    st.booleans(),
    st.sampled_from(["code", "finance", "no such domain"]),
)
def test_a_trace(store: Store, types: list[str], confidence: float, success: bool, domain: str) -> None:
    steps = [
        {"step_id": place, "type": type_, **({"tool": {"name": f"t{place % 4}"}} if type_ == "tool_call" else {})}
        for place, type_ in enumerate(types)
    ]
    metadata = {**TRACE["metadata"], "success": success, "task_domain": domain}  # type: ignore[dict-item]
    outcome = {"result_summary": "", "confidence": confidence}
    trace = ReasoningTrace.from_dict({**TRACE, "steps": steps, "metadata": metadata, "outcome": outcome})
    policy = load_policy(overrides={"value": {"gates": {"code": 0.3}}})
    score = TraceValuer(policy, embedder=None).peek(trace)
    (id_,) = keep(store, [value_receipt(trace, score, policy)])
    assert_equal(Memory(store), id_)


statuses = st.sampled_from(["ok", "not_applicable", "failed"])


@examples(25)
@given(st.lists(st.tuples(share, share, st.floats(0, 5), statuses), min_size=1, max_size=5))
def test_a_case(store: Store, rows: list[Any]) -> None:
    results = tuple(
        ScorerResult(
            type="regex",
            score=score if status == "ok" else None,
            threshold=threshold,
            weight=weight,
            status=status,
            reason="broke",
        )
        for score, threshold, weight, status in rows
    )
    applies = [one for one in results if one.status != "not_applicable"]
    passed = bool(applies) and is_passed(results)
    result = CaseResult(id="c", passed=passed, score=case_score(results, "v"), results=results)
    (id_,) = keep(store, [case_receipt(result)])
    assert_equal(Memory(store), id_)


leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
branches = st.dictionaries(st.text(min_size=1), leaves, max_size=3)
trees = leaves | branches | st.dictionaries(st.text(min_size=1), leaves | branches, max_size=3)


@given(st.dictionaries(st.text(min_size=1), trees, max_size=5))
def test_a_seal_fits_what_it_was_made_of(inputs: dict[str, Any]) -> None:
    assert altered(inputs, seal(inputs)) == []


@given(st.dictionaries(st.text(min_size=1), share, min_size=1, max_size=5), st.data())
def test_a_seal_names_what_is_different(inputs: dict[str, float], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(inputs)))
    assert [value for _, value in altered({**inputs, name: 2.0}, seal(inputs))] == [2.0]
    assert altered({key: value for key, value in inputs.items() if key != name}, seal(inputs)) == [("", None)]
