"""One run as both exports have it, and the tree that the runs of a trace form."""

from typing import Any, Literal, NamedTuple

from scalepan.trace.readers.build import utc
from scalepan.trace.readers.lenient import number, text, whole

MAX_DEPTH = 200
"""How far up from a run is looked: no agent nests deeper, and a hostile file must not take time for every pair."""
_MILLISECONDS = 100_000_000_000


class LoggedRun(NamedTuple):
    """One node of the tree."""

    id: str
    kind: Literal["model", "tool", "other"]
    label: str
    """The export's own word for its kind."""
    parent: str | None = None
    name: str | None = None
    order: tuple[str, ...] = ()
    """Sorts the runs of a trace as they began."""
    at: str | None = None
    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    failed: bool | None = None
    """Whether the export says that it failed; None if it does not say."""
    call_id: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


def utc_time(value: Any) -> str | None:
    """A time of an export: without a zone it is UTC, a number is seconds or, if it is too large for them, milliseconds.

    >>> utc_time("2026-01-31 12:00:00.500000"), utc_time(1769860800000)
    ('2026-01-31T12:00:00.500000Z', '2026-01-31T12:00:00Z')
    """
    since = number(value)
    if since is not None:
        return utc(since / 1000 if since > _MILLISECONDS else since)
    said = text(value)
    return utc(said) or utc(f"{said}+00:00") if said else None


def count_of(value: Any) -> int | None:
    """A count, which CSV has as text."""
    return whole(int(value)) if isinstance(value, str) and value.isascii() and value.isdigit() else whole(value)


def amount_of(value: Any) -> float | None:
    """An amount, which CSV and some JSON have as text."""
    try:
        return number(float(value)) if isinstance(value, str) else number(value)
    except ValueError:
        return None


class RunTree:
    """The runs of a trace in order, and what is above each."""

    def __init__(self, runs: list[LoggedRun]) -> None:
        self._by_id = {run.id: run for run in runs}
        self.runs = sorted(runs, key=lambda run: run.order)
        self._wrappers = {above.id for run in runs if run.kind == "model" for above in self._models_above(run)}
        last = {above.id: run.id for run in self.runs for above in (run, *self._above(run)) if above.kind == "tool"}
        self._ended: dict[str, list[LoggedRun]] = {}
        for run in reversed(self.runs):
            if run.id in last:
                self._ended.setdefault(last[run.id], []).append(run)

    @property
    def root(self) -> LoggedRun | None:
        """The run that has no other above it in the whole trace."""
        return next((run for run in self.runs if run.parent is None), None)

    def wraps(self, run: LoggedRun) -> bool:
        """Whether a model call only contains another one: a wrapper and the client below it both log the same call."""
        return run.id in self._wrappers

    def ended_with(self, run: LoggedRun) -> list[LoggedRun]:
        """The tools whose last run this one is, the innermost first: only then is there a result."""
        return self._ended.get(run.id, [])

    def tool_above(self, run: LoggedRun) -> str | None:
        """The nearest tool that a run happened in: what is inside is the work of a sub-agent."""
        return next((above.id for above in self._above(run) if above.kind == "tool"), None)

    def _models_above(self, run: LoggedRun) -> list[LoggedRun]:
        found = []
        for above in self._above(run):
            if above.kind == "tool":
                break
            if above.kind == "model":
                found.append(above)
        return found

    def _above(self, run: LoggedRun) -> list[LoggedRun]:
        """From the nearest to the root. A damaged file can have circles."""
        found: list[LoggedRun] = []
        passed = {run.id}
        above = self._by_id.get(text(run.parent) or "")
        while above is not None and above.id not in passed and len(found) < MAX_DEPTH:
            passed.add(above.id)
            found.append(above)
            above = self._by_id.get(text(above.parent) or "")
        return found
