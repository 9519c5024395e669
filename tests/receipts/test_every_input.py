"""Each input of each kind of number, altered in several ways: it is always found, named, and told in plain data."""

import json
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from scalepan.confidence.receipt import constants_of
from scalepan.confidence.receipt import inputs_of as of_confidence
from scalepan.evals.receipt import inputs_of as of_case
from scalepan.memory.standing.receipt import vote_inputs
from scalepan.memory.standing.standing import Cast, Standing
from scalepan.policy.confidence import Confidence
from scalepan.policy.load import leaves
from scalepan.policy.retrieval import Feedback, Rerank
from scalepan.receipts import Number, votes
from scalepan.receipts.rows import AGAIN, number_of
from scalepan.store.receipts import seal, sealed_of
from scalepan.store.rows import ScoreRow
from scalepan.trace import ReasoningTrace, TraceValuer
from scalepan.trace.receipt import inputs_of as of_trace
from tests.receipts.conftest import FACTORS, TRACE, WORDLESS
from tests.receipts.conftest import result as case_result

trace = ReasoningTrace.from_dict(TRACE)
INPUTS: dict[str, dict[str, Any]] = {
    "confidence": of_confidence(msgspec.to_builtins(FACTORS), None, constants_of(Confidence()), "v1"),
    "value": of_trace(trace, TraceValuer(WORDLESS).peek(trace), WORDLESS.value),
    "case": of_case(case_result(accuracy=1.0, quality=0.5)),
    "score_final": {
        "s_vec": 0.91,
        "s_text": 0.55,
        "weight": 0.65,
        "utility": 0.0,
        "population": {"mean": 0.0, "deviation": 0.0},
        "confidence": 0.5,
        "age_days": 30.0,
        "half_life_days": 30.0,
        "quality": 0.5,
        "policy": {name: msgspec.to_builtins(getattr(Rerank(), name)) for name in ("utility", "confidence", "recency")},
        "policy_version": "v1",
    },
}
INSTEAD = (0.25, -1, 1e300, "text", True, [1], {"a": 1}, None)


def put(inputs: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with one leaf replaced."""
    copy = at = deepcopy(inputs)
    *before, last = path.split(".")
    for key in before:
        at = at[key]
    at[last] = value
    return copy


def row_of(name: str, inputs: dict[str, Any], sealed: str) -> ScoreRow:
    score = AGAIN[name](INPUTS[name])
    body = msgspec.json.encode(score).decode()
    made = (name, score.value, json.dumps(inputs), score.policy, None, body)
    return ScoreRow("scr_1", 1.8e9, *made, tenant="default", project=None, subject=None, seal=sealed)


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_of_every_formula(name: str) -> None:
    inputs = INPUTS[name]
    sealed = seal(sealed_of(name, None, inputs))
    assert number_of(row_of(name, inputs, sealed)).status == "equal"
    tried = 0
    for path, value in leaves(inputs):
        for instead in INSTEAD:
            if instead == value and type(instead) is type(value):
                continue
            tried += 1
            number = number_of(row_of(name, put(inputs, path, instead), sealed))
            assert number.status == "changed", (path, instead)
            assert any(one.what.startswith(f"input {path}") for one in number.differences), (path, instead)
            # It goes over a socket, and through a door.
            sent = msgspec.msgpack.decode(msgspec.msgpack.encode(number), type=Number)
            assert sent.differences == number.differences
    assert tried > 50


def test_the_spec_s_own_example_by_hand() -> None:
    """Of .91 and .55 at .65: S .784; x (.6 + .4 x .5) x (.5 + .5 x .5) x (.3 + .7 x .5) x (.5 + .5 x .5)."""
    score = AGAIN["score_final"]({**INPUTS["score_final"], "quality": None})
    assert score.base == pytest.approx(0.784)
    assert float(score) == pytest.approx(0.784 * 0.8 * 0.75 * 0.65)
    assert float(AGAIN["score_final"](INPUTS["score_final"])) == pytest.approx(0.784 * 0.8 * 0.75 * 0.65 * 0.75)


def test_every_input_of_a_vote() -> None:
    at = datetime(2030, 3, 17, 17, 46, 40, 123457, UTC).timestamp()
    before = Standing(0.8, at - 30 * 86400, 0.5)
    body: dict[str, Any] = {"claim": "clm_1", "before": before._asdict(), "policy": msgspec.to_builtins(Feedback())}
    body["after"] = before.voted("helpful", at, Feedback())._asdict()
    body["seal"] = seal(vote_inputs("helpful", at, body))

    def explained(body: dict[str, Any], signal: str = "helpful", at: float = at) -> list[Number]:
        return votes.vote_numbers(Cast("fb_1", signal, at, body), "clm_1", None)

    # Half of .8 is left after 30 days: .4 + .1.
    utility, confidence = explained(body)
    assert (utility.status, confidence.status) == ("equal", "equal")
    assert [utility.value, confidence.value] == pytest.approx([0.5, 0.55])
    for place in ("before", "policy"):
        for path, value in leaves(body[place]):
            for instead in INSTEAD:
                if instead == value and type(instead) is type(value):
                    continue
                for number in explained(put(body, f"{place}.{path}", instead)):
                    assert number.status == "changed", (place, path, instead)
                    assert any(one.what.startswith(f"input {place}.{path}") for one in number.differences)
                    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(number), type=Number)
                    assert sent.differences == number.differences
    assert explained(body, signal="harmful")[0].differences[0].what == "input signal"
    assert explained(body, at=at + 1)[0].differences[0].what == "input at"
    for path, _ in leaves(body["after"]):
        for instead in ("text", None, [1]):
            assert {number.status for number in explained(put(body, f"after.{path}", instead))} == {"unknown"}
    assert explained(body, signal="set")[0].differences[0].what == "input signal"
    note = {"claim": "clm_1", "before": body["before"]}
    assert explained(note, signal="set")[0].reason == "it notes what was there or set by hand"
