"""Every number that is kept can be made again; what was altered is named; what cannot be known says why."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.confidence.requests import Record
from scalepan.errors import NotFoundError
from scalepan.memory import Memory
from scalepan.receipts import explain
from scalepan.score import Score
from scalepan.store import Store
from scalepan.store.duckdb.schema import MIGRATIONS
from tests.memory.test_forget import every_value
from tests.receipts.conftest import WORDLESS, Shop


def said(shop: Shop, id_: str | None, **who: Any) -> tuple[str, list[str]]:
    """The status, and every difference as a line."""
    found = shop.explain(id_, **who)
    return found.status, [str(one) for number in found.numbers for one in number.differences]


@pytest.mark.parametrize("name", ["voted", "vote", "context", "decision", "value", "case"])
def test_what_was_kept_comes_out_again(shop: Shop, name: str) -> None:
    found = shop.explain(shop.ids()[name])
    assert found.numbers
    for number in found.numbers:
        assert (number.status, number.differences, number.reason) == ("equal", [], "")
        # Arrays and single numbers have each their own exp, which for some ages differ in the last digit.
        assert number.recomputed == pytest.approx(number.value, abs=1e-12)
        assert number.at
        assert number.explanation


def test_the_numbers_by_hand(shop: Shop) -> None:
    def value(id_: str) -> float | None:
        return shop.explain(id_).numbers[0].value

    assert value(shop.decision) == 0.733  # (.6 x .8 + .4 x 1 + .2 x 0) / 1.2
    # C = 3/4 x .5 + 5/20 x .2 = .425, N = .5, D = 2/5 x 3 = 1, O = .9
    assert value(shop.value) == pytest.approx(0.25 * 0.425 + 0.35 * 0.5 + 0.15 * 1 + 0.25 * 0.9)
    assert value(shop.case) == 0.875  # (3 x 1 + .5) / 4
    assert [number.value for number in shop.explain(shop.vote).numbers] == pytest.approx([0.1, 0.55])
    # Words alone, the best: S = 1. Utility .1 beside 0: z = 1, sigma .731. Confidence .55. Brand new.
    by_hand = (0.6 + 0.4 * 0.7310585786) * (0.5 + 0.5 * 0.55) * 1.0
    assert value(shop.context) == pytest.approx(by_hand, abs=1e-6)


PATCH = "UPDATE scores SET {column} = json_merge_patch({column}, ?) WHERE name = ?"


@pytest.mark.parametrize(
    ("name", "of", "patch", "named", "follows"),
    [
        (
            *("decision", "confidence", '{"factors": {"search_max_score": 0.95}}'),
            "input factors.search_max_score: 0.95 is not what was recorded",
            "part search_quality: stored 0.8, recomputed 0.95",
        ),
        (
            *("decision", "confidence", '{"policy": {"weights": {"tool_success": 0.1}}}'),
            "input policy.weights.tool_success: 0.1 is not what was recorded",
            "value: stored 0.733, recomputed 0.644",  # (.6 x .8 + .1) / .9
        ),
        (
            *("decision", "confidence", '{"policy": {"thresholds": {"silent": 0.72}}}'),
            "input policy.thresholds.silent: 0.72 is not what was recorded",
            "level of the decision: stored notify, recomputed silent",
        ),
        (
            *("context", "score_final", '{"utility": -0.4}'),
            "input utility: -0.4 is not what was recorded",
            "rule utility: stored",
        ),
        (
            *("context", "score_final", '{"half_life_days": 0.000001}'),
            "input half_life_days: 1e-06 is not what was recorded",
            "feature g.rec: stored",
        ),
        (
            *("value", "value", '{"novelty": 0.9}'),
            "input novelty: 0.9 is not what was recorded",
            "verdict: stored keep, recomputed share",  # .65625 + .4 x .35 = .79625
        ),
        (
            *("value", "value", '{"shape": {"steps": 10}}'),
            "input shape.steps: 10 is not what was recorded",
            "part tool_diversity: stored 1, recomputed 0.6",
        ),
        (
            *("case", "case", '{"scorers": {"quality": {"score": 0.7}}}'),
            "input scorers.quality.score: 0.7 is not what was recorded",
            "verdict: stored failed, recomputed passed",
        ),
        (
            *("case", "case", '{"scorers": {"accuracy": {"weight": 1.0}}}'),
            "input scorers.accuracy.weight: 1 is not what was recorded",
            "weight of accuracy: stored 0.75, recomputed 0.5",
        ),
    ],
)
def test_an_altered_input_is_named(shop: Shop, name: str, of: str, patch: str, named: str, follows: str) -> None:
    shop.alter(PATCH.format(column="inputs"), patch, of)
    status, differences = said(shop, shop.ids()[name])
    assert status == "changed"
    assert named in differences
    assert any(line.startswith(follows) for line in differences), differences


def test_an_input_that_changes_nothing_is_found_by_its_mark(shop: Shop) -> None:
    shop.alter(PATCH.format(column="inputs"), '{"factors": {"search_avg_score": 0.4}}', "confidence")
    found = shop.explain(shop.decision)
    assert found.numbers[0].recomputed == found.numbers[0].value
    assert said(shop, shop.decision) == (
        "changed",
        ["input factors.search_avg_score: 0.4 is not what was recorded"],
    )


def test_an_input_that_is_gone_or_nonsense_is_changed_and_says_why_nothing_comes_out(shop: Shop) -> None:
    shop.alter(
        "UPDATE scores SET inputs = json_merge_patch(inputs, '{\"s_text\": \"many\"}') WHERE name = 'score_final'"
    )
    (number, *_) = shop.explain(shop.context).numbers
    assert (number.status, number.recomputed) == ("changed", None)
    assert number.reason
    shop.alter("UPDATE scores SET inputs = json_merge_patch(inputs, '{\"novelty\": null}') WHERE name = 'value'")
    status, differences = said(shop, shop.value)
    assert status == "changed"
    assert "input: one that was recorded is missing" in differences


@pytest.mark.parametrize(
    ("name", "query", "difference"),
    [
        ("decision", "UPDATE scores SET value = 0.9 WHERE name = 'confidence'", "value: stored 0.9, recomputed 0.733"),
        (
            "decision",
            "UPDATE decisions SET level = 'silent'",
            "level of the decision: stored silent, recomputed notify",
        ),
        (
            "decision",
            "UPDATE decisions SET body = json_merge_patch(body, '{\"confidence\": 0.8}')",
            "confidence of the decision: stored 0.8, recomputed 0.733",
        ),
        ("decision", "UPDATE scores SET policy_version = 'other'", "policy_version: stored other, recomputed"),
        (
            "decision",
            "UPDATE scores SET body = replace(body::TEXT, '\"value\":0.8,', '\"value\":0.7,')",
            "part search_quality: stored 0.7, recomputed 0.8",
        ),
        ("context", "UPDATE active_context_items SET score = 0.2", "score in the context: stored 0.2, recomputed"),
        (
            "context",
            'UPDATE active_context_items SET features = json_merge_patch(features, \'{"g": {"conf": 1.0}}\')',
            "feature g.conf: stored 1, recomputed 0.55",
        ),
        ("context", "UPDATE active_contexts SET policy_version = 'x'", "policy_version of the context: stored x"),
        ("voted", "UPDATE claims SET utility = 0.7", "utility: stored 0.7, recomputed 0.1"),
        ("voted", "UPDATE claims SET confidence = 0.7", "confidence: stored 0.7, recomputed 0.55"),
        (
            "voted",
            "UPDATE feedbacks SET signal = 'harmful'",
            "input signal of vote fb_",
        ),
        ("vote", "UPDATE feedbacks SET signal = 'harmful'", "utility: stored 0.1, recomputed -0.2"),
        (
            "vote",
            'UPDATE feedbacks SET body = json_merge_patch(body, \'{"policy": {"helpful": {"utility": 0.3}}}\')',
            "input policy.helpful.utility: 0.3 is not what was recorded",
        ),
        (
            "vote",
            'UPDATE feedbacks SET body = json_merge_patch(body, \'{"after": {"utility": 0.3}}\')',
            "utility: stored 0.3, recomputed 0.1",
        ),
        ("vote", "UPDATE feedbacks SET ts = ts - INTERVAL 1 SECOND", "input at: "),
    ],
)
def test_an_altered_result_is_told_apart(shop: Shop, name: str, query: str, difference: str) -> None:
    shop.alter(query)
    status, differences = said(shop, shop.ids()[name])
    assert status == "changed"
    assert any(line.startswith(difference) for line in differences), differences


def test_other_names_lead_to_the_same_number(shop: Shop) -> None:
    by_number = shop.explain(shop.value)
    for id_ in ("kp:trace:rename-1", "rename-1"):
        assert shop.explain(id_).numbers == by_number.numbers
    assert shop.explain("cart-rename-001").numbers[0].id == shop.case
    assert shop.explain(None).numbers[0].id == shop.case  # the last one
    (score, *_) = shop.explain(shop.context).numbers
    assert shop.explain(score.id).numbers == [score]
    assert score.about == shop.voted
    assert shop.explain(shop.decision).numbers[0].about == shop.decision


def test_a_claim_that_nobody_voted_for_is_as_it_was_given(shop: Shop) -> None:
    found = shop.explain(shop.plain)
    assert found.status == "unknown"
    assert {number.reason for number in found.numbers} == {"nobody voted: it is as it was given"}


def test_no_number_of_that_id(shop: Shop) -> None:
    for id_ in ("scr_none", "dec_none", "ac_none", "clm_none", "fb_none", "evt_1", "?", "' OR 1=1 --"):
        with pytest.raises(NotFoundError, match=r"scr_….*dec_….*ac_….*clm_….*fb_…"):
            shop.explain(id_)


@pytest.mark.parametrize("who", [{"tenant": "other"}, {"tenant": "other", "project": None}])
def test_numbers_of_another_tenant_do_not_exist(shop: Shop, who: dict[str, Any]) -> None:
    (score, *_) = shop.explain(shop.context).numbers
    for id_ in (*shop.ids().values(), score.id, "kp:trace:rename-1"):
        with pytest.raises(NotFoundError):
            shop.explain(id_, **who)
    with pytest.raises(NotFoundError, match="yet"):
        shop.explain(None, **who)


def test_what_is_of_another_project_or_a_shut_class_does_not_exist(shop: Shop) -> None:
    (score, *_) = shop.explain(shop.context).numbers
    for id_ in (shop.context, shop.voted, shop.vote, score.id):
        with pytest.raises(NotFoundError):
            shop.explain(id_, project="else")
    for id_ in (shop.voted, shop.vote, score.id):
        with pytest.raises(NotFoundError):
            shop.explain(id_, classes=["public"])


def test_claims_of_a_session_are_left_out_where_another_one_asks(shop: Shop) -> None:
    with Memory(shop.path, policy=WORDLESS, session="s1") as memory:
        secret = memory.add("The zeppelin lands at noon", scope="session")
        alone = memory.activate("zeppelin").active_context_id
        both = memory.activate("When does the harbor open at dawn, and the zeppelin land at noon?").active_context_id
    assert {number.about for number in shop.explain(both).numbers} >= {secret, shop.voted}
    others = shop.explain(both, session="s2")
    assert (others.status, secret in [number.about for number in others.numbers]) == ("equal", False)
    assert [number.about for number in shop.explain(alone).numbers] == [secret]
    with pytest.raises(NotFoundError):
        shop.explain(alone, session="s2")


def test_forgetting_leaves_no_number_behind(shop: Shop) -> None:
    (score, *_) = shop.explain(shop.context).numbers
    with Memory(shop.path, policy=WORDLESS, session="s1") as memory:
        memory.forget(shop.voted)
    for id_ in (score.id, shop.voted, shop.vote):
        with pytest.raises(NotFoundError):
            shop.explain(id_)
    assert shop.voted not in [number.about for number in shop.explain(shop.context).numbers]
    shop.close()
    left = every_value(shop.path)
    assert [value for value in left if shop.voted in value[2] or score.id in value[2]] == []
    # What has nothing to do with it is as it was.
    assert shop.explain(shop.decision).status == shop.explain(shop.value).status == "equal"


def test_forgetting_a_claim_of_a_short_id_spares_what_only_looks_like_it(shop: Shop) -> None:
    with Memory(shop.path, policy=WORDLESS, session="s1") as memory:
        memory.add("A claim from elsewhere", id="7")
        memory.forget("7")
        assert memory.store.sql("SELECT count(*) FROM events WHERE contains(payload::TEXT, 'forgotten')")
    for id_ in shop.ids().values():
        assert shop.explain(id_).status == "equal"


def test_a_score_that_was_given_as_it_is_is_added_up_again(tmp_path: Path) -> None:
    from scalepan.confidence import ConfidenceAggregator, ConfidenceCalculator

    step = ConfidenceCalculator().calculate(ConfidenceFactors(search_result_count=5, search_max_score=0.8))
    plan = ConfidenceAggregator().aggregate([step, step], "weighted")
    with Memory(tmp_path / "notes.duckdb", policy=WORDLESS) as memory:
        gate = Gate(store=memory.store, ask=lambda _: True)
        found = explain(memory, gate.check(plan, "go").id)
        assert found.status == "equal"
        assert found.numbers[0].recomputed == pytest.approx(plan.value)
        unmeasured = Score("confidence", None, status="failed", reason="no answer")
        assert explain(memory, gate.check(unmeasured, "go").id).status == "equal"
        bare = explain(memory, gate.check(Score("confidence", 0.8), "go").id)
        assert (bare.status, bare.numbers[0].reason) == ("unknown", "it was given as a bare number, without parts")


def test_a_number_without_its_constants_cannot_be_made_again(tmp_path: Path) -> None:
    record = Record("notify", "go", "sure", "approved", 0.7, factors={"source_count": 2})
    with Memory(tmp_path / "notes.duckdb", policy=WORDLESS) as memory:
        found = explain(memory, memory.store.call("confidence.record", record).id)
    assert found.status == "unknown"
    assert "without the constants" in found.numbers[0].reason


def test_an_older_store_is_brought_up_and_its_numbers_keep_their_tenant(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as old:
        for script in MIGRATIONS[:2]:
            old.execute(script)
        old.execute("INSERT INTO meta VALUES ('version', '2')")
        old.execute(
            "INSERT INTO scores VALUES "
            "('scr_1', now(), 'confidence', 0.733, '{\"source_count\": 2}', 'v', NULL, 'null')"
        )
        old.execute(
            "INSERT INTO decisions VALUES ('dec_1', now(), 'acme', 'scr_1', 'notify', '{\"confidence\": 0.733}')"
        )
        old.execute(
            "INSERT INTO active_contexts VALUES "
            "('ac_1', 'acme', 'default', NULL, '', now(), now() + INTERVAL 1 DAY, 'v', '{}')"
        )
        old.execute(
            "INSERT INTO claims (id, tenant, project, scope, boundary_class, utility, utility_at, confidence) "
            "VALUES ('clm_1', 'acme', 'default', 'project', 'internal', 0.1, now(), 0.55)"
        )
        old.execute("INSERT INTO active_context_items VALUES ('ac_1', 'clm_1', 1, 0.4, '{}')")
        old.execute(
            "INSERT INTO feedbacks VALUES ('fb_1', now(), 'acme', 'clm_1', 'helpful', NULL, NULL, NULL, "
            '\'{"claim": "clm_1", "before": {"utility": 0, "utility_at": 0, "confidence": 0.5}}\', NULL)'
        )
    with Store(path) as store:
        assert store.sql("SELECT tenant, seal FROM scores") == [["acme", None]]
    with Memory(path, policy=WORDLESS, tenant="acme") as memory:
        for id_ in ("scr_1", "dec_1", "ac_1", "fb_1", "clm_1"):
            found = explain(memory, id_)
            assert found.status == "unknown", id_
            assert "older version" in found.numbers[0].reason
    with Memory(path, policy=WORDLESS) as memory, pytest.raises(NotFoundError):
        explain(memory, "scr_1")
