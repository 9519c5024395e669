"""Invariants over claims (contract memory.2, memory.63): only what satisfies I(B) is ever a candidate.

Rules see `claim.kind`, `.boundary_class`, `.scope`, `.entities` and `.age_days` beside the request. They are compiled
to a mask and to SQL; both must mean what the rule means when it is evaluated for one claim after the other.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import BoundaryError, NotFoundError
from scalepan.memory import Memory
from scalepan.memory.claim import Claim, Entity, Provenance, written
from scalepan.memory.recall.boundary import reach
from scalepan.memory.recall.candidates.columns import ClaimColumns, Entry
from scalepan.policy.boundary import CLASSES, SCOPES, Boundary
from scalepan.policy.invariants import InvariantError, holds
from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.reach import Reach
from scalepan.store.request import Who
from tests.memory.conftest import DAY, START, Clock, Open
from tests.memory.spec import stamp

LEVELS = [("index", "index"), ("L2", "L3"), ("L0", "L1")]


def ruled(rule: str, **said: Any) -> dict[str, Any]:
    return {"policy": {"boundary": {"invariants": {"rule": rule}}, "retrieval": said}}


def filled(open_memory: Open) -> dict[str, str]:
    """A fact, a task, a rumor of last year, and a public fact about Billing."""
    memory = open_memory(session="s1")
    claims: list[dict[str, Any]] = [
        {"text": "plan fact"},
        {"text": "plan task", "kind": "task", "scope": "session"},
        {"text": "plan rumor", "kind": "rumor", "scope": "principle", "created_at": stamp(365)},
        {"text": "plan billing", "boundary_class": "public", "entities": ["Billing", "Orders"]},
    ]
    added = memory.add_many(claims)
    return {claim["text"].partition(" ")[2]: one.id for claim, one in zip(claims, added, strict=True)}


RULES = [
    ("claim.kind == 'fact'", {"fact", "billing"}),
    ("claim.kind != 'fact'", {"task", "rumor"}),
    ("claim.kind in ['task', 'rumor']", {"task", "rumor"}),
    ("claim.kind in facts.kinds", {"task"}),
    ("'um' in claim.kind", {"rumor"}),
    ("claim.boundary_class == 'public'", {"billing"}),
    ("claim.scope in ['project', 'principle']", {"fact", "rumor", "billing"}),
    ("'Billing' in claim.entities", {"billing"}),
    ("!('Billing' in claim.entities)", {"fact", "task", "rumor"}),
    ("claim.age_days < 30", {"fact", "task", "billing"}),
    ("30 < claim.age_days", {"rumor"}),
    ("claim.kind == 'rumor' || 'Orders' in claim.entities && claim.age_days <= 1", {"rumor", "billing"}),
    ("actor == 'ann' && claim.kind == 'fact' || claim.kind == 'task'", {"fact", "task", "billing"}),
    ("actor == 'bob' || claim.kind == 'task'", {"task"}),
    ("claim.kind != facts.kinds", {"fact", "task", "rumor", "billing"}),  # a list is not a word
    # What cannot be evaluated denies: each claim, or only those that it comes to.
    ("claim.kind == 'fact' || claim.kind > 3", {"fact", "billing"}),
    ("claim.kind == 'fact' || claim.age_days < 'x'", {"fact", "billing"}),
    ("claim.kind == 'fact' || facts.unsaid", {"fact", "billing"}),
    ("!(claim.kind == 'fact' && facts.unsaid)", {"task", "rumor"}),
]


@pytest.mark.parametrize(("rule", "expected"), RULES)
@pytest.mark.parametrize(("text", "vectors"), LEVELS)
def test_a_rule_decides_for_each_claim_before_it_can_be_a_candidate(
    open_memory: Open, rule: str, expected: set[str], text: str, vectors: str
) -> None:
    """Contract memory.2: at every level, for words and for meaning."""
    ids = filled(open_memory)
    levels = {"text": {"level": text}, "vectors": {"level": vectors}, "threshold": 0.0}
    who: dict[str, Any] = {"session": "s1", "actor": "ann", "facts": {"kinds": ["task"]}}
    memory = open_memory(**who, **ruled(rule, **levels))
    for answer in (memory.search("plan"), memory.activate("plan")):
        assert (answer.text_level, answer.vector_level) == (text, vectors), answer.notes
        seen = {one.id for one in answer.claims} | {one.id for one in answer.rejected}
        assert seen == {ids[name] for name in expected}
        assert answer.candidates == len(expected)


@pytest.mark.parametrize(("rule", "expected"), RULES)
def test_a_rule_holds_at_every_door(open_memory: Open, rule: str, expected: set[str]) -> None:
    """Contract memory.2: what a rule shuts is as if it were not there, also for get, list, why, votes and export."""
    ids = filled(open_memory)
    memory = open_memory(session="s1", actor="ann", facts={"kinds": ["task"]}, **ruled(rule))
    assert {claim.id for claim in memory.list()} == {ids[name] for name in expected}
    assert {claim["id"] for claim in memory.export()} == {ids[name] for name in expected}
    assert memory.stats().claims == len(expected)
    found = memory.candidates("plan")
    assert {id_ for id_, _ in found.text} == {id_ for id_, _ in found.vector} == {ids[name] for name in expected}
    doors: list[Callable[[str], Any]] = [
        memory.get,
        lambda id_: memory.vote(id_, "helpful"),
        lambda id_: memory.link(id_, id_),
        lambda id_: memory.update(id_, confidence=0.7),
        memory.forget,
    ]
    for name, id_ in ids.items():
        why = memory.search("plan", why=id_).why or ""
        assert ("no such claim here" in why) == (name not in expected)
        for door in doors:
            if name in expected:
                door(id_)
            else:
                with pytest.raises(NotFoundError):
                    door(id_)


def test_a_rule_may_shut_a_claim_for_one_action_alone(open_memory: Open) -> None:
    """Contract memory.63: no destructive change."""
    ids = filled(open_memory)
    memory = open_memory(session="s1", **ruled("!(action in ['forget', 'update']) || claim.kind != 'task'"))
    assert memory.get(ids["task"]).kind == "task"
    for change in (lambda: memory.forget(ids["task"]), lambda: memory.update(ids["task"], text="plan gone")):
        with pytest.raises(NotFoundError):
            change()
    assert memory.forget(ids["fact"], ids["task"]) == 1
    assert memory.get(ids["task"]).text == "plan task"


@pytest.mark.parametrize(
    ("rule", "claim"),
    [
        ("claim.kind != 'rumor'", {"kind": "rumor"}),
        ("claim.boundary_class != 'public'", {"boundary_class": "public"}),
        ("claim.scope == 'principle'", {}),
        ("!('Billing' in claim.entities)", {"entities": ["Billing"]}),
        ("claim.age_days < 30", {"created_at": stamp(31)}),
        ("claim.kind > 3", {}),
    ],
)
def test_what_a_rule_shuts_is_not_kept_either(open_memory: Open, rule: str, claim: dict[str, Any]) -> None:
    memory = open_memory(**ruled(rule))
    with pytest.raises(BoundaryError, match="'rule'"):
        memory.add_many([{"text": "plan", **claim}])
    assert list(open_memory().list()) == []


def test_a_rule_about_age_follows_the_clock(open_memory: Open, clock: Clock) -> None:
    claim = open_memory().add("plan")
    memory = open_memory(**ruled("claim.age_days < 30"))
    for days, seen in ((0, True), (29, True), (2, False)):
        clock.pass_days(days)
        assert [one.id for one in memory.search("plan")] == ([claim] if seen else [])
        assert [one.id for one in memory.list()] == ([claim] if seen else [])
    # As of an earlier moment it was there.
    assert [one.id for one in memory.search("plan", at=START)] == [claim]


def test_statistics_and_utility_are_those_of_what_the_rules_leave(open_memory: Open) -> None:
    """Contract memory.30: z is over the filtered population. What a rule shuts must not shift a score either."""
    open_memory().add_many([{"text": "plan one", "utility": 0.4}, {"text": "plan two", "utility": 0.0}])
    memory = open_memory(**ruled("claim.kind == 'fact' && claim.age_days < 9"))
    before = memory.search("plan").to_dict()["claims"]
    open_memory().add_many([{"text": f"plan {'plan ' * n}", "kind": "rumor", "utility": 1.0} for n in range(9)])
    assert memory.search("plan").to_dict()["claims"] == before


def test_a_tenant_s_policy_adds_rules_and_never_takes_one_away(open_memory: Open) -> None:
    from scalepan.store.policies import SetPolicy

    ids = filled(open_memory)
    memory = open_memory(session="s1", **ruled("claim.kind == 'fact'"))
    text = "boundary: {invariants: {rule: \"claim.boundary_class == 'public'\"}}"
    memory.store.call("store.set_policy", SetPolicy(text, memory.who.tenant))
    assert {one.id for one in memory.search("plan")} == {ids["billing"]}


# Mask, SQL and the rule itself mean the same.

KINDS = ["fact", "task", "policy_hint", "ta", "Fact", "決定"]
NAMES = ["Billing", "Orders", "ta"]
NOW = START


def made(number: int) -> Claim:
    """Claims that differ in all that rules may ask."""
    age = [0, 1, 2.5, 30, 400, -3][number % 6]
    return Claim(
        id=f"c{number}",
        tenant="t",
        project="p",
        session="s",
        text=str(number),
        kind=KINDS[number % len(KINDS)],
        scope=SCOPES[number // 2 % 3],
        boundary_class=CLASSES[number // 3 % 4],
        content_hash=str(number),
        utility=0.0,
        confidence=0.5,
        quality=None,
        created_at=written(NOW - age * DAY),
        updated_at=None,
        merged_into=None,
        provenance=Provenance(),
        entities=[Entity(name) for place, name in enumerate(NAMES) if number >> place & 1],
    )


CLAIMS = [made(number) for number in range(48)]


def age_of(claim: Claim) -> float:
    from datetime import datetime

    return max(NOW - datetime.fromisoformat(claim.created_at).timestamp(), 0.0) / DAY


@pytest.fixture(scope="module")
def places() -> Iterator[tuple[ClaimColumns, Any]]:
    """The same claims as columns and in a table."""
    columns = ClaimColumns()
    columns.add([Entry(claim, NOW, None, NOW - _days(claim) * DAY) for claim in CLAIMS])
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE TABLE entities (id TEXT, tenant TEXT, type TEXT, name TEXT)")
    connection.execute("CREATE TABLE claim_entities (claim_id TEXT, entity_id TEXT)")
    connection.execute(
        "CREATE TABLE claims (id TEXT, tenant TEXT, project TEXT, session TEXT, kind TEXT, scope TEXT, "
        "boundary_class TEXT, created_at TIMESTAMP, updated_at TIMESTAMP, merged_into TEXT)"
    )
    connection.executemany("INSERT INTO entities VALUES (?, 't', 'Concept', ?)", [[name, name] for name in NAMES])
    for claim in CLAIMS:
        row = [claim.id, "t", "p", "s", claim.kind, claim.scope, claim.boundary_class, claim.created_at[:19]]
        connection.execute("INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?::TIMESTAMP, NULL, NULL)", row)
        for entity in claim.entities:
            connection.execute("INSERT INTO claim_entities VALUES (?, ?)", [claim.id, entity.name])
    yield columns, connection
    connection.close()


def _days(claim: Claim) -> float:
    from datetime import datetime

    return (NOW - datetime.fromisoformat(claim.created_at).timestamp()) / DAY


words = st.sampled_from(["'fact'", "'ta'", "''", "'public'", "'project'", "'決定'", "'Billing'"])
numbers = st.sampled_from(["0", "1", "2.5", "30", "-1", "facts.number", "facts.nan", "facts.huge"])
values = st.one_of(words, numbers, st.sampled_from(["true", "null", "actor", "facts.list", "facts.unsaid", "session"]))
attributes = st.sampled_from(["claim.kind", "claim.boundary_class", "claim.scope", "claim.age_days"])
lists = st.one_of(
    st.lists(values, max_size=3).map(lambda members: f"[{', '.join(members)}]"),
    st.sampled_from(["facts.list", "'fact task'"]),
)
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
atoms = st.one_of(
    st.tuples(attributes, signs, values).map(" ".join),
    st.tuples(values, signs, attributes).map(" ".join),
    st.tuples(attributes, st.just("in"), lists).map(" ".join),
    st.tuples(values, st.just("in"), st.sampled_from(["claim.entities", "claim.kind"])).map(" ".join),
    st.sampled_from(["facts.yes", "facts.unsaid", "actor == 'ann'", "action == 'get'", "1", "true", "false"]),
)
rules: st.SearchStrategy[str] = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} && {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} || {pair[1]})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({' || '.join(three)})"),
        inner.map(lambda one: f"!({one})"),
    ),
    max_leaves=6,
)
SAID: dict[str, Any] = {
    "yes": True,
    "number": 30,
    "nan": float("nan"),
    "huge": 10**400,
    "list": ["fact", "ta", 30, 2.5, True, None, ["x"], {"y": 1}],
}


@given(rules)
def test_mask_and_sql_mean_what_the_rule_means(places: tuple[ClaimColumns, Any], rule: str) -> None:
    columns, connection = places
    who = Who("t", "p", "s", actor="ann", facts=SAID)
    try:
        policy = Boundary(invariants={"rule": rule})
    except ValueError:
        return  # refused when it is loaded
    facts = {f"facts.{name}": value for name, value in SAID.items()}
    facts |= {"action": "get", "tenant": "t", "project": "p", "session": "s", "actor": "ann"}
    expected = set()
    for claim in CLAIMS:
        claims = {"kind": claim.kind, "boundary_class": claim.boundary_class, "scope": claim.scope}
        claims |= {"entities": [entity.name for entity in claim.entities], "age_days": age_of(claim)}  # type: ignore[dict-item]
        with suppress(InvariantError):
            if holds(rule, facts | {f"claim.{name}": value for name, value in claims.items()}):
                expected.add(claim.id)
    try:
        within = reach(who, "get", policy, at=NOW)._replace(classes=CLASSES)
    except BoundaryError:
        assert expected == set(), "the request is denied, and a claim would have been fine"
        return
    mask = columns.mask(within)
    assert {columns.ids[row] for row in range(len(columns)) if mask[row]} == expected
    where, bound = reach_sql(within)
    rows = connection.execute(f"SELECT id FROM claims WHERE {where}", bound).fetchall()
    assert {id_ for (id_,) in rows} == expected


def test_values_of_rules_are_bound_and_never_pasted() -> None:
    evil = "x'; DROP TABLE claims; --"
    who = Who(facts={"evil": evil, "list": [evil]})
    rule = "claim.kind == facts.evil || claim.kind in facts.list || "
    rule += "facts.evil in claim.entities || facts.evil in claim.kind"
    where, values = reach_sql(reach(who, "get", Boundary(invariants={"rule": rule})))
    assert "DROP" not in where
    assert values.count(evil) == 4


def test_deep_rules_stay_small() -> None:
    """SQL grows with the rule, not with its depth."""
    rule = "claim.kind == 'a'"
    while len(rule) < 900:
        rule = f"({rule} || claim.scope == 'b')"
    where, _ = reach_sql(reach(Who(), "get", Boundary(invariants={"rule": rule})))
    assert len(where) < 10_000


def test_reaches_without_age_are_equal_from_call_to_call() -> None:
    """Or masks could not be kept."""
    policy = Boundary(invariants={"rule": "claim.kind in facts.kinds"})
    one, other = (reach(Who(facts={"kinds": ["fact", {"x": 1}]}), "get", policy) for _ in range(2))
    assert one == other
    assert isinstance(hash(one), int)
    assert one.moment is None
    aged = Boundary(invariants={"rule": "claim.age_days < 3"})
    found: Reach = reach(Who(), "get", aged, at=7.0)
    assert found.moment == 7.0


def test_rescanning_passes_over_nothing(open_memory: Open, memory: Memory) -> None:
    """Redaction is not a read: a claim that a rule shuts must not keep a secret for it."""
    open_memory().add_many(["plan", {"text": "rumor", "kind": "rumor"}])
    assert open_memory(**ruled("claim.kind == 'fact'")).rescan()[0] == 2


def test_a_change_cannot_make_what_could_not_be_added(open_memory: Open) -> None:
    """Contract memory.2: adding a harmless claim and then changing it must not get around a rule."""
    memory = open_memory(**ruled("claim.kind != 'secret_plan' && !('Payroll' in claim.entities)"))
    id_ = memory.add("plan fact", kind="fact")
    for change in ({"kind": "secret_plan"}, {"entities": [{"name": "Payroll"}]}):
        with pytest.raises(BoundaryError, match=f"an invariant of the policy forbids what claim '{id_}' would become"):
            memory.update(id_, **change)
    kept = memory.get(id_)
    assert (kept.kind, kept.entities) == ("fact", [])
    assert memory.update(id_, kind="task").kind == "task"
