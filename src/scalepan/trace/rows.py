"""A valued trace as one flat row, for files and tables. No text of the trace is in it."""

from typing import TYPE_CHECKING

import msgspec

from scalepan.errors import printable
from scalepan.score import Source
from scalepan.trace.gate import Verdict, verdict
from scalepan.trace.readers import BadRow
from scalepan.trace.valued import Valued

if TYPE_CHECKING:
    from scalepan.redact import Redactor


class ValueRow(msgspec.Struct, frozen=True, gc=False):
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


class RejectedRow(msgspec.Struct, frozen=True):
    """What is written per bad record."""

    file: str
    line: int | None
    error: str
    """Why it is no trace. What it quotes of the record is redacted."""


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
    # By position, in the order of the fields: so many keywords cost more than all the numbers.
    return ValueRow(
        trace.id,
        value,
        numbers.complexity,
        numbers.novelty,
        novelty.source,
        numbers.tool_diversity,
        numbers.outcome_confidence,
        valued.outcome.source,
        numbers.base,
        ",".join([change.rule for change in numbers.changes]),
        verdict(value, constants.threshold),
        constants.threshold,
        worst,
        best,
        novelty.nearest.id if novelty.nearest else None,
        novelty.nearest.similarity if novelty.nearest else None,
        metadata.task_domain,
        constants.profile,
        metadata.success,
        metadata.created_at,
        shape.steps,
        shape.tools,
        shape.recoveries,
        origin.format if origin else "native",
        origin.project if origin else None,
        origin.session if origin else None,
        origin.parent if origin else None,
        origin.model if origin else None,
        origin.input_tokens if origin else None,
        origin.output_tokens if origin else None,
        constants.version,
        file,
        number,
    )


def rejected_row(file: str, row: BadRow, redactor: "Redactor") -> RejectedRow:
    """The row of one bad record."""
    return RejectedRow(file, row.line or None, redactor.redact(printable(str(row.error))).text)
