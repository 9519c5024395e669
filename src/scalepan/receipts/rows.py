"""Numbers as they are kept, each made again."""

from collections.abc import Callable
from typing import Any

import msgspec

from scalepan.check import resolved
from scalepan.confidence import receipt as of_confidence
from scalepan.errors import shorten
from scalepan.evals import receipt as of_case
from scalepan.memory import receipt as of_recall
from scalepan.receipts.compare import (
    Difference,
    Number,
    attempt,
    differs,
    input_differences,
    score_differences,
    status_of,
)
from scalepan.score import Score
from scalepan.store.receipts import LostError, read_object, sealed_of
from scalepan.store.rows import ScoreRow
from scalepan.store.table import time_text
from scalepan.trace import receipt as of_trace

AGAIN: dict[str, Callable[[Any], Score]] = {
    "confidence": of_confidence.recompute,
    "score_final": of_recall.recompute,
    "value": of_trace.recompute,
    "case": of_case.recompute,
}
"""How a number of each name is made again."""
resolved(Score)


def not_about(row: ScoreRow, id_: str) -> list[Difference]:
    """Whether it is a number of something else. Older versions did not keep that, nor a seal."""
    return list(differs("what its number is about", row.subject, id_)) if row.subject or row.seal else []


def number_of(row: ScoreRow) -> Number:
    """A number made again from its inputs, and compared with what was kept."""
    name, inputs = row.name or "", read_object(row.inputs)
    stored, _ = attempt(lambda: msgspec.convert(read_object(row.body), Score))
    # As plain data and back: what a formula makes of a list or a text in place of a number is no score.
    again, reason = attempt(lambda: msgspec.convert(_again(name, inputs).to_dict(), Score))
    differences, unsealed = input_differences(sealed_of(name, row.subject, inputs), row.seal)
    if again is not None:
        differences += differs("value", row.value, again.value)
        differences += differs("policy_version", row.policy_version, again.policy)
        if stored is not None:
            differences += score_differences(stored, again)
        else:
            differences.append(Difference("how it came about", None, again.value))
    reason = reason or unsealed
    shown: Score | None = stored if stored is not None else again
    explanation, _ = attempt(lambda: shown.explain() if shown is not None else "")
    return Number(
        id=row.id,
        name=name,
        status=status_of(differences, reason),
        value=row.value,
        recomputed=None if again is None else again.value,
        differences=differences,
        reason=reason,
        about=row.subject,
        at=time_text(row.ts),
        policy_version=row.policy_version or "",
        explanation=explanation or "",
        breakdown=None if shown is None else shown.to_dict(),
    )


def _again(name: str, inputs: dict[str, Any]) -> Score:
    if name not in AGAIN:
        raise LostError(f"no formula makes a '{shorten(name)}'")
    return AGAIN[name](inputs)
