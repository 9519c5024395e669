"""The four numbers that a fit is made for: how one is computed, what happens from its thresholds on, where they are."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scalepan.check import read_json
from scalepan.errors import InputError, quoted
from scalepan.fit.labels import ValueOf
from scalepan.policy import Policy

NOTIFY_FACTOR = 2.0
"""NOTIFY may be wrong this many times as often as SILENT: somebody sees what was done and can undo it."""
CONFIRM_ERROR = 0.5
"""CONFIRM may be wrong in this share: below it a person would mostly say no, and is better handed the case."""


class ThresholdLine(NamedTuple):
    """A threshold: its name, what happens from it on, and the constant of the policy that holds it."""

    name: str
    does: str
    path: tuple[str, ...]


class NumberKind(NamedTuple):
    """One of the four numbers."""

    lines: tuple[ThresholdLine, ...]
    group_path: tuple[str, ...] = ()
    """The table of thresholds by group, if the policy has one."""
    given: str = ""
    """What a row may have in place of `value`."""


NUMBERS = {
    "confidence": NumberKind(
        (
            ThresholdLine("SILENT", "acts alone on", ("confidence", "thresholds", "silent")),
            ThresholdLine("NOTIFY", "acts alone or notifies on", ("confidence", "thresholds", "notify")),
            ThresholdLine("CONFIRM", "acts or asks on", ("confidence", "thresholds", "confirm")),
        ),
        given="factors",
    ),
    "value": NumberKind((ThresholdLine("SHARE", "shares", ("value", "gate")),), ("value", "gates"), given="trace"),
    "memory": NumberKind((ThresholdLine("RECALL", "recalls", ("retrieval", "threshold")),)),
    "judge": NumberKind((ThresholdLine("PASS", "passes", ("evals", "thresholds", "llm-judge")),)),
}


def value_of(number: str, policy: Policy) -> ValueOf | None:
    """Computes the number from what a row has in place of it; None if it must be given."""
    key = NUMBERS[number].given
    if not key:
        return None
    compute = _COMPUTE[key](policy)

    def computed(row: Mapping[str, Any]) -> float | None:
        given = row.get(key)
        if given is None:
            raise InputError(f"is missing, and so is '{key}', from which it could be computed", path="value")
        # A column of Parquet may hold it as text.
        given = read_json(given) if isinstance(given, str) else given
        if not isinstance(given, Mapping):
            raise InputError(f"{quoted(given)} is not an object", path=key)
        return compute(given)

    return computed


def _from_factors(policy: Policy) -> Callable[[Mapping[str, Any]], float | None]:
    from scalepan.confidence import ConfidenceCalculator, ConfidenceFactors

    calculator = ConfidenceCalculator(policy)
    return lambda given: calculator.calculate(ConfidenceFactors.from_dict(dict(given))).value


def _from_trace(policy: Policy) -> Callable[[Mapping[str, Any]], float | None]:
    from scalepan.trace import TraceValuer

    valuer = TraceValuer(policy)
    # Without the time limit of a single call: the same labels must give the same numbers.
    return lambda given: next(iter(valuer.evaluate_many([given]))).value


_COMPUTE = {"factors": _from_factors, "trace": _from_trace}
