"""The fast path and the contract in plain SQL agree: same claims and order, same scores to 1e-6, on random stores."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import pytest

from scalepan.memory import Memory
from scalepan.memory.claim import KINDS
from scalepan.memory.recall.answers import Recall
from scalepan.memory.recall.boundary import reach
from scalepan.policy import Policy
from scalepan.policy.retrieval import Diversity, Dynamic, Hybrid, Retrieval, Text, VectorsPolicy
from scalepan.store import Store
from scalepan.store.request import Who
from tests.memory.conftest import DAY, START, Clock, StandIn
from tests.memory.reference import Question, Ranked, TextSide, reference_sql, run_reference

MANY = 500
TEXT_SIDES: tuple[TextSide, ...] = ("bm25", "ilike")
ENGLISH = [
    "plan",
    "cancel",
    "subscription",
    "billing",
    "invoice",
    "refund",
    "api",
    "token",
    "order",
    "retry",
]
JAPANESE = ["解約", "請求書", "注文", "顧客", "契約", "プラン", "返金", "再試行", "担当者", "東京都", "京都"]
PLAIN = Diversity(mmr_lambda=1.0, entity_cap=0, unique_content=False)


def policy(text: TextSide) -> Policy:
    level = Retrieval(
        profile="spec",
        hybrid=Hybrid(k_txt=MANY, k_vec=MANY, k_final=MANY),
        diversity=PLAIN,
        threshold=0.0,
        text=Text(level="index" if text == "bm25" else "L0"),
        vectors=VectorsPolicy(level="index" if text == "bm25" else "L1"),
    )
    return Policy(retrieval=level)


WHO = [
    Who(tenant, project, session, purposes)
    for tenant, project, session, purposes in [
        ("acme", "web", None, ("answer:task",)),
        ("acme", "web", "s1", ("tool:contact-lookup",)),
        ("acme", "web", "s2", ("somebody:else",)),
        ("acme", "shop", "s1", ("answer:task", "tool:contact-lookup")),
        ("acme", None, None, ("answer:task",)),
        ("other", "web", "s1", ("answer:task",)),
        ("nobody", "web", "s1", ("answer:task",)),
    ]
]


def open_(store: Store, who: Who, policy: Policy | dict[str, Any]) -> Memory:
    return Memory(
        store,  # a Store is taken too: see Memory.__init__
        tenant=who.tenant,
        project=who.project,
        session=who.session,
        purposes=who.purposes,
        policy=policy,
    )


def text_of(dice: random.Random) -> str:
    match dice.randrange(4):
        case 0:
            return "".join(dice.choices(JAPANESE, k=dice.randint(1, 5)))
        case 1:
            return "の".join(dice.choices(JAPANESE, k=2)) + " API " + dice.choice(ENGLISH)
        case 2:
            return dice.choice(["!!!", "100% of a_b", "同じ文", "the same text everywhere"])
        case _:
            return " ".join(dice.choices(ENGLISH, k=dice.randint(1, 9)))


def claim_of(dice: random.Random, session: str | None) -> dict[str, Any]:
    scopes = ["project", "principle"] + (["session"] if session else [])
    claim: dict[str, Any] = {
        "text": text_of(dice),
        "kind": dice.choice(KINDS),
        "scope": dice.choice(scopes),
        "boundary_class": dice.choice(["public", "internal", "internal", "pii", "secret"]),
        "confidence": dice.choice([0.0, 0.5, round(dice.random(), 3), 1.0]),
        # The clock stands; ages may be negative too, as after a clock that was put back.
        "created_at": stamp(START - dice.choice([-3, 0, 1, 40, 400]) * DAY - dice.random() * DAY),
    }
    if dice.random() < 0.3:
        claim["updated_at"] = stamp(START - dice.random() * 20 * DAY)
    return claim


def stamp(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(round(seconds), UTC).isoformat()


def fill(path: Path, dice: random.Random) -> None:
    """Claims of everybody, some without vectors, some voted on, their utility earned at different times."""
    with Store(path) as store:
        for who in WHO[:-1]:
            for encoder in ("auto", "none"):
                memory = open_(store, who, {"embed": {"model": encoder}})
                claims = [claim_of(dice, who.session) for _ in range(12 if encoder == "auto" else 3)]
                added = sorted({one.id for one in memory.add_many(claims)})
                memory.vote(dice.choice(added), dice.choice(["helpful", "harmful", "outdated"]))
        duplicate, of = dice.sample(added, 2)
        memory.vote(duplicate, "duplicate", of=of)
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        for (id_,) in connection.execute("SELECT id FROM claims ORDER BY rowid").fetchall():
            utility, days = round(dice.uniform(-1, 1), 3), dice.randrange(90)
            if dice.random() < 0.3:
                connection.execute(
                    f"UPDATE claims SET utility = ?, utility_at = utility_at - INTERVAL {days} DAY WHERE id = ?",
                    [utility, id_],
                )


class Asked(NamedTuple):
    who: Who
    query: str
    alpha: float
    scopes: list[str] | None
    kinds: list[str] | None


def asked_of(dice: random.Random, who: Who) -> Asked:
    words = dice.choice([ENGLISH, JAPANESE])
    query = dice.choice(["", " "]).join(dice.choices(words, k=dice.randint(1, 4))) or "plan"
    query = dice.choice([query, dice.choice(words), "the same text everywhere", "0% of a_", "京都", "zzz"])
    scopes = dice.choice([None, None, ["project"], ["principle", "session"]])
    kinds = dice.choice([None, None, None, ["fact", "task"], ["preference"]])
    return Asked(who, query, round(dice.random(), 2), scopes, kinds)


def agree(fast: Recall, reference: Sequence[Ranked]) -> None:
    """Same claims and scores; the order too, but for scores that are equal to 1e-6."""
    by_id = {row.id: row for row in reference}
    assert len(by_id) == len(reference)
    assert {one.id for one in fast} == set(by_id)
    for place, one in enumerate(fast):
        same, there = by_id[one.id], reference[place]
        features, g = one.features, one.features.g
        got = (features.s_text or 0.0, features.s_vec or 0.0, features.S, g.util, g.conf, g.rec)
        assert got == pytest.approx(same[1:7], abs=1e-6), (one.id, one.text)
        assert float(one.score_final) == pytest.approx(same.score_final, abs=1e-6), (one.id, one.text)
        assert float(one.score_final) == pytest.approx(there.score_final, abs=1e-6), "another order"


@pytest.fixture
def no_backfill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims without vectors stay so."""
    monkeypatch.setattr("scalepan.memory.recall.search.backfill_aside", lambda *_: None)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_fast_path_and_the_sql_reference_agree(
    seed: int, tmp_path: Path, encoder: StandIn, clock: Clock, no_backfill: None
) -> None:
    path, dice = tmp_path / "notes.duckdb", random.Random(seed)
    fill(path, dice)
    moment = START + 5 * DAY
    asked = [asked_of(dice, who) for who in WHO]
    answers: list[tuple[TextSide, Asked, Recall]] = []
    with Store(path) as store:
        for text in TEXT_SIDES:
            for one in asked:
                memory = open_(store, one.who, policy(text))
                found = memory.search(one.query, alpha=one.alpha, scopes=one.scopes, kinds=one.kinds, at=moment)
                answers.append((text, one, found))
    assert {answer.text_level for _, _, answer in answers} == {"index", "L0"}
    assert {answer.vector_level for _, _, answer in answers} == {"index", "L1", ""}
    rows = 0
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        for text, one, answer in answers:
            within = reach(one.who, "search", Policy().boundary, one.scopes)
            # A side that did not run at all is left out: words count alone.
            alpha = one.alpha if answer.vector_level else 0.0
            vector = encoder.encode([one.query], "query")[0].tolist()
            question = Question(one.query, vector, within, alpha, moment, MANY, MANY, MANY, one.kinds)
            reference = run_reference(connection, question, text)
            if rows % 2 == 0:
                assert run_reference(connection, question, text, "union") == reference, "the two forms of SQL differ"
            agree(answer, reference)
            rows += len(reference)
    assert rows > 50, "these stores say nothing"


@pytest.mark.parametrize("text", TEXT_SIDES)
def test_the_limits_come_after_the_order(text: TextSide, memory: Memory, encoder: StandIn) -> None:
    """A plain LIMIT comes first, and takes any k_vec claims that come its way."""
    memory.add_many([{"text": f"plan {'x ' * n}", "created_at": stamp(START - n * DAY)} for n in range(9)])
    few = msgspec.structs.replace(
        policy(text).retrieval, hybrid=Hybrid(k_txt=3, k_vec=4, k_final=2), dynamic=Dynamic(expand=False)
    )
    mine = open_(memory.store, memory.who, Policy(retrieval=few))
    fast = mine.search("plan", alpha=0.5, at=START)
    memory.close()
    with duckdb.connect(str(memory.store.path), config={"threads": 1}) as connection:
        within = reach(memory.who, "search", Policy().boundary)
        question = Question("plan", encoder.encode(["plan"])[0].tolist(), within, 0.5, START, 3, 4, 2)
        agree(fast, run_reference(connection, question, text))


def test_values_are_bound_and_never_pasted() -> None:
    evil = "'; DROP TABLE claims; --"
    within = reach(Who(evil, evil, evil), "search", Policy().boundary)
    query, values = reference_sql(Question(evil, [1.0], within, 0.5, START, 1, 1, 1, [evil]))
    assert "DROP" not in query
    assert values.count(evil) == 5  # tenant, project three times, session
