"""What was not measured, of how many traces, and what could the value be?"""

from typing import Protocol

from scalepan.score import Score
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.overview.listing import bounded

MOST_FORMATS = 100
NATIVE_FORMAT = "native"


class HasScore(Protocol):
    """A valued trace. Its score may be made when it is asked for."""

    @property
    def score(self) -> Score:
        """The score."""


class Missing:
    """Counts of parts that have no measurement."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str], int] = {}
        """By format and what it does not state: confidence, success, or both."""
        self.ranges = 0
        self.worst = self.best = 0.0
        """The sums of the values at worst and at best, over `ranges` traces."""
        self.novelty: dict[str, int] = {}
        """How many traces have no measured novelty, by reason."""

    def add(self, trace: ReasoningTrace, row: HasScore, *, encoder: bool) -> None:
        """Look at one trace. The score is only asked for if something is open, or an encoder was used."""
        if trace.outcome.confidence is None or trace.metadata.success is None:
            self._no_outcome(trace, row.score)
        if not encoder:
            self._no_novelty("no encoder")
            return
        part = row.score.part("novelty")
        if part.source == "failed":
            self._no_novelty("encoder failed")
        elif part.source != "measured":
            self._no_novelty(part.note)

    def _no_outcome(self, trace: ReasoningTrace, score: Score) -> None:
        stated = (("confidence", trace.outcome.confidence), ("success", trace.metadata.success))
        format_ = bounded(trace.origin.format) if trace.origin is not None else NATIVE_FORMAT
        key = format_, " and ".join(name for name, value in stated if value is None)
        if key in self.outcomes or len(self.outcomes) < MOST_FORMATS:
            self.outcomes[key] = self.outcomes.get(key, 0) + 1
        worst, best = score.details.range or (float(score), float(score))
        self.ranges += 1
        self.worst += worst
        self.best += best

    def _no_novelty(self, reason: str) -> None:
        # Notes of the formula, of which there are few; errors of the encoder are one reason.
        self.novelty[reason] = self.novelty.get(reason, 0) + 1
