"""The critic: what votes do to a claim, and how a vote is taken back (contract memory.38 to memory.43).

Nothing fades by a nightly job: utility and quality are kept with the time they were set, and read as of now.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan import clock
from scalepan.errors import ConflictError, InputError, NotFoundError
from scalepan.memory.ingest.succession import move_successions, move_successions_back
from scalepan.memory.recall.boundary import reach_to_change
from scalepan.memory.recall.contexts import check_context, recalled_in
from scalepan.memory.redaction import clean_actor, clean_text
from scalepan.memory.requests import UNDO_VOTE, VOTE, UndoVote, Vote, Voted
from scalepan.memory.standing.receipt import vote_inputs
from scalepan.memory.standing.standing import BASE, SET, Standing, history, replay
from scalepan.memory.state import Rules, memory_state
from scalepan.memory.stored import reachable
from scalepan.policy.boundary import CLASSES
from scalepan.policy.retrieval import Feedback
from scalepan.store.duckdb.relations import Moved
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.receipts import read_object, seal
from scalepan.store.request import Who
from scalepan.store.rows import FeedbackRow
from scalepan.store.table import to_microsecond

if TYPE_CHECKING:
    from scalepan.store import Here


class _Counted(msgspec.Struct, frozen=True):
    """A checked vote, with the policy that says what it does, for the writer."""

    vote: Vote | UndoVote
    within: Reach
    feedback: Feedback
    request_id: str


@changes(VOTE)
def vote(here: "Here", request: Vote) -> Voted:
    """Count a vote."""
    rules = memory_state(here).rules(here, request)
    within = _votable(request.who, rules)
    if (request.signal == "duplicate") != (request.of is not None):
        raise InputError("'of' names what a duplicate repeats, and goes with that signal only", path="of")
    if request.of == request.claim:
        raise InputError(f"claim '{request.claim}' cannot be a duplicate of itself", path="of")
    if request.context is not None:
        check_context(here, request.context, request.who, clock.time())
    note = clean_text(request.note, rules.redactor) if request.note else None
    who = msgspec.structs.replace(request.who, actor=clean_actor(request.who, rules.redactor))
    request = msgspec.structs.replace(request, note=note, who=who, overlay=b"")
    done: Voted = here.commit(COUNT_VOTE, _Counted(request, within, rules.policy.retrieval.feedback, here.id))
    return done


def _votable(who: Who, rules: Rules) -> Reach:
    """Whoever may reach a claim may vote for it, whatever its class: that does not show what it says."""
    return reach_to_change(who, "vote", rules.policy.boundary)


@changes(UNDO_VOTE)
def undo_vote(here: "Here", request: UndoVote) -> Voted:
    """Take a vote back: the claim's numbers become what they would be without it."""
    rules = memory_state(here).rules(here, request)
    within = _votable(request.who, rules)
    done: Voted = here.commit(COUNT_VOTE, _Counted(request, within, rules.policy.retrieval.feedback, here.id))
    return done


COUNT_VOTE = Operation("memory.count_vote", _Counted, Voted, internal=True)


@commits(COUNT_VOTE)
def count_vote(here: "Here", requests: Sequence[_Counted]) -> list[Voted]:
    """Count votes and undo them, one after the other: two for one claim must see each other."""
    return [
        _undo(here, request.vote, request)
        if isinstance(request.vote, UndoVote)
        else _count(here, request.vote, request)
        for request in requests
    ]


def _count(here: "Here", vote: Vote, counted: _Counted) -> Voted:
    policy, now = counted.feedback, clock.time()
    at = to_microsecond(now)
    before, merged_into = _standing(here, vote.claim, counted.within)
    if merged_into is not None:
        raise ConflictError(f"claim '{vote.claim}' was merged into '{merged_into}': vote for that one")
    id_ = new_id("fb")
    after = before.voted(vote.signal, now, policy)
    body: dict[str, Any] = {
        "claim": vote.claim,
        "previous": here.votes.last_about(vote.claim),
        "before": before._asdict(),
        "policy": msgspec.to_builtins(policy),
        "after": after._asdict(),
    }
    body["seal"] = seal(vote_inputs(vote.signal, at, body))
    if vote.context is not None:
        body["recalled"] = recalled_in(here, vote.context, vote.claim)
    if vote.of is not None:
        body["moved"] = _merge(here, vote, vote.of, counted)
    _write_standing(here, vote.claim, after)
    here.votes.add(
        FeedbackRow(
            id=id_,
            ts=at,
            tenant=vote.who.tenant,
            claim_id=vote.claim,
            signal=vote.signal,
            actor=vote.who.actor,
            note=vote.note,
            context_id=vote.context,
            body=msgspec.json.encode(body).decode(),
        )
    )
    payload = {"vote": id_, "claim": vote.claim, "signal": vote.signal, "of": vote.of}
    _tell(here, payload, before.at(now, policy), after, vote.who, counted.request_id)
    return Voted(id_, vote.claim, after.utility, after.confidence, vote.of)


def _undo(here: "Here", undo: UndoVote, counted: _Counted) -> Voted:
    policy, now = counted.feedback, clock.time()
    row = here.votes.get(undo.vote, undo.who.tenant)
    try:
        before, merged_into = _standing(here, row.claim_id if row is not None else "", counted.within)
    except NotFoundError:
        row = None
    if row is None:
        # Also of a claim that is shut to this caller: its votes are as if they were not there.
        raise NotFoundError(f"no vote '{undo.vote}' here")
    if not here.votes.undo(undo.vote, now):
        raise ConflictError(f"vote '{undo.vote}' was taken back already")
    claim, signal = row.claim_id, row.signal
    if merged_into is not None and signal == "duplicate":
        _unmerge(here, claim, merged_into, msgspec.json.decode(row.body)["moved"], policy)
    after = _replayed(here, claim, policy)
    _write_standing(here, claim, after)
    after = after.at(now, policy)
    payload = {"vote": undo.vote, "claim": claim, "signal": signal, "undone": True}
    _tell(here, payload, before.at(now, policy), after, undo.who, counted.request_id)
    return Voted(undo.vote, claim, after.utility, after.confidence)


def _replayed(here: "Here", claim: str, policy: Feedback) -> Standing:
    """The claim's numbers from before its first vote, and after all votes that count for it now, its own or moved."""
    start, casts = history(here, claim)
    return replay(start or _standing(here, claim)[0], casts, policy)


def note_standing(here: "Here", claim: str, tenant: str, confidence: float | None = None) -> None:
    """Write down what a claim has now, so that undoing a vote finds its way back; and what somebody sets it to."""
    before, _ = _standing(here, claim)
    body: dict[str, Any] = {"claim": claim, "previous": here.votes.last_about(claim), "before": before._asdict()}
    if confidence is not None:
        body["confidence"] = confidence
    here.votes.add(
        FeedbackRow(
            id=new_id("fb"),
            ts=clock.time(),
            tenant=tenant,
            claim_id=claim,
            signal=BASE if confidence is None else SET,
            actor=None,
            note=None,
            context_id=None,
            body=msgspec.json.encode(body).decode(),
        )
    )


def _standing(here: "Here", claim: str, within: Reach | None = None) -> tuple[Standing, str | None]:
    """A claim's numbers as they are kept, if it is within reach, and what it was merged into."""
    found = reachable(here, claim, within) if within is not None else here.claims.get(claim)
    if found is None:
        raise NotFoundError(f"no claim '{claim}' here")
    return Standing(found.utility, found.utility_at, found.confidence), found.merged_into


def _write_standing(here: "Here", claim: str, standing: Standing) -> None:
    here.claims.update(claim, **standing._asdict())

    def into_index() -> None:
        index = memory_state(here).built()
        if index is not None:
            index.change(claim, **standing._asdict())

    here.after_commit(into_index)


def _merge(here: "Here", vote: Vote, into: str, counted: _Counted) -> dict[str, list[Any]]:
    """Votes and links go to the representative, and the duplicate is recalled no more; what moved is remembered."""
    _, merged_further = _standing(here, into, counted.within)
    if merged_further is not None:
        raise ConflictError(f"claim '{into}' was merged into '{merged_further}': name that one")
    note_standing(here, into, vote.who.tenant)
    moved = {
        "votes": here.votes.move(vote.claim, into),
        "entities": here.entities.copy(vote.claim, into) if not _is_stricter(here, vote.claim, into) else [],
        **here.relations.move(vote.claim, into)._asdict(),
        "successions": move_successions(here, vote.claim, into),
    }
    replacing = [id_ for id_, *_ in moved["successions"]]
    here.claims.update(vote.claim, merged_into=into)
    if moved["votes"]:
        _write_standing(here, into, _replayed(here, into, counted.feedback))
    here.after_commit(lambda: memory_state(here).follow(here, [vote.claim, into, *replacing]))
    return moved


def _is_stricter(here: "Here", claim: str, other: str) -> bool:
    """Whether a claim is of a stricter class than another: then what it is about is not for the other's readers."""
    rows = here.claims.by_ids([claim, other])
    return CLASSES.index(rows[claim].boundary_class) > CLASSES.index(rows[other].boundary_class)


def _unmerge(here: "Here", claim: str, into: str, moved: dict[str, list[Any]], policy: Feedback) -> None:
    here.claims.update(claim, merged_into=None)
    replacing = move_successions_back(here, moved.get("successions", []))  # an older version moved none
    here.relations.move_back(Moved(moved["sources"], moved["targets"]), claim)
    here.entities.unlink(into, moved["entities"])
    # They may have been merged further since then, and count somewhere else now; or went back to a claim of their own.
    back = []
    for row in here.votes.of(moved["votes"]):
        representative = here.claims.representative(read_object(row.body)["claim"])
        if representative is None or representative.id == claim:
            back.append(row)
    here.votes.move_back([row.id for row in back], claim)
    for holder in {row.claim_id for row in back}:
        _write_standing(here, holder, _replayed(here, holder, policy))
    here.after_commit(lambda: memory_state(here).follow(here, [claim, into, *replacing]))


def _tell(
    here: "Here",
    payload: dict[str, Any],
    before: Standing,
    after: Standing,
    who: Who,
    request_id: str,
) -> None:
    numbers = {
        "utility": [before.utility, after.utility],
        "confidence": [before.confidence, after.confidence],
    }
    here.events.add([AddEvent("critic", {**payload, **numbers}, who.tenant, request_id, who.trace_id, who.project)])
