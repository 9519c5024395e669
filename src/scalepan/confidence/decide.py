"""From a score to what happens: go on, tell, ask, or hand over (contract confidence.13 to confidence.15)."""

from enum import StrEnum

import msgspec

from scalepan.policy.confidence import Thresholds
from scalepan.score import Score


class InterventionLevel(StrEnum):
    """How much of a person it takes."""

    SILENT = "silent"
    NOTIFY = "notify"
    CONFIRM = "confirm"
    ESCALATE = "escalate"


ACTIONS = {
    InterventionLevel.SILENT: "proceed",
    InterventionLevel.NOTIFY: "proceed_with_status",
    InterventionLevel.CONFIRM: "ask_confirmation",
    InterventionLevel.ESCALATE: "request_clarification",
}


_PLACES = 9


class ActionDecision(msgspec.Struct, frozen=True):
    """What to do, and why."""

    level: InterventionLevel
    reason: str
    suggested_action: str

    @property
    def should_proceed(self) -> bool:
        """Go on without asking."""
        return self.level in (InterventionLevel.SILENT, InterventionLevel.NOTIFY)

    @property
    def needs_confirmation(self) -> bool:
        """Ask a person to confirm."""
        return self.level is InterventionLevel.CONFIRM

    @property
    def needs_user_input(self) -> bool:
        """A person must step in."""
        return self.level is InterventionLevel.ESCALATE


def decide(score: Score, thresholds: Thresholds) -> ActionDecision:
    """The level that a score reaches; a threshold itself is reached. Nothing measured is handed over."""
    if score.value is None:
        level, reason = InterventionLevel.ESCALATE, f"confidence was not measured: {score.reason}"
    else:
        level = InterventionLevel.ESCALATE
        reason = f"confidence {score.value:g} is below confirm {thresholds.confirm:g}"
        # The mean of three times 0.7 is 0.6999999999999998, and reaches 0.7 all the same.
        value = round(score.value, _PLACES)
        for name in ("silent", "notify", "confirm"):
            limit: float = getattr(thresholds, name)
            if value >= round(limit, _PLACES):
                level, reason = InterventionLevel(name), f"confidence {score.value:g} reaches {name} {limit:g}"
                break
    return ActionDecision(level, reason, ACTIONS[level])
