"""What was read, and what it comes to, in a few lines."""

from collections.abc import Iterator

from scalepan.errors import counted
from scalepan.trace.overview.model import GroupFigures, Overview
from scalepan.trace.overview.notable import amount, share


def what_was_read(overview: Overview) -> str:
    """How many traces, sessions and files, and from when to when."""
    about = "" if overview.exact else "about "
    said = [counted(overview.traces, "trace")]
    if overview.sub_agents:
        said[0] += f" ({overview.sub_agents:,} by sub-agents)"
    if overview.sessions:
        said.append(f"{about}{counted(overview.sessions, 'session')}")
    if overview.files > 1:
        said.append(f"{about}{counted(overview.files, 'file')}")
    if overview.first_day is not None:
        same = overview.first_day == overview.last_day
        said.append(overview.first_day if same else f"{overview.first_day} to {overview.last_day}")
    return ", ".join(said)


def headline(overview: Overview) -> list[str]:
    """The same, and how valuable, and how the agents worked."""
    total = overview.total
    if total.median is None:
        return [what_was_read(overview)]
    kept = overview.traces - overview.passed
    gate = f" (gate {overview.gates[0]:g})" if len(overview.gates) == 1 else ""
    stated = f"; {total.succeeded:,} of {total.stated:,} succeeded" if total.stated else ""
    lines = [
        what_was_read(overview),
        f"median value {total.median:.2f}; {overview.passed:,} to share, {kept:,} to keep{gate}{stated}",
    ]
    return [*lines, ", ".join(_work(total))] if total.calls else lines


def _work(total: GroupFigures) -> Iterator[str]:
    yield counted(total.calls, "call")
    if total.failed_share is not None:
        yield f"{share(total.failed_share)} failed"
    yield counted(total.recoveries, "recovery", "recoveries")
    if total.refused:
        yield f"{total.refused:,} refused"
    if total.with_tokens:
        yield f"{amount(total.input_tokens)} tokens in, {amount(total.output_tokens)} out"
