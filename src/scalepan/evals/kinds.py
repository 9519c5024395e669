"""Which scorers judge a case that names none? Block edits get the preset; free text gets what `expected` asks for."""

from collections.abc import Callable, Iterable
from typing import Any

from scalepan.evals.cases import Case, Expected
from scalepan.evals.registry import Bound
from scalepan.evals.scorers.content_quality import wanted_content

EDITS = ("operation-accuracy", "target-block-precision", "content-quality", "operation-result", "anti-hallucination")
"""Scorers of block edits: with neither pages nor operations they have nothing to judge."""
NOT_OF_CONTENT = (*EDITS, "response-time")
"""Scorers that do not tell whether a text is right."""
NOTHING = "nothing was measured: the case has neither pages, nor expected operations, nor an expected output"
NONE_APPLIES = "nothing was measured: none of its scorers applies to this case"


def text_scorers(expected: Expected) -> list[str]:
    """The scorers that an expected text asks for: by its key, and for `output` by the kind of value.

    >>> text_scorers(Expected(output="Paris")), text_scorers(Expected(output=42, contains="forty"))
    (['exact'], ['contains', 'numeric'])
    """
    asked = []
    if expected.contains is not None:
        asked.append("contains")
    if expected.matches is not None:
        asked.append("regex")
    if expected.output is not None:
        asked.append(_by_value(expected.output))
    return asked


def _by_value(output: Any) -> str:
    if isinstance(output, (dict, list)):
        return "json-equal"
    return "numeric" if isinstance(output, (int, float)) and not isinstance(output, bool) else "exact"


def choose(case: Case, preset: list[Bound], bind: Callable[[str], Bound]) -> list[Bound]:
    """The scorers of a case that names none. A preset that judges text itself is left as it is."""
    chosen = preset if case.is_edit else [one for one in preset if one.type not in EDITS]
    if case.is_text and all(one.type in NOT_OF_CONTENT for one in chosen):
        return [*chosen, *map(bind, text_scorers(case.expected))]
    return chosen


def can_measure(case: Case, types: Iterable[str]) -> bool:
    """Whether any of these scorers has something to judge in the case."""
    return any(_applies(case, type_) for type_ in types)


def _applies(case: Case, type_: str) -> bool:
    if type_ == "content-quality":
        return any(True for _ in wanted_content(case.expected))
    if type_ == "target-block-precision":
        return any(group.operations for group in case.expected.operations)
    if type_ == "anti-hallucination":
        return bool(case.pages)
    return case.is_edit or type_ not in EDITS
