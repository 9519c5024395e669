"""Many confidences at once: the formula on arrays, and each level looked up once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.errors import InputError
from scalepan.serve import answers, requests
from scalepan.serve.envelope import Caller
from scalepan.serve.judging import confidence_score

if TYPE_CHECKING:
    from scalepan.serve.service import Service

WORTH_AN_ARRAY = 8
"""Fewer are done one by one sooner."""


def score_all(
    service: "Service", asked: Sequence[requests.ConfidenceRequest], callers: Sequence[Caller]
) -> list[answers.ConfidenceAnswer | Exception]:
    """How sure to be of each step; what is wrong with one stands in its place."""
    if len(asked) >= WORTH_AN_ARRAY and not any(request.breakdown for request in asked):
        try:
            return list(_on_arrays(service, asked, callers))
        except InputError:
            pass  # one of them does not fit: which one, they say themselves
    return [_one(service, request, caller) for request, caller in zip(asked, callers, strict=True)]


def _on_arrays(
    service: "Service", asked: Sequence[requests.ConfidenceRequest], callers: Sequence[Caller]
) -> list[answers.ConfidenceAnswer]:
    from scalepan.confidence import ConfidenceCalculator, confidence_batch
    from scalepan.score import Score

    calculator = ConfidenceCalculator(service.policy())
    fields = requests.Factors.__struct_fields__
    columns = {name: [getattr(request.factors, name) for request in asked] for name in fields}
    values = confidence_batch(columns, calculator.policy).tolist()
    decisions = {value: calculator.decide_action(Score("confidence", value)) for value in set(values)}
    return [
        answers.ConfidenceAnswer(
            confidence=value,
            level=decisions[value].level.value,
            suggested_action=decisions[value].suggested_action,
            why=decisions[value].reason,
            policy_version=calculator.version,
            request_id=caller.request_id,
            trace_id=caller.trace_id,
        )
        for value, caller in zip(values, callers, strict=True)
    ]


def _one(
    service: "Service", request: requests.ConfidenceRequest, caller: Caller
) -> answers.ConfidenceAnswer | Exception:
    try:
        return confidence_score(service, request, caller)
    except Exception as error:
        return error
