"""What is missing is reported, and recall goes on (contract memory.66)."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from scalepan.errors import MissingExtraError, PolicyError, TookTooLongError
from scalepan.memory import Memory
from scalepan.memory.ingest.rescan import Done
from scalepan.store.here import Here
from scalepan.store.operation import Operation, commits
from scalepan.store.policies import SetPolicy
from scalepan.store.rows import PolicyRow
from tests.law import assert_law
from tests.memory.conftest import Open, StandIn
from tests.memory.spec import QUERY, events, near, number, only, retrieval


@pytest.fixture
def no_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise MissingExtraError(f"DuckDB's {name} extension", "search")

    monkeypatch.setattr("scalepan.store.duckdb.extensions.extension_file", missing)


def test_without_extensions_l2_and_l3_fall_back_and_say_so(open_memory: Open, no_extensions: None) -> None:
    memory = open_memory(trace_id="t", **retrieval(text={"level": "L2"}, vectors={"level": "L3"}))
    memory.add_many(["q one", "q two"])
    answer = memory.search(QUERY)
    assert (answer.text_level, answer.vector_level) == ("L0", "L1")
    assert len(answer) == 2
    assert sum("pip install 'scalepan[search]'" in note for note in answer.notes) == 2
    fallbacks = events(memory, "search_fallback")
    assert [(event["from"], event["to"]) for event in fallbacks] == [("L2", "L0"), ("L3", "L1")]
    assert {(event["request_id"], event["trace_id"]) for event in fallbacks} == {(answer.request_id, "t")}
    # L0 gives 1 / (1 + rank): 1/2 and 1/3.
    assert sorted(one.features.s_text or 0 for one in answer) == pytest.approx([1 / 3, 1 / 2])


def test_the_index_falls_back_too(open_memory: Open, no_extensions: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from scalepan.memory.recall.candidates import levels

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


class KeepPolicy(msgspec.Struct, frozen=True):
    row: PolicyRow


@commits(Operation("tests.keep_policy", KeepPolicy, Done))
def keep_policy(here: Here, requests: Sequence[KeepPolicy]) -> list[Done]:
    """A policy, unchecked."""
    here.policies.add([request.row for request in requests])
    return [Done()] * len(requests)


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


FALLING = {"method": "isotonic", "x": [0.0, 1.0], "y": [1.0, 0.0]}


@pytest.mark.parametrize(
    ("said", "steps", "problem"),
    [
        ({**CURVES, "text": FALLING}, [("text curve", "min-max")], "y must not fall"),
        ({**CURVES, "vector": FALLING}, [("vector curve", "(cos + 1) / 2")], "y must not fall"),
        ({"text": FALLING, "vector": FALLING}, [("text curve", "min-max"), ("vector curve", "(cos + 1) / 2")], "fall"),
        ({**CURVES, "text": {"method": "spline", "x": [0.0], "y": [0.0]}}, [("text curve", "min-max")], "spline"),
        ({**CURVES, "text": {"x": ["a"]}}, [("text curve", "min-max")], "method"),
        ({**CURVES, "text": 5}, [("text curve", "min-max")], "5"),
        (5, [("text and vector curve", "plain mapping")], "5"),
        ({**CURVES, "texts": {}}, [("text and vector curve", "plain mapping")], "texts"),
        ({**CURVES, "model": 7}, [("text and vector curve", "plain mapping")], "7"),
        ({**CURVES, "model": "another@2"}, [("vector curve", "(cos + 1) / 2")], "another@2"),
        ({**CURVES, "terms": "terms of old"}, [("text curve", "min-max")], "terms of old"),
    ],
)
@pytest.mark.parametrize("door", ["call", "store"])
def test_curves_that_do_not_load_or_fit_fall_back_with_a_note_and_an_event(
    open_memory: Open, said: Any, steps: list[tuple[str, str]], problem: str, door: str
) -> None:
    """Contract memory.19: where calibration cannot be loaded, the plain mappings are used. It never stops a recall."""
    memory = open_memory(**retrieval(calibration=said)) if door == "call" else open_memory()
    memory.add("q")
    if door == "store":  # past the check: as an older version, or a hand, may have left it there
        policy, id_ = json.dumps({"retrieval": {"calibration": said}}), f"pol_{memory.who.tenant}"
        row = PolicyRow(id_, 0.0, memory.who.tenant, "default", policy, version="", actor=None)
        memory.store.call("tests.keep_policy", KeepPolicy(row))
    plain = {"text curve": "s_text", "vector curve": "s_vec"}
    for action in (memory.search, memory.activate):
        answer = action(QUERY)
        features = only(answer).features
        fell = [plain[name] for name, _ in steps if name in plain] or ["s_text", "s_vec"]
        expected = {"s_text": 0.25, "s_vec": 0.75} | dict.fromkeys(fell, 1.0)
        assert {"s_text": features.s_text, "s_vec": features.s_vec} == pytest.approx(expected, abs=1e-6)
        assert any("not calibrated" in note and problem in note for note in answer.notes), answer.notes
        found = [event for event in events(memory, "search_fallback") if event["request_id"] == answer.request_id]
        assert [(event["from"], event["to"]) for event in found] == steps
        assert all(event["trace_id"] == answer.trace_id for event in found)
        assert problem in found[0]["problem"]


def test_a_curve_that_does_not_load_is_refused_where_it_is_written(memory: Memory) -> None:
    """Contract memory.71: policies are stored with a history; what nobody could use does not enter it."""
    text = json.dumps({"retrieval": {"calibration": {"text": FALLING}}})
    with pytest.raises(PolicyError, match=r"calibration\.text: y must not fall"):
        memory.store.call("store.set_policy", SetPolicy(text, memory.who.tenant))


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
    monkeypatch.setenv("SCALEPAN_RETRIEVAL__TIMEOUT_MS", "0.000001")
    with pytest.raises(TookTooLongError, match=r"retrieval\.timeout_ms"):
        getattr(open_memory(), action)(QUERY)
    monkeypatch.setenv("SCALEPAN_RETRIEVAL__TIMEOUT_MS", "60000")
    assert len(getattr(open_memory(), action)(QUERY)) == 1


@pytest.mark.parametrize("level", ["L0", "L2"])
def test_a_time_limit_holds_for_sql_too_and_is_no_fallback(open_memory: Open, level: str) -> None:
    memory = open_memory(**retrieval(timeout_ms=1e-6, text={"level": level}))
    with pytest.raises(TookTooLongError):
        memory.search(QUERY)
    assert events(memory, "search_fallback") == []
