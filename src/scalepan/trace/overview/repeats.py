"""Which traces repeat another? Exactly: the same request, the same tools in the same order. Nearly: by an encoder."""

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.overview.listing import HeldText, bounded, held

MOST_SEEN = 100_000
"""How many different traces an exact repeat is looked for among."""
MOST_MEMBERS = 20_000
"""How many traces in groups of similar ones are remembered."""
MOST_GROUPS = 1000
NEAR_DUPLICATE = 0.95
"""From this similarity on, traces are shown as one group. No number depends on it, so it is not part of the policy,
whose version every stored value carries."""


class RepeatGroup:
    """Traces that repeat each other, and one of them as an example."""

    __slots__ = ("example", "file", "id", "line", "size")

    def __init__(self, id_: str, example: HeldText, file: str, line: int) -> None:
        self.size = 2
        self.id = bounded(id_)
        self.example = example
        self.file = file
        self.line = line


class Repeats:
    """Groups of traces that repeat each other."""

    def __init__(self) -> None:
        self._seen: dict[int, RepeatGroup | None] = {}
        self._exact: list[RepeatGroup] = []
        self.exact_traces = 0
        """How many traces repeat an earlier one exactly."""
        self._members: dict[int, RepeatGroup] = {}
        self._near: list[RepeatGroup] = []
        self.near_traces = 0
        """How many traces are nearly like an earlier one."""
        self.compared = 0
        """How many traces an encoder compared with earlier ones."""
        self.overflow = False
        """Whether there were more traces than are remembered here."""

    def add(self, trace: ReasoningTrace, tools: tuple[str, ...], file: str, line: int) -> None:
        """Look for the same request with the same calls: `tools` in their order."""
        objective = trace.task.objective
        if not objective and not tools:
            return
        key = hash((objective, tools))
        if key not in self._seen:
            if len(self._seen) < MOST_SEEN:
                self._seen[key] = None
            else:
                self.overflow = True
            return
        self.exact_traces += 1
        group = self._seen[key]
        if group is not None:
            group.size += 1
        elif len(self._exact) < MOST_GROUPS:
            group = self._seen[key] = RepeatGroup(trace.id, held(objective), file, line)
            self._exact.append(group)
        else:
            self.overflow = True

    def add_near(self, trace: ReasoningTrace, nearest: str | None, file: str, line: int) -> None:
        """A trace that is nearly like an earlier one, `nearest`: both are of one group."""
        self.near_traces += 1
        group = self._members.get(hash(nearest)) if nearest is not None else None
        if group is not None:
            group.size += 1
        elif len(self._near) < MOST_GROUPS:
            group = RepeatGroup(trace.id, held(trace.task.objective), file, line)
            self._near.append(group)
        else:
            self.overflow = True
            return
        if len(self._members) < MOST_MEMBERS:
            self._members[hash(trace.id)] = group
            if nearest is not None:
                self._members.setdefault(hash(nearest), group)
        else:
            self.overflow = True

    def exact(self, count: int) -> list[RepeatGroup]:
        """The largest groups of exact repeats."""
        return _largest(self._exact, count)

    def near(self, count: int) -> list[RepeatGroup]:
        """The largest groups of near ones."""
        return _largest(self._near, count)

    @property
    def exact_groups(self) -> int:
        """How many groups of exact repeats are known."""
        return len(self._exact)

    @property
    def near_groups(self) -> int:
        """How many groups of near ones are known."""
        return len(self._near)


def _largest(groups: list[RepeatGroup], count: int) -> list[RepeatGroup]:
    return sorted(groups, key=lambda group: -group.size)[:count]
