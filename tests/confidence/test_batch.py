"""The batch form gives what the loop gives, to the last bit, whatever the columns are made of."""

from collections.abc import Mapping
from typing import Any

import nanoarrow
import numpy as np
import pytest

from scalepan.confidence import batch
from scalepan.confidence.batch import confidence_batch
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import confidence
from scalepan.errors import InputError
from scalepan.policy.confidence import Confidence, Penalties, SearchQuality, Weights

Table = dict[str, Any]
SHARES = (
    *("search_avg_score", "search_max_score", "source_agreement", "llm_self_confidence", "tool_success_rate"),
    "query_coverage",
)
# Where the formula turns, each with its neighbours.
TURNS = [np.nextafter(turn, towards) for turn in (0.1, 0.6, 0.8, 1.0) for towards in (0.0, turn, 1.0)]


def random_table(rows: int, seed: int = 11) -> Table:
    """Shares of three kinds mixed: anything, the turns of the formula, and halves at the fourth place."""
    rng = np.random.default_rng(seed)

    def share() -> Any:
        kinds = [
            rng.random(rows),
            rng.choice([0.0, *TURNS], rows),
            (rng.integers(0, 1000, rows) + 0.5) / 1000,
        ]
        return np.choose(rng.integers(0, 3, rows), kinds)

    runs = rng.integers(0, 4, rows)
    return {
        **{name: share() for name in SHARES},
        **{name: rng.integers(0, 3, rows) for name in ("search_result_count", "source_count")},
        "search_score_variance": rng.choice([0.0, 0.01, 0.5, 1.0, 1e308], rows) * rng.random(rows),
        "tool_execution_count": runs,
        "tool_success_count": rng.integers(0, runs + 1),
        "is_search_step": rng.random(rows) < 0.5,
    }


def looped(table: Mapping[str, Any], policy: Confidence | None = None) -> Any:
    """The formula for one step, row by row."""
    rows = zip(*(np.asarray(column).tolist() for column in table.values()), strict=True)
    factors = [ConfidenceFactors(**dict(zip(table, row, strict=True))) for row in rows]
    return np.array([confidence(one, policy or Confidence()).value for one in factors])


def assert_same(ours: Any, theirs: Any) -> None:
    """Bit for bit."""
    assert ours.dtype == np.float64
    assert np.flatnonzero(ours.view(np.int64) != theirs.view(np.int64)).tolist() == []


def test_20000_random_rows() -> None:
    table = random_table(20_000)
    assert_same(confidence_batch(table), looped(table))


def test_values_near_a_half_round_as_python_does() -> None:
    halves = (np.arange(600, 1000) + 0.5) / 1000
    best = np.concatenate([np.nextafter(halves, 0), halves, np.nextafter(halves, 1)])
    table = {"search_max_score": best, "search_result_count": [1] * len(best), "is_search_step": [True] * len(best)}
    ours = confidence_batch(table)
    assert_same(ours, looped(table))
    assert (ours != np.round(best, 3)).sum() > 100, "these do not tell Python's round from numpy's"


@pytest.mark.parametrize("places", [0, 1, 6, 9, 10, 15, 17, 22])
def test_any_number_of_places(places: int) -> None:
    table = random_table(1000)
    policy = Confidence(places=places)
    assert_same(confidence_batch(table, policy), looped(table, policy))


def test_another_policy() -> None:
    policy = Confidence(
        search_quality=SearchQuality(good_max=0.3, max_weight=0.9, avg_weight=0.8, variance_factor=0.7),
        weights=Weights(search_quality=0.33, tool_success=0.21, source_agreement=0.0, llm_self_eval=1.7),
        penalties=Penalties(no_search_results=0.41, tool_failures_floor=0.13, tool_failures_span=0.9, no_sources=0.77),
    )
    table = random_table(2000)
    assert_same(confidence_batch(table, policy), looped(table, policy))


@pytest.mark.parametrize("rows", [0, 1, batch._ROWS_AT_ONCE - 1, batch._ROWS_AT_ONCE, batch._ROWS_AT_ONCE + 1])
def test_any_number_of_rows(rows: int) -> None:
    table = random_table(rows)
    ours = confidence_batch(table)
    assert len(ours) == rows
    assert_same(ours[-3:], looped({name: column[-3:] for name, column in table.items()}))


# What columns may be made of


def test_lists_and_arrays_of_every_kind_of_number() -> None:
    table = random_table(300)
    expected = confidence_batch(table)
    assert_same(confidence_batch({name: column.tolist() for name, column in table.items()}), expected)
    narrow = {
        name: column.astype(np.uint8 if column.dtype.kind == "i" else column.dtype) for name, column in table.items()
    }
    assert_same(confidence_batch(narrow), expected)
    wide = {name: column.astype(np.float64) for name, column in table.items()}  # counts and switches as a join has them
    assert_same(confidence_batch(wide), expected)
    objects = {name: column.astype(object) for name, column in table.items()}
    assert_same(confidence_batch(objects), expected)


def test_single_precision_is_taken_at_its_own_value() -> None:
    table = {name: np.random.default_rng(3).random(500).astype(np.float32) for name in SHARES}
    assert_same(confidence_batch(table), looped(table))


def test_what_is_given_is_not_changed() -> None:
    table = random_table(50)
    before = {name: column.copy() for name, column in table.items()}
    for column in table.values():
        column.flags.writeable = False
    confidence_batch(table)
    assert all((table[name] == before[name]).all() for name in table)


def test_a_single_number_stands_for_all_rows() -> None:
    best = [0.2, 0.6, 0.9]
    spread = {"search_max_score": best, "search_result_count": [2] * 3, "is_search_step": [True] * 3}
    assert_same(
        confidence_batch({"search_max_score": best, "search_result_count": 2, "is_search_step": True}),
        looped(spread),
    )
    assert confidence_batch({"source_count": 1}).tolist() == [1.0]


def test_nothing_given_is_one_step_of_defaults() -> None:
    assert confidence_batch({}).tolist() == [confidence(ConfidenceFactors()).value]


class ArrowColumn:
    """As much of an Arrow column as is used."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def to_numpy(self) -> Any:
        return self.values


class ArrowTable:
    """As much of an Arrow table as is used: names, and columns by name. It is no mapping."""

    def __init__(self, table: Table) -> None:
        self.column_names = list(table)
        self._columns = {name: ArrowColumn(column) for name, column in table.items()}

    def __getitem__(self, name: str) -> ArrowColumn:
        return self._columns[name]


def test_an_arrow_table() -> None:
    table = random_table(500)
    assert_same(confidence_batch(ArrowTable(table)), confidence_batch(table))


class StrictColumn(ArrowColumn):
    """A column of a record batch: switches are packed bits, which `to_numpy` does not unpack, and `__array__` does."""

    def to_numpy(self) -> Any:
        raise ValueError("needs a copy")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype=dtype)


def test_an_arrow_column_that_needs_a_copy_gets_one() -> None:
    table = random_table(20)
    columns = {name: StrictColumn(column) for name, column in table.items()}
    assert_same(confidence_batch(columns), confidence_batch(table))


def test_a_nanoarrow_array() -> None:
    table = {name: column for name, column in random_table(200).items() if column.dtype != bool}
    kinds = {
        name: nanoarrow.float64() if column.dtype.kind == "f" else nanoarrow.int64() for name, column in table.items()
    }
    children = [nanoarrow.c_array(column.tolist(), kinds[name]) for name, column in table.items()]
    array = nanoarrow.Array(nanoarrow.c_array_from_buffers(nanoarrow.struct(kinds), 200, [None], children=children))
    assert_same(confidence_batch(array), confidence_batch(table))


# What does not fit


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"search_max_score": [0.5, 1.7]}, "search_max_score: row 1: 1.7 is not between 0 and 1"),
        ({"query_coverage": [0.5, 0.5, float("nan")]}, "query_coverage: row 2: nan is not between 0 and 1"),
        ({"query_coverage": [0.5, None]}, "query_coverage: row 1: nan is not between 0 and 1"),
        ({"source_agreement": np.array([-1, 0])}, "source_agreement: row 0: -1 is not between 0 and 1"),
        ({"source_count": [1, -2]}, "source_count: row 1: -2 is not at least 0 and finite"),
        ({"source_count": [1, 0.5]}, "source_count: row 1: 0.5 is not a whole number"),
        (
            {"search_score_variance": [0.1, float("inf")]},
            "search_score_variance: row 1: inf is not at least 0 and finite",
        ),
        ({"is_search_step": [0, 1, 2]}, "is_search_step: row 2: 2 is not true or false"),
        (
            {"tool_execution_count": [2, 2], "tool_success_count": [2, 3]},
            "tool_success_count: row 1: 3 is not at most tool_execution_count",
        ),
        ({"tool_success_count": [0, 1]}, "tool_success_count: row 1: 1 is not at most tool_execution_count"),
        (
            {"tool_execution_count": [2, 0], "tool_success_count": 1},
            "tool_success_count: row 1: 1 is not at most tool_execution_count",
        ),
        ({"search_max_score": 1.7}, "search_max_score: 1.7 is not between 0 and 1"),
        ({"search_max": [0.5]}, "search_max: unknown column; did you mean 'search_max_score'?"),
        ({"source_count": [1, 2], "query_coverage": [0.5]}, "columns of different lengths: 1, 2"),
        ({"query_coverage": ["0.5"]}, "query_coverage: is not a column of numbers: text"),
        ({"query_coverage": [True]}, "query_coverage: is not a column of numbers: true and false"),
        ({"query_coverage": [[0.5]]}, "query_coverage: is not a column of numbers: 2 dimensions"),
        ({"query_coverage": [{}]}, "query_coverage: is not a column of numbers: "),
        ([ConfidenceFactors()], "a list is neither a mapping of columns nor an Arrow table"),
    ],
)
def test_errors_name_the_column_and_the_row(table: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        confidence_batch(table)
    assert str(error.value).startswith(message)


def test_the_row_is_that_of_the_whole_column() -> None:
    best = np.full(20_000, 0.5)
    best[19_000] = 2
    with pytest.raises(InputError, match=r"search_max_score: row 19000: 2\.0 is not"):
        confidence_batch({"search_max_score": best})
