"""A fit for people: the diagram, the figures beside a constant, the curve, the promises."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scalepan.draw.reliability import ReliabilityMark, reliability_svg, reliability_table
from scalepan.errors import counted, shorten
from scalepan.fit.assess import Assessment, Measured
from scalepan.fit.fitted import Fit
from scalepan.fit.promise import about, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_GROUPS = 20


def fit_view(found: Fit) -> "list[RenderableType]":
    """Everything, from how good the number is to what may be promised; within 80 columns."""
    from rich.text import Text

    assessed = found.assessment
    head = f"{found.number}: {counted(found.labels, 'label')}, {assessed.base_rate:.1%} right"
    things: list[RenderableType] = [
        *(Text(head, "bold"), "", reliability_table(marks_of(assessed)), ""),
        *(_figures(assessed, found.calibrated), ""),
        f"curve: {found.curve.kind if found.curve.taken else 'refused'}; {found.curve.reason}",
        "",
    ]
    for place, one in enumerate(found.promises):
        color = "green" if one.threshold is not None else "yellow"
        things.append(Text(one.text, f"bold {color}" if not place else ""))
    if found.groups:
        things += ["", *_groups(found)]
    return things


def fit_svg(found: Fit) -> str:
    """The reliability diagram, with the threshold that was promised."""
    first = found.promises[0]
    line = None if first.threshold is None else (f"{first.level} from {shown(first.threshold)}", first.threshold)
    after = marks_of(found.calibrated) if found.calibrated is not None else []
    title = f"{found.number}: what it said and what was right, {counted(found.labels, 'label')}"
    return reliability_svg(marks_of(found.assessment), after, threshold=line, title=title)


def marks_of(assessed: Assessment) -> list[ReliabilityMark]:
    """The points as they are drawn."""
    return [ReliabilityMark(**msgspec.structs.asdict(one)) for one in assessed.points]


def _figures(now: Assessment, after: Assessment | None) -> "RenderableType":
    from scalepan.draw.terminal import table

    def row(name: str, constant: str, shown_of: "Callable[[Assessment], str]", *, moved: bool = True) -> list[str]:
        # A rising curve leaves the order of the cases, and so what follows from the order, as it is.
        curved = [] if after is None else [shown_of(after) if moved else "the same"]
        return [name, shown_of(now), *curved, constant]

    rows = [
        row("calibration error", "0", lambda one: _ends(one.calibration_error)),
        row("  by chance alone", "", lambda one: f"{one.calibration_error_by_chance:.3f}"),
        row("Brier score", f"{now.brier_of_constant:.3f}", lambda one: f"{one.brier:.3f}"),
        row("  miscalibration", "0", lambda one: f"{one.miscalibration:.3f}"),
        row("  discrimination", "0", lambda one: f"{one.discrimination:.3f}", moved=False),
        row("AUROC", "0.5", lambda one: _ends(one.auroc), moved=False),
    ]
    wrong = f"{1 - now.base_rate:.3f}"
    for share, risk in now.risk_at_coverage.items():
        name = "wrong of all" if share == "100%" else f"wrong of the surest {share.replace('%', ' %')}"
        rows.append(row(name, wrong, lambda _, risk=risk: f"{risk:.3f}", moved=False))  # type: ignore[misc]
    return table(["", "now", *(["calibrated"] if after else []), "a constant"], rows)


def _ends(figure: Measured) -> str:
    if figure.value is None:
        return "not measured"
    return f"{figure.value:.3f} ({figure.low:.3f}–{figure.high:.3f})"


def _groups(found: Fit) -> "Sequence[RenderableType]":
    from scalepan.draw.terminal import table

    if not any(one.own for one in found.groups):
        return [f"{counted(len(found.groups), 'group')}: none has labels enough for a promise of its own"]
    rows = []
    for one in found.groups[:MOST_GROUPS]:
        first = one.promises[0]
        at = "none" if first.threshold is None else shown(first.threshold)
        of = f"its own; {first.does} {about(first.coverage)}" if one.own else "that of all cases, not for it alone"
        rows.append([shorten(one.group, 30), f"{one.labels:,}", at, of if at != "none" else "no promise"])
    first_name = found.promises[0].level
    drawn: list[RenderableType] = [
        table(["group", "labels", f"{first_name} from", "threshold"], rows, right=["labels", f"{first_name} from"])
    ]
    if len(found.groups) > MOST_GROUPS:
        drawn.append(f"and {counted(len(found.groups) - MOST_GROUPS, 'smaller group')}; --json has them all")
    drawn.append("Each group's promise stands by itself: each is this sure, not all of them together.")
    return drawn
