"""Redaction first, vectors that come later, calibration from labels and votes (contract memory.12, memory.18)."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scalepan.embed import Kind
from scalepan.errors import ConflictError, ScalepanError
from scalepan.memory import Memory
from scalepan.memory.calibrate import FEWEST, fit, text_side, vector_side
from scalepan.memory.requests import AskVotes
from scalepan.policy import Policy
from scalepan.policy.boundary import Access, Boundary
from scalepan.policy.redact import Redact
from scalepan.store.policies import WhosePolicy
from tests.memory.conftest import Open, StandIn

KEY = "AKIA" + "IOSFODNN7REALKEY"
EMAIL = "hanako.yamada@example.co.jp"
PRIVATE = f"write to {EMAIL} with the key {KEY} about the plan"


@pytest.fixture
def seen(encoder: StandIn, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that the encoder gets to see."""
    texts: list[str] = []
    encode = encoder.encode

    def spied(some: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        texts.extend(some)
        return encode(some, kind)

    monkeypatch.setattr(encoder, "encode", spied)
    return texts


def everything(memory: Memory) -> str:
    """All that the store holds, as text."""
    tables = [name for (name,) in memory.store.sql("SELECT table_name FROM duckdb_tables()")]
    return json.dumps([memory.store.sql(f"SELECT * FROM {name}", limit=100_000) for name in tables])


def test_nothing_private_is_embedded_kept_or_sent(open_memory: Open, seen: list[str]) -> None:
    memory = open_memory()
    claim = memory.add(
        PRIVATE,
        provenance={"source": f"https://example.com/?token={KEY}", "note": f"from {EMAIL}", "actor": EMAIL},
        entities=[EMAIL],
    )
    other = memory.add("the plan")
    memory.vote(claim, "helpful", note=f"{EMAIL} says so")
    memory.link(claim, other, f"told by {EMAIL}")
    memory.update(claim, text=f"{PRIVATE}, really")
    answers = [memory.search(f"plan of {EMAIL} {KEY}"), memory.activate(f"plan of {EMAIL} {KEY}")]
    assert {one.id for one in answers[0]} == {claim, other}
    sent = json.dumps([answer.to_dict() for answer in answers]) + repr(memory.get(claim)) + repr(list(memory.export()))
    for private in (EMAIL, KEY):
        assert not any(private in text for text in seen), "embedded"
        assert private not in sent, "sent"
        assert private not in everything(memory), "kept"
    assert any(text.startswith("plan of") for text in seen)


def test_personal_data_that_may_be_kept_is_found_and_sent_by_its_purpose_only(
    open_memory: Open, seen: list[str]
) -> None:
    kept = Policy(redact=Redact(store_pii=True))
    lookup = open_memory(policy=kept, purposes=["tool:contact-lookup"])
    (added,) = lookup.add_many([{"text": PRIVATE, "boundary_class": "public"}])
    assert added.boundary_class == "pii"
    assert EMAIL in str(lookup.store.sql(f"SELECT text FROM claims WHERE id = '{added.id}'"))
    for column in ("normalized_text", "provenance"):
        assert EMAIL not in str(lookup.store.sql(f"SELECT {column} FROM claims WHERE id = '{added.id}'"))
    assert not any(EMAIL in text or KEY in text for text in seen)
    # By default the purpose that may read it reads it redacted; where the policy allows it, in clear, without the key.
    assert EMAIL not in lookup.get(added.id).text
    assert [one.id for one in lookup.search("key about the plan")] == [added.id]
    assert EMAIL not in lookup.search("key about the plan")[0].text
    clear = Boundary(classes={"pii": Access(allow=["tool:contact-lookup"])})
    reader = open_memory(policy=Policy(redact=Redact(store_pii=True), boundary=clear), purposes=["tool:contact-lookup"])
    assert EMAIL in reader.get(added.id).text
    assert KEY not in reader.get(added.id).text
    assert len(open_memory(policy=kept).search("key about the plan")) == 0


def test_claims_from_before_the_encoder_get_their_vectors(open_memory: Open) -> None:
    without = open_memory(policy={"embed": {"model": "none"}})
    claim = without.add("plan")
    memory = open_memory()
    first = memory.search("plan")
    assert any("no vector yet" in note for note in first.notes)
    assert [one.id for one in first] == [claim]
    memory.backfill()
    found = memory.search("plan")
    assert found.vector_level == "index"
    assert found[0].features.cos == pytest.approx(1.0)


def test_vectors_of_another_model_are_refused_and_made_anew_on_demand(
    open_memory: Open, encoder: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    memory.add("plan")
    with monkeypatch.context() as patch:
        patch.setattr(StandIn, "model_id", "another@2")
        with pytest.raises(ConflictError, match=r"stand-in@1.*another@2"):
            memory.search("plan")
        memory.backfill(anew=True)
        assert memory.search("plan").vector_level == "index"
    memory.backfill(anew=True)
    assert memory.search("plan").vector_level == "index"


# Calibration.


def pairs(count: int) -> list[list[tuple[float, bool]]]:
    """For each query five candidates: above 3 relevant, below not."""
    return [[(float(score), score > 3) for score in range(1, 6)] for _ in range(count)]


@pytest.mark.parametrize("method", ["isotonic", "platt", "quantile"])
def test_a_curve_is_measured_on_queries_that_it_was_not_fitted_on(method: Any) -> None:
    names = [f"query {n}" for n in range(40)]
    fitted = fit(text_side(pairs(40)), names, method)
    assert fitted is not None
    assert fitted.fitted_on + fitted.tested_on == 200
    assert min(fitted.fitted_on, fitted.tested_on) >= FEWEST
    # Min-max calls the third of five .5 and the first and last sure: -(0 + ln .75 + ln .5 + ln .75 + 0) / 5 = .2537.
    assert fitted.before == pytest.approx(0.2537, abs=1e-4)
    if method != "quantile":  # which knows no labels
        assert fitted.after < fitted.before
    # The same queries are fitted whatever their order.
    again = fit(text_side(pairs(40)), names[::-1], method)
    assert again is not None
    assert (again.fitted_on, again.curve) == (fitted.fitted_on, fitted.curve)


def test_too_little_is_not_fitted() -> None:
    names = [f"query {n}" for n in range(40)]
    assert fit(text_side(pairs(3)), names[:3], "isotonic") is None
    assert fit(vector_side([[(0.5, True)] * 5] * 40), names, "isotonic") is None  # nothing but relevant ones


def test_calibrating_from_labels_is_kept_as_the_project_s_policy(open_memory: Open) -> None:
    memory = open_memory(project="web")
    ids = [added.id for added in memory.add_many([f"plan {n} {'word ' * n}" for n in range(12)])]
    labelled = [(f"plan {n}", {ids[n]}) for n in range(12)]
    before = memory.search("plan 3")
    fitted = memory.calibrate(labelled)
    assert fitted.keys() == {"text", "vector"}
    assert all(side.after < side.before for side in fitted.values())
    after = memory.search("plan 3")
    assert after.policy_version != before.policy_version
    assert not any("not calibrated" in note for note in after.notes)
    (change,) = memory.store.call("store.policy_history", WhosePolicy(memory.who.tenant, "web")).changes
    assert "calibration" in change.yaml
    # Another project's scores are as they were.
    other = open_memory(project="shop")
    other.add("plan 3")
    assert any("not calibrated" in note for note in other.search("plan 3").notes)


def test_votes_in_a_context_are_labels(open_memory: Open) -> None:
    memory = open_memory(policy={"retrieval": {"threshold": 0.0}})
    memory.add_many(["plan one", "plan two word", "plan three"])
    expected = []
    for query in ("plan", "plan word"):
        answer = memory.activate(query)
        good, bad, unclear = answer
        memory.vote(good.id, "helpful", context=answer.active_context_id)
        memory.vote(bad.id, "harmful", context=answer.active_context_id)
        memory.vote(unclear.id, "outdated", context=answer.active_context_id)
        expected += [(answer.active_context_id, one.features.bm25, one.features.cos) for one in (good, bad)]
    undone = memory.vote(good.id, "helpful", context=answer.active_context_id)
    memory.undo_vote(undone.id)
    memory.vote(good.id, "helpful")  # somewhere else
    found = memory.store.call("memory.voted_pairs", AskVotes(who=memory.who))
    assert [(pair.query, pair.bm25, pair.cos) for pair in found.pairs] == expected
    assert [pair.relevant for pair in found.pairs] == [True, False, True, False]
    assert found.model == "stand-in@1"
    assert memory.calibrate(save=False) == {}  # too few


# What nobody should send, and somebody will.


@pytest.mark.parametrize(
    "claims",
    [
        [{"text": "one", "id": "clm_x"}, {"text": "two", "id": "clm_x"}],
        [{"text": "one", "created_at": "0001-01-01T00:00:00+09:00"}],
        [{"text": "one", "created_at": "9999-12-31T23:59:59-09:00"}],
        [{"text": "one", "created_at": "yesterday"}],
        [{"text": "   "}],
        [{"text": ""}],
        [{"text": "one", "kind": "not a word"}],
        [{"text": "one", "kind": "fact\n"}],
        [{"text": "one", "kind": "7"}],
        [{"text": "one", "kind": ""}],
        [{"text": "one", "kind": "x" * 65}],
        [{"text": "one", "utility": float("nan")}],
        [{"text": "one", "confidence": 7}],
        [{"text": "one", "scope": "session"}],
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_line_and_nothing_is_kept(
    memory: Memory, claims: list[dict[str, Any]]
) -> None:
    with pytest.raises(ScalepanError) as caught:
        memory.add_many(claims)
    assert "\n" not in str(caught.value)
    assert "Constraint" not in str(caught.value)
    assert list(memory.list()) == []
    assert memory.add("after all that") is not None


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf")])
def test_a_moment_that_is_none_is_an_error_and_no_crash(memory: Memory, at: float) -> None:
    memory.add("plan")
    for action in (memory.search, memory.activate):
        try:
            assert 0.0 <= float(action("plan", at=at)[0].score_final) <= 1.0
        except ScalepanError as error:
            assert "memory.search" not in str(error)  # noqa: PT017 - that is how a crash in the owner looks
            assert "memory.activate" not in str(error)  # noqa: PT017
