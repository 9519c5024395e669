"""What was expected beside what came: operation by operation, and for the text."""

from typing import Any

import msgspec

from scalepan.evals.blocks import BlockOperation
from scalepan.evals.cases import Case, Output
from scalepan.evals.context import Evidence
from scalepan.evals.diagnose import page_diff, said
from scalepan.evals.scorers import operation_accuracy


def expected_and_actual(case: Case, output: Output) -> list[tuple[str, str]]:
    """Each expectation in words, with what the output has for it."""
    pairs = operation_accuracy.pairs(output, case.expected, Evidence(case.pages, output))
    rows = [(f"{page}: {_operation(one)}", _operation(other)) for page, one, other in pairs]
    expected = case.expected
    for name, value in (("output", expected.output), ("contains", expected.contains), ("matches", expected.matches)):
        if value is not None:
            rows.append((f"{name}: {_value(value)}", _value(output.output)))
    return rows


def page_diffs(case: Case, output: Output) -> list[tuple[str, str]]:
    """The pages that the output changed, each with what changed, as `diff -u` shows it."""
    applied = Evidence(case.pages, output).applied
    diffs = ((before.id, page_diff(before, after)) for before, after in zip(case.pages, applied.pages, strict=True))
    return [(page, diff) for page, diff in diffs if diff]


def _operation(operation: BlockOperation | None) -> str:
    if operation is None:
        return "–"
    wanted = operation.expected_content_patterns
    content = f" with {' and '.join(map(repr, wanted))}" if wanted else ""
    if operation.content is not None:
        content += f": {_value(operation.content)}"
    return f"{said(operation)}{content}"


def _value(value: Any) -> str:
    return "nothing" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
