"""Which scorer does a name stand for? Built in, registered by decorator, or an entry point of an installed package.

A list of scorers is data, and data never runs: it can name registered scorers and nothing else.
"""

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from scalepan.arguments import is_number, wrong
from scalepan.check import problems
from scalepan.errors import InputError, did_you_mean, named, quoted, shorten
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.own_scorers import run_file, users_file
from scalepan.evals.result import ScorerResult, as_json
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
    """A custom scorer as a class: the score, and details that explain it.

    `getDetails` works too, and so does a class without details.
    """

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
    if not isinstance(name, str) or not name:
        raise wrong("name", name, "the name of a scorer: @scorer('short')")
    if threshold is not None and not is_number(threshold):
        raise wrong("threshold", threshold, "a number from 0 to 1, or None")

    def register(target: Any) -> Any:
        if inspect.isclass(target) and not _has_score(target):
            raise InputError(f"scorer '{name}': class {target.__name__} has no score(actual, expected)")
        if not callable(target) and not _has_score(target):
            raise InputError(f"scorer '{name}' is neither a function nor a class with score(actual, expected)")
        _registered[name] = _Registered(target, threshold)
        return target

    return register


def load_scorers(path: str | os.PathLike[str]) -> list[str]:
    """Run a Python file that the user named; the names of the scorers that it registered by `@scorer`."""
    before = dict(_registered)
    run_file(Path(path))
    names = [name for name, one in _registered.items() if one is not before.get(name)]
    if not names:
        raise InputError("registers no scorer; decorate one with @scalepan.scorer('its-name')", file=str(path))
    return names


def _has_score(target: Any) -> bool:
    return callable(getattr(target, "score", None))


class Bound(NamedTuple):
    """A scorer of a list with its weight, threshold and options, ready to run."""

    type: str
    weight: float
    threshold: float
    judge: Judge
    options: Any
    target: Any = None
    """The module, function or class behind it."""
    given: Mapping[str, Any] = {}
    """Its options as the list has them, without weight and threshold."""

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
            whole=score,
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
    given = {key: value for key, value in rest.items() if key != "threshold"}
    threshold = rest_threshold = spec.get("threshold")
    if rest_threshold is None:
        threshold = policy.thresholds.get(name, own_threshold)
    if threshold is None:
        raise InputError(f"scorer '{name}' has no threshold of its own, so it needs one here", path=path)
    return Bound(name, weight, _number(threshold, f"{path}.threshold", highest=1.0), judge, options, target, given)


def _number(value: Any, path: str, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise InputError(f"{quoted(value)} is not a number", path=path)
    if not 0 <= value <= highest:
        raise InputError(f"{quoted(value)} is not between 0 and {highest:,.0f}", path=path)
    return float(value)


def _find(name: str, path: str) -> _Registered:
    """The module, function or class of a name, and its default threshold."""
    if name in _registered:
        return _registered[name]
    if name in BUILT_IN:
        return _Registered(import_module(BUILT_IN[name]), None)
    if ":" in name:
        message = f"{quoted(name)} names code, and a list of scorers names registered ones only; {OWN}"
        raise InputError(message, path=path)
    for found in (_from_users_file(name), _from_entry_point(name, path)):
        if found is not None:
            return found
    raise InputError(f"no scorer {quoted(name)}{did_you_mean(name, [*BUILT_IN, *_registered])}; {OWN}", path=path)


OWN = "load your own with --scorers-from FILE"
_users_file_run: set[Path] = set()


def _from_users_file(name: str) -> _Registered | None:
    """The scorers of the user's own file; it is run once, when a name is not found elsewhere."""
    file = users_file()
    if file is not None and file not in _users_file_run:
        load_scorers(file)
        _users_file_run.add(file)
    return _registered.get(name)


def _from_entry_point(name: str, path: str) -> _Registered | None:
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return _Registered(point.load(), None)
        except Exception as error:
            raise InputError(f"scorer '{name}' cannot be loaded: {named(error)}", path=path) from None
    return None


def _as_judge(name: str, target: Any, options: dict[str, Any], path: str) -> tuple[Judge, Any]:
    """A function of (actual, expected, context), whatever form the scorer has, and its options."""
    options = {key: value for key, value in options.items() if key != "threshold"}
    if inspect.ismodule(target) and _has_score(target):
        return target.score, _typed_options(target.Options, options, path)
    if inspect.isclass(target):
        # The options are data. A class that is not a scorer must not be called with them.
        if not _has_score(target):
            raise InputError(f"scorer '{name}' is a class without score(actual, expected)", path=path)
        try:
            target = target(**{_snake(key): value for key, value in options.items()})
        except Exception as error:
            raise InputError(f"scorer '{name}' does not take these options: {named(error)}", path=path) from None
        options = {}
    if options:
        raise InputError(f"scorer '{name}' takes no options, and has {', '.join(options)}", path=path)
    if _has_score(target):
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
        detail = getattr(target, "get_details", None) or getattr(target, "getDetails", None)
        return _as_score(name, value, as_json(detail(actual, expected)) if detail else None)

    return judge


def _from_function(name: str, function: Callable[..., Any]) -> Judge:
    takes_context = len(inspect.signature(function).parameters) > 2

    def judge(actual: Output, expected: Expected, context: Context) -> Score:
        return _as_score(
            name, function(actual, expected, context) if takes_context else function(actual, expected), None
        )

    return judge


def _as_score(name: str, value: Any, details: Any) -> Score:
    """What a custom scorer returned, as a Score: a Score unchanged, a number or a bool converted."""
    if isinstance(value, Score):
        return value
    if not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        return failed(name, f"returned {quoted(value)}, which is not between 0 and 1", details)
    return ratio(name, float(value), "", details)


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", key).lower()
