"""response-time: was it fast enough? (contract evals.25)"""

from typing import Annotated, Any

import msgspec

from scalepan.arguments import is_number, wrong
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import failed, ratio
from scalepan.score import Score

NAME = "response-time"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`maxAcceptableMs`: up to here the score is 1; at twice that it is 0."""

    max_acceptable_ms: Annotated[float, msgspec.Meta(gt=0, le=1e12)]


class ResponseTimeDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """See contract evals.25."""

    response_time_ms: float
    max_acceptable_ms: float
    passed: bool


class ResponseTimeScorer:
    """An example of a custom scorer: a class with `score` and `get_details`.

    >>> ResponseTimeScorer(1000).score(Output(duration_ms=1250), Expected())
    0.75
    """

    def __init__(self, max_acceptable_ms: float) -> None:
        if not is_number(max_acceptable_ms) or not max_acceptable_ms > 0:
            raise wrong("max_acceptable_ms", max_acceptable_ms, "a number of milliseconds, more than 0")
        self.max_acceptable_ms = max_acceptable_ms

    def score(self, actual: Any, expected: Any) -> float:  # noqa: ARG002 - the interface of contract evals.27
        """1 within the limit, then less in proportion, down to 0."""
        if actual.duration_ms <= self.max_acceptable_ms:
            return 1.0
        late: float = (actual.duration_ms - self.max_acceptable_ms) / self.max_acceptable_ms
        return max(0.0, 1 - late)

    def get_details(self, actual: Any, expected: Any) -> ResponseTimeDetails:  # noqa: ARG002 - the interface of contract evals.27
        """The time, the limit, and whether it was met."""
        return ResponseTimeDetails(
            response_time_ms=actual.duration_ms,
            max_acceptable_ms=self.max_acceptable_ms,
            passed=actual.duration_ms <= self.max_acceptable_ms,
        )


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The same, for an output that says how long it took."""
    options: Options = context.options
    if actual.duration_ms is None:
        return failed(NAME, "the output has no durationMs")
    scorer = ResponseTimeScorer(options.max_acceptable_ms)
    note = f"{actual.duration_ms:g} of {options.max_acceptable_ms:g} ms"
    return ratio(NAME, scorer.score(actual, expected), note, scorer.get_details(actual, expected))
