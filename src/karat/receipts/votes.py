"""What votes made of a claim, made again: utility and confidence, from where it stood and what was voted."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from karat.memory.claims import utc
from karat.memory.receipt import vote_again, vote_inputs
from karat.memory.standing import BASE, SET, Cast, Standing, history, replay
from karat.policy.retrieval import Feedback
from karat.receipts.compare import Difference, Number, attempt, differs, input_differences, status_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAMES = ("utility", "confidence")


def of_claim(connection: "DuckDBPyConnection", claim: str, kept: Sequence[Any]) -> list[Number]:
    """A claim's numbers as the table has them, and as its votes make them."""
    stored, at = Standing(*kept[:3]), kept[3]
    found, problem = attempt(lambda: _counting(connection, claim))
    if problem:
        return _numbers(claim, stored, None, [], problem, at, "")
    start, casts = found
    if start is None:
        return _numbers(claim, stored, None, [], "nobody voted: it is as it was given", at, "")
    differences = [one for cast in casts for one in _cast_differences(cast)]
    again, problem = attempt(lambda: _again(start, casts))
    if again is not None:
        # Either may have been written later than the other, and what is left of utility by then is compared.
        moment = max(stored.utility_at, again.utility_at)
        policy = next((cast.policy for cast in reversed(casts) if cast.policy), Feedback())
        stored, again = stored.at(moment, policy), again.at(moment, policy)
    story, _ = attempt(lambda: _story(start, casts))
    return _numbers(claim, stored, again, differences, problem, at, story or "")


def _counting(connection: "DuckDBPyConnection", claim: str) -> tuple[Standing | None, Sequence[Cast]]:
    """What a claim's numbers are made of. The votes of one that was merged went to the other claim, and it is looked at
    from where it stood then.
    """
    start, casts = history(connection, claim)
    merged = [place for place, cast in enumerate(casts) if cast.signal == "duplicate"]
    return (casts[merged[-1]].before, casts[merged[-1] :]) if merged else (start, casts)


def _again(start: Standing, casts: Sequence[Cast]) -> Standing:
    for cast in filter(_votes, casts):
        vote_inputs(cast.signal, utc(cast.at), cast.body)  # LostError, if it has not all that it takes
    return replay(start, casts, Feedback())


def of_vote(id_: str, claim: str, signal: str, at: datetime, body_text: str, undone_at: str | None) -> list[Number]:
    """What one vote made of its claim."""
    body = msgspec.json.decode(body_text)
    stored, reason = attempt(lambda: Standing.of(body.get("after", body["before"])))
    if signal in (BASE, SET):
        reason = "it notes what was there or set by hand"
    if reason:
        return _numbers(id_, stored, None, [], reason, at.isoformat(" "), "")
    inputs, reason = attempt(lambda: vote_inputs(signal, at, body))
    again, problem = attempt(lambda: vote_again(inputs)) if not reason else (None, reason)
    differences = input_differences(inputs, body.get("seal")) if inputs else []
    story = f"claim {claim}" + (f"; taken back at {undone_at}" if undone_at else "")
    return _numbers(id_, stored, again, differences, problem, at.isoformat(" "), story)


def _numbers(
    id_: str,
    stored: Standing | None,
    again: Standing | None,
    inputs: list[Difference],
    reason: str,
    at: str,
    story: str,
) -> list[Number]:
    numbers = []
    for name in NAMES:
        value, other = getattr(stored, name, None), getattr(again, name, None)
        differences = inputs + (list(differs(name, value, other)) if again is not None else [])
        numbers.append(
            Number(
                id=id_,
                name=name,
                status=status_of(differences, reason),
                value=value,
                recomputed=other,
                differences=differences,
                reason=reason,
                at=at,
                explanation=story,
            )
        )
    return numbers


def _votes(cast: Cast) -> bool:
    return cast.signal not in (BASE, SET)


def _cast_differences(cast: Cast) -> list[Difference]:
    if not _votes(cast):
        return []
    inputs, _ = attempt(lambda: vote_inputs(cast.signal, utc(cast.at), cast.body))
    found = input_differences(inputs, cast.body.get("seal")) if inputs else []
    return [msgspec.structs.replace(one, what=f"{one.what} of vote {cast.id}") for one in found]


def _story(start: Standing, casts: Sequence[Cast]) -> str:
    """The votes as a table: what each left."""
    lines, standing = [f"{'start':<10}  utility {start.utility:+.3f}  confidence {start.confidence:.3f}"], start
    for cast in casts:
        if cast.signal != BASE:
            standing = replay(standing, [cast], Feedback())
            lines.append(
                f"{cast.signal:<10}  utility {standing.utility:+.3f}  confidence {standing.confidence:.3f}  {cast.id}"
            )
    return "\n".join(lines)
