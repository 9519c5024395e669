"""Factors: their defaults and ranges (contract confidence.1), what is refused, and how they come from a real run."""

import json
from math import inf, nan
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.confidence.factors import ConfidenceFactors, succeeded
from scalepan.errors import InputError
from tests.confidence.spec import some_factors

DEFAULTS = {
    "search_result_count": 0,
    "search_avg_score": 0.0,
    "search_max_score": 0.0,
    "search_score_variance": 1.0,
    "source_agreement": 0.0,
    "source_count": 0,
    "llm_self_confidence": 0.5,
    "tool_success_rate": 1.0,
    "tool_execution_count": 0,
    "tool_success_count": 0,
    "query_coverage": 0.0,
    "is_search_step": False,
}
COUNTS = [name for name in DEFAULTS if name.endswith("_count")]
SHARES = [name for name in DEFAULTS if name not in (*COUNTS, "is_search_step", "search_score_variance")]


def test_names_and_defaults() -> None:
    assert msgspec.to_builtins(ConfidenceFactors()) == DEFAULTS
    assert ConfidenceFactors.from_dict({}) == ConfidenceFactors()


WRONG = [
    *((name, value) for name in SHARES for value in (-0.001, 1.001, nan, inf, -inf, True, "0.5", None)),
    *((name, value) for name in COUNTS for value in (-1, 1.5, 2.0, nan, inf, True, "3", None)),
    *(("search_score_variance", value) for value in (-0.1, nan, inf, False, "low", None)),
    *(("is_search_step", value) for value in (1, 0.0, "false", None)),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: str(value))
def test_what_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InputError) as direct:
        ConfidenceFactors(**{name: value})
    with pytest.raises(InputError) as decoded:
        ConfidenceFactors.from_dict({name: value})
    assert direct.value.path == decoded.value.path == name
    assert str(direct.value).startswith(f"{name}: ")


def test_numbers_too_large_for_a_float_are_refused() -> None:
    with pytest.raises(InputError, match="search_score_variance"):
        ConfidenceFactors(search_score_variance=10**400)


def test_more_successes_than_executions_are_refused() -> None:
    with pytest.raises(InputError, match="tool_success_count: 3 successes of 2 executions"):
        ConfidenceFactors(tool_execution_count=2, tool_success_count=3)
    with pytest.raises(InputError, match="tool_success_count: 3 successes of 2 executions"):
        ConfidenceFactors.from_dict({"tool_execution_count": 2, "tool_success_count": 3})


def test_plain_data_says_every_fault() -> None:
    with pytest.raises(InputError) as error:
        ConfidenceFactors.from_dict({"source_count": -2, "query_coverage": 3, "search_max": 1})
    assert error.value.lines == [
        "search_max: unknown key; did you mean 'search_max_score'?",
        "source_count: -2 is not at least 0",
        "query_coverage: 3 is not between 0 and 1",
    ]


@pytest.mark.parametrize("data", [[], "x", None, 3])
def test_what_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="is not an object"):
        ConfidenceFactors.from_dict(data)


@given(some_factors())
def test_factors_go_through_json_and_back(factors: ConfidenceFactors) -> None:
    plain = msgspec.to_builtins(factors)
    assert ConfidenceFactors.from_dict(plain) == factors
    assert ConfidenceFactors.from_dict(json.loads(json.dumps(plain))) == factors
    assert msgspec.json.decode(msgspec.json.encode(factors), type=ConfidenceFactors) == factors


# From a run


def test_from_steps() -> None:
    factors = ConfidenceFactors.from_steps(
        [0.9, 0.5, 0.4], [True, {"ok": False}, {"is_error": False}, {"error": "timeout"}], ["a.md", "b.md"]
    )
    assert factors.search_result_count == 3
    assert factors.search_avg_score == pytest.approx(0.6)  # 1.8 / 3
    assert factors.search_max_score == 0.9
    assert factors.search_score_variance == pytest.approx(0.14 / 3)  # (.09 + .01 + .04) / 3: of the population
    assert (factors.tool_execution_count, factors.tool_success_count, factors.tool_success_rate) == (4, 2, 0.5)
    assert factors.source_count == 2
    assert not factors.is_search_step


def test_a_step_is_a_search_step_if_it_searched_and_called_no_tool() -> None:
    assert ConfidenceFactors.from_steps([0.5]).is_search_step
    assert ConfidenceFactors.from_steps([]).is_search_step  # a search that found nothing
    assert not ConfidenceFactors.from_steps().is_search_step
    assert not ConfidenceFactors.from_steps([0.5], [True]).is_search_step
    assert ConfidenceFactors.from_steps([0.5], [True], is_search_step=True).is_search_step


def test_a_step_in_which_nothing_happened_has_the_defaults() -> None:
    assert ConfidenceFactors.from_steps() == ConfidenceFactors()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_scores_may_be_an_array(kind: Any) -> None:
    factors = ConfidenceFactors.from_steps(np.array([0.75, 0.25], dtype=kind))
    assert (factors.search_avg_score, factors.search_max_score, factors.search_score_variance) == (0.5, 0.75, 0.0625)
    assert msgspec.json.encode(factors)


def test_scores_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match=r"search_\w+_score: .* is not between 0 and 1"):
        ConfidenceFactors.from_steps([12.5])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_any_scores_of_a_search_give_factors(scores: list[float]) -> None:
    factors = ConfidenceFactors.from_steps(scores)
    assert factors.search_result_count == len(scores)
    assert factors.search_score_variance <= (0.25 + 1e-12 if scores else 1.0)


@pytest.mark.parametrize(
    ("call", "well"),
    [
        *((True, True), (False, False), ({"success": True}, True), ({"succeeded": 0}, False)),
        *(({"isError": True}, False), ({"error": None}, True), ({"error": ""}, True)),
        *(({"status": "Completed"}, True), ({"status": "failed"}, False)),
    ],
)
def test_how_a_call_went(call: Any, well: bool) -> None:
    assert succeeded(call) is well


@pytest.mark.parametrize("call", [{}, {"name": "search"}])
def test_a_call_that_does_not_say_how_it_went_is_refused(call: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"tool_calls: a tool call with .* does not say how it went"):
        succeeded(call)
