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
from scalepan.receipts.rows import not_about, number_of
from scalepan.store.operation import Operation, commits, reads
from scalepan.store.reach import Reach
from scalepan.store.receipts import Receipt, read_object
from scalepan.store.request import Request, Who
from scalepan.store.rows import ClaimRow, ContextItemRow, ContextRow, ScoreRow
from scalepan.store.table import time_text

if TYPE_CHECKING:
    from scalepan.store import Here


class KeepReceipts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers to keep."""

    receipts: list[Receipt]
    redact: bytes = b""
    """How the caller's policy redacts; see `scalepan.inforce`."""


class KeptIds(msgspec.Struct, frozen=True):
    """Their ids."""

    ids: list[str]


KEEP = Operation("receipts.keep", KeepReceipts, KeptIds)


@commits(KEEP)
def keep_all(here: "Here", requests: Sequence[KeepReceipts]) -> list[KeptIds]:
    """Write numbers. What texts there are among their inputs and in their bodies come from traces and cases."""
    kept = [_redacted(here, receipt, request.redact) for request in requests for receipt in request.receipts]
    here.scores.add(kept)
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
    within = reach_to_change(request.who, "explain", rules.policy.boundary)
    # One state of the store: a vote that is counted meanwhile must not look like a change by hand.
    with here.snapshot():
        return _explained(Seen(here, request.who, within), request.id)


class Seen(NamedTuple):
    """The store as this caller may see it. What is out of reach looks as if it were not there."""

    here: "Here"
    who: Who
    within: Reach

    def claim(self, id_: str) -> ClaimRow | None:
        """A claim's numbers."""
        found = self.here.claims.reachable(self.within, [id_])
        return found[0] if found else None

    def score(self, id_: str) -> ScoreRow | None:
        """A score."""
        return self.here.scores.get(id_, *self.whose)

    @property
    def whose(self) -> tuple[str, str | None, Reach]:
        """Whose scores the caller may see."""
        return self.who.tenant, self.who.project, self.within


def _explained(seen: Seen, id_: str | None) -> Explained:
    if id_ is None:
        return _said(*_last(seen))
    for kind, find in _ways(id_):
        numbers = _found(find, seen, id_)
        if numbers is not None:
            return _said(id_, kind, numbers)
    raise NotFoundError(
        f"no number '{shorten(id_)}' here; ids are of a number (scr_…), a decision (dec_…), an active context (ac_…), "
        "a claim (clm_…), a vote (fb_…), or of the trace or case that a stored number is about"
    )


def _found(find: "Way", seen: Seen, id_: str) -> list[Number] | None:
    """What a way leads to. A row may be damaged in ways that nobody thought of, and then cannot be known."""
    unreadable = (*UNFIT, seen.here.engine_error)
    try:
        return find(seen, id_)
    except unreadable as error:
        return [Number(id=id_, name="number", status="unknown", value=None, reason=why(error))]


def _said(id_: str, kind: str, numbers: list[Number]) -> Explained:
    found = {number.status for number in numbers}
    worst: Status = "changed" if "changed" in found else "equal" if found == {"equal"} else "unknown"
    return Explained(id_, kind, worst, numbers)


def _number(seen: Seen, id_: str) -> list[Number] | None:
    row = seen.score(id_)
    return None if row is None else [number_of(row)]


def _about(seen: Seen, id_: str) -> list[Number] | None:
    # Tables show a trace without the first words of its id.
    row = seen.here.scores.about([id_, f"kp:trace:{id_}"], *seen.whose)
    return None if row is None else [number_of(row)]


def _last(seen: Seen) -> tuple[str, str, list[Number]]:
    row = seen.here.scores.last(*seen.whose)
    if row is None:
        raise NotFoundError("no number is stored here yet")
    return row.id, "number", [number_of(row)]


def _decision(seen: Seen, id_: str) -> list[Number] | None:
    found = seen.here.decisions.get(id_, seen.who.tenant)
    body = read_object(found.body) if found is not None else {}
    if found is None or body.get("project") not in (None, seen.who.project):
        return None
    said = body.get("confidence", "none")
    row = seen.score(found.score_id or "")
    if row is None:
        return [_gone(id_, "confidence", said, found.ts)]
    again, _ = attempt(lambda: of_confidence.level_of(read_object(row.inputs)).value)
    found_here = [*not_about(row, id_), *differs("confidence of the decision", said, row.value)]
    found_here += differs("level of the decision", found.level, again) if again is not None else []
    return [number_of(row).but(found_here)]


def _context(seen: Seen, id_: str) -> list[Number] | None:
    """Of any session of the project: claims out of reach are left out, and a context of nothing else is not there.

    Neither is one that has expired.
    """
    contexts = seen.here.contexts
    context = contexts.get(id_, seen.who.tenant, seen.who.project)
    if context is None or context.expires_at is None or context.expires_at <= clock.time():
        return None
    within = [item for item in contexts.items(id_) if seen.claim(item.claim_id) is not None]
    if not within and contexts.claims_left(id_):
        return None
    return [*(_item(seen, context, item) for item in within), *_count(seen, context)]


def _count(seen: Seen, context: ContextRow) -> list[Number]:
    """Whether as many claims are there as were kept and not forgotten, each with its own number.

    All count, also those out of reach. If it is so, there is nothing to say.
    """
    id_, recorded, at = context.id, context.items, context.created_at
    found = seen.here.contexts.claims_scored(id_)
    if found == recorded:
        return []
    if recorded is None:
        return [_gone(id_, "claims", None, at)]
    difference = Difference("claims with their own number", found, recorded)
    return [Number(id=id_, name="claims", status="changed", value=found, differences=[difference], at=time_text(at))]


def _item(seen: Seen, context: ContextRow, item: ContextItemRow) -> Number:
    """A claim of an active context: what stands with it there is what its number says."""
    row = seen.score(item.score_id or "")
    if row is None:
        return _gone(item.claim_id, "score_final", item.score, context.created_at)
    return number_of(row).but(list(_item_differences(context, item, row)))


def _item_differences(context: ContextRow, item: ContextItemRow, row: ScoreRow) -> Iterator[Difference]:
    made_of = read_object(row.inputs)
    yield from not_about(row, item.claim_id)
    yield from differs("context of its number", made_of.get("context"), context.id)
    yield from differs("rank in the context", item.rank, made_of.get("rank"))
    yield from differs("score in the context", item.score, row.value)
    yield from differs("policy_version of the context", context.policy_version, row.policy_version)
    again, _ = attempt(lambda: dict(leaves(of_recall.features_of(made_of))))
    stored = dict(leaves(read_object(item.features)))
    for name in stored | again if again is not None else ():
        yield from differs(f"feature {name}", stored.get(name), again.get(name))


def _gone(id_: str, name: str, value: Any, at: float | None) -> Number:
    reason = "its inputs are missing: an older version of Scalepan did not store them, or they were deleted"
    value = value if isinstance(value, (int, float)) else None
    return Number(id=id_, name=name, status="unknown", value=value, reason=reason, at=time_text(at))


def _claim(seen: Seen, id_: str) -> list[Number] | None:
    kept = seen.claim(id_)
    return None if kept is None else votes.of_claim(seen.here, id_, kept)


def _vote(seen: Seen, id_: str) -> list[Number] | None:
    row = seen.here.votes.get(id_, seen.who.tenant)
    return None if row is None or seen.claim(row.claim_id) is None else votes.of_vote(seen.here, row)


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
