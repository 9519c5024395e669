"""A fit is refused where it makes recall worse on queries that it was not fitted on, and nothing is stored."""

from math import log2

import pytest

from scalepan.memory import Memory
from scalepan.memory.calibrate import half_of
from scalepan.memory.heldout import NO_QUERIES, HeldOut, WorseFitError
from scalepan.store.policies import WhosePolicy
from tests.memory.conftest import Open, StandIn

QUERIES = [f"tag{n}" for n in range(24)]
AT_TWO = 1 / log2(3)

Labelled = list[tuple[str, set[str]]]


@pytest.fixture
def memory(open_memory: Open, encoder: StandIn) -> Memory:
    """For each query a claim with its word, and one with its meaning: nothing else is near it."""
    for n, query in enumerate(QUERIES):
        axis = [0.0] * n + [1.0]
        encoder.taught |= {query: axis, meant(n): axis, worded(n): [0.0] * (30 + n) + [1.0]}
    # Meaning weighs .65 for all of them: without curves it comes first.
    memory = open_memory(project="fits", policy={"retrieval": {"dynamic": {"alpha": False}}})
    memory.add_many([text(n) for n in range(len(QUERIES)) for text in (worded, meant)])
    return memory


def worded(n: int) -> str:
    return f"tag{n} ledger"


def meant(n: int) -> str:
    return f"paper{n}"


def labels(memory: Memory, by_words: tuple[int, ...]) -> Labelled:
    """In these halves of the queries the claim with the word is right, in the others the one with the meaning."""
    ids = {claim.text: claim.id for claim in memory.list()}
    return [(query, {ids[worded(n) if half_of(query) in by_words else meant(n)]}) for n, query in enumerate(QUERIES)]


def stored(memory: Memory) -> list[str]:
    changes = memory.store.call("store.policy_history", WhosePolicy(memory.who.tenant, memory.who.project)).changes
    return [change.yaml for change in changes]


def first(memory: Memory) -> str:
    return "words" if memory.search(QUERIES[0])[0].claim.text == worded(0) else "meaning"


def test_halves_that_contradict_each_other_are_refused_and_nothing_is_stored(memory: Memory) -> None:
    labelled = labels(memory, by_words=(0,))
    with pytest.raises(WorseFitError, match="worse on queries that it was not fitted on: nDCG@12") as raised:
        memory.calibrate(labelled)
    found = raised.value.fits.held_out
    assert found is not None
    assert str(raised.value).count("\n") == 0
    assert stored(memory) == []
    # Both claims are found first and second. Without curves meaning is first, which is right in half 1.
    right = sum(half_of(query) == 1 for query in QUERIES) / len(QUERIES)
    assert found.recall_before == 1.0
    assert found.ndcg_before == pytest.approx(right + (1 - right) * AT_TWO)
    # What half 1 teaches keeps meaning first in half 0; what half 0 teaches makes all cosines equal in half 1.
    assert found.ndcg_after <= AT_TWO + 1e-9
    assert found.high is not None
    assert found.high < 0
    assert not raised.value.fits.kept


def test_it_is_kept_anyway_if_asked_and_a_trial_only_tells(memory: Memory) -> None:
    labelled = labels(memory, by_words=(0,))
    tried = memory.calibrate(labelled, save=False)
    assert tried.held_out is not None
    assert tried.held_out.worse
    assert stored(memory) == []
    assert memory.calibrate(labelled, anyway=True).kept
    (text,) = stored(memory)
    assert "calibration" in text
    # What is stored does not stand in for what it is compared with: the figures are the same again.
    assert memory.calibrate(labelled, save=False).held_out == tried.held_out


@pytest.mark.parametrize(("by_words", "wanted", "before"), [((0, 1), "words", AT_TWO), ((), "meaning", 1.0)])
def test_a_fit_that_helps_or_changes_nothing_is_kept(
    memory: Memory, by_words: tuple[int, ...], wanted: str, before: float
) -> None:
    assert first(memory) == "meaning"
    fits = memory.calibrate(labels(memory, by_words))
    assert fits.kept
    assert len(stored(memory)) == 1
    assert first(memory) == wanted
    found = fits.held_out
    assert found is not None
    assert found.queries == 24
    assert found.ndcg_before == pytest.approx(before)
    assert found.ndcg_after == pytest.approx(1.0)


def test_votes_have_no_queries_to_ask_and_that_is_said(open_memory: Open) -> None:
    memory = open_memory(project="voted", policy={"retrieval": {"evidence": {"threshold": 0.0}}})
    memory.add_many([f"plan {'word ' * n}" for n in range(6)])
    for n in range(16):
        answer = memory.activate(f"plan word {n}")
        for place, one in enumerate(answer):
            memory.vote(one.id, "helpful" if place < 2 else "harmful", context=answer.active_context_id)
    fits = memory.calibrate(save=False)
    assert fits.keys() >= {"text"}
    assert (fits.held_out, fits.not_measured) == (None, NO_QUERIES)
    assert fits.to_dict()["held_out"] is None


@pytest.mark.parametrize(("after", "worse"), [(0.5, False), (0.6, False), (0.4996, False), (0.499, True), (0.0, True)])
def test_a_loss_that_three_digits_show_is_worse(after: float, worse: bool) -> None:
    assert HeldOut(40, 0.5, 0.5, 0.5, after, None, None).worse is worse
