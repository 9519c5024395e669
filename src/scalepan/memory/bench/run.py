"""How good is recall, and how fast? Levels L0 to L3 and the hybrid on queries with answers (contract memory.72)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from scalepan.errors import InputError, counted
from scalepan.memory.bench.data import BenchQuery, Document, part_of, pseudo_queries, read_folder, sample
from scalepan.memory.bench.measure import Tell, measure
from scalepan.memory.bench.result import Bench
from scalepan.memory.memory import Memory
from scalepan.memory.state import remember_vectors
from scalepan.policy import Policy
from scalepan.store.own import AddEvent

DEFAULT_K = 12
LOADED_AT_ONCE = 200


def bench_folder(
    folder: Path,
    *,
    k: int = DEFAULT_K,
    group: str | None = None,
    limit: int | None = None,
    policy: str | Path | Policy | Mapping[str, Any] | None = None,
    tell: Tell | None = None,
) -> Bench:
    """Recall on a data set: a folder with corpus, queries and qrels. It is loaded into a store that is thrown away."""
    data = read_folder(folder, group)
    with TemporaryDirectory(prefix="scalepan-bench-") as place:
        file = Path(place) / "bench.duckdb"
        groups = list(dict.fromkeys(document.group for document in data.documents))
        notes = [*data.notes]
        claim_of = _load(file, data.documents, policy, tell)
        repeated = len(claim_of) - len(set(claim_of.values()))
        if repeated:
            notes.append(f"{counted(repeated, 'document')} with the text of another: one claim for both")
        queries = [query._replace(gold=_as_claims(query.gold, claim_of)) for query in data.queries]
        lost = {query.group for query in queries} - set(groups)
        if lost:
            raise InputError(f"queries of group '{min(lost)}' have no documents", file=str(folder))
        asked = sample(queries, limit)
        notes += _sampled(asked, queries)
        with Memory(file, policy=policy) as first:
            memories = {name: Memory(file, project=name, policy=policy) for name in groups}
            try:
                return measure(str(folder), first, memories, asked, k, notes, tell, len(set(claim_of.values())))
            finally:
                for memory in memories.values():
                    memory.close()


def bench_store(
    memory: Memory,
    *,
    k: int = DEFAULT_K,
    labelled: Sequence[tuple[str, set[str]]] | None = None,
    limit: int | None = None,
    tell: Tell | None = None,
) -> Bench:
    """Recall on what a memory holds: by labelled queries, else by pieces of the claims of the test part (8:1:1)."""
    claims = list(memory.list())
    ids = {claim.id for claim in claims}
    if labelled is not None:
        queries = [
            BenchQuery(f"{number}", text, dict.fromkeys(sorted(relevant), 1.0))
            for number, (text, relevant) in enumerate(labelled)
            if relevant
        ]
        notes = [f"{len(queries):,} labelled queries"]
        unknown = sum(1 for query in queries for id_ in query.gold if id_ not in ids)
        if unknown:
            notes.append(f"{counted(unknown, 'label')} of a claim that is not here, counted as not found")
    else:
        queries = pseudo_queries(claims, _relations(memory))
        parts = [part_of(claim) for claim in claims]
        sizes = ", ".join(f"{part} {parts.count(part):,}" for part in ("train", "valid", "test"))
        notes = [
            f"split by hash: {sizes}; queries are pieces of the test part's claims, so words have it easy: "
            "--labels asks what people ask"
        ]
    if not queries:
        raise InputError(
            "no query has a relevant claim"
            if labelled is not None
            else f"{counted(len(claims), 'claim')} here, and none falls into the test part: add more, or give --labels"
        )
    # All of one project: whatever the labels' order, one group.
    queries = [query._replace(group="") for query in queries]
    asked = sample(queries, limit)
    notes += _sampled(asked, queries)
    done = measure(str(memory.store.path), memory, {"": memory}, asked, k, notes, tell, len(claims))
    event = AddEvent(
        "benchmark", _payload(done), memory.who.tenant, trace_id=memory.who.trace_id, project=memory.who.project
    )
    memory.store.call("store.add_event", event)
    return done


def _payload(done: Bench) -> dict[str, Any]:
    """What is kept of a bench: numbers. Its queries are pieces of claims, which may be forgotten one day."""
    data: dict[str, Any] = msgspec.to_builtins(done)
    return {name: value for name, value in data.items() if name != "source"}


def _load(
    file: Path,
    documents: Sequence[Document],
    policy: str | Path | Policy | Mapping[str, Any] | None,
    tell: Tell | None,
) -> dict[str, str]:
    """Documents as claims, a project for each group; which claim stands for which document.

    The files stay where they are, so their vectors may stay in the user's cache. The queries are asked of the store
    when it was opened anew, by an encoder that remembers nothing: their times are those of a first question.
    """
    claim_of: dict[str, str] = {}
    remembering = remember_vectors.set(True)
    try:
        with Memory(file, policy=policy) as first:
            first.stats()  # opens the file: the memories below share it
            for group, some in groupby(sorted(documents, key=lambda one: one.group), key=lambda one: one.group):
                with Memory(file, project=group, policy=policy) as memory:
                    _load_group(memory, list(some), claim_of, len(documents), tell)
    finally:
        remember_vectors.reset(remembering)
    return claim_of


def _load_group(
    memory: Memory, documents: Sequence[Document], claim_of: dict[str, str], total: int, tell: Tell | None
) -> None:
    for start in range(0, len(documents), LOADED_AT_ONCE):
        page = documents[start : start + LOADED_AT_ONCE]
        added = memory.add_many([{"text": document.text} for document in page])
        claim_of.update((document.id, one.id) for document, one in zip(page, added, strict=True))
        if tell is not None:
            tell("loading", len(claim_of), total)


def _as_claims(gold: Mapping[str, float], claim_of: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for document, relevance in gold.items():
        id_ = claim_of.get(document, document)
        found[id_] = max(relevance, found.get(id_, 0.0))
    return found


def _relations(memory: Memory) -> Iterator[tuple[str, str]]:
    tenant = memory.who.tenant.replace("'", "''")
    page = 100_000
    for start in range(0, 1 << 40, page):
        rows = memory.store.sql(
            f"SELECT source_id, target_id FROM relations WHERE tenant = '{tenant}' ORDER BY id "
            f"LIMIT {page} OFFSET {start}",
            page,
        )
        yield from ((source, target) for source, target in rows)
        if len(rows) < page:
            return


def _sampled(asked: Sequence[BenchQuery], queries: Sequence[BenchQuery]) -> list[str]:
    if len(asked) == len(queries):
        return []
    return [f"{len(asked):,} of {counted(len(queries), 'query', 'queries')}, the same each time (--limit)"]
