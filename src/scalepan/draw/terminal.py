"""Tables and bars for people at a terminal, drawn with rich."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from scalepan.draw.bins import Bins
from scalepan.draw.table import Cell, DrawnTable
from scalepan.errors import printable
from scalepan.score import Part, Score

BLOCKS = " ▏▎▍▌▋▊▉█"
SOURCE_STYLE = {"measured": "", "inherited": "cyan", "default": "yellow", "failed": "red"}


def bar(share: float, width: int) -> str:
    """A bar of `width` characters for 1.0, in steps of an eighth of a character.

    >>> bar(0.5, 4)
    '██'
    >>> bar(0.05, 10)
    '▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (BLOCKS[rest] if rest else "")


def value_style(value: float) -> str:
    """Green for good, yellow for middling, red for poor."""
    return "green" if value >= 0.75 else "yellow" if value >= 0.4 else "red"


def score_table(score: Score) -> RenderableType:
    """A Score as a table: its parts, the rules that changed it, and the value."""
    if score.value is None:
        return Text.assemble(
            (score.name, "bold"), "  ", ("not measured", "yellow"), f" ({score.status}): {score.reason}"
        )
    table = Grid(box=None, pad_edge=False, show_header=False, expand=False)
    for justify in ("left", "left", "right", "right", "right", "left"):
        # Only the note, which is text, shrinks on a narrow screen.
        table.add_column(justify=justify, no_wrap=len(table.columns) < 5)
    for part in score.parts:
        table.add_row(*_part_row(part))
    if score.rules and score.base is not None:
        table.add_row("base", "", "", "", f"{score.base:.3f}", Text("sum of the parts", "dim"))
    for rule in score.rules:
        change = rule.after - rule.before
        table.add_row(rule.name, "", "", "", Text(f"{change:+.3f}", "green" if change > 0 else "red"), rule.note)
    value = Text(f"{score.value:.3f}", f"bold {value_style(score.value)}")
    table.add_row(Text(score.name, "bold"), "", "", "", value, Text(f"policy {score.policy}", "dim"))
    return table


def _part_row(part: Part) -> tuple[RenderableType, ...]:
    style = SOURCE_STYLE[part.source]
    said = part.note if part.source == "measured" else f"{part.source}: {part.note}"
    return (
        part.name,
        Text(f"{bar(part.value, 10):<10}", style or "blue"),
        f"{part.value:.3f}",
        Text(f"x {part.weight:.2f}", "dim"),
        f"{part.adds:+.3f}",
        Text(printable(said), style),
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[str] = ()) -> DrawnTable:
    """A plain table; the columns named in `right` hold numbers."""
    return DrawnTable(columns, rows, right)


def histogram(bins: Bins, *, marks: Sequence[tuple[float, str]] = (), width: int = 40) -> RenderableType:
    """One bar per bin, with its count; `marks` name the bins that contain a number."""
    most = max(bins.counts) or 1
    lines = []
    for (low, high), count in zip(bins.edges(), bins.counts, strict=True):
        named = ", ".join(label for at, label in marks if low <= at < high)
        line = Text(f"{low:.2f} ", "dim")
        line.append(f"{bar(count / most, width):<{width}}", value_style(low))
        line.append(f" {count:>6,}" if count else " " * 7)
        line.append(f"  ← {named}" if named else "", "dim")
        lines.append(line)
    return Group(*lines)
