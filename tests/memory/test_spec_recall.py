"""The flow of spec/memory.md, from query to kept context: sections 1, 6, 7, 9 and the checklist of section 10."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from karat.errors import InputError, MissingExtraError, TookTooLongError
from karat.memory import Memory
from karat.memory.answers import Recall, Recalled
from karat.store.policies import SetPolicy
from tests.law import assert_law
from tests.memory.conftest import DAY, START, Clock, Open, StandIn

QUERY = "q"
GRAMMAR = re.compile(
    r"(?:FTS=rank:\d+; )?(?:cos=-?\d\.\d\d; )?recent=\d+d; util=[01]\.\d\d; conf=[01]\.\d\d(?:; below_threshold)?"
)


def retrieval(**said: Any) -> dict[str, Any]:
    return {"policy": {"retrieval": said}}


def stamp(days_ago: float) -> str:
    return datetime.fromtimestamp(START - days_ago * DAY, UTC).isoformat()


def events(memory: Memory, topic: str) -> list[dict[str, Any]]:
    # An event about a search is written after its answer; whoever gets the writer's turn now comes behind it.
    memory.store.call("store.set_policy", SetPolicy("", "nobody"))
    rows = memory.store.sql(
        "SELECT request_id, trace_id, payload FROM events "
        f"WHERE topic = '{topic}' AND tenant = '{memory.who.tenant}' ORDER BY ts, rowid"
    )
    return [{"request_id": request, "trace_id": trace, **json.loads(payload)} for request, trace, payload in rows]


def only(answer: Recall) -> Recalled:
    (one,) = answer.claims
    return one


def number(one: Recalled) -> float:
    return float(one.score_final)


def near(encoder: StandIn, cosines: Mapping[str, float]) -> None:
    """Teach how near texts are to the query."""
    encoder.taught[QUERY] = [1.0]
    for text, sim in cosines.items():
        encoder.cosine(text, sim)


# Sections 1 to 4 in one number.


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


def test_an_answer_has_the_spec_s_keys(open_memory: Open, encoder: StandIn) -> None:
    memory = open_memory(trace_id="trace 7", actor="ann")
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
    assert data["trace_id"] == "trace 7"
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
    memory = open_memory(trace_id="trace 7")
    mixed(memory, encoder)
    for action, topic in ((memory.activate, "activate"), (memory.search, "search")):
        answer = action(QUERY, alpha=0.65)
        (event,) = events(memory, topic)
        assert (event["request_id"], event["trace_id"]) == (answer.request_id, "trace 7")
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
    from karat.memory.candidates import levels

    asked: list[tuple[str, int]] = []
    for ladder in (levels.TEXT_LEVELS, levels.VECTOR_LEVELS):
        level = ladder["index"]

        def spied(sought: Any, k: int, level: Any = level) -> Any:
            asked.append((level.__name__, k))
            return level(sought, k)

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
    monkeypatch.setenv("KARAT_RETRIEVAL__HYBRID__ALPHA", "0.8")
    assert open_memory().search(query).alpha == 0.8
    short = open_memory().search("plan")
    assert (short.alpha, short.why_alpha) == (0.4, "at most 2 words")


# Section 5.3 through and through.


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


def test_at_most_two_claims_about_one_entity(memory: Memory) -> None:
    memory.add_many([{"text": f"q {n}", "entities": ["Billing"]} for n in range(4)] + [{"text": "q free"}])
    found = memory.search(QUERY)
    assert len(found) == 3
    assert sum("entity_cap=2" in one.reason for one in found.rejected) == 2


def test_mmr_prefers_what_is_unlike(open_memory: Open, encoder: StandIn) -> None:
    # Cosines to the query: .98, .97, .8; the first two are almost the same, the third is on the other side.
    encoder.taught[QUERY] = [1.0, 0.0]
    encoder.taught |= {"a": [0.98, 0.199], "b": [0.97, 0.243], "c": [0.8, -0.6]}
    open_memory().add_many(["a", "b", "c"])
    # a .594, b .591, c .54. After a: b .85 x .591 - .15 x .999 = .352; c .85 x .54 - .15 x .665 = .359.
    assert [one.text for one in open_memory().search(QUERY, alpha=1.0)] == ["a", "c", "b"]
    plain = open_memory(**retrieval(diversity={"mmr_lambda": 1.0}))
    assert [one.text for one in plain.search(QUERY, alpha=1.0)] == ["a", "b", "c"]


# Section 9: what is missing is said, and recall goes on.


@pytest.fixture
def no_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise MissingExtraError(f"DuckDB's {name} extension", "search")

    monkeypatch.setattr("karat.memory.candidates.side.extension_file", missing)


def test_without_extensions_l2_and_l3_fall_back_and_say_so(open_memory: Open, no_extensions: None) -> None:
    memory = open_memory(trace_id="t", **retrieval(text={"level": "L2"}, vectors={"level": "L3"}))
    memory.add_many(["q one", "q two"])
    answer = memory.search(QUERY)
    assert (answer.text_level, answer.vector_level) == ("L0", "L1")
    assert len(answer) == 2
    assert sum("pip install 'karat[search]'" in note for note in answer.notes) == 2
    fallbacks = events(memory, "search_fallback")
    assert [(event["from"], event["to"]) for event in fallbacks] == [("L2", "L0"), ("L3", "L1")]
    assert {(event["request_id"], event["trace_id"]) for event in fallbacks} == {(answer.request_id, "t")}
    # L0 gives 1 / (1 + rank): 1/2 and 1/3.
    assert sorted(one.features.s_text or 0 for one in answer) == pytest.approx([1 / 3, 1 / 2])


def test_the_index_falls_back_too(open_memory: Open, no_extensions: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from karat.memory.candidates import levels

    def broken(*_: object) -> None:
        raise RuntimeError("no index")

    memory = open_memory()
    memory.add("q")
    for ladder in (levels.TEXT_LEVELS, levels.VECTOR_LEVELS):
        monkeypatch.setitem(ladder, "index", broken)
    answer = memory.search(QUERY)
    assert (answer.text_level, answer.vector_level, len(answer)) == ("L0", "L1", 1)
    steps = [(event["from"], event["to"]) for event in events(memory, "search_fallback")]
    assert steps == [("index", "L2"), ("L2", "L0"), ("index", "L3"), ("L3", "L1")]
    for ladder, last in ((levels.TEXT_LEVELS, "L0"), (levels.VECTOR_LEVELS, "L1")):
        monkeypatch.setitem(ladder, last, broken)
    answer = memory.search(QUERY)
    assert (answer.text_level, answer.vector_level, len(answer)) == ("", "", 0)


def test_no_fallback_is_no_event(memory: Memory) -> None:
    memory.add("q")
    memory.search(QUERY)
    assert events(memory, "search_fallback") == []


def test_all_levels_find_the_same_nearest_claim(open_memory: Open, encoder: StandIn) -> None:
    near(encoder, {"q near": 0.9, "q far q": -0.5, "unrelated": 0.0})
    open_memory().add_many(["q near", "q far q", "unrelated"])
    for text, vector in (("index", "index"), ("L2", "L3"), ("L0", "L1")):
        memory = open_memory(**retrieval(text={"level": text}, vectors={"level": vector}))
        answer = memory.search(QUERY, alpha=0.65)
        assert (answer.text_level, answer.vector_level) == (text, vector), answer.notes
        assert answer[0].text == "q near"
        # Whatever the level, s_vec is (cos + 1) / 2: distance and cosine are not mixed.
        found = {one.text: one.features.s_vec for one in answer}
        assert found == pytest.approx({"q near": 0.95, "q far q": 0.25, "unrelated": 0.5}, abs=1e-6)


def test_without_an_encoder_recall_uses_words_alone_and_says_so(open_memory: Open) -> None:
    memory = open_memory(policy={"embed": {"model": "none"}})
    memory.add_many(["q one", "nothing of the kind"])
    answer = memory.search(QUERY)
    one = only(answer)
    # Words alone count as they are: S = 1, not .35; g = .6.
    assert one.features.s_vec is None
    assert number(one) == pytest.approx(0.6)
    assert any("no encoder found: recall uses words only" in note for note in answer.notes)
    part = one.score_final.part("s_vec")
    assert (part.weight, part.source) == (0.0, "default")
    assert "no encoder" in part.note
    assert len(memory.activate(QUERY)) == 1
    assert_law(one.score_final)


def test_without_calibration_the_plain_mapping_is_used_and_said(memory: Memory) -> None:
    memory.add("q")
    assert any(note.startswith("not calibrated: min-max and (cos + 1) / 2") for note in memory.search(QUERY).notes)


CURVES = {
    "text": {"method": "isotonic", "x": [0.0, 100.0], "y": [0.25, 0.25]},
    "vector": {"method": "isotonic", "x": [-1.0, 1.0], "y": [0.75, 0.75]},
}


def test_calibration_is_used_where_it_fits(open_memory: Open) -> None:
    open_memory().add("q")
    fitted = open_memory(**retrieval(calibration={**CURVES, "model": "stand-in@1"}))
    answer = fitted.search(QUERY)
    assert (only(answer).features.s_text, only(answer).features.s_vec) == (0.25, 0.75)
    assert not any("calibrated" in note for note in answer.notes)
    assert answer.policy_version != open_memory().search(QUERY).policy_version


@pytest.mark.parametrize(
    ("said", "s_text", "s_vec"),
    [
        ({"use": False}, 1.0, 1.0),
        ({"model": "another@2"}, 0.25, 1.0),
        ({"terms": "terms of old"}, 1.0, 0.75),
    ],
)
def test_calibration_that_does_not_fit_is_not_used_and_that_is_said(
    open_memory: Open, said: dict[str, Any], s_text: float, s_vec: float
) -> None:
    open_memory().add("q")
    answer = open_memory(**retrieval(calibration={**CURVES, **said})).search(QUERY)
    features = only(answer).features
    assert (features.s_text, features.s_vec) == pytest.approx((s_text, s_vec), abs=1e-6)
    assert any("not calibrated" in note for note in answer.notes), answer.notes


def test_calibration_of_one_side_only_says_that_the_other_is_plain(open_memory: Open) -> None:
    open_memory().add("q")
    answer = open_memory(**retrieval(calibration={"vector": CURVES["vector"]})).search(QUERY)
    assert any("not calibrated" in note and "min-max" in note for note in answer.notes), answer.notes


def test_a_query_that_nothing_answers_gives_an_empty_answer(open_memory: Open) -> None:
    for memory in (open_memory(), open_memory(policy={"embed": {"model": "none"}})):
        assert len(memory.search(QUERY)) == 0
        assert len(memory.activate(QUERY)) == 0
        memory.add("something else", boundary_class="secret")
        assert len(memory.search("!!!")) == 0


@pytest.mark.parametrize("action", ["search", "activate"])
def test_a_time_limit_by_policy_or_environment(open_memory: Open, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    open_memory().add("q")
    with pytest.raises(TookTooLongError, match=r"retrieval\.timeout_ms"):
        getattr(open_memory(**retrieval(timeout_ms=1e-6)), action)(QUERY)
    monkeypatch.setenv("KARAT_RETRIEVAL__TIMEOUT_MS", "0.000001")
    with pytest.raises(TookTooLongError, match=r"retrieval\.timeout_ms"):
        getattr(open_memory(), action)(QUERY)
    monkeypatch.setenv("KARAT_RETRIEVAL__TIMEOUT_MS", "60000")
    assert len(getattr(open_memory(), action)(QUERY)) == 1


@pytest.mark.parametrize("level", ["L0", "L2"])
def test_a_time_limit_holds_for_sql_too_and_is_no_fallback(open_memory: Open, level: str) -> None:
    memory = open_memory(**retrieval(timeout_ms=1e-6, text={"level": level}))
    with pytest.raises(TookTooLongError):
        memory.search(QUERY)
    assert events(memory, "search_fallback") == []


# Japanese.

SENTENCE = "年間契約のお客様は次回更新日の三十日前までに解約手続きを完了する必要があります"


@pytest.mark.parametrize("morphology", ["auto", "off"])
@pytest.mark.parametrize("word", ["解約", "解約手続き", "お客様", "更新日"])
def test_unspaced_japanese_is_found_by_a_word_in_its_middle(open_memory: Open, morphology: str, word: str) -> None:
    policy = {"embed": {"model": "none"}, "retrieval": {"morphology": morphology}}
    memory = open_memory(policy=policy)
    memory.add_many([SENTENCE, "配送先の住所は注文画面で変更できます"])
    assert memory.search(word)[0].text == SENTENCE
    assert memory.activate(word)[0].text == SENTENCE


@pytest.mark.parametrize("level", ["L2", "L0"])
def test_unspaced_japanese_is_found_at_every_level(open_memory: Open, level: str) -> None:
    memory = open_memory(policy={"embed": {"model": "none"}, "retrieval": {"text": {"level": level}}})
    memory.add_many([SENTENCE, "配送先の住所は注文画面で変更できます"])
    answer = memory.search("解約手続き")
    assert (answer.text_level, [one.text for one in answer]) == (level, [SENTENCE])


def test_ilike_takes_signs_as_they_are_and_width_and_case_as_one(open_memory: Open) -> None:
    memory = open_memory(policy={"embed": {"model": "none"}, "retrieval": {"text": {"level": "L0"}}})
    memory.add_many(["100% of ＡＰＩ_calls", "100 of apixcalls", r"a\b"])
    for query, text in (("100%", "100% of ＡＰＩ_calls"), ("api_CALLS", "100% of ＡＰＩ_calls"), ("a\\b", r"a\b")):
        assert [one.text for one in memory.search(query)] == [text]


# Section 10: the macros.


def test_the_macros_are_there_and_right(memory: Memory) -> None:
    memory.add("q")
    ((cos, low, high, now, half, ahead),) = memory.store.sql(
        "SELECT cos_sim([1.0, 0.0], [1.0, 1.0]), norm_cos(-1.0), norm_cos(0.82), recency_decay(now()::TIMESTAMP, 30), "
        "recency_decay(TIMESTAMP '2026-01-01', 30, moment := TIMESTAMP '2026-01-31'), "
        "recency_decay(TIMESTAMP '2026-02-01', 30, moment := TIMESTAMP '2026-01-31')"
    )
    assert cos == pytest.approx(0.5**0.5)
    assert (low, high) == pytest.approx((0.0, 0.91))
    assert now == pytest.approx(1.0, abs=1e-3)
    assert (half, ahead) == pytest.approx((0.5, 1.0))


def test_terms_of_a_claim_do_not_depend_on_who_added_it(open_memory: Open) -> None:
    """Index and table agree: a claim that is added to a living index is found as after a rebuild."""
    none = {"model": "none"}
    reader = open_memory(policy={"embed": none})
    reader.add("最初の文")
    assert len(reader.search("最初")) == 1
    writer = open_memory(policy={"embed": none, "retrieval": {"morphology": "off"}})
    writer.add("食べられませんでした")
    living = [one.text for one in reader.search("食べる")]
    reader.close()
    writer.close()
    assert [one.text for one in open_memory(policy={"embed": none}).search("食べる")] == living
