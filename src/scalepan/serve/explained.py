"""A number that was kept, made again, for whoever asked for it by its id."""

from typing import TYPE_CHECKING, Any

from scalepan.serve import answers
from scalepan.serve.fence import clean, one_line

if TYPE_CHECKING:
    from scalepan.receipts import Explained, Number


def as_answer(found: "Explained", *, breakdown: bool, **envelope: Any) -> answers.ExplainAnswer:
    """What was found, its texts clean. An agent may have chosen ids and names, so they are kept short."""
    return answers.ExplainAnswer(
        id=one_line(found.id),
        kind=found.kind,
        status=found.status,
        numbers=[_number(number, breakdown=breakdown) for number in found.numbers],
        **envelope,
    )


def _number(number: "Number", *, breakdown: bool) -> answers.ExplainedNumber:
    return answers.ExplainedNumber(
        id=number.id,
        name=number.name,
        status=number.status,
        value=number.value,
        recomputed=number.recomputed,
        differences=[one_line(str(difference)) for difference in number.differences],
        why=one_line(number.reason) if number.reason else None,
        about=one_line(number.about) if number.about else None,
        kept_at=number.at,
        made_under=number.policy_version or None,
        breakdown=clean(number.explanation) if breakdown else None,
    )
