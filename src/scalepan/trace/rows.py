"""A valued trace as one flat row, for files and tables. No text of the trace is in it."""

from typing import Literal

import msgspec

from scalepan.score import Source
from scalepan.trace.formula import shape_of
from scalepan.trace.summary import Valued


class ValueRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is written per trace."""

    id: str
    value: float
    complexity: float
    novelty: float
    novelty_source: Source
    tool_diversity: float
    outcome_confidence: float
    outcome_source: Source
    base: float
    rules: str
    """The names of the rules that changed the value, joined by commas."""
    verdict: Literal["share", "keep"]
    threshold: float
    worst: float
    """The value at its worst, where success or confidence is not stated; else the value."""
    best: float
    nearest: str | None
    """The most similar earlier trace, if novelty was measured."""
    similarity: float | None
    domain: str
    profile: str
    success: bool | None
    created_at: str | None
    steps: int
    tools: int
    recoveries: int
    format: str
    project: str | None
    session: str | None
    parent: str | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    policy: str
    file: str
    number: int
    """Its number in the file, from 1."""


_TYPES = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN"}
COLUMNS = {
    name: next((sql for word, sql in _TYPES.items() if word in str(hint)), "VARCHAR")
    for name, hint in ValueRow.__annotations__.items()
}
"""Column to DuckDB type."""


def row_of(file: str, number: int, valued: Valued) -> ValueRow:
    """The row of one trace."""
    trace, score = valued
    details, origin, shape = score.details, trace.origin, shape_of(trace)
    complexity, novelty, diversity, outcome = score.parts
    worst, best = details.range or (valued.value, valued.value)
    return ValueRow(
        id=trace.id,
        value=valued.value,
        complexity=complexity.value,
        novelty=novelty.value,
        novelty_source=novelty.source,
        tool_diversity=diversity.value,
        outcome_confidence=outcome.value,
        outcome_source=outcome.source,
        base=score.base or 0.0,
        rules=",".join(rule.name for rule in score.rules),
        verdict=details.gate.verdict,
        threshold=details.gate.threshold,
        worst=worst,
        best=best,
        nearest=details.nearest.id if details.nearest else None,
        similarity=details.nearest.similarity if details.nearest else None,
        domain=details.domain,
        profile=details.profile,
        success=trace.metadata.success,
        created_at=trace.metadata.created_at,
        steps=shape.steps,
        tools=shape.tools,
        recoveries=shape.recoveries,
        format=origin.format if origin else "native",
        project=origin.project if origin else None,
        session=origin.session if origin else None,
        parent=origin.parent if origin else None,
        model=origin.model if origin else None,
        input_tokens=origin.input_tokens if origin else None,
        output_tokens=origin.output_tokens if origin else None,
        policy=score.policy,
        file=file,
        number=number,
    )
