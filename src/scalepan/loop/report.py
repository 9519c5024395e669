"""The result of a session on one screen: every number, and its id in the store."""

from typing import Any, NamedTuple

import msgspec

from scalepan.confidence import ActionDecision, Verdict
from scalepan.errors import printable
from scalepan.loop.ending import Ending
from scalepan.memory import NewClaim
from scalepan.memory.requests import Added, Voted
from scalepan.score import Score


class Ballot(NamedTuple):
    """A vote that the session cast; `memory.undo_vote(ballot.vote.id)` takes it back."""

    signal: str
    vote: Voted


class Asked(NamedTuple):
    """An action, and whether it was allowed."""

    action: str
    verdict: Verdict

    @property
    def was_refused(self) -> bool:
        """A person said no. Getting no answer is not a refusal."""
        return not self.verdict.allowed and self.verdict.decided_by != "nobody"


class Report(msgspec.Struct, frozen=True):
    """The result of a session. `print(s.report)`."""

    id: str
    query: str
    store: str
    trace_id: str
    ending: Ending
    why: str
    context: str | None
    recalled: int
    used: list[str]
    confidence: Score | None
    """Of the last answer; None without one."""
    decision: ActionDecision | None
    asked: list[Asked]
    value: Score
    value_id: str | None
    """For `scalepan explain`; None if it was not stored."""
    votes: list[Ballot]
    offered: list[NewClaim]
    kept: list[Added]
    notes: list[str]
    """What failed or was missing in the session."""

    @property
    def gate(self) -> str:
        """Whether the trace's value is enough to share it; empty if it has none."""
        return str(self.value.details.gate) if self.value.value is not None else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        data["asked"] = [{"action": one.action, **msgspec.to_builtins(one.verdict._asdict())} for one in self.asked]
        data["votes"] = [{"signal": one.signal, **msgspec.to_builtins(one.vote)} for one in self.votes]
        return {**data, "gate": self.gate}

    def __str__(self) -> str:
        rows = [("session", f"{self.query}  {self.id} in {self.store}")]
        rows.append(("recalled", f"{self.recalled}, {len(self.used)} used  {self.context or ''}"))
        if self.confidence is not None and self.decision is not None:
            rows.append(("confidence", f"{_number(self.confidence)}  {self.decision.level.value}"))
        rows += [("asked", _asked(one)) for one in self.asked]
        rows.append(("ending", f"{self.ending}{f': {self.why}' if self.why else ''}"))
        rows.append(("value", f"{_number(self.value)}  {self.gate}  {self.value_id or self.trace_id}"))
        rows += [("vote", _ballot(one)) for one in self.votes]
        rows += [("offered", f"{claim.kind}: {claim.text}") for claim in self.offered]
        rows += [("kept", f"{one.id}{'' if one.created else ', already known'}") for one in self.kept]
        rows += [("note", note) for note in self.notes]
        return "\n".join(f"{name:<11} {printable(text)}".rstrip() for name, text in rows)


def _number(score: Score) -> str:
    return f"{score.value:.3f}" if score.value is not None else f"not measured: {score.reason}"


def _asked(asked: Asked) -> str:
    verdict = asked.verdict
    said = "allowed" if verdict.allowed else "refused"
    return f"{asked.action}: {said} by {verdict.decided_by}, {verdict.why}  {verdict.id or ''}"


def _ballot(ballot: Ballot) -> str:
    vote = ballot.vote
    return f"{ballot.signal} for {vote.claim}: utility {vote.utility:.2f}, confidence {vote.confidence:.2f}  {vote.id}"
