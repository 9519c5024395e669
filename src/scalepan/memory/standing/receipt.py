"""What votes made of a claim, and how it is made again: from where it stood, and what was voted."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.memory.standing.standing import BASE, Cast, Standing, history, replay
from scalepan.policy.retrieval import Feedback
from scalepan.store.receipts import LostError

if TYPE_CHECKING:
    from scalepan.store import Here


def vote_inputs(signal: str, at: float | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a vote's outcome is made of: what it says and when, where the claim stood, and what votes did then.

    Also which vote came before it: one that is gone leaves a gap.
    """
    if at is None or "before" not in body:
        raise LostError("when it was cast, or where the claim stood then, is gone")
    if "policy" not in body:
        raise LostError("it was cast without the constants of its formula, as older versions of Scalepan did")
    kept = {"before": body["before"], "policy": body["policy"], "previous": body.get("previous")}
    # A row that was edited by hand may say `infinity`.
    return {"signal": signal, "at": round(at * 1_000_000) if isfinite(at) else str(at), **kept}


def vote_again(inputs: Mapping[str, Any]) -> Standing:
    """What the vote made of the claim, once more."""
    policy = msgspec.convert(inputs["policy"], Feedback)
    return Standing.of(inputs["before"]).voted(inputs["signal"], inputs["at"] / 1_000_000, policy)


def counting(here: "Here", claim: str) -> tuple[Standing | None, Sequence[Cast]]:
    """What a claim's numbers are made of. The votes of one that was merged went to the other claim, and it is looked at
    from where it stood then.
    """
    start, casts = history(here, claim)
    if not all(isinstance(cast.at, float) and isfinite(cast.at) for cast in casts):
        raise ValueError("a vote without its time")
    merged = [place for place, cast in enumerate(casts) if cast.signal == "duplicate"]
    return (casts[merged[-1]].before, casts[merged[-1] :]) if merged else (start, casts)


def standing_again(start: Standing, casts: Sequence[Cast]) -> Standing:
    """What the votes make of a claim, once more; LostError if one of them has not all that it takes."""
    for cast in casts:
        if not cast.is_note:
            vote_inputs(cast.signal, cast.at, cast.body)
    return replay(start, casts, Feedback())


def story(start: Standing, casts: Sequence[Cast]) -> str:
    """The votes as a table: what each left."""
    lines, standing = [f"{'start':<10}  utility {start.utility:+.3f}  confidence {start.confidence:.3f}"], start
    for cast in casts:
        if cast.signal != BASE:
            standing = replay(standing, [cast], Feedback())
            lines.append(
                f"{cast.signal:<10}  utility {standing.utility:+.3f}  confidence {standing.confidence:.3f}  {cast.id}"
            )
    return "\n".join(lines)
