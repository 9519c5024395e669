"""The same formula on arrays, to the last digit: for runs of a million steps."""

from collections.abc import Mapping
from sys import float_info
from typing import TYPE_CHECKING, Any

import numpy as np

from scalepan.confidence.calculator import Config, section_of
from scalepan.confidence.factors import COUNTS, SHARES, ConfidenceFactors
from scalepan.errors import InputError, did_you_mean, quoted
from scalepan.policy.confidence import Confidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Columns = dict[str, NDArray[Any]]

FIELDS = ConfidenceFactors.__struct_fields__
_BY_DEFAULT = {name: np.asarray(getattr(ConfidenceFactors(), name)) for name in FIELDS}
# What is worked on at once stays in the processor's cache: nearly twice as fast as whole columns.
_ROWS_AT_ONCE = 8192
_NEAR_HALF = 1e-6
# Up to here a double, scaled, still shows how near to a half it is.
_MOST_PLACES = 9


def confidence_batch(factors: Mapping[str, Any] | Any, policy: Config = None) -> "Floats":
    """Confidence of many steps at once. `factors` is columns by name: a mapping of arrays, or an Arrow table.

    What is not given has its default; a single number stands for all rows. Without a policy, the one in force.

    >>> confidence_batch({"search_result_count": [3, 0], "search_max_score": [0.8, 0.0], "source_count": 1}).tolist()
    [0.88, 1.0]
    """
    columns, policy = _columns(factors), section_of(policy)
    result = np.empty(max((len(column) for column in columns.values() if column.ndim), default=1))
    for start in range(0, len(result), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        f = {name: column[rows] if column.ndim else column for name, column in columns.items()}
        result[rows] = _formula(f, policy)
        result[rows] = _rounded(result[rows], policy.places)
    return result


def _formula(f: "Columns", policy: Confidence) -> "Floats":
    quality, tools = _search_quality(f, policy), _tool_success(f)
    # Tools that never failed are a factor of 1, which changes no digit.
    base = np.where(f["is_search_step"], quality * tools, _weighted(f, quality, tools, policy))
    return np.clip(_penalized(base, f, policy), 0.0, 1.0)


def _search_quality(f: "Columns", policy: Confidence) -> "Floats":
    constants = policy.search_quality
    best = f["search_max_score"]
    spread = np.minimum(constants.variance_limit, constants.variance_factor * f["search_score_variance"])
    mixed = np.maximum(0.0, constants.max_weight * best + constants.avg_weight * f["search_avg_score"] - spread)
    found = np.where(best >= constants.good_max, best, mixed)
    return found * ((f["search_result_count"] > 0) | (best > 0))


def _tool_success(f: "Columns") -> "Floats":
    runs = f["tool_execution_count"]
    return np.where(runs > 0, f["tool_success_count"] / np.maximum(runs, 1), f["tool_success_rate"])


def _weighted(f: "Columns", quality: "Floats", tools: "Floats", policy: Confidence) -> "Floats":
    weights, applies = policy.weights, policy.applies
    evaluation, coverage = f["llm_self_confidence"], f["query_coverage"]
    # One after the other, in the contract's order, gives the same last digit as one step; what does not apply adds 0.
    found = quality > 0
    total = quality * weights.search_quality * found + tools * weights.tool_success
    weight = weights.search_quality * found + weights.tool_success
    for value, share, holds in (
        (f["source_agreement"], weights.source_agreement, f["source_count"] > 1),
        (evaluation, weights.llm_self_eval, evaluation > applies.llm_self_eval),
        (coverage, weights.query_coverage, coverage > applies.query_coverage),
    ):
        total = total + value * share * holds
        weight = weight + share * holds
    return total / weight


def _penalized(at: "Floats", f: "Columns", policy: Confidence) -> "Floats":
    constants = policy.penalties
    search, empty, rate = f["is_search_step"], f["search_result_count"] == 0, f["tool_success_rate"]
    at = at * np.where(search & empty, constants.no_search_results, 1.0)
    at = at * np.where(rate < 1.0, constants.tool_failures_floor + constants.tool_failures_span * rate, 1.0)
    needed = np.where(search, empty, f["llm_self_confidence"] < constants.sources_waived)
    return at * np.where((f["source_count"] == 0) & needed, constants.no_sources, 1.0)


def _rounded(values: "Floats", places: int) -> "Floats":
    """Python's round, which looks at the number itself; numpy's multiplies first, and errs near a half."""
    if places > _MOST_PLACES:
        return np.array([round(value, places) for value in values.tolist()])
    scale = 10.0**places
    scaled = values * scale
    whole = np.rint(scaled)
    near = np.flatnonzero(np.abs(scaled - whole) > 0.5 - _NEAR_HALF)
    rounded = whole / scale
    rounded[near] = [round(value, places) for value in values[near].tolist()]
    return rounded


def _columns(factors: Mapping[str, Any] | Any) -> "Columns":
    """Every factor as an array of numbers in their range; what stands for all rows has no dimension."""
    if hasattr(factors, "to_columns_pysequence"):  # nanoarrow
        factors = dict(zip(*factors.to_columns_pysequence(), strict=True))
    if not isinstance(factors, Mapping) and not hasattr(factors, "column_names"):
        raise InputError(f"{quoted(factors)} is neither a mapping of columns nor an Arrow table")
    names = list(factors) if isinstance(factors, Mapping) else list(factors.column_names)
    for name in names:
        if name not in FIELDS:
            raise InputError(f"unknown column{did_you_mean(str(name), FIELDS)}", path=str(name))
    given = {name: _array(name, factors[name]) for name in names}
    lengths = {len(column) for column in given.values() if column.ndim}
    if len(lengths) > 1:
        raise InputError(f"columns of different lengths: {', '.join(map(str, sorted(lengths)))}")
    for name, column in given.items():
        _check(name, column)
    columns = _BY_DEFAULT | given
    columns["is_search_step"] = columns["is_search_step"].astype(bool)
    runs, succeeded = columns["tool_execution_count"], columns["tool_success_count"]
    _refuse("tool_success_count", succeeded, succeeded > runs, "at most tool_execution_count")
    return columns


def _array(name: str, column: Any) -> "NDArray[Any]":
    # An Arrow array's own to_numpy refuses what needs a copy; its __array__ does not.
    if hasattr(column, "to_numpy") and not hasattr(column, "__array__"):
        column = column.to_numpy()
    try:
        array = np.asarray(column)
        if array.dtype.kind == "O" or array.size == 0:
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"is not a column of numbers: {error}", path=name) from error
    kind = array.dtype.kind
    if array.ndim > 1:
        raise InputError(f"is not a column of numbers: {array.ndim} dimensions", path=name)
    if kind not in "biuf" or (kind == "b" and name != "is_search_step"):
        kinds = {"b": "true and false", "U": "text", "S": "bytes"}
        raise InputError(f"is not a column of numbers: {kinds.get(kind, array.dtype)}", path=name)
    return array.astype(np.float64, copy=False) if kind == "f" else array


def _check(name: str, column: "NDArray[Any]") -> None:
    """Each number in its range. The least and the greatest tell, and NaN is both; rows are looked at only then."""
    if column.size == 0 or column.dtype == bool:
        return
    if name == "is_search_step":
        _refuse(name, column, (column != 0) & (column != 1), "true or false")
        return
    highest, legal = (1.0, "between 0 and 1") if name in SHARES else (float_info.max, "at least 0 and finite")
    if not (column.min() >= 0 and column.max() <= highest):
        _refuse(name, column, ~((column >= 0) & (column <= highest)), legal)
    if name in COUNTS and column.dtype.kind == "f":
        _refuse(name, column, column != np.floor(column), "a whole number")


def _refuse(name: str, column: "NDArray[Any]", wrong: "NDArray[np.bool_]", legal: str) -> None:
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong)[0])
    value = np.broadcast_to(column, wrong.shape).flat[row].item()
    place = f"row {row}: " if wrong.ndim else ""
    raise InputError(f"{place}{quoted(value)} is not {legal}", path=name)
