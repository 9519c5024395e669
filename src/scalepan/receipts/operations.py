"""From an id to numbers that are explained: what it names, whether the caller may see that, and what was kept of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan import clock
from scalepan.confidence import receipt as of_confidence
from scalepan.errors import NotFoundError, shorten
from scalepan.inforce import redacted, redactor_for
from scalepan.memory import receipt as of_recall
from scalepan.memory.claim import Name
from scalepan.memory.recall.boundary import reach_to_change
from scalepan.memory.state import memory_state
from scalepan.policy.load import leaves
from scalepan.receipts import votes
from scalepan.receipts.compare import UNFIT, Difference, Number, Status, attempt, differs, why
from scalepan.receipts.rows import Row, Seen, kept, number_of
from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.schema import duckdb
from scalepan.store.duckdb.values import utc
from scalepan.store.operation import Operation, commits, reads
from scalepan.store.receipts import Receipt, read_object, write_receipts
from scalepan.store.request import Request

if TYPE_CHECKING:
    from scalepan.store import Here


class Keep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers to keep."""

    receipts: list[Receipt]
    redact: bytes = b""
    """How the caller's policy redacts; see `scalepan.inforce`."""


class KeptIds(msgspec.Struct, frozen=True):
    """Their ids."""

    ids: list[str]


KEEP = Operation("receipts.keep", Keep, KeptIds)


@commits(KEEP)
def keep_all(here: "Here", requests: Sequence[Keep]) -> list[KeptIds]:
    """Write numbers. What texts there are among their inputs and in their bodies come from traces and cases."""
    kept = [_redacted(here, receipt, request.redact) for request in requests for receipt in request.receipts]
    write_receipts(here.connection, kept)
    return [KeptIds([receipt.id for receipt in request.receipts]) for request in requests]


def _redacted(here: "Here", receipt: Receipt, sent: bytes) -> Receipt:
    redactor = redactor_for(here, sent, receipt.tenant, receipt.project)
    texts = {name: redacted(getattr(receipt, name), redactor) for name in ("subject", "inputs", "body")}
    return msgspec.structs.replace(receipt, **texts)


class Explain(Request, frozen=True):
    """Which number, or whose: its own id, or that of a decision, an active context, a claim, a vote."""

    id: Name | None = None
    """None: the last one that was kept."""


class Explained(msgspec.Struct, frozen=True):
    """Every number that an id stands for."""

    id: str
    kind: str
    """number, decision, context, claim or vote."""
    status: Status
    """The worst of them: changed, then unknown, then equal."""
    numbers: list[Number]


EXPLAIN = Operation("receipts.explain", Explain, Explained)


@reads(EXPLAIN)
def explain(here: "Here", request: Explain) -> Explained:
    """Make numbers again from what was kept, and compare."""
    rules = memory_state(here).rules(here, request)
    where, values = reach_sql(reach_to_change(request.who, "explain", rules.policy.boundary), merged=True)
    # One state of the store: a vote that is counted meanwhile must not look like a change by hand.
    here.connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        return _explained(Seen(here, request.who, where, values), request.id)
    finally:
        here.connection.execute("ROLLBACK")


def _explained(seen: Seen, id_: str | None) -> Explained:
    if id_ is None:
        return _said(*_last(seen))
    for kind, find in _ways(id_):
        numbers = _found(find, seen, id_)
        if numbers is not None:
            return _said(id_, kind, numbers)
    raise NotFoundError(
        f"no number '{shorten(id_)}' here; ids are of a number (scr_…), a decision (dec_…), an active context (ac_…), "
        "a claim (clm_…), a vote (fb_…), or of the trace or case that a kept number is about"
    )


def _found(find: "Way", seen: Seen, id_: str) -> list[Number] | None:
    """What a way leads to. A row may be damaged in ways that nobody thought of, and then cannot be known."""
    try:
        return find(seen, id_)
    except (*UNFIT, duckdb().Error) as error:
        return [Number(id=id_, name="number", status="unknown", value=None, reason=why(error))]


def _said(id_: str, kind: str, numbers: list[Number]) -> Explained:
    found = {number.status for number in numbers}
    worst: Status = "changed" if "changed" in found else "equal" if found == {"equal"} else "unknown"
    return Explained(id_, kind, worst, numbers)


def _number(seen: Seen, id_: str) -> list[Number] | None:
    row = kept(seen, "id = ?", id_)
    return None if row is None else [number_of(row)]


def _about(seen: Seen, id_: str) -> list[Number] | None:
    # Tables show a trace without the first words of its id.
    row = kept(seen, "subject IN (?, ?) AND name <> 'score_final'", id_, f"kp:trace:{id_}")
    return None if row is None else [number_of(row)]


def _last(seen: Seen) -> tuple[str, str, list[Number]]:
    row = kept(seen, "true")
    if row is None:
        raise NotFoundError("no number was kept here yet")
    return row.id, "number", [number_of(row)]


def _decision(seen: Seen, id_: str) -> list[Number] | None:
    found = seen.rows(
        "SELECT score_id, level, body::TEXT, ts::TEXT FROM decisions WHERE id = ? AND tenant = ? "
        "AND ((body->>'project') IS NULL OR (body->>'project') = ?)",
        id_,
        seen.who.tenant,
        seen.who.project,
    )
    if not found:
        return None
    score_id, level, body, at = found[0]
    said = read_object(body).get("confidence", "none")
    row = kept(seen, "id = ?", score_id)
    if row is None:
        return [_gone(id_, "confidence", said, at)]
    again, _ = attempt(lambda: of_confidence.level_of(row.made_of).value)
    found_here = [*row.not_about(id_), *differs("confidence of the decision", said, row.value)]
    found_here += differs("level of the decision", level, again) if again is not None else []
    return [number_of(row).but(found_here)]


def _context(seen: Seen, id_: str) -> list[Number] | None:
    """Of any session of the project: claims out of reach are left out, and a context of nothing else is not there.

    Neither is one that has expired.
    """
    context = seen.rows(
        "SELECT policy_version, created_at::TEXT, items FROM active_contexts WHERE id = ? AND tenant = ? "
        "AND project IS NOT DISTINCT FROM ? AND expires_at > ?",
        id_,
        seen.who.tenant,
        seen.who.project,
        utc(clock.time()),
    )
    if not context:
        return None
    version, at, recorded = context[0]
    items = [
        Item(id_, version, *row)
        for row in seen.rows(
            "SELECT claim_id, rank, score, features::TEXT, score_id FROM active_context_items WHERE ac_id = ? "
            "ORDER BY rank",
            id_,
        )
    ]
    within = [item for item in items if seen.claim(item.claim) is not None]
    others = "SELECT 1 FROM active_context_items i JOIN claims c ON c.id = i.claim_id WHERE i.ac_id = ? LIMIT 1"
    if not within and seen.rows(others, id_):
        return None
    return [*(_item(seen, item, at) for item in within), *_count(seen, id_, recorded, at)]


class Item(NamedTuple):
    """A claim as it stands in an active context."""

    context: str
    policy_version: str | None
    claim: str
    rank: int | None
    score: float | None
    features: str | None
    score_id: str | None


def _count(seen: Seen, id_: str, recorded: int | None, at: str | None) -> list[Number]:
    """Whether as many claims are there as were kept and not forgotten, each with its own number.

    All count, also those out of reach. If it is so, there is nothing to say.
    """
    ((found,),) = seen.rows(
        "SELECT count(*) FROM active_context_items i JOIN claims c ON c.id = i.claim_id "
        "JOIN scores s ON s.id = i.score_id AND s.subject = i.claim_id WHERE i.ac_id = ?",
        id_,
    )
    if found == recorded:
        return []
    if recorded is None:
        return [_gone(id_, "claims", None, at)]
    difference = Difference("claims with their own number", found, recorded)
    return [Number(id=id_, name="claims", status="changed", value=found, differences=[difference], at=at or "")]


def _item(seen: Seen, item: Item, at: str | None) -> Number:
    """A claim of an active context: what stands with it there is what its number says."""
    row = kept(seen, "id = ?", item.score_id) if item.score_id else None
    if row is None:
        return _gone(item.claim, "score_final", item.score, at)
    return number_of(row).but(list(_item_differences(item, row)))


def _item_differences(item: Item, row: Row) -> Iterator[Difference]:
    made_of = row.made_of
    yield from row.not_about(item.claim)
    yield from differs("context of its number", made_of.get("context"), item.context)
    yield from differs("rank in the context", item.rank, made_of.get("rank"))
    yield from differs("score in the context", item.score, row.value)
    yield from differs("policy_version of the context", item.policy_version, row.policy_version)
    again, _ = attempt(lambda: dict(leaves(of_recall.features_of(made_of))))
    stored = dict(leaves(read_object(item.features)))
    for name in stored | again if again is not None else ():
        yield from differs(f"feature {name}", stored.get(name), again.get(name))


def _gone(id_: str, name: str, value: Any, at: str | None) -> Number:
    reason = "what it was made of was not kept, as older versions of Scalepan did, or is gone"
    value = value if isinstance(value, (int, float)) else None
    return Number(id=id_, name=name, status="unknown", value=value, reason=reason, at=at or "")


def _claim(seen: Seen, id_: str) -> list[Number] | None:
    kept = seen.claim(id_)
    return None if kept is None else votes.of_claim(seen.here.connection, id_, kept)


def _vote(seen: Seen, id_: str) -> list[Number] | None:
    rows = seen.rows(
        "SELECT claim_id, signal, ts, body::TEXT, undone_at::TEXT FROM feedbacks WHERE id = ? AND tenant = ?",
        id_,
        seen.who.tenant,
    )
    return None if not rows or seen.claim(rows[0][0]) is None else votes.of_vote(seen.here.connection, id_, rows[0])


Way = Callable[[Seen, str], "list[Number] | None"]
KINDS: dict[str, tuple[str, Way]] = {
    "scr_": ("number", _number),
    "dec_": ("decision", _decision),
    "ac_": ("context", _context),
    "clm_": ("claim", _claim),
    "fb_": ("vote", _vote),
}


def _ways(id_: str) -> list[tuple[str, Way]]:
    """How to look an id up: by what it begins with, then as a name that came from elsewhere."""
    by_prefix = [way for prefix, way in KINDS.items() if id_.startswith(prefix)]
    return [*by_prefix, ("claim", _claim), ("number", _about)]
