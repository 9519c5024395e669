"""Score: what it refuses to be, and how it explains itself."""

import json

import pytest

from scalepan.score import Part, Rule, Score, not_measured


def value() -> Score:
    return Score(
        "value",
        0.7,
        parts=(Part("complexity", 0.5, 0.4, note="3 step types"), Part("novelty", 0.5, 0.6, "default", "no encoder")),
        base=0.5,
        rules=(Rule("error_recovery_bonus", 0.5, 0.7, "3 recoveries"),),
        policy="abc",
    )


def test_a_score_is_a_number() -> None:
    assert float(value()) == 0.7


def test_a_score_without_a_value_is_no_number_and_says_why() -> None:
    with pytest.raises(ValueError, match="novelty was not measured: no encoder found"):
        float(not_measured("novelty", "no encoder found"))


@pytest.mark.parametrize(
    ("score", "complaint"),
    [
        ({"value": 1.5}, "1.5 is not between 0 and 1"),
        ({"value": float("nan")}, "nan is not between 0 and 1"),
        ({"value": None}, "needs a status, a reason"),
        ({"value": None, "status": "failed"}, "needs a status, a reason"),
        ({"value": None, "status": "failed", "reason": "x", "base": 0.5}, "no base or rules"),
        ({"value": 0.5, "status": "failed", "reason": "x"}, "status failed goes without a value"),
    ],
)
def test_what_breaks_the_contract_is_refused(score: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Score("value", **score)  # type: ignore[arg-type]


def test_a_score_never_changes() -> None:
    with pytest.raises(AttributeError):
        value().value = 0.9  # type: ignore[misc]


def test_explain_shows_what_was_weighed_what_changed_it_and_what_it_came_to() -> None:
    assert value().explain().splitlines() == [
        "complexity            0.500  x 0.40  +0.200  3 step types",
        "novelty               0.500  x 0.60  +0.300  default: no encoder",
        "base                                  0.500  what the parts come to",
        "error_recovery_bonus                 +0.200  3 recoveries",
        "value                                 0.700  policy abc",
    ]


def test_explain_of_what_was_not_measured() -> None:
    assert not_measured("novelty", "no encoder").explain() == "novelty  not measured (not_applicable): no encoder"


def test_a_score_goes_through_json() -> None:
    data = json.loads(json.dumps(value().to_dict()))
    assert data["value"] == 0.7
    assert data["parts"][1] == {
        "name": "novelty",
        "value": 0.5,
        "weight": 0.6,
        "source": "default",
        "note": "no encoder",
    }
    assert data["rules"][0]["after"] == 0.7


def test_a_part_is_found_by_name() -> None:
    assert value().part("novelty").source == "default"
    with pytest.raises(KeyError, match="no part 'novelity'; it has complexity, novelty"):
        value().part("novelity")
