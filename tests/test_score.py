"""Score: what it refuses to be, and how it explains itself."""

import json
import operator
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import NotMeasuredError, ScalepanError
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
        ({"value": 0.5, "status": "failed", "reason": "x"}, "status failed must not have a value"),
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
        "base                                  0.500  sum of the parts",
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


def plain(value: float, name: str = "value") -> Score:
    return Score(name, value, parts=(Part("all", value, 1.0),), base=value)


VALUES = st.floats(0, 1)
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge]
SUMS = [operator.add, operator.sub, operator.mul]


@given(VALUES, VALUES)
def test_a_score_compares_and_calculates_as_its_number(a: float, b: float) -> None:
    for compare in COMPARISONS:
        assert compare(plain(a), b) == compare(a, plain(b)) == compare(plain(a), plain(b)) == compare(a, b)
    for calculate in SUMS:
        got = calculate(plain(a), b), calculate(a, plain(b)), calculate(plain(a), plain(b))
        assert got == (calculate(a, b),) * 3
        assert {type(number) for number in got} == {float}
    if b:
        assert plain(a) / b == a / plain(b) == a / b
    assert (plain(a) == b) == (b == plain(a)) == (a == b)
    assert hash(plain(a)) == hash(a)
    assert (round(plain(a), 2), round(plain(a)), abs(plain(a)), -plain(a)) == (round(a, 2), round(a), a, -a)
    assert (f"{plain(a):.2f}", f"{plain(a):6.1%}", f"{plain(a):g}") == (f"{a:.2f}", f"{a:6.1%}", f"{a:g}")


def test_scores_are_sorted_summed_and_averaged() -> None:
    low, middle, high = plain(0.1), plain(0.5), plain(0.9)
    assert sorted([high, low, middle]) == [low, middle, high]
    assert (max(low, high, 0.95), min([middle, low])) == (0.95, low)
    assert sum([low, middle]) == 0.6
    assert np.mean([low, high]) == 0.5
    assert np.float32(0.25) < middle
    assert list(middle < np.array([0.1, 0.9])) == [False, True]


def test_two_scores_are_equal_by_content_and_a_number_by_value() -> None:
    one, other = plain(0.5, "value"), plain(0.5, "confidence")
    assert one == 0.5 == other
    assert one != other
    assert one == plain(0.5, "value")
    assert len({one, other, plain(0.5, "value")}) == 2
    assert one <= other <= one  # order is by value alone
    assert one != "0.5"
    assert one != None  # noqa: E711 - not even by the wrong operator
    assert {0.5: "half"}[one] == "half"  # type: ignore[index]
    assert bool(plain(0.0))


def test_a_score_whose_details_cannot_be_hashed_is_hashed_all_the_same() -> None:
    assert hash(Score("value", 0.5, details={"a": []})) == hash(0.5)


def test_a_score_and_something_that_is_no_number_are_not_compared() -> None:
    with pytest.raises(TypeError, match="not supported between instances of 'float' and 'str'"):
        _ = plain(0.5) < "0.6"  # type: ignore[operator]


NEEDS_A_NUMBER: list[Callable[[Any], object]] = [
    float,
    round,
    abs,
    operator.neg,
    lambda score: score >= 0.5,
    lambda score: score > 0.5,
    lambda score: score < plain(0.5),
    lambda score: plain(0.5) < score,
    lambda score: f"{score:.2f}",
    lambda score: score + 1,
    lambda score: sum([score]),
    lambda score: sorted([score, plain(0.5)]),
    lambda score: max(score, 0.5),
]


@pytest.mark.parametrize("use", NEEDS_A_NUMBER)
def test_what_was_not_measured_is_never_taken_for_a_number(use: Callable[[Any], object]) -> None:
    with pytest.raises(NotMeasuredError, match="novelty was not measured: no encoder found") as caught:
        use(not_measured("novelty", "no encoder found"))
    assert isinstance(caught.value, ScalepanError)


def test_what_was_not_measured_equals_no_number_and_prints() -> None:
    score = not_measured("novelty", "no encoder found")
    assert score != 0.0
    assert score != 0.5
    assert score == not_measured("novelty", "no encoder found")
    assert hash(score) == hash(not_measured("novelty", "no encoder found"))
    assert f"{score}" == str(score) == "novelty not measured (not_applicable): no encoder found"


def test_a_score_prints_as_one_line_with_what_mattered() -> None:
    assert str(value()) == "value 0.700: complexity +0.200, novelty +0.300 (default); then error_recovery_bonus +0.200"
    many = tuple(Part(f"part {number}", number / 10, 0.2) for number in range(5))
    assert (
        str(Score("value", 0.2, parts=many, base=0.2)) == "value 0.200: part 2 +0.040, part 3 +0.060, part 4 +0.080, …"
    )
    rounded = Score("value", 0.7, base=0.7001, rules=(Rule("round", 0.7001, 0.7),))
    assert str(rounded) == "value 0.700"
    hostile = Score("a\nb", 0.5, parts=(Part("x\x1b[31m\n" * 50, 0.5, 1.0),), base=0.5)
    assert str(hostile).isprintable()
    assert len(str(hostile)) < 80


def test_a_notebook_shows_the_waterfall_and_runs_nothing() -> None:
    html = value()._repr_html_()
    root = ElementTree.fromstring(html)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == 4
    assert "currentColor" in html  # light and dark: the text has the notebook's own color
    bad = '<script>alert(1)</script><img src=x onerror=alert(1)>" onload="x'
    hostile = Score(bad, 0.5, parts=(Part(bad, 0.5, 1.0, note=bad * 20),), base=0.5, rules=(), policy=bad)
    for score in (hostile, not_measured(bad, bad)):
        drawn = ElementTree.fromstring(score._repr_html_())  # sound, so nothing broke out of its place
        assert {element.tag.rpartition("}")[2] for element in drawn.iter()} <= {"div", "svg", "title", "text", "rect"}
        assert not [name for element in drawn.iter() for name in element.attrib if name.startswith("on")]
