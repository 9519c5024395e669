"""The critic: what votes do to a claim, and how a vote is taken back (contract memory.38 to memory.43).

Nothing fades by a nightly job: utility and quality are kept with the time they were set, and read as of now.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan import clock
from scalepan.errors import ConflictError, InputError, NotFoundError
from scalepan.memory.ingest.add import clean_actor, clean_text
from scalepan.memory.recall.boundary import reach_to_change
from scalepan.memory.recall.contexts import check_context, recalled_in
from scalepan.memory.receipt import vote_inputs
from scalepan.memory.requests import UNDO_VOTE, VOTE, UndoVote, Vote, Voted
from scalepan.memory.standing.standing import BASE, SET, Standing, history, home, last_note, replay
from scalepan.memory.state import Rules, memory_state
from scalepan.memory.stored import reachable
from scalepan.policy.boundary import CLASSES
from scalepan.policy.retrieval import Feedback
from scalepan.store.duckdb.relations import Moved
from scalepan.store.duckdb.values import among, as_json, utc
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.operations import insert_rows
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.receipts import seal
from scalepan.store.request import Who

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store import Here

FEEDBACK_COLUMNS = {
    "id": "VARCHAR",
    "ts": "TIMESTAMP",
    "tenant": "VARCHAR",
    "claim_id": "VARCHAR",
    "signal": "VARCHAR",
    "actor": "VARCHAR",
    "note": "VARCHAR",
    "context_id": "VARCHAR",
    "body": "JSON",
}


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
    connection, policy, now = here.connection, counted.feedback, clock.time()
    before, merged_into = _standing(here, vote.claim, counted.within)
    if merged_into is not None:
        raise ConflictError(f"claim '{vote.claim}' was merged into '{merged_into}': vote for that one")
    id_ = new_id("fb")
    after = before.voted(vote.signal, now, policy)
    body: dict[str, Any] = {
        "claim": vote.claim,
        "previous": last_note(connection, vote.claim),
        "before": before._asdict(),
        "policy": msgspec.to_builtins(policy),
        "after": after._asdict(),
    }
    body["seal"] = seal(vote_inputs(vote.signal, utc(now), body))
    if vote.context is not None:
        body["recalled"] = recalled_in(connection, vote.context, vote.claim)
    if vote.of is not None:
        body["moved"] = _merge(here, vote, vote.of, counted)
    _write_standing(here, vote.claim, after)
    row = {
        "id": id_,
        "ts": utc(now),
        "tenant": vote.who.tenant,
        "claim_id": vote.claim,
        "signal": vote.signal,
        "actor": vote.who.actor,
        "note": vote.note,
        "context_id": vote.context,
        "body": msgspec.json.encode(body).decode(),
    }
    insert_rows(connection, "feedbacks", FEEDBACK_COLUMNS, [row])
    payload = {"vote": id_, "claim": vote.claim, "signal": vote.signal, "of": vote.of}
    _tell(here, payload, before.at(now, policy), after, vote.who, counted.request_id)
    return Voted(id_, vote.claim, after.utility, after.confidence, vote.of)


def _undo(here: "Here", undo: UndoVote, counted: _Counted) -> Voted:
    connection, policy, now = here.connection, counted.feedback, clock.time()
    row = connection.execute(
        "SELECT claim_id, signal, body::TEXT, epoch(undone_at) FROM feedbacks WHERE id = ? AND tenant = ?",
        [undo.vote, undo.who.tenant],
    ).fetchone()
    claim, signal, body, undone_at = row or ("", "", "", None)
    try:
        before, merged_into = _standing(here, claim, counted.within)
    except NotFoundError:
        # Also of a claim that is shut to this caller: its votes are as if they were not there.
        raise NotFoundError(f"no vote '{undo.vote}' here") from None
    if undone_at is not None:
        raise ConflictError(f"vote '{undo.vote}' was taken back already")
    connection.execute("UPDATE feedbacks SET undone_at = ? WHERE id = ?", [utc(now), undo.vote])
    if merged_into is not None and signal == "duplicate":
        _unmerge(here, claim, merged_into, msgspec.json.decode(body)["moved"], policy)
    after = _replayed(here, claim, policy)
    _write_standing(here, claim, after)
    after = after.at(now, policy)
    payload = {"vote": undo.vote, "claim": claim, "signal": signal, "undone": True}
    _tell(here, payload, before.at(now, policy), after, undo.who, counted.request_id)
    return Voted(undo.vote, claim, after.utility, after.confidence)


def _replayed(here: "Here", claim: str, policy: Feedback) -> Standing:
    """The claim's numbers from before its first vote, and after all votes that count for it now, its own or moved."""
    start, casts = history(here.connection, claim)
    return replay(start or _kept(here, claim), casts, policy)


def note_standing(here: "Here", claim: str, tenant: str, confidence: float | None = None) -> None:
    """Write down what a claim has now, so that undoing a vote finds its way back; and what somebody sets it to."""
    before = _kept(here, claim)
    previous = last_note(here.connection, claim)
    body: dict[str, Any] = {"claim": claim, "previous": previous, "before": before._asdict()}
    if confidence is not None:
        body["confidence"] = confidence
    row = {
        "id": new_id("fb"),
        "ts": utc(clock.time()),
        "tenant": tenant,
        "claim_id": claim,
        "signal": BASE if confidence is None else SET,
        "body": msgspec.json.encode(body).decode(),
    }
    insert_rows(here.connection, "feedbacks", FEEDBACK_COLUMNS, [{**dict.fromkeys(FEEDBACK_COLUMNS), **row}])


def _kept(here: "Here", claim: str) -> Standing:
    row = here.claims.get(claim)
    if row is None:
        raise NotFoundError(f"no claim '{claim}' here")
    return Standing(row.utility, row.utility_at, row.confidence)


def _standing(here: "Here", claim: str, within: Reach) -> tuple[Standing, str | None]:
    """A claim's numbers as they are kept, if it is within reach, and what it was merged into."""
    row = reachable(here, claim, within)
    return Standing(row.utility, row.utility_at, row.confidence), row.merged_into


def _write_standing(here: "Here", claim: str, standing: Standing) -> None:
    here.claims.update(claim, **standing._asdict())

    def into_index() -> None:
        index = memory_state(here).built()
        if index is not None:
            index.change(claim, **standing._asdict())

    here.after_commit(into_index)


def _merge(here: "Here", vote: Vote, into: str, counted: _Counted) -> dict[str, list[Any]]:
    """Votes and links go to the representative, and the duplicate is recalled no more; what moved is remembered."""
    connection = here.connection
    _, merged_further = _standing(here, into, counted.within)
    if merged_further is not None:
        raise ConflictError(f"claim '{into}' was merged into '{merged_further}': name that one")
    note_standing(here, into, vote.who.tenant)
    moved = {
        "votes": _column(
            connection,
            "SELECT id FROM feedbacks WHERE claim_id = ? AND signal IN ('helpful', 'harmful', 'outdated')",
            vote.claim,
        ),
        "entities": here.entities.copy(vote.claim, into) if not _is_stricter(here, vote.claim, into) else [],
        **here.relations.move(vote.claim, into)._asdict(),
    }
    connection.execute(
        "UPDATE feedbacks SET claim_id = ? WHERE claim_id = ? AND signal IN ('helpful', 'harmful', 'outdated')",
        [into, vote.claim],
    )
    here.claims.update(vote.claim, merged_into=into)
    if moved["votes"]:
        _write_standing(here, into, _replayed(here, into, counted.feedback))
    here.after_commit(lambda: memory_state(here).follow(here, [vote.claim, into]))
    return moved


def _is_stricter(here: "Here", claim: str, other: str) -> bool:
    """Whether a claim is of a stricter class than another: then what it is about is not for the other's readers."""
    rows = here.claims.by_ids([claim, other])
    return CLASSES.index(rows[claim].boundary_class) > CLASSES.index(rows[other].boundary_class)


def _unmerge(here: "Here", claim: str, into: str, moved: dict[str, list[Any]], policy: Feedback) -> None:
    connection = here.connection
    here.claims.update(claim, merged_into=None)
    here.relations.move_back(Moved(moved["sources"], moved["targets"]), claim)
    here.entities.unlink(into, moved["entities"])
    # They may have been merged further since then, and count somewhere else now; or went back to a claim of their own.
    votes = connection.execute(
        f"SELECT id, claim_id, body->>'claim' FROM feedbacks WHERE {among('id')}", [as_json(moved["votes"])]
    ).fetchall()
    back = [(id_, holder) for id_, holder, voted in votes if home(connection, voted) in (claim, None)]
    for id_, _ in back:
        connection.execute("UPDATE feedbacks SET claim_id = ? WHERE id = ?", [claim, id_])
    for holder in {holder for _, holder in back}:
        _write_standing(here, holder, _replayed(here, holder, policy))
    here.after_commit(lambda: memory_state(here).follow(here, [claim, into]))


def _column(connection: "DuckDBPyConnection", query: str, *values: str) -> list[Any]:
    return [row[0] for row in connection.execute(query, list(values)).fetchall()]


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
