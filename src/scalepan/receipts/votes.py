"""What votes made of a claim, made again: utility and confidence, from where it stood and what was voted."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.memory.receipt import vote_again, vote_inputs
from scalepan.memory.standing.standing import BASE, Cast, Standing, gaps, history, home, replay
from scalepan.policy.retrieval import Feedback
from scalepan.receipts.compare import DAMAGED, Difference, Number, attempt, differs, input_differences, status_of
from scalepan.store.duckdb.values import utc
from scalepan.store.ids import FORGOTTEN
from scalepan.store.receipts import read_object

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAMES = ("utility", "confidence")
MOVING = ("helpful", "harmful", "outdated")
"""Votes that go along when their claim is merged."""


def of_claim(connection: "DuckDBPyConnection", claim: str, kept: Sequence[Any]) -> list[Number]:
    """A claim's numbers as the table has them, and as its votes make them."""
    stored, at = Standing(*kept[:3]), kept[3] or ""
    found, problem = attempt(lambda: _counting(connection, claim))
    if problem:
        return _numbers(claim, stored, None, [], problem, at, "")
    start, casts = found
    differences = [
        *(Difference(f"vote before {id_}", None, gone) for id_, gone in gaps(connection, claim)),
        *(one for cast in casts for one in _elsewhere(connection, claim, cast)),
    ]
    if start is None:
        reason = DAMAGED if casts else "nobody voted: it is as it was given"
        return _numbers(claim, stored, None, differences, reason, at, "")
    again, problem = attempt(lambda: _again(start, casts))
    for cast in casts:
        altered, unsealed = _cast_differences(cast)
        differences += altered
        problem = problem or unsealed
    if again is not None and stored.utility_at is None:
        differences += differs("utility_at", None, again.utility_at)
    elif again is not None and stored.utility is not None:
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
    for cast in casts:
        if not cast.is_note:
            vote_inputs(cast.signal, utc(cast.at), cast.body)  # LostError, if it has not all that it takes
    return replay(start, casts, Feedback())


def of_vote(connection: "DuckDBPyConnection", id_: str, row: Sequence[Any]) -> list[Number]:
    """What one vote made of its claim: a row of claim, signal, time, body, and when it was taken back."""
    claim, signal, at, body_text, undone_at = row
    cast = Cast(id_, signal, 0.0, read_object(body_text))
    numbers = vote_numbers(cast, claim, at, undone_at)
    found = _elsewhere(connection, claim, cast)
    return [number.but(found) for number in numbers]


def vote_numbers(cast: Cast, claim: str, at: datetime | None, undone_at: str | None) -> list[Number]:
    """What the vote made of its claim, by what was kept with it."""
    body, shown = cast.body, "" if at is None else at.isoformat(" ")
    stored, damaged = attempt(lambda: Standing.of(body.get("after", body["before"])))
    if cast.is_note:
        return _numbers(cast.id, stored, None, [], "it notes what was there or set by hand", shown, "")
    inputs, lost = attempt(lambda: vote_inputs(cast.signal, at, body))
    if lost or damaged:
        return _numbers(cast.id, stored, None, [], lost or damaged, shown, "")
    again, problem = attempt(lambda: vote_again(inputs))
    differences, unsealed = input_differences(inputs, body.get("seal"))
    story = f"claim {claim}" + (f"; taken back at {undone_at}" if undone_at else "")
    return _numbers(cast.id, stored, again, differences, problem or unsealed, shown, story)


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


def _elsewhere(connection: "DuckDBPyConnection", claim: str, cast: Cast) -> list[Difference]:
    """Whether a vote counts for another claim than the one that it was cast for, or that this was merged into."""
    voted = cast.body.get("claim")
    if not isinstance(voted, str) or voted == FORGOTTEN:  # a duplicate was forgotten, and its votes still count
        return []
    place = home(connection, voted) if cast.signal in MOVING else voted
    return list(differs(f"claim of vote {cast.id}", claim, place))


def _cast_differences(cast: Cast) -> tuple[list[Difference], str]:
    if cast.is_note:
        return [], ""
    inputs, lost = attempt(lambda: vote_inputs(cast.signal, utc(cast.at), cast.body))
    if lost:
        return [], lost
    found, unsealed = input_differences(inputs, cast.body.get("seal"))
    return [msgspec.structs.replace(one, what=f"{one.what} of vote {cast.id}") for one in found], unsealed


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
