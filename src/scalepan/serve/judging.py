"""The three questions beside memory, and any stored number explained: a request in, a typed answer out.

What a question needs is imported when it is asked, so that a door is open before that.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import InputError
from scalepan.serve import answers, requests
from scalepan.serve.envelope import Caller, ids
from scalepan.serve.fence import clean_data, one_line
from scalepan.serve.service import Service

if TYPE_CHECKING:
    from scalepan.confidence import ConfidenceFactors


def trace_value(service: Service, request: requests.TraceValue, asked: Caller) -> answers.ValueAnswer:
    """What a trace is worth."""
    from scalepan.trace import ReasoningTrace

    trace = ReasoningTrace.from_dict(request.trace)
    valuer = service.valuer()
    score = valuer.evaluate_value(trace) if request.remember else valuer.peek(trace)
    gate = score.details.gate
    return answers.ValueAnswer(
        id=one_line(trace.id),
        value=float(score),
        verdict=gate.verdict,
        why=str(gate),
        breakdown=clean_data(score.to_dict()) if request.breakdown else None,
        **ids(asked, score.policy),
    )


def output_score(service: Service, request: requests.OutputScore, asked: Caller) -> answers.OutputAnswer:
    """Whether an output is right."""
    from scalepan.evals import Case, Evaluator, Output, diagnose
    from scalepan.evals.load import case_faults

    case = _converted(request.case, Case, "case")
    output = _converted(request.output, Output, "output")
    policy = service.policy()
    for fault in case_faults(case, policy.evals):
        raise InputError(fault.message, path=f"case.{fault.path}")
    result = Evaluator(request.preset, policy).evaluate(case, output)
    diagnosis = None if result.passed else diagnose(case, output, result, policy.evals).to_dict()
    scores = msgspec.to_builtins(result.to_dict()["scores"], enc_hook=str)
    if not request.breakdown:
        scores = {name: {k: v for k, v in one.items() if k != "details"} for name, one in scores.items()}
    return answers.OutputAnswer(
        id=one_line(case.id),
        passed=result.passed,
        weighted_average=result.weighted_average,
        scores=clean_data(scores),
        diagnosis=clean_data(diagnosis),
        breakdown=clean_data(result.score.to_dict()) if request.breakdown else None,
        **ids(asked, policy.version("evals")),
    )


def confidence_score(service: Service, request: requests.ConfidenceRequest, asked: Caller) -> answers.ConfidenceAnswer:
    """How sure to be."""
    from scalepan.confidence import ConfidenceCalculator

    calculator = ConfidenceCalculator(service.policy())
    score = calculator.calculate(factors_of(request.factors))
    decision = calculator.decide_action(score)
    return answers.ConfidenceAnswer(
        confidence=score.value,
        level=decision.level.value,
        suggested_action=decision.suggested_action,
        why=decision.reason,
        breakdown=score.to_dict() if request.breakdown else None,
        **ids(asked, score.policy),
    )


def explain(service: Service, request: requests.ExplainRequest, asked: Caller) -> answers.ExplainAnswer:
    """A number that was kept, made again."""
    from scalepan import receipts
    from scalepan.serve.explained import as_answer

    found = receipts.explain(service.memory(asked), request.id)
    return as_answer(found, breakdown=request.breakdown, **service.envelope(asked, "retrieval"))


def factors_of(factors: Any) -> "ConfidenceFactors":
    """The factors that a request has."""
    from scalepan.confidence import ConfidenceFactors

    return ConfidenceFactors(**msgspec.structs.asdict(factors))


def _converted(data: Mapping[str, Any], type_: type[Any], name: str) -> Any:
    from scalepan.check import problems

    faults = problems(data, type_)
    if faults:
        path = f"{name}.{faults[0].path}" if faults[0].path else name
        raise InputError(faults[0].message, path=path, more=[f"{name}.{fault}" for fault in faults[1:]])
    return msgspec.convert(data, type_)
