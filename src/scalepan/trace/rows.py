"""A valued trace as one flat row, for files and tables. No text of the trace is in it."""

import msgspec

from scalepan.score import Source
from scalepan.trace.gate import Verdict
from scalepan.trace.valued import Valued


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
    verdict: Verdict
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
    trace, numbers, constants, novelty = valued.trace, valued.numbers, valued.constants, valued.novelty
    metadata, origin, shape, value = trace.metadata, trace.origin, valued.shape, numbers.value
    worst, best = valued.range or (value, value)
    return ValueRow(
        id=trace.id,
        value=value,
        complexity=numbers.complexity,
        novelty=numbers.novelty,
        novelty_source=novelty.source,
        tool_diversity=numbers.tool_diversity,
        outcome_confidence=numbers.outcome_confidence,
        outcome_source=valued.outcome.source,
        base=numbers.base,
        rules=",".join([change.rule for change in numbers.changes]),
        verdict=valued.verdict,
        threshold=constants.threshold,
        worst=worst,
        best=best,
        nearest=novelty.nearest.id if novelty.nearest else None,
        similarity=novelty.nearest.similarity if novelty.nearest else None,
        domain=metadata.task_domain,
        profile=constants.profile,
        success=metadata.success,
        created_at=metadata.created_at,
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
        policy=constants.version,
        file=file,
        number=number,
    )
