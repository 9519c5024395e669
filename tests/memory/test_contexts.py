"""Active contexts end after 24 hours (contract memory.60), and decay is reported (memory.42)."""

import json
from pathlib import Path
from typing import Any

import pytest

from scalepan.errors import NotFoundError
from scalepan.memory import Memory
from scalepan.memory.requests import AskVotes
from scalepan.receipts import explain
from scalepan.store import Store
from tests.memory.conftest import DAY, START, Clock, Open, StandIn
from tests.memory.spec import events, retrieval

HOUR = DAY / 24


def rows(memory: Memory, context: str) -> tuple[int, int]:
    """How many rows of a context and of its items the file holds."""
    events(memory, "search")  # whatever was to be done in passing is done
    ((contexts,),) = memory.store.sql(f"SELECT count(*) FROM active_contexts WHERE id = '{context}'")
    ((items,),) = memory.store.sql(f"SELECT count(*) FROM active_context_items WHERE ac_id = '{context}'")
    return contexts, items


@pytest.fixture
def later(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The same clock, for explanations too."""
    monkeypatch.setattr("scalepan.clock.time", clock)
    return clock


@pytest.mark.parametrize(("said", "hours"), [({}, 24), ({"context_hours": 2}, 2)])
def test_an_expired_context_is_gone_for_every_reader(
    open_memory: Open, later: Clock, said: dict[str, Any], hours: float
) -> None:
    """Contract memory.60: 24 hours by policy, then gone for every reader."""
    memory = open_memory(**retrieval(**said))
    claim = memory.add("plan")
    context = memory.activate("plan").active_context_id or ""
    later.now += hours * HOUR - 1
    assert explain(memory, context).kind == "context"
    assert memory.vote(claim, "helpful", context=context).id
    assert memory.stats().contexts == 1
    later.now += 1
    with pytest.raises(NotFoundError):
        explain(memory, context)
    with pytest.raises(NotFoundError, match=f"'{context}' expired at .*; vote without naming it"):
        memory.vote(claim, "helpful", context=context)
    assert memory.stats().contexts == 0
    assert memory.stats().votes == {"helpful": 1}, "a vote that was refused is not counted"
    assert memory.vote(claim, "helpful").id


@pytest.mark.parametrize("action", ["search", "activate"])
def test_what_has_expired_is_deleted_in_passing(open_memory: Open, clock: Clock, action: str) -> None:
    memory = open_memory()
    claim = memory.add("plan")
    old = memory.activate("plan").active_context_id or ""
    clock.now += 23 * HOUR
    young = memory.activate("plan").active_context_id or ""
    assert (rows(memory, old), rows(memory, young)) == ((1, 1), (1, 1))
    clock.now += HOUR
    getattr(memory, action)("plan")
    assert (rows(memory, old), rows(memory, young)) == ((0, 0), (1, 1))
    with pytest.raises(NotFoundError, match=f"no active context '{old}' here: it has expired or never was"):
        memory.vote(claim, "helpful", context=old)
    clock.now += 23 * HOUR
    getattr(memory, action)("plan")
    assert rows(memory, young) == (0, 0)


def test_a_new_owner_deletes_what_expired_before(tmp_path: Path, encoder: StandIn, clock: Clock) -> None:
    with Memory(tmp_path / "notes.duckdb") as memory:
        memory.add("plan")
        context = memory.activate("plan").active_context_id or ""
    clock.now += 25 * HOUR
    with Memory(tmp_path / "notes.duckdb") as memory:
        memory.search("something else")
        assert rows(memory, context) == (0, 0)


def test_a_context_of_another_moment_is_kept_from_now_on(memory: Memory, clock: Clock) -> None:
    claim = memory.add("plan")
    answer = memory.activate("plan", at=START - 40 * DAY)
    assert memory.vote(claim, "helpful", context=answer.active_context_id).id


def test_what_votes_taught_outlives_their_context(memory: Memory, clock: Clock) -> None:
    """Contract memory.18: calibration learns from votes; the raw scores stand with the vote."""
    claim = memory.add("plan")
    answer = memory.activate("plan")
    memory.vote(claim, "helpful", context=answer.active_context_id)
    clock.now += 25 * HOUR
    memory.search("plan")
    assert rows(memory, answer.active_context_id or "") == (0, 0)
    (pair,) = memory.store.call("memory.voted_pairs", AskVotes(who=memory.who)).pairs
    features = answer[0].features
    assert (pair.query, pair.bm25, pair.cos, pair.relevant) == (
        answer.active_context_id,
        features.bm25,
        features.cos,
        True,
    )


# Decay.


def decays(memory: Memory) -> list[dict[str, Any]]:
    return [event for event in events(memory, "critic") if "decay" in event]


def test_a_critic_event_a_day_says_what_decay_did(open_memory: Open, clock: Clock) -> None:
    """Contract memory.42: utility halves in 30 days, quality in 120, reported by `events(topic='critic')`."""
    memory = open_memory(project="web", trace_id="t")
    memory.add_many(
        [
            {"text": "plan one", "utility": 0.8, "quality": 0.6},
            {"text": "plan two", "utility": -0.4},
            {"text": "plan three"},
        ]
    )
    answer = memory.search("plan")
    memory.activate("plan")
    (first,) = decays(memory)
    assert (first["decay"], first["project"], first["since"]) == ("2030-03-17", "web", None)
    assert (first["request_id"], first["trace_id"]) == (answer.request_id, "t")
    # Nothing has faded yet: (.8 + .4) / 2.
    assert first["utility"] == pytest.approx({"claims": 2, "before": 0.6, "after": 0.6})
    assert first["quality"] == pytest.approx({"claims": 1, "before": 0.6, "after": 0.6})
    assert first["half_life_days"] == {"utility": 30, "quality": 120}
    clock.pass_days(30)
    memory.search("plan")
    memory.search("plan")
    _, second = decays(memory)
    assert (second["decay"], second["since"]) == ("2030-04-16", first["at"])
    # One half-life, and a quarter of one: .6 x .5 ** .25 = .5045.
    assert second["utility"] == pytest.approx({"claims": 2, "before": 0.6, "after": 0.3})
    assert second["quality"] == pytest.approx({"claims": 1, "before": 0.6, "after": 0.6 * 0.5**0.25})
    # Nothing was written for it but the event.
    kept = memory.store.sql(f"SELECT utility FROM claims WHERE tenant = '{memory.who.tenant}' ORDER BY utility")
    assert kept == [[-0.4], [0.0], [0.8]]


def test_each_project_has_its_own_and_a_restart_does_not_repeat_it(
    tmp_path: Path, encoder: StandIn, clock: Clock
) -> None:
    path = tmp_path / "notes.duckdb"
    for _ in range(2):
        with Store(path) as store:
            for project in ("web", "shop", None):
                Memory(store, project=project).search("plan")
    clock.pass_days(1)
    with Store(path) as store:
        memory = Memory(store, project="web")
        memory.search("plan")
        found = [(event["decay"], event["project"]) for event in decays(memory)]
        assert sorted(found, key=str) == sorted(
            [("2030-03-17", "web"), ("2030-03-17", "shop"), ("2030-03-17", None), ("2030-03-18", "web")], key=str
        )


def test_the_event_holds_numbers_and_no_ids(memory: Memory) -> None:
    claim = memory.add("plan", utility=0.5)
    memory.search("plan")
    (event,) = decays(memory)
    assert claim not in json.dumps(event)
