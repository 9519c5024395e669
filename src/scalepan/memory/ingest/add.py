"""Claims on their way in: redacted, hashed, embedded, then kept once for each content. Redaction comes first."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan import clock
from scalepan.errors import BoundaryError, ConflictError, InputError, NotFoundError, quoted
from scalepan.memory.claim import SECONDS_A_DAY, Claim, Entity, NewClaim, Provenance, moment, written, zoned
from scalepan.memory.claims import CLAIM_COLUMNS, SECRET_TEXT, indexed_text
from scalepan.memory.recall.boundary import check_class, check_invariants, check_new_claim, opened
from scalepan.memory.recall.candidates.columns import Entry
from scalepan.memory.recall.index import refresh
from scalepan.memory.requests import ADD, MOST_AT_ONCE, Add, Added, AllAdded
from scalepan.memory.state import MODEL_KEY, Rules, check_no_secret, memory_state
from scalepan.names import LONGEST, without_controls
from scalepan.policy.boundary import CLASSES
from scalepan.redact import Redactor
from scalepan.store.duckdb.arrow import vector_table
from scalepan.store.duckdb.standings import Standings
from scalepan.store.duckdb.values import among, as_json, utc
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.operations import insert_rows
from scalepan.store.own import AddEvent
from scalepan.store.request import Who
from scalepan.text import Morphology, content_hash, has_visible, normal_form, terms

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

    from scalepan.store import Here


class Prepared(msgspec.Struct, frozen=True):
    """A claim as it is going to be kept. Nothing in it needs to be cut any more."""

    row: dict[str, Any]
    entities: list[Entity]
    terms: list[str]
    morphology: Morphology
    """How the terms were made: an index that was made otherwise makes them again."""
    searched: str
    redacted: dict[str, int]


class Keep(msgspec.Struct, frozen=True):
    """Prepared claims for the writer; it stays in the owner, so vectors and terms go along as they are."""

    prepared: list[Prepared]
    vectors: Any
    model: str | None
    who: Who
    request_id: str


@changes(ADD)
def add(here: "Here", request: Add) -> AllAdded:
    """Remember claims. Each content is kept once for a tenant, project and scope."""
    if len(request.claims) > MOST_AT_ONCE:
        raise InputError(f"{len(request.claims):,} claims at once are too many; the limit is {MOST_AT_ONCE:,}")
    keep = memory_state(here)
    rules = keep.rules(here, request)
    check_invariants(request.who, "add", rules.policy.boundary)
    for claim in request.claims:
        check_class(request.who, claim.boundary_class)
        if claim.id is not None:
            _check_id(claim.id, request.who, rules)
    now = clock.time()
    prepared = [prepare(claim, request.who, rules, now) for claim in request.claims]
    if rules.policy.boundary.invariants:
        for one in prepared:
            _check_invariants(one, request.who, rules, now)
    encoder = keep.encoder(here, rules.policy)
    vectors = embed(encoder, prepared) if encoder is not None else None
    model = encoder.model_id if encoder is not None else None
    done: AllAdded = here.commit(KEEP, Keep(prepared, vectors, model, request.who, here.id))
    return done


def _check_invariants(claim: "Prepared", who: Who, rules: Rules, now: float) -> None:
    age_days = (now - _seconds(claim.row["updated_at"] or claim.row["created_at"])) / SECONDS_A_DAY
    names = [entity.name for entity in claim.entities]
    check_new_claim(who, "add", rules.policy.boundary, claim.row, names, age_days)


def _check_id(id_: str, who: Who, rules: Rules) -> None:
    """An id from elsewhere is kept as it is, so it must not be a secret. One that is taken shows that something has it,
    in whatever class: whoever may not know that gets ids of ours.
    """
    check_no_secret(id_, "id", rules.secrets_only)
    if opened(who) != CLASSES:
        raise BoundaryError(f"the token opens {', '.join(opened(who))} only, and cannot choose ids: leave out '{id_}'")


def embed(encoder: Any, prepared: Sequence[Prepared]) -> "NDArray[np.float32]":
    """Vectors of what search may see."""
    vectors: NDArray[np.float32] = encoder.encode([claim.searched for claim in prepared])
    return vectors


def prepare(claim: NewClaim, who: Who, rules: Rules, now: float) -> Prepared:
    """A claim without its secrets, and without personal data unless the policy keeps it."""
    if claim.scope == "session" and who.session is None:
        raise InputError("a session claim needs a session", path="scope")
    text, boundary_class, redacted = clean(claim.text, claim.boundary_class, rules)
    if not has_visible(text):
        raise InputError("the text is empty" if not text.strip() else "nothing in the text is visible", path="text")
    id_ = claim.id or new_id("clm")
    created = _moment(claim.created_at, "created_at") if claim.created_at else now
    updated = _moment(claim.updated_at, "updated_at") if claim.updated_at else None
    searched = indexed_text(text, boundary_class, rules.redactor)
    row = {
        "id": id_,
        "tenant": who.tenant,
        "project": who.project,
        "session": who.session if claim.scope == "session" else None,
        "text": text,
        "normalized_text": normal_form(searched),
        "kind": claim.kind,
        "scope": claim.scope,
        "boundary_class": boundary_class,
        # Of a secret nothing is kept that could be guessed from, not even a hash.
        "content_hash": content_hash(id_ if boundary_class == "secret" else text),
        "utility": claim.utility,
        "utility_at": utc(now),
        "confidence": claim.confidence,
        "quality": claim.quality,
        "quality_at": utc(now) if claim.quality is not None else None,
        "created_at": utc(created),
        "updated_at": utc(updated) if updated is not None else None,
        "provenance": msgspec.json.encode(_provenance(claim.provenance, who, rules, now)).decode(),
    }
    entities = [redacted_entity(entity, rules.redactor) for entity in claim.entities]
    morphology = rules.policy.retrieval.morphology
    return Prepared(row, entities, terms(searched, morphology), morphology, searched, redacted)


def clean(said: str, boundary_class: str, rules: Rules) -> tuple[str, str, dict[str, int]]:
    """A text as it may be kept, its class, and what was cut, by kind."""
    if boundary_class == "secret":
        return SECRET_TEXT, "secret", {"secret": 1}
    # Controls first: one inside of a secret would hide it from the rules.
    text = without_controls(said)
    found = rules.redactor.redact(text)
    counts: dict[str, int] = {}
    for finding in found.findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    if rules.policy.redact.store_pii and any(finding.category == "pii" for finding in found.findings):
        kept = rules.secrets_only.redact(text)
        cut = {finding.kind for finding in kept.findings}
        return kept.text, _stricter(boundary_class, "pii"), {kind: n for kind, n in counts.items() if kind in cut}
    return found.text, boundary_class, counts


def _stricter(one: str, other: str) -> str:
    return max(one, other, key=lambda name: CLASSES.index(name))


def _provenance(said: Provenance, who: Who, rules: Rules, now: float) -> Provenance:
    """Where a claim comes from; who says it and when is known even if nobody wrote it down."""
    actor = said.actor or clean_actor(who, rules.redactor)
    filled = msgspec.structs.replace(said, at=said.at or written(now), actor=actor)
    return redacted_provenance(filled.checked(), rules.redactor)


def clean_text(said: str, redactor: Redactor) -> str:
    """Any text beside a claim's own, as it may be kept and shown: without controls, then without what is redacted."""
    return redactor.redact(without_controls(said)).text


def redacted_provenance(provenance: Provenance, redactor: Redactor) -> Provenance:
    """Provenance without secrets and personal data: a URL may carry a token, a note anything.

    A time that is none was kept by an older version, and could be any text.
    """
    fields = {name: getattr(provenance, name) for name in ("actor", "source", "note")}
    cleaned = {name: clean_text(value, redactor) for name, value in fields.items() if value}
    return msgspec.structs.replace(provenance, at=zoned(provenance.at) if provenance.at else None, **cleaned)


def redacted_entity(entity: Entity, redactor: Redactor) -> Entity:
    """The same for the name of what a claim is about."""
    return msgspec.structs.replace(entity, name=" ".join(clean_text(entity.name, redactor).split())[:LONGEST])


def clean_actor(who: Who, redactor: Redactor) -> str | None:
    """Who asks, as it is kept: a name, on one line."""
    return " ".join(clean_text(who.actor, redactor).split())[:LONGEST] if who.actor else None


def redacted_claim(claim: Claim, redactor: Redactor) -> Claim:
    """A whole claim, redacted once more."""
    return msgspec.structs.replace(
        claim,
        text=clean_text(claim.text, redactor),
        provenance=redacted_provenance(claim.provenance, redactor),
        entities=[redacted_entity(entity, redactor) for entity in claim.entities],
    )


def _moment(text: str, path: str) -> float:
    try:
        return moment(text)
    except (ValueError, OverflowError):
        raise InputError(f"{quoted(text)} is not a time such as 2026-01-31T12:00:00+00:00", path=path) from None


KEEP = Operation("memory.keep", Keep, AllAdded, internal=True)


@commits(KEEP)
def keep_claims(here: "Here", requests: Sequence[Keep]) -> list[AllAdded]:
    """Write prepared claims; one whose content is there already is not written again."""
    connection = here.connection
    every = [claim for request in requests for claim in request.prepared]
    known = _known(connection, every)
    kept_as: list[tuple[str, Prepared]] = []
    answers: list[AllAdded] = []
    fresh: list[Prepared] = []
    vectors: dict[str, NDArray[np.float32]] = {}
    models: dict[str, list[str]] = {}
    raised: dict[str, str] = {}
    for request in requests:
        added = []
        for place, claim in enumerate(request.prepared):
            same = known.setdefault(_identity(claim.row), {})
            there = _same_for(request.who, same, claim.row["boundary_class"])
            id_, boundary_class = there or claim.row["id"], claim.row["boundary_class"]
            if there is None:
                fresh.append(claim)
                if request.vectors is not None:
                    vectors[claim.row["id"]] = request.vectors[place]
                    models.setdefault(request.model or "", []).append(claim.row["id"])
            else:
                boundary_class = _stricter(same[there], boundary_class)
                if boundary_class != same[there]:
                    # The same words, now said to be stricter: they are, for everybody.
                    raised[there] = boundary_class
            same[id_] = boundary_class
            kept_as.append((id_, claim))
            added.append(Added(id_, there is None, boundary_class, claim.redacted))
        answers.append(AllAdded(added))
    _check_ids(connection, fresh)
    if fresh:
        insert_rows(connection, "claims", CLAIM_COLUMNS, [claim.row for claim in fresh])
    for id_, boundary_class in raised.items():
        connection.execute("UPDATE claims SET boundary_class = ? WHERE id = ?", [boundary_class, id_])
    linked = link_entities(connection, kept_as)
    for model, ids in models.items():
        write_vectors(here, ids, np.stack([vectors[id_] for id_ in ids]), model)
    here.events.add([_ingested(request, answer) for request, answer in zip(requests, answers, strict=True)])
    here.after_commit(lambda: _into_index(here, fresh, vectors, {*raised, *linked}))
    return answers


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two claims the same; a secret is the same as nothing."""
    return row["tenant"], row["project"], row["scope"], row["session"], row["content_hash"]


def _same_for(who: Who, same: dict[str, str], wanted: str) -> str | None:
    """Which of the claims of one content this caller means, by its id; None if there is none that it may know of.

    To a token, what is in a class that it does not open is not there: the text is kept once more for it, and neither
    the answer nor a later search tells that somebody else has it too.
    """
    open_ = [id_ for id_, boundary_class in same.items() if boundary_class in opened(who)]
    return max(open_, key=lambda id_: (same[id_] == wanted, CLASSES.index(same[id_])), default=None)


def _known(connection: "DuckDBPyConnection", claims: Sequence[Prepared]) -> dict[tuple[Any, ...], dict[str, str]]:
    """By content, the claims that have it, each with its class. A text that was merged has its representative."""
    hashes = as_json(list({claim.row["content_hash"] for claim in claims}))
    rows = connection.execute(
        "SELECT tenant, project, scope, session, content_hash, id, boundary_class, merged_into FROM claims "
        f"WHERE {among('content_hash')} ORDER BY merged_into IS NULL",
        [hashes],
    ).fetchall()
    known: dict[tuple[Any, ...], dict[str, str]] = {}
    for *identity, id_, boundary_class, merged_into in rows:
        if merged_into is not None:
            id_, boundary_class = _representative(connection, id_)
        known.setdefault(tuple(identity), {})[id_] = boundary_class
    return known


def _representative(connection: "DuckDBPyConnection", merged: str) -> tuple[str, str]:
    row = connection.execute(
        "SELECT id, boundary_class FROM claims WHERE id = ?", [Standings(connection).merged_into(merged) or merged]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no claim '{merged}' here")
    return row[0], row[1]


def _check_ids(connection: "DuckDBPyConnection", fresh: Sequence[Prepared]) -> None:
    """Ids that came from another store may be taken here."""
    ids = as_json([claim.row["id"] for claim in fresh])
    taken = connection.execute(f"SELECT id, tenant FROM claims WHERE {among('id')}", [ids]).fetchone()
    if taken is None:
        return
    # Whether another tenant has it is not this one's business; that it cannot be used cannot be helped.
    mine = taken[1] in {claim.row["tenant"] for claim in fresh if claim.row["id"] == taken[0]}
    raise ConflictError(
        f"claim '{taken[0]}' is there already, with another text"
        if mine
        else f"id '{taken[0]}' cannot be used here: leave it out, and one is made"
    )


def link_entities(connection: "DuckDBPyConnection", claims: Sequence[tuple[str, Prepared]]) -> set[str]:
    """Say what claims are about; those of which something new was said. Entities are a tenant's, by name and type."""
    wanted = [(id_, claim.row["tenant"], entity) for id_, claim in claims for entity in claim.entities]
    if not wanted:
        return set()
    entities = _entity_ids(connection, {(tenant, entity.type, entity.name) for _, tenant, entity in wanted})
    rows = [
        {"claim_id": id_, "entity_id": entities[(tenant, entity.type, entity.name)]} for id_, tenant, entity in wanted
    ]
    ids = as_json([id_ for id_, _, _ in wanted])
    there = set(
        connection.execute(
            f"SELECT claim_id, entity_id FROM claim_entities WHERE {among('claim_id')}", [ids]
        ).fetchall()
    )
    new = {(row["claim_id"], row["entity_id"]) for row in rows} - there
    if new:
        columns = {"claim_id": "VARCHAR", "entity_id": "VARCHAR"}
        insert_rows(
            connection, "claim_entities", columns, [dict(zip(columns, pair, strict=True)) for pair in sorted(new)]
        )
    return {claim_id for claim_id, _ in new}


def replace_entities(connection: "DuckDBPyConnection", claim: str, tenant: str, entities: Sequence[Entity]) -> None:
    """Say anew what one claim is about."""
    connection.execute("DELETE FROM claim_entities WHERE claim_id = ?", [claim])
    ids = _entity_ids(connection, {(tenant, entity.type, entity.name) for entity in entities}) if entities else {}
    for id_ in sorted(set(ids.values())):
        connection.execute("INSERT INTO claim_entities VALUES (?, ?)", [claim, id_])


def _entity_ids(connection: "DuckDBPyConnection", wanted: set[tuple[str, str, str]]) -> dict[tuple[str, str, str], str]:
    names = as_json(sorted({name for _, _, name in wanted}))
    rows = connection.execute(
        f"SELECT tenant, type, name, id FROM entities WHERE {among('name')}",
        [names],
    ).fetchall()
    found = {key: row[3] for row in rows if (key := (row[0], row[1], row[2])) in wanted}
    missing = sorted(wanted - set(found))
    if missing:
        new = [{"id": new_id("ent"), "tenant": t, "type": type_, "name": name} for t, type_, name in missing]
        columns = dict.fromkeys(("id", "tenant", "type", "name"), "VARCHAR")
        insert_rows(connection, "entities", columns, new)
        found |= {key: row["id"] for key, row in zip(missing, new, strict=True)}
    return found


def write_vectors(here: "Here", ids: Sequence[str], vectors: "NDArray[np.float32]", model: str) -> None:
    """Keep vectors. The first ones say which model the store has, and how wide its vectors are."""
    connection = here.connection
    row = connection.execute("SELECT value FROM meta WHERE key = ?", [MODEL_KEY]).fetchone()
    if row is None:
        connection.execute(f"CREATE OR REPLACE TABLE claim_vectors {vector_columns(vectors.shape[1])}")
        connection.execute("INSERT INTO meta VALUES (?, ?)", [MODEL_KEY, model])
    elif row[0] != model:
        raise ConflictError(f"the store's vectors are by {row[0]}, not by {model}")
    connection.register("incoming_vectors", vector_table(ids, vectors))
    try:
        connection.execute("INSERT INTO claim_vectors SELECT id, vector, ? FROM incoming_vectors", [model])
    finally:
        connection.unregister("incoming_vectors")


def vector_columns(width: int) -> str:
    """The columns of claim_vectors; their width follows the model."""
    return f"(claim_id TEXT, embedding FLOAT[{width:d}], model TEXT)"


def _ingested(request: Keep, answer: AllAdded) -> AddEvent:
    redacted: dict[str, int] = {}
    for claim in answer.claims:
        for kind, count in claim.redacted.items():
            redacted[kind] = redacted.get(kind, 0) + count
    payload = {
        "claims": [claim.id for claim in answer.claims if claim.created],
        "known": [claim.id for claim in answer.claims if not claim.created],
        "redacted": redacted,
    }
    return AddEvent(
        "ingest", payload, request.who.tenant, request.request_id, request.who.trace_id, request.who.project
    )


def _into_index(
    here: "Here", fresh: Sequence[Prepared], vectors: dict[str, "NDArray[np.float32]"], touched: set[str]
) -> None:
    index = memory_state(here).built()
    if index is None:
        return
    if fresh:
        own = index.morphology
        found = [c.terms if c.morphology == own else terms(c.searched, own) for c in fresh]
        index.add([_entry_of(claim) for claim in fresh], found)
    if vectors:
        index.put_vectors(list(vectors), np.stack(list(vectors.values())))
    older = touched - {claim.row["id"] for claim in fresh}
    if older:
        refresh(here.connection, index, sorted(older))


def _entry_of(prepared: Prepared) -> Entry:
    """What was just written, as the shelf takes it."""
    row = prepared.row
    created = _seconds(row["created_at"])
    updated = None if row["updated_at"] is None else _seconds(row["updated_at"])
    quality_at = None if row["quality_at"] is None else _seconds(row["quality_at"])
    claim = Claim(
        **{name: row[name] for name in Claim.__struct_fields__[:12]},
        created_at=written(created),
        updated_at=None if updated is None else written(updated),
        merged_into=None,
        provenance=msgspec.json.decode(row["provenance"], type=Provenance),
        entities=sorted(set(prepared.entities), key=lambda entity: (entity.name, entity.type)),
    )
    return Entry(claim, _seconds(row["utility_at"]), quality_at, created if updated is None else updated)


def _seconds(at: datetime) -> float:
    return at.replace(tzinfo=UTC).timestamp()
