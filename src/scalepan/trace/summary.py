"""What a run of valued traces comes to: counts, groups, repeats, the best and the worst, in constant memory."""

from scalepan.draw import Bins
from scalepan.policy.value import Value
from scalepan.trace.overview.calls import CallCounts, work_of
from scalepan.trace.overview.cells import MOST_NAMES, Cells, Key
from scalepan.trace.overview.distinct import Distinct
from scalepan.trace.overview.listing import FOR_SCREEN, ListedTrace, Listing, ListSizes, bounded, held
from scalepan.trace.overview.missing import Missing
from scalepan.trace.overview.rejects import Rejects
from scalepan.trace.overview.repeats import NEAR_DUPLICATE, Repeats
from scalepan.trace.overview.tally import TraceFacts, day_and_week
from scalepan.trace.readers import BadRow
from scalepan.trace.valued import Valued

NATIVE = "native"
AGENT, SUB_AGENT = "agent", "sub-agent"
_NO_CALLS = CallCounts()


class Summary:
    """The summary of a run of any length.

    `encoder` says whether novelty was measured: without one, a score is not looked at unless its trace is shown or
    leaves its outcome open.
    """

    def __init__(self, policy: Value | None = None, *, encoder: bool = True, sizes: ListSizes = FOR_SCREEN) -> None:
        self.policy = policy or Value()
        self.encoder = encoder
        self.count = self.passed = self.skipped = 0
        self.bins = Bins(20)
        self.files = Distinct()
        self._file = ""
        self.sessions = Distinct()
        self.days: tuple[str, str] | None = None
        """The first and the last day on which a trace began."""
        self.thresholds: set[float] = set()
        self.cells = Cells()
        self.tools: dict[str, CallCounts] = {}
        self.other_tools = CallCounts()
        self.repeats = Repeats()
        self.missing = Missing()
        self.rejects = Rejects()
        self.listing = Listing(sizes)

    def add(self, row: Valued | BadRow, file: str = "", line: int = 0) -> None:
        """Add one row, with its place if that is known."""
        if isinstance(row, BadRow):
            self.rejects.add(row.error)
            return
        trace, value = row.trace, row.value
        domain, origin = trace.metadata.task_domain, trace.origin
        threshold = self.policy.gate_for(domain)
        self.count += 1
        passed = value >= threshold
        self.passed += passed
        self.thresholds.add(threshold)
        self.bins.add(value)
        if file != self._file:  # a file's traces come one after the other
            self._file = file
            self.files.add(file)
        day, week = day_and_week(trace.metadata.created_at) or (None, None)
        if day is not None:
            first, last = self.days or (day, day)
            self.days = min(first, day), max(last, day)
        work = work_of(trace)
        calls, recoveries = self._add_calls(work.tools), work.recoveries
        if origin is None:
            facts = TraceFacts(value, passed, calls, recoveries, None, None, trace.metadata.success)
            key: Key = (domain, None, week, NATIVE, None, AGENT)
        else:
            if origin.session is not None:
                self.sessions.add(origin.session)
            tokens = origin.input_tokens, origin.output_tokens
            facts = TraceFacts(value, passed, calls, recoveries, *tokens, trace.metadata.success)
            kind = AGENT if origin.parent is None else SUB_AGENT
            key = (domain, origin.project, week, origin.format, origin.model, kind)
        self.cells.add(key, facts)
        self.repeats.add(trace, work.sequence, file, line)
        if self.encoder:
            self._look_for_similar(row, file, line)
        self.missing.add(trace, row, encoder=self.encoder)
        self.listing.add(value, lambda: self._listed(row, facts, day, file, line))

    def _add_calls(self, tools: dict[str, CallCounts]) -> CallCounts:
        """Count the calls of one trace under their tools; returns their sum."""
        if not tools:
            return _NO_CALLS
        total = CallCounts()
        for name, counts in tools.items():
            total.add(counts)
            known = self.tools.get(name) or self.tools.get(bounded(name))
            if known is not None:
                known.add(counts)
            elif len(self.tools) < MOST_NAMES:
                self.tools[bounded(name)] = counts
            else:
                self.other_tools.add(counts)
        return total

    def _look_for_similar(self, row: Valued, file: str, line: int) -> None:
        nearest = row.score.details.nearest
        if nearest is not None:
            self.repeats.compared += 1
            if nearest.similarity >= NEAR_DUPLICATE:
                self.repeats.add_near(row.trace, nearest.id, file, line)

    def _listed(self, row: Valued, facts: TraceFacts, day: str | None, file: str, line: int) -> ListedTrace:
        trace, origin = row.trace, row.trace.origin
        return ListedTrace(
            number=self.count,
            id=bounded(trace.id),
            score=row.score,
            value=facts.value,
            passed=facts.passed,
            objective=held(trace.task.objective),
            domain=bounded(trace.metadata.task_domain),
            format=bounded(origin.format) if origin else NATIVE,
            project=bounded(origin.project) if origin and origin.project is not None else None,
            model=bounded(origin.model) if origin and origin.model is not None else None,
            sub_agent=origin is not None and origin.parent is not None,
            day=day,
            steps=len(trace.steps),
            calls=facts.calls.calls,
            answered=facts.calls.answered,
            failed=facts.calls.failed,
            recoveries=facts.recoveries,
            file=file,
            line=line,
        )
