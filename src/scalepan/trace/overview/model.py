"""Overview: what a summary says, as plain data. Every text in it is redacted; screen, page and JSON are made of it."""

import msgspec

from scalepan.score import Score


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table: traces that have a domain, project, week, format or model in common."""

    name: str
    traces: int
    median: float | None
    passed: int
    stated: int
    """How many traces state whether they succeeded."""
    succeeded: int
    calls: int
    failed_share: float | None
    """Of the calls whose results say whether they failed; null if none does."""
    refused: int
    recoveries: int
    recovered_share: float | None
    """How often a tool worked again after it had failed."""
    with_tokens: int
    """How many traces state their tokens."""
    input_tokens: int
    output_tokens: int

    @property
    def passed_share(self) -> float:
        """The share that passes the gate."""
        return self.passed / self.traces if self.traces else 0.0

    @property
    def succeeded_share(self) -> float | None:
        """The share that succeeded, of the traces that say so or the contrary."""
        return self.succeeded / self.stated if self.stated else None


class ToolFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How the calls of one tool went."""

    name: str
    calls: int
    answered: int
    failed: int
    failed_share: float | None
    refused: int
    setbacks: int
    recovered: int
    recovered_share: float | None


class RepeatFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A group of traces that repeat each other."""

    traces: int
    objective: str
    id: str
    where: str


class RepeatsFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats: how many, and the largest groups."""

    traces: int
    groups: int
    largest: list[RepeatFigures]


class RejectFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for which records were rejected, with one place as an example."""

    count: int
    reason: str
    where: str


class ShownTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One trace, without its steps."""

    id: str
    value: float
    passed: bool
    objective: str
    domain: str
    format: str
    project: str | None
    model: str | None
    sub_agent: bool
    day: str | None
    steps: int
    calls: int
    failed: int | None
    """Calls that failed; null if no result says."""
    recoveries: int
    where: str
    score: Score


class ExtremeTrace(msgspec.Struct, frozen=True, kw_only=True):
    """One of the best or the worst, and why."""

    id: str
    value: float
    objective: str
    why: str
    where: str


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of traces comes to."""

    traces: int
    passed: int
    gates: list[float]
    """The thresholds in force, by domain."""
    files: int
    skipped_files: int
    sessions: int
    exact: bool
    """Whether the numbers of files and sessions are exact; very large ones are estimates."""
    sub_agents: int
    first_day: str | None
    last_day: str | None
    total: GroupFigures
    histogram: list[int]
    """Traces by value, in equal bins from 0 to 1."""
    groups: dict[str, list[GroupFigures]]
    tools: list[ToolFigures]
    best: list[ExtremeTrace]
    worst: list[ExtremeTrace]
    exact_repeats: RepeatsFigures
    near_repeats: RepeatsFigures | None
    """Null without an encoder."""
    near_duplicate: float
    """From which similarity on traces are nearly the same."""
    repeats_complete: bool
    rejected: int
    rejects: list[RejectFigures]
    range: tuple[float, float] | None
    """The mean value at worst and at best, of the traces that leave their outcome open."""
    not_measured: list[str]
    stands_out: list[str]
