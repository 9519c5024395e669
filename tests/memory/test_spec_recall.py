"""Recall from query to stored context (contract memory.1 to memory.13, memory.49 to memory.54, memory.71)."""

import json
from datetime import datetime
from typing import Any

import pytest

from scalepan.errors import InputError
from scalepan.memory import Memory
from scalepan.memory.recall.candidates import levels
from scalepan.store.policies import SetPolicy
from tests.law import assert_law
from tests.memory.conftest import DAY, START, Clock, Open, StandIn
from tests.memory.spec import GRAMMAR, QUERY, events, near, number, only, retrieval, stamp

# memory.14 to memory.36 in one number.


def test_one_score_worked_by_hand(memory: Memory, encoder: StandIn) -> None:
    near(encoder, {"q one": 0.82})
    memory.add("q one", kind="task", confidence=0.72, created_at=stamp(14))
    one = only(memory.search(QUERY, alpha=0.65, at=START))
    # s_vec (.82 + 1) / 2 = .91; s_text 1, the only one; S = .65 x .91 + .35 = .9415.
    # g: no spread, (0 + 1) / 2 = .5 -> .8; .5 + .5 x .72 = .86; a task of 14 days: .5 -> .65. .8 x .86 x .65 = .4472.
    assert one.features.s_vec == pytest.approx(0.91, abs=1e-6)
    assert one.features.s_text == 1.0
    assert pytest.approx(0.9415, abs=1e-6) == one.features.S
    assert (one.features.g.util, one.features.g.conf, one.features.g.rec) == pytest.approx((0.5, 0.72, 0.5), abs=1e-6)
    assert number(one) == pytest.approx(0.9415 * 0.4472, abs=1e-6)
    assert one.reason == "FTS=rank:1; cos=0.82; recent=14d; util=0.50; conf=0.72"


def test_a_claim_that_one_side_did_not_find_counts_0_there(open_memory: Open, encoder: StandIn) -> None:
    near(encoder, {"q found by words": 0.2, "by meaning": 0.9})
    memory = open_memory()
    memory.add_many(["q found by words", "by meaning"])
    by_text = {one.text: one for one in memory.search(QUERY, alpha=0.65)}
    one = by_text["by meaning"]
    # .65 x .95 + .35 x 0 = .6175; g = .8 x .75 x 1 = .6
    assert one.features.s_text is None
    assert number(one) == pytest.approx(0.6175 * 0.6, abs=1e-6)
    assert one.score_final.part("s_text").source == "default"
    as_is = open_memory(**retrieval(normalize={"missing_side": "as_is"}))
    assert number({o.text: o for o in as_is.search(QUERY, alpha=0.65)}["by meaning"]) == pytest.approx(0.57, abs=1e-6)


def test_equal_words_count_1_or_by_the_bare_formula_0(open_memory: Open, encoder: StandIn) -> None:
    near(encoder, {"q one": 0.0, "q two": 0.0})
    open_memory().add_many(["q one", "q two"])
    assert [one.features.s_text for one in open_memory().search(QUERY)] == [1.0, 1.0]
    zero = open_memory(**retrieval(normalize={"minmax_tie": "zero"}))
    assert [one.features.s_text for one in zero.search(QUERY)] == [0.0, 0.0]


def test_ts_eff_moves_with_the_text_and_not_with_votes_or_numbers(memory: Memory, clock: Clock) -> None:
    id_ = memory.add("q old", kind="task")
    clock.pass_days(14)
    memory.vote(id_, "helpful")
    memory.update(id_, confidence=0.9)
    assert only(memory.search(QUERY)).features.g.rec == pytest.approx(0.5)
    memory.update(id_, text="q new")
    assert only(memory.search(QUERY)).features.g.rec == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "rec"), [("fact", 0.5 ** (30 / 120)), ("task", 0.5 ** (30 / 14)), ("policy_hint", 0.5 ** (30 / 365))]
)
def test_the_half_life_is_the_kind_s(memory: Memory, kind: str, rec: float) -> None:
    memory.add("q", kind=kind, created_at=stamp(30))
    assert only(memory.search(QUERY)).features.g.rec == pytest.approx(rec)


@pytest.mark.parametrize("kind", ["rumor", "決定", "Meeting-Note", "x" * 64])
def test_any_word_is_a_kind_and_fades_by_the_common_half_life(open_memory: Open, kind: str) -> None:
    """Contract memory.33: four kinds have half-lives of their own; memory.34: 30 days for the rest."""
    memory = open_memory()
    memory.add_many([{"text": "q", "kind": kind, "created_at": stamp(30)}, {"text": "q fact"}])
    one = only(memory.search(QUERY, kinds=[kind]))
    assert one.claim.kind == kind
    assert one.features.g.rec == pytest.approx(0.5)
    assert [claim.kind for claim in memory.list(kinds=[kind])] == [kind]
    assert memory.stats().by_kind == {kind: 1, "fact": 1}
    slower = open_memory(**retrieval(hybrid={"recency_half_life_days": 60}))
    assert only(slower.search(QUERY, kinds=[kind])).features.g.rec == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    ("layers", "fact", "task"),
    [
        ([], 120, 14),
        ([{"hybrid": {"recency_half_life_days": 7}}], 7, 7),
        ([{"hybrid": {"recency_half_life_days": 7}, "rerank": {"half_life_days": {"task": 3}}}], 7, 3),
        ([{"rerank": {"half_life_days": {"task": None}}}], 120, 30),
        # A layer above that names a kind speaks of that kind alone; one that names the common half-life, of all.
        ([{"hybrid": {"recency_half_life_days": 7}}, {"rerank": {"half_life_days": {"task": 3}}}], 7, 3),
        ([{"rerank": {"half_life_days": {"task": 3}}}, {"hybrid": {"recency_half_life_days": 7}}], 7, 7),
        ([{"hybrid": {"recency_half_life_days": 7}}, {"hybrid": {"alpha": 0.5}}], 7, 7),
    ],
)
def test_recency_half_life_days_overrides_the_layers_below(
    open_memory: Open, layers: list[dict[str, Any]], fact: float, task: float
) -> None:
    """Contract memory.71: a policy may override `recency_half_life_days`, and that must have an effect."""
    memory = open_memory(project="web", **retrieval(**(layers[1] if len(layers) > 1 else {})))
    if layers:  # the project's, below the call's
        text = json.dumps({"retrieval": layers[0]})
        memory.store.call("store.set_policy", SetPolicy(text, memory.who.tenant, "web"))
    memory.add_many([{"text": f"q {kind}", "kind": kind, "created_at": stamp(10)} for kind in ("fact", "task")])
    found = {one.claim.kind: one.features.g.rec for one in memory.search(QUERY)}
    assert found == pytest.approx({"fact": 0.5 ** (10 / fact), "task": 0.5 ** (10 / task)})


def test_quality_counts_only_where_the_policy_says_so(open_memory: Open, clock: Clock) -> None:
    open_memory().add("q", quality=0.8)
    plain = number(only(open_memory().search(QUERY)))
    with_quality = open_memory(**retrieval(rerank={"use_quality": True}))
    # .5 + .5 x .8 = .9; after 120 days quality is .4: .7
    one = only(with_quality.search(QUERY))
    assert number(one) == pytest.approx(plain * 0.9)
    assert one.features.g.qual == pytest.approx(0.8)
    assert only(with_quality.search(QUERY, at=clock.now + 120 * DAY)).features.g.qual == pytest.approx(0.4)
    assert only(open_memory().search(QUERY)).to_dict()["features"]["g"].keys() == {"util", "conf", "rec"}


def test_utility_is_measured_against_what_may_be_read(open_memory: Open) -> None:
    mine, other = open_memory(tenant="mine"), open_memory(tenant="other")
    mine.add_many([{"text": "q one", "utility": 0.4}, {"text": "q two", "utility": 0.0}])
    other.add_many([{"text": f"q {n}", "utility": 1.0} for n in range(5)])
    # Of .4 and 0 the mean is .2, the deviation .2: z = 1 and -1.
    found = {one.text: one.features.g.util for one in mine.search(QUERY)}
    assert found == pytest.approx({"q one": 0.7310585786, "q two": 0.2689414214})


# Law, reason, answer.


def mixed(memory: Memory, encoder: StandIn) -> None:
    near(encoder, {"q near": 0.9, "q far": -0.9, "other": 0.1, "certain q": 0.5})
    memory.add_many(
        [
            {"text": "q near", "utility": 0.5, "provenance": {"source": "notes.md", "note": "said so"}},
            {"text": "q far", "confidence": 0.0, "created_at": stamp(900), "kind": "task"},
            {"text": "other", "created_at": stamp(3)},
            {"text": "certain q", "confidence": 1.0, "quality": 1.0},
        ]
    )


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"rerank": {"use_quality": True}},
        {"normalize": {"missing_side": "as_is"}},
        {"text": {"level": "L0"}, "vectors": {"level": "L1"}},
        {"normalize": {"minmax_tie": "zero"}},
    ],
)
def test_every_score_keeps_the_law(open_memory: Open, encoder: StandIn, said: dict[str, Any]) -> None:
    memory = open_memory(**retrieval(**said))
    mixed(memory, encoder)
    found = memory.search(QUERY)
    assert len(found) == 4
    for one in found:
        score = one.score_final
        assert_law(score)
        assert (score.name, score.policy) == ("score_final", found.policy_version)
        assert score.base == one.features.S
        assert {part.name for part in score.parts} == {"s_vec", "s_text"}
        assert {rule.name for rule in score.rules} <= {"utility", "confidence", "recency", "quality"}


def test_a_score_of_0_keeps_the_law_too(open_memory: Open, encoder: StandIn) -> None:
    near(encoder, {"opposite": -1.0})
    memory = open_memory()
    memory.add("opposite")
    one = only(memory.search(QUERY))
    assert number(one) == pytest.approx(0.0, abs=1e-6)
    assert_law(one.score_final)


def test_every_reason_has_the_grammar(memory: Memory, encoder: StandIn) -> None:
    mixed(memory, encoder)
    search, activate = memory.search(QUERY), memory.activate(QUERY)
    for one in search:
        assert GRAMMAR.fullmatch(one.reason), one.reason
        assert one.reason.endswith("below_threshold") is one.below_threshold is (number(one) < 0.15)
    assert any(one.below_threshold for one in search)
    assert not any(one.below_threshold for one in activate)
    for rejected in activate.rejected:
        assert GRAMMAR.fullmatch(rejected.reason), rejected.reason
        assert rejected.reason.endswith("below_threshold")


@pytest.mark.parametrize(("level", "name"), [("index", "FTS"), ("L2", "FTS"), ("L0", "ILIKE")])
def test_a_reason_names_the_level_that_it_came_from(open_memory: Open, level: str, name: str) -> None:
    """Contract memory.52 (`FTS=rank:2`) and memory.16: without FTS the rank is ILIKE's, and weighs otherwise."""
    memory = open_memory(**retrieval(text={"level": level}))
    memory.add_many(["q one", "q two"])
    answer = memory.search(QUERY)
    assert answer.text_level == level
    assert sorted(one.reason.partition(";")[0] for one in answer) == [f"{name}=rank:1", f"{name}=rank:2"]


def test_an_answer_has_the_spec_s_keys(open_memory: Open, encoder: StandIn) -> None:
    memory = open_memory(trace_id="trace-7", actor="ann")
    mixed(memory, encoder)
    answer = memory.activate(QUERY)
    data = answer.to_dict()
    assert {"active_context_id", "claims", "policy_version", "request_id", "trace_id"} <= data.keys()
    first = data["claims"][0]
    assert {"id", "text", "score_final", "features", "reason", "rank", "provenance"} <= first.keys()
    assert {"s_text", "s_vec", "S", "g"} <= first["features"].keys()
    assert {"util", "conf", "rec"} == first["features"]["g"].keys()
    assert data["active_context_id"].startswith("ac_")
    assert first["id"].startswith("clm_")
    assert isinstance(first["score_final"], float)
    assert data["trace_id"] == "trace-7"
    assert json.loads(json.dumps(data)) == data
    without = answer.to_dict(features=False)["claims"][0]
    assert without.keys().isdisjoint({"features", "reason"})


def test_search_makes_no_context_and_still_says_where_things_come_from(open_memory: Open, encoder: StandIn) -> None:
    memory = open_memory(trace_id="t", actor="ann")
    mixed(memory, encoder)
    answer = memory.search(QUERY)
    assert answer.active_context_id is None
    assert "active_context_id" not in answer.to_dict()
    assert (answer.policy_version != "", answer.request_id != "", answer.trace_id) == (True, True, "t")
    provenance = {one.text: one.claim.provenance for one in answer}["q near"]
    assert (provenance.source, provenance.note, provenance.actor) == ("notes.md", "said so", "ann")
    assert datetime.fromisoformat(provenance.at or "").tzinfo is not None
    assert memory.store.sql(f"SELECT count(*) FROM active_contexts WHERE tenant = '{memory.who.tenant}'") == [[0]]
    assert memory.store.sql(f"SELECT count(*) FROM active_context_items WHERE claim_id = '{answer[0].id}'") == [[0]]


def test_an_activation_is_kept_with_score_final(open_memory: Open, encoder: StandIn) -> None:
    memory = open_memory(project="web", session="s1", actor="ann", trace_id="t")
    mixed(memory, encoder)
    answer = memory.activate(QUERY)
    assert len(answer) > 1
    items = memory.store.sql(
        "SELECT ac_id, claim_id, rank, score FROM active_context_items "
        f"WHERE ac_id = '{answer.active_context_id}' ORDER BY rank"
    )
    assert items == [[answer.active_context_id, one.id, one.rank, number(one)] for one in answer]
    ((id_, tenant, project, expires, version, provenance),) = memory.store.sql(
        "SELECT id, tenant, project, epoch(expires_at), policy_version, provenance FROM active_contexts "
        f"WHERE tenant = '{memory.who.tenant}'"
    )
    assert (id_, tenant, project, version) == (
        answer.active_context_id,
        memory.who.tenant,
        "web",
        answer.policy_version,
    )
    assert expires == START + 24 * 3600
    assert datetime.fromisoformat(answer.expires_at or "").timestamp() == expires
    said = json.loads(provenance)
    assert (said["actor"], said["trace_id"], said["request_id"]) == ("ann", "t", answer.request_id)


def test_0_15_decides_what_enters_a_context_and_search_flags_it(memory: Memory, encoder: StandIn) -> None:
    near(encoder, {"just in": -0.23, "just out": -0.25})
    memory.add_many(["just in", "just out"])
    # Only meaning found them: S = .65 x (1 - .23) / 2 = .25025, x g = .6: .15015; (1 - .25) / 2 gives .14625.
    answer = memory.activate(QUERY, alpha=0.65)
    assert [one.text for one in answer] == ["just in"]
    (rejected,) = answer.rejected
    assert rejected.score_final == pytest.approx(0.14625, abs=1e-6)
    assert rejected.reason.endswith("below_threshold")
    assert events(memory, "activate")[-1]["below_threshold"] == [rejected.id]
    found = memory.search(QUERY, alpha=0.65)
    assert [(one.text, one.below_threshold) for one in found] == [("just in", False), ("just out", True)]
    assert events(memory, "search")[-1]["below_threshold"] == [rejected.id]


def test_the_threshold_itself_is_enough(open_memory: Open) -> None:
    open_memory(policy={"embed": {"model": "none"}}).add("q")
    # The only words: S = 1, g = .8 x .75 x 1 = .6.
    exact = {"embed": {"model": "none"}, "retrieval": {"threshold": 0.8 * 0.75}}
    assert len(open_memory(policy=exact).activate(QUERY)) == 1


# Events.


def test_events_carry_what_the_spec_names(open_memory: Open, encoder: StandIn) -> None:
    memory = open_memory(trace_id="trace-7")
    mixed(memory, encoder)
    for action, topic in ((memory.activate, "activate"), (memory.search, "search")):
        answer = action(QUERY, alpha=0.65)
        (event,) = events(memory, topic)
        assert (event["request_id"], event["trace_id"]) == (answer.request_id, "trace-7")
        assert event["policy_version"] == answer.policy_version
        assert (event["alpha"], event["k_txt"], event["k_vec"], event["k_final"]) == (
            answer.alpha,
            answer.k_txt,
            answer.k_vec,
            answer.k_final,
        )
        assert event["claims"] == [one.id for one in answer]
        assert event["statistics"].keys() == {"s_text", "s_vec", "S", "g", "score_final"}
        assert all(numbers.keys() == {"avg", "p50", "p90"} for numbers in event["statistics"].values())
        assert QUERY not in json.dumps(event["claims"])
    assert events(memory, "activate")[0]["active_context_id"].startswith("ac_")


def test_every_answer_and_event_has_a_trace_id(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract memory.10: `search` always carries request_id and trace_id; memory.13: so does every event."""
    from scalepan.memory.requests import Ask

    memory = open_memory()
    claim, other = memory.add("q one"), memory.add("q two")
    answers = [memory.search(QUERY), memory.search(QUERY), memory.activate(QUERY)]
    direct = memory.store.call("memory.activate", Ask(QUERY, who=memory.who))
    vote = memory.vote(claim, "helpful")
    memory.undo_vote(vote.id)
    memory.update(claim, text="q changed")
    memory.link(claim, other)
    memory.forget(other)
    broken = open_memory(**retrieval(text={"level": "L0"}))
    monkeypatch.setitem(levels.TEXT_LEVELS, "L0", None)
    fell = broken.search(QUERY)
    memory.store.call("store.set_policy", SetPolicy("", memory.who.tenant))
    traces = [answer.trace_id for answer in (*answers, direct, fell)]
    assert all(traces)
    assert len(set(traces)) == len(traces), "calls that have nothing to do with each other"
    ids = {answer.request_id: answer.trace_id for answer in (*answers, direct, fell)}
    for topic in ("ingest", "search", "activate", "critic", "search_fallback", "policy"):
        found = events(memory, topic)
        assert found, topic
        for event in found:
            assert event["trace_id"], topic
            assert event["trace_id"] == ids.get(event["request_id"], event["trace_id"]), topic
    given = open_memory(trace_id="mine")
    assert [given.search(QUERY).trace_id, given.activate(QUERY).trace_id] == ["mine", "mine"]


def test_the_statistics_by_hand(memory: Memory, encoder: StandIn) -> None:
    near(encoder, {"one": 0.2, "two": 0.4, "three": 0.9})
    memory.add_many(["one", "two", "three"])
    memory.search(QUERY, alpha=1.0)
    found = events(memory, "search")[-1]["statistics"]
    # s_vec .6 .7 .95: avg .75, p50 .7, p90 .7 + .8 x .25 = .9; g = .6 for each; no words.
    assert found["s_vec"] == pytest.approx({"avg": 0.75, "p50": 0.7, "p90": 0.9}, abs=1e-6)
    assert found["S"] == found["s_vec"]
    assert found["g"] == pytest.approx({"avg": 0.6, "p50": 0.6, "p90": 0.6})
    assert found["score_final"] == pytest.approx({"avg": 0.45, "p50": 0.42, "p90": 0.54}, abs=1e-6)
    assert found["s_text"] == {"avg": 0.0, "p50": 0.0, "p90": 0.0}


def test_a_policy_of_tenant_or_project_is_an_event_and_holds(open_memory: Open) -> None:
    memory = open_memory(tenant="acme", project="web")
    before = memory.add("q") and memory.search(QUERY).policy_version
    policy = SetPolicy("retrieval: {hybrid: {k_final: 3}}", memory.who.tenant, "web")
    memory.store.call("store.set_policy", policy)
    after = memory.search(QUERY)
    assert after.k_final == 3
    assert after.policy_version != before
    assert [event["project"] for event in events(memory, "policy")] == ["web"]
    assert open_memory(tenant="acme", project="else").search(QUERY).k_final == 12


# k and alpha.


@pytest.mark.parametrize(
    ("claims", "k_txt", "k_vec"),
    [
        (1, 16, 32),  # k = 4: 16 and 32; 1 < 4 / 2 on both sides: once twice as many
        (2, 16, 32),
    ],
)
def test_a_side_with_too_few_hits_is_asked_once_more(memory: Memory, claims: int, k_txt: int, k_vec: int) -> None:
    memory.add_many([f"q {'x' * n}" for n in range(claims)])
    answer = memory.search(QUERY, k=4)
    doubled = 2 if claims < 4 / 2 else 1
    assert (answer.k_txt, answer.k_vec) == (k_txt * doubled, k_vec * doubled)


def test_only_the_side_that_lacks_is_expanded_and_only_once(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from scalepan.memory.recall.candidates import levels

    asked: list[tuple[str, int]] = []
    for ladder in (levels.TEXT_LEVELS, levels.VECTOR_LEVELS):
        level = ladder["index"]

        def spied(query: Any, k: int, level: Any = level) -> Any:
            asked.append((level.__name__, k))
            return level(query, k)

        monkeypatch.setitem(ladder, "index", spied)
    memory = open_memory()
    memory.add_many([f"text {n}" for n in range(9)])
    memory.search("nothing such", k=4)
    assert asked == [("index_words", 16), ("index_words", 32), ("index_vectors", 32)]
    asked.clear()
    open_memory(**retrieval(dynamic={"expand": False})).search("nothing such", k=4)
    assert asked == [("index_words", 16), ("index_vectors", 32)]


def test_k_and_max_tokens_bound_what_is_returned(memory: Memory) -> None:
    memory.add_many([f"q number {n} " + "word " * 20 for n in range(6)])
    assert len(memory.search(QUERY, k=2)) == 2
    everything = memory.search(QUERY)
    some = memory.search(QUERY, max_tokens=50)
    assert 0 < len(some) < len(everything) == 6
    assert any("max_tokens=50" in one.reason for one in some.rejected)
    assert len(memory.search(QUERY, max_tokens=1)) == 0
    for wrong in ({"k": 0}, {"k": 100_000}, {"alpha": 1.5}, {"alpha": -0.1}, {"max_tokens": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            memory.search(QUERY, **wrong)


def test_alpha_by_call_policy_environment_and_query(open_memory: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "cancel yearly plan"
    open_memory().add("cancel yearly plan")
    assert open_memory().search(query).alpha == 0.65
    assert open_memory().search(query, alpha=0.2).alpha == 0.2
    assert open_memory(**retrieval(hybrid={"alpha": 0.5})).search(query).alpha == 0.5
    monkeypatch.setenv("SCALEPAN_RETRIEVAL__HYBRID__ALPHA", "0.8")
    assert open_memory().search(query).alpha == 0.8
    short = open_memory().search("plan")
    assert (short.alpha, short.why_alpha) == (0.4, "at most 2 words")


# memory.44 to memory.48 together.


def test_equal_content_in_several_scopes_is_recalled_once(open_memory: Open, encoder: StandIn) -> None:
    near(encoder, {"q same": 0.9, "q other": 0.5})
    memory = open_memory(session="s1")
    memory.add_many([{"text": "q same", "scope": scope} for scope in ("session", "project", "principle")])
    memory.add("q other")
    found = memory.search(QUERY)
    assert sorted(one.text for one in found) == ["q other", "q same"]
    assert sum("repeats=content" in one.reason for one in found.rejected) == 2
    every = open_memory(session="s1", **retrieval(diversity={"unique_content": False}))
    assert len(every.search(QUERY)) == 4


def test_at_most_two_claims_about_one_entity_enter_a_context(open_memory: Open) -> None:
    """Contract memory.48: MMR and the cap shape an active context, a search only where call or policy ask."""
    memory = open_memory()
    memory.add_many([{"text": f"q {n}", "entities": ["Billing"]} for n in range(4)] + [{"text": "q free"}])
    asks = open_memory(**retrieval(diversity={"search": True}))
    for found in (memory.activate(QUERY), memory.search(QUERY, diverse=True), asks.search(QUERY)):
        assert len(found) == 3
        assert sum("entity_cap=2" in one.reason for one in found.rejected) == 2
    assert len(memory.search(QUERY)) == len(asks.search(QUERY, diverse=False)) == 5


def test_mmr_prefers_what_is_unlike(open_memory: Open, encoder: StandIn) -> None:
    # Cosines to the query: .98, .97, .8; the first two are almost the same, the third is on the other side.
    encoder.taught[QUERY] = [1.0, 0.0]
    encoder.taught |= {"a": [0.98, 0.199], "b": [0.97, 0.243], "c": [0.8, -0.6]}
    open_memory().add_many(["a", "b", "c"])
    # a .594, b .591, c .54. After a: b .85 x .591 - .15 x .999 = .352; c .85 x .54 - .15 x .665 = .359.
    assert [one.text for one in open_memory().activate(QUERY, alpha=1.0)] == ["a", "c", "b"]
    assert [one.text for one in open_memory().search(QUERY, alpha=1.0, diverse=True)] == ["a", "c", "b"]
    plain = open_memory(**retrieval(diversity={"mmr_lambda": 1.0}))
    assert [one.text for one in plain.activate(QUERY, alpha=1.0)] == ["a", "b", "c"]


def test_search_gives_the_top_k_by_score_final(open_memory: Open, encoder: StandIn) -> None:
    """Contract memory.10 and memory.11: `search` makes no context and returns the top k; equal contents count once."""
    encoder.taught[QUERY] = [1.0, 0.0]
    encoder.taught |= {"a": [0.98, 0.199], "b": [0.97, 0.243], "c": [0.8, -0.6]}
    memory = open_memory(session="s1")
    memory.add_many([{"text": text, "entities": ["Billing"]} for text in ("a", "b", "c")])
    memory.add("a", scope="session")
    found = memory.search(QUERY, alpha=1.0)
    assert [one.text for one in found] == ["a", "b", "c"]
    assert [number(one) for one in found] == sorted(map(number, found), reverse=True)
    assert [one.features.score_div for one in found] == [None] * 3
    assert [one.text for one in memory.search(QUERY, k=2, alpha=1.0)] == ["a", "b"]
