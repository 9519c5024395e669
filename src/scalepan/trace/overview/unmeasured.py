"""What could not be measured, said in plain words."""

from collections.abc import Sequence

from scalepan.errors import counted
from scalepan.trace.overview.missing import Missing
from scalepan.trace.overview.model import GroupFigures
from scalepan.trace.overview.repeats import MOST_GROUPS, MOST_SEEN
from scalepan.trace.overview.texts import CleanTexts, listed

MOST = 5


def unmeasured(
    missing: Missing, formats: Sequence[GroupFigures], traces: int, texts: CleanTexts, *, overflow: bool = False
) -> list[str]:
    """A sentence for each thing that these logs leave open."""
    said = [*_outcomes(missing, texts), *_novelty(missing, traces)]
    silent = [row for row in formats if row.calls and row.failed_share is None]
    if silent:
        calls = sum(row.calls for row in silent)
        names = listed(row.name for row in silent[:MOST])
        said.append(f"Whether calls failed: not stated in {names} traces ({counted(calls, 'call')}).")
    if overflow:
        said.append(
            f"Repeats: looked for among the first {MOST_SEEN:,} different traces and {MOST_GROUPS:,} groups only."
        )
    return said


def _outcomes(missing: Missing, texts: CleanTexts) -> list[str]:
    ranked = sorted(missing.outcomes.items(), key=lambda item: -item[1])
    said = [
        f"The outcome: {what} not stated in {counted(count, f'{texts.name(format_)} trace')}. "
        "The value takes the middle of what is possible."
        for (format_, what), count in ranked[:MOST]
    ]
    if said and missing.ranges:
        worst, best = missing.worst / missing.ranges, missing.best / missing.ranges
        said[-1] += f" On average it could be anything from {worst:.2f} to {best:.2f}."
    return said


def _novelty(missing: Missing, traces: int) -> list[str]:
    said = []
    for reason, count in sorted(missing.novelty.items(), key=lambda item: -item[1]):
        of = "any trace" if count == traces else counted(count, "trace")
        if reason == "no encoder":
            said.append(
                "Novelty and near-duplicates: no encoder is in use, so novelty counts 0.5 for every trace. "
                "'scalepan doctor' shows how to add one."
            )
        elif count > 1 or count == traces > 1 or reason == "encoder failed":
            said.append(f"The novelty of {of}: {reason}.")
    return said
