"""What stands out in how the agents worked? A few sentences, each only if the logs are clear about it."""

from collections.abc import Iterator, Mapping, Sequence

from scalepan.errors import counted
from scalepan.trace.overview.model import GroupFigures, RepeatsFigures, ToolFigures

ENOUGH_CALLS = 20
"""A share of fewer calls says little."""
FAILS_OFTEN = 1.5
"""A tool stands out if it fails this many times as often as all calls together."""
MOST_SAID = 6


def notable(
    total: GroupFigures,
    tools: Sequence[ToolFigures],
    groups: Mapping[str, Sequence[GroupFigures]],
    repeats: RepeatsFigures,
    sub_agents: int,
) -> list[str]:
    """The sentences, the most useful first."""
    said = [
        *_failures(total, tools),
        *_refusals(total, tools),
        *_repeats(repeats),
        *_sub_agents(groups.get("agent", ()), sub_agents),
        *_tokens(total),
        *_one_tool(total, tools),
    ]
    return said[:MOST_SAID]


def _failures(total: GroupFigures, tools: Sequence[ToolFigures]) -> Iterator[str]:
    answered = sum(tool.answered for tool in tools)
    if total.failed_share is None or answered < ENOUGH_CALLS:
        return
    failed = sum(tool.failed for tool in tools)
    if not failed:
        yield f"None of {counted(answered, 'call')} failed."
        return
    text = f"{counted(failed, 'call')} of {answered:,} failed ({share(total.failed_share)})"
    often = [tool for tool in tools if tool.answered >= ENOUGH_CALLS and _stands_out(tool, total.failed_share)]
    worst = max(often, key=lambda tool: tool.failed_share or 0.0, default=None)
    yield f"{text}; {worst.name} most often ({share(worst.failed_share)})." if worst is not None else f"{text}."
    setbacks, recovered = sum(tool.setbacks for tool in tools), sum(tool.recovered for tool in tools)
    if setbacks >= ENOUGH_CALLS:
        stuck = [tool for tool in tools if tool.setbacks >= ENOUGH_CALLS // 2 and tool.recovered_share is not None]
        least = min(stuck, key=lambda tool: tool.recovered_share or 0.0, default=None)
        text = f"After a failure the same tool worked again in {share(recovered / setbacks)} of cases"
        tail = (
            f"; {least.name} in {share(least.recovered_share)}"
            if least is not None and len(stuck) > 1 and (least.recovered_share or 0.0) < 0.8 * recovered / setbacks
            else ""
        )
        yield f"{text}{tail}."


def _stands_out(tool: ToolFigures, usual: float) -> bool:
    return tool.failed_share is not None and tool.failed_share >= FAILS_OFTEN * usual


def _refusals(total: GroupFigures, tools: Sequence[ToolFigures]) -> Iterator[str]:
    if not total.refused:
        return
    most = max(tools, key=lambda tool: tool.refused)
    if total.refused == 1:
        yield f"People refused or interrupted 1 call, of {most.name}."
        return
    whose = "all" if most.refused == total.refused else f"{most.refused:,}"
    yield f"People refused or interrupted {counted(total.refused, 'call')}, {whose} of them of {most.name}."


def _repeats(repeats: RepeatsFigures) -> Iterator[str]:
    if repeats.traces > 1 and repeats.largest:
        most = repeats.largest[0].traces
        often = f"; one came {most:,} times" if most > 2 else ""
        yield (
            f"{counted(repeats.traces, 'trace')} repeat an earlier one, with the same request and the same tools in "
            f"the same order{often}."
        )


def _sub_agents(agents: Sequence[GroupFigures], sub_agents: int) -> Iterator[str]:
    calls = sum(row.calls for row in agents)
    mine = next((row for row in agents if row.name == "sub-agent"), None)
    if sub_agents and mine is not None and calls:
        yield f"Sub-agents made {share(mine.calls / calls)} of all calls."


def _tokens(total: GroupFigures) -> Iterator[str]:
    if total.with_tokens and total.output_tokens:
        ratio = total.input_tokens / total.output_tokens
        each = total.input_tokens // total.with_tokens
        yield f"A trace reads {amount(each)} tokens on average, {ratio:,.0f} for each that it writes."


def _one_tool(total: GroupFigures, tools: Sequence[ToolFigures]) -> Iterator[str]:
    if len(tools) > 2 and total.calls >= ENOUGH_CALLS and tools[0].calls > total.calls / 2:
        yield f"{tools[0].name} is {share(tools[0].calls / total.calls)} of all calls."


def share(value: float | None) -> str:
    """A share in percent; a small one is not 0 %.

    >>> share(0.5), share(0.004), share(0.0), share(None)
    ('50 %', '0.4 %', '0 %', '')
    """
    if value is None:
        return ""
    percent = value * 100
    return f"{percent:.1f} %" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f} %"


def amount(number: float) -> str:
    """A large number in few characters.

    >>> amount(950), amount(12_400), amount(3_400_000), amount(2_500_000_000)
    ('950', '12k', '3.4M', '2.5G')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{number:.0f}"
