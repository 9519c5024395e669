"""What is known about a step before it is judged (contract confidence.1)."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from sys import float_info
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from scalepan.check import problems
from scalepan.errors import InputError, counted, quoted

SHARES = (
    *("search_avg_score", "search_max_score", "source_agreement", "llm_self_confidence", "tool_success_rate"),
    "query_coverage",
)
COUNTS = ("search_result_count", "source_count", "tool_execution_count", "tool_success_count")
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class ConfidenceFactors(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was searched, found, called and said. What is not given has its default.

    >>> ConfidenceFactors(search_max_score=1.7)
    Traceback (most recent call last):
    scalepan.errors.InputError: search_max_score: 1.7 is not between 0 and 1
    """

    search_result_count: Count = 0
    search_avg_score: Share = 0.0
    search_max_score: Share = 0.0
    search_score_variance: Annotated[float, Meta(ge=0)] = 1.0
    source_agreement: Annotated[Share, Meta(description="How far the sources say the same.")] = 0.0
    source_count: Count = 0
    llm_self_confidence: Annotated[Share, Meta(description="How sure you are yourself.")] = 0.5
    tool_success_rate: Share = 1.0
    tool_execution_count: Count = 0
    tool_success_count: Count = 0
    query_coverage: Annotated[Share, Meta(description="How much of what was asked is answered.")] = 0.0
    is_search_step: bool = False

    def __post_init__(self) -> None:
        # msgspec checks types and ranges when it decodes, and not here.
        for name in SHARES:
            if not _is_number(value := getattr(self, name)) or not 0 <= value <= 1:
                raise _error(f"{quoted(value)} is not between 0 and 1", name, [])
        for name in COUNTS:
            if not isinstance(value := getattr(self, name), int) or isinstance(value, bool) or value < 0:
                raise _error(f"{quoted(value)} is not a whole number, at least 0", name, [])
        if not _is_number(self.search_score_variance) or not 0 <= self.search_score_variance <= float_info.max:
            raise _error(
                f"{quoted(self.search_score_variance)} is not a number, at least 0", "search_score_variance", []
            )
        if not isinstance(self.is_search_step, bool):
            raise _error(f"{quoted(self.is_search_step)} is not true or false", "is_search_step", [])
        if self.tool_success_count > self.tool_execution_count:
            raise _error(
                f"{counted(self.tool_success_count, 'success', 'successes')} of "
                f"{counted(self.tool_execution_count, 'execution')}",
                "tool_success_count",
                [],
            )
        for name in (*SHARES, "search_score_variance"):
            # A whole 1 would go on to make a score of 1 that is no float.
            if isinstance(value := getattr(self, name), int):
                force_setattr(self, name, float(value))

    @classmethod
    def from_dict(cls, data: Any) -> "ConfidenceFactors":
        """Factors from plain data, such as a line of JSON; InputError names every field that does not fit."""
        faults = problems(data, cls)
        if faults:
            raise _error(faults[0].message, faults[0].path, [str(fault) for fault in faults[1:]])
        return cls(**data)

    @classmethod
    def from_steps(
        cls,
        search_scores: Iterable[float] | None = None,
        tool_calls: Iterable[bool | Mapping[str, Any]] = (),
        sources: Sequence[Any] = (),
        *,
        source_agreement: float = 0.0,
        llm_self_confidence: float = 0.5,
        query_coverage: float = 0.0,
        is_search_step: bool | None = None,
    ) -> "ConfidenceFactors":
        """Factors from what any agent framework has: scores of a search, outcomes of tool calls, sources.

        A tool call is true or false, or a mapping with `success`, `ok`, `is_error` or `error`. A step is a search step
        if there was a search, even one that found nothing, and no tool was called.

        >>> factors = ConfidenceFactors.from_steps([0.8, 0.6], [True, {"error": "timeout"}], ["a.md"])
        >>> factors.search_avg_score, round(factors.search_score_variance, 4), factors.tool_success_rate
        (0.7, 0.01, 0.5)
        """
        outcomes = [succeeded(call) for call in tool_calls]
        # Arrays too, of any kind of float. fsum, because sum gives another last digit from Python 3.12 on.
        scores = [float(score) for score in search_scores] if search_scores is not None else []
        mean = fsum(scores) / len(scores) if scores else 0.0
        searched = search_scores is not None
        return cls(
            search_result_count=len(scores),
            search_avg_score=mean,
            search_max_score=max(scores, default=0.0),
            # Of the population: these are all the results, not a sample of them.
            search_score_variance=fsum((score - mean) ** 2 for score in scores) / len(scores) if scores else 1.0,
            source_agreement=source_agreement,
            source_count=len(sources),
            llm_self_confidence=llm_self_confidence,
            tool_success_rate=sum(outcomes) / len(outcomes) if outcomes else 1.0,
            tool_execution_count=len(outcomes),
            tool_success_count=sum(outcomes),
            query_coverage=query_coverage,
            is_search_step=(searched and not outcomes) if is_search_step is None else is_search_step,
        )


def succeeded(call: bool | Mapping[str, Any]) -> bool:
    """Whether a tool call went well, in the words of several frameworks.

    >>> succeeded({"is_error": True}), succeeded({"error": None}), succeeded({"status": "success"})
    (False, True, True)
    """
    if isinstance(call, bool):
        return call
    for key in ("success", "ok", "succeeded"):
        if key in call:
            return bool(call[key])
    for key in ("is_error", "isError", "error"):
        if key in call:
            return not call[key]
    if "status" in call:
        return str(call["status"]).lower() in ("success", "succeeded", "ok", "completed", "done")
    raise _error(
        f"a tool call with {', '.join(map(str, call)) or 'nothing'} does not say how it went", "tool_calls", []
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _error(problem: str, path: str, more: list[str]) -> InputError:
    error = InputError(problem, path=path, more=more)
    error.noun = "factors"
    return error
