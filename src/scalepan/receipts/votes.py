"""What votes made of a claim, compared with what is kept: utility and confidence."""

from math import isinf
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.memory.standing.receipt import counting, standing_again, story, vote_again, vote_inputs
from scalepan.memory.standing.standing import Cast, Standing
from scalepan.policy.retrieval import Feedback
from scalepan.receipts.compare import DAMAGED, Difference, Number, attempt, differs, input_differences, status_of
from scalepan.store.duckdb.votes import MOVING
from scalepan.store.ids import FORGOTTEN
from scalepan.store.rows import ClaimRow, FeedbackRow
from scalepan.store.table import time_text

if TYPE_CHECKING:
    from scalepan.store import Here

NAMES = ("utility", "confidence")


def of_claim(here: "Here", claim: str, kept: ClaimRow) -> list[Number]:
    """A claim's numbers as the table has them, and as its votes make them."""
    # A row that was edited by hand may hold `infinity`, which is no time.
    since: Any = None if kept.utility_at is None or isinf(kept.utility_at) else kept.utility_at
    stored, at = Standing(kept.utility, since, kept.confidence), time_text(since)
    found, problem = attempt(lambda: counting(here, claim))
    if problem:
        return _numbers(claim, stored, None, [], problem, at, "")
    start, casts = found
    differences = [
        *(Difference(f"vote before {id_}", None, gone) for id_, gone in here.votes.gaps(claim)),
        *(one for cast in casts for one in _elsewhere(here, claim, cast)),
    ]
    if start is None:
        reason = DAMAGED if casts else "nobody voted: it is as it was given"
        return _numbers(claim, stored, None, differences, reason, at, "")
    again, problem = attempt(lambda: standing_again(start, casts))
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
    told, _ = attempt(lambda: story(start, casts))
    return _numbers(claim, stored, again, differences, problem, at, told or "")


def of_vote(here: "Here", row: FeedbackRow) -> list[Number]:
    """What one vote made of its claim."""
    cast = Cast.of(row)
    numbers = vote_numbers(cast, row.claim_id, row.undone_at)
    found = _elsewhere(here, row.claim_id, cast)
    return [number.but(found) for number in numbers]


def vote_numbers(cast: Cast, claim: str, undone_at: float | None) -> list[Number]:
    """What the vote made of its claim, by what was kept with it."""
    body, shown = cast.body, time_text(cast.at)
    stored, damaged = attempt(lambda: Standing.of(body.get("after", body["before"])))
    if cast.is_note:
        return _numbers(cast.id, stored, None, [], "it notes what was there or set by hand", shown, "")
    inputs, lost = attempt(lambda: vote_inputs(cast.signal, cast.at, body))
    if lost or damaged:
        return _numbers(cast.id, stored, None, [], lost or damaged, shown, "")
    again, problem = attempt(lambda: vote_again(inputs))
    differences, unsealed = input_differences(inputs, body.get("seal"))
    told = f"claim {claim}" + (f"; taken back at {time_text(undone_at)}" if undone_at is not None else "")
    return _numbers(cast.id, stored, again, differences, problem or unsealed, shown, told)


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


def _elsewhere(here: "Here", claim: str, cast: Cast) -> list[Difference]:
    """Whether a vote counts for another claim than the one that it was cast for, or that this was merged into."""
    voted = cast.body.get("claim")
    if not isinstance(voted, str) or voted == FORGOTTEN:  # a duplicate was forgotten, and its votes still count
        return []
    representative = here.claims.representative(voted) if cast.signal in MOVING else None
    place = voted if cast.signal not in MOVING else representative.id if representative is not None else None
    return list(differs(f"claim of vote {cast.id}", claim, place))


def _cast_differences(cast: Cast) -> tuple[list[Difference], str]:
    if cast.is_note:
        return [], ""
    inputs, lost = attempt(lambda: vote_inputs(cast.signal, cast.at, cast.body))
    if lost:
        return [], lost
    found, unsealed = input_differences(inputs, cast.body.get("seal"))
    return [msgspec.structs.replace(one, what=f"{one.what} of vote {cast.id}") for one in found], unsealed
