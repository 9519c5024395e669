"""Which columns do the tables of groups and of tools have? The same on a screen and on a page."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from scalepan.trace.overview.model import GroupFigures, ToolFigures
from scalepan.trace.overview.notable import amount, share

T = TypeVar("T")


class FigureColumn(NamedTuple, Generic[T]):
    """A column of numbers."""

    title: str
    cell: Callable[[T], str]


GROUP_COLUMNS: tuple[FigureColumn[GroupFigures], ...] = (
    FigureColumn("traces", lambda row: f"{row.traces:,}"),
    FigureColumn("median", lambda row: "" if row.median is None else f"{row.median:.2f}"),
    FigureColumn("pass", lambda row: share(row.passed_share)),
    FigureColumn("success", lambda row: share(row.succeeded_share)),
    FigureColumn("calls", lambda row: f"{row.calls:,}" if row.calls else ""),
    FigureColumn("failed", lambda row: share(row.failed_share)),
    FigureColumn("recov.", lambda row: share(row.recovered_share)),
    FigureColumn("refused", lambda row: f"{row.refused:,}" if row.refused else ""),
    FigureColumn("tokens", lambda row: amount(row.input_tokens + row.output_tokens) if row.with_tokens else ""),
)
TOOL_COLUMNS: tuple[FigureColumn[ToolFigures], ...] = (
    FigureColumn("calls", lambda row: f"{row.calls:,}"),
    FigureColumn("failed", lambda row: f"{row.failed:,}" if row.answered else ""),
    FigureColumn("failed %", lambda row: share(row.failed_share)),
    FigureColumn("recovered", lambda row: f"{row.recovered:,} of {row.setbacks:,}" if row.setbacks else ""),
    FigureColumn("refused", lambda row: f"{row.refused:,}" if row.refused else ""),
)


def telling(columns: Sequence[FigureColumn[T]], rows: Sequence[T]) -> list[FigureColumn[T]]:
    """The columns in which some row has something to say."""
    return [column for column in columns if any(map(column.cell, rows))]
