"""Which scorer does a name mean? Built in, registered by decorator, `module:name`, or an entry point of a package."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple, Protocol

import msgspec

from scalepan.check import problems
from scalepan.errors import InputError, did_you_mean, quoted, shorten
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerResult
from scalepan.evals.scorers._ratio import failed, ratio
from scalepan.policy.evals import Evals
from scalepan.score import Score

ENTRY_POINTS = "scalepan.scorers"
LARGEST_WEIGHT = 1e6
BUILT_IN = {
    name: f"scalepan.evals.scorers.{name.replace('-', '_')}"
    for name in (
        "operation-accuracy",
        "target-block-precision",
        "content-quality",
        "operation-result",
        "anti-hallucination",
        "response-time",
        "exact",
        "contains",
        "regex",
        "json-equal",
        "levenshtein",
        "numeric",
        "embedding-similarity",
        "llm-judge",
    )
}

Judge = Callable[[Output, Expected, Context], Score]


class Scorer(Protocol):
    """A scorer of one's own as a class: the score, and details for whoever wants to know why."""

    def score(self, actual: Any, expected: Any) -> float:
        """From 0 to 1."""

    def get_details(self, actual: Any, expected: Any) -> Any:
        """The evidence."""


class _Registered(NamedTuple):
    target: Any
    threshold: float | None


_registered: dict[str, _Registered] = {}


def scorer(name: str, *, threshold: float | None = None) -> Callable[[Any], Any]:
    """Register a function or a class as a scorer.

    >>> @scorer("short", threshold=1.0)
    ... def short(actual, expected):
    ...     return 1.0 if len(actual.output) < 100 else 0.0
    """

    def register(target: Any) -> Any:
        _registered[name] = _Registered(target, threshold)
        return target

    return register


class Bound(NamedTuple):
    """A scorer as a list names it: with its weight, threshold and options, ready to judge."""

    type: str
    weight: float
    threshold: float
    judge: Judge
    options: Any

    def __call__(self, actual: Output, expected: Expected, context: Context) -> ScorerResult:
        """The verdict on one case. Whatever the scorer raises becomes a failed score with the reason."""
        try:
            score = self.judge(actual, expected, context._replace(options=self.options))
        except InputError as error:
            score = failed(self.type, str(error))
        except (Exception, SystemExit) as error:
            score = failed(self.type, f"raised {type(error).__name__}: {shorten(str(error), 200)}")
        return ScorerResult(
            type=self.type,
            score=score.value,
            threshold=self.threshold,
            weight=self.weight,
            status=score.status,
            reason=score.reason,
            details=score.details,
        )


def scorer_faults(specs: Sequence[Mapping[str, Any]], policy: Evals) -> list[InputError]:
    """Everything that is wrong with a list of scorers."""
    faults = []
    for index, spec in enumerate(specs):
        try:
            _bind_one(spec, f"scorers[{index}]", policy)
        except InputError as error:
            faults.append(error)
    if not faults:
        try:
            bind(specs, policy)
        except InputError as error:
            faults.append(error)
    return faults


def bind(specs: Sequence[Mapping[str, Any]], policy: Evals) -> list[Bound]:
    """A list of scorers, checked; InputError names the entry that does not fit. An empty list is an error."""
    if not specs:
        raise InputError("is empty; a case needs at least one scorer", path="scorers")
    bound = [_bind_one(spec, f"scorers[{index}]", policy) for index, spec in enumerate(specs)]
    if not any(one.weight for one in bound):
        raise InputError("every weight is 0, so there is no average", path="scorers")
    return bound


def _bind_one(spec: Mapping[str, Any], path: str, policy: Evals) -> Bound:
    if not isinstance(spec, Mapping) or not isinstance(spec.get("type"), str):
        raise InputError(f"{quoted(spec)} is not a scorer with a type", path=path)
    rest = dict(spec)
    name = rest.pop("type")
    weight = _number(rest.pop("weight", 1.0), f"{path}.weight", highest=LARGEST_WEIGHT)
    target, own_threshold = _find(name, path)
    judge, options = _as_judge(name, target, rest, path)
    threshold = rest_threshold = spec.get("threshold")
    if rest_threshold is None:
        threshold = policy.thresholds.get(name, own_threshold)
    if threshold is None:
        raise InputError(f"scorer '{name}' has no threshold of its own, so it needs one here", path=path)
    return Bound(name, weight, _number(threshold, f"{path}.threshold", highest=1.0), judge, options)


def _number(value: Any, path: str, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise InputError(f"{quoted(value)} is not a number", path=path)
    if not 0 <= value <= highest:
        raise InputError(f"{quoted(value)} is not between 0 and {highest:,.0f}", path=path)
    return float(value)


def _find(name: str, path: str) -> _Registered:
    """The module, function or class that a name means, and the threshold that it brings."""
    if name in _registered:
        return _registered[name]
    if name in BUILT_IN:
        return _Registered(import_module(BUILT_IN[name]), None)
    try:
        if ":" in name:
            module, _, attribute = name.partition(":")
            return _Registered(getattr(import_module(module), attribute), None)
        for point in entry_points(group=ENTRY_POINTS, name=name):
            return _Registered(point.load(), None)
    except Exception as error:
        raise InputError(f"scorer '{name}' cannot be loaded: {error}", path=path) from None
    raise InputError(f"no scorer '{name}'{did_you_mean(name, [*BUILT_IN, *_registered])}", path=path)


def _as_judge(name: str, target: Any, options: dict[str, Any], path: str) -> tuple[Judge, Any]:
    """A function of (actual, expected, context), whatever form the scorer has, and its options."""
    options = {key: value for key, value in options.items() if key != "threshold"}
    if inspect.ismodule(target):
        return target.score, _typed_options(target.Options, options, path)
    if inspect.isclass(target):
        try:
            target = target(**{_snake(key): value for key, value in options.items()})
        except TypeError as error:
            raise InputError(f"scorer '{name}' does not take these options: {error}", path=path) from None
        options = {}
    if options:
        raise InputError(f"scorer '{name}' takes no options, and has {', '.join(options)}", path=path)
    if hasattr(target, "score"):
        return _from_object(name, target), None
    if callable(target):
        return _from_function(name, target), None
    raise InputError(f"scorer '{name}' is neither a function nor a class with score()", path=path)


def _typed_options(type_: type[msgspec.Struct], options: dict[str, Any], path: str) -> Any:
    for fault in problems(options, type_):
        raise InputError(fault.message, path=f"{path}.{fault.path}" if fault.path else path)
    return msgspec.convert(options, type_)


def _from_object(name: str, target: Any) -> Judge:
    def judge(actual: Output, expected: Expected, context: Context) -> Score:  # noqa: ARG001
        value = target.score(actual, expected)
        details = target.get_details(actual, expected) if hasattr(target, "get_details") else None
        return _as_score(name, value, details)

    return judge


def _from_function(name: str, function: Callable[..., Any]) -> Judge:
    takes_context = len(inspect.signature(function).parameters) > 2

    def judge(actual: Output, expected: Expected, context: Context) -> Score:
        return _as_score(name, function(actual, expected, context) if takes_context else function(actual, expected), None)

    return judge


def _as_score(name: str, value: Any, details: Any) -> Score:
    """What a scorer of one's own returned: a Score as it is, a number or a yes or no as one."""
    if isinstance(value, Score):
        return value
    if not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        return failed(name, f"returned {quoted(value)}, which is not between 0 and 1", details)
    return ratio(name, float(value), "", details)


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", key).lower()
