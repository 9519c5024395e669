"""How good is recall, and how fast? Levels L0 to L3 and the hybrid on queries with answers (memory.md, section 8)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import groupby
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from typing import Any

import msgspec
import numpy as np

from karat.errors import InputError, KaratError, TookTooLongError
from karat.memory.bench_data import Document, Query, part_of, pseudo_queries, read_folder, sample
from karat.memory.keeper import Said, remember_vectors
from karat.memory.memory import Memory
from karat.memory.recall import NO_ENCODER, NO_VECTORS
from karat.policy import Layer, Policy
from karat.store.tables import AddEvent, new_id

DEFAULT_K = 12
LEAST_RECALL, LEAST_NDCG, MOST_ACTIVATE_MS, MOST_FALLBACKS = 0.70, 0.45, 1500.0, 0.01
ACTIVATIONS = 25
"""So many are enough for a p90; each leaves an active context."""
LOADED_AT_ONCE = 200
EVENTS_PATIENCE = 10.0
SINGLE_LEVELS = {
    "L0": ("L0", "", "words, ILIKE"),
    "L1": ("", "L1", "meaning, cosine in SQL"),
    "L2": ("L2", "", "words, DuckDB's FTS"),
    "L3": ("", "L3", "meaning, DuckDB's VSS"),
}
HYBRID = "hybrid"

Tell = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""


class Level(msgspec.Struct, frozen=True):
    """How one level did. Without numbers it was not measured, and `reason` says why."""

    level: str
    what: str
    recall: float | None = None
    ndcg: float | None = None
    p50_ms: float | None = None
    p90_ms: float | None = None
    reason: str | None = None


class Line(msgspec.Struct, frozen=True):
    """A pass line of the spec. `passed` is None where nothing was measured."""

    name: str
    limit: str
    measured: float | None
    shown: str
    passed: bool | None


class Bench(msgspec.Struct, frozen=True):
    """What came of a bench."""

    source: str
    k: int
    claims: int
    queries: int
    levels: list[Level]
    lines: list[Line]
    activate_ms: dict[str, dict[str, float]]
    """By level: p50 and p90."""
    fallback_rate: float | None
    model: str
    policy_version: str
    notes: list[str] = []

    @property
    def missed(self) -> list[Line]:
        """The lines that were measured and not reached."""
        return [line for line in self.lines if line.passed is False]


def recall_at(found: Sequence[str], gold: Mapping[str, float], k: int) -> float:
    """How much of what is relevant is among the first k.

    >>> recall_at(["a", "x", "b"], {"a": 1, "b": 1}, k=2)
    0.5
    """
    return sum(1 for id_ in found[:k] if id_ in gold) / len(gold)


def ndcg_at(found: Sequence[str], gold: Mapping[str, float], k: int) -> float:
    """How near the first k are to the best order: each counts its relevance over log2(rank + 1).

    >>> round(ndcg_at(["x", "a"], {"a": 1}, k=2), 3)
    0.631
    """
    best = _gain(sorted(gold.values(), reverse=True)[:k])
    return _gain([gold.get(id_, 0.0) for id_ in found[:k]]) / best


def _gain(relevances: Sequence[float]) -> float:
    return sum(relevance / log2(place + 2) for place, relevance in enumerate(relevances))


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
    with TemporaryDirectory(prefix="karat-bench-") as place:
        file = Path(place) / "bench.duckdb"
        groups = list(dict.fromkeys(document.group for document in data.documents))
        notes = [*data.notes]
        claim_of = _load(file, data.documents, policy, tell)
        if len(set(claim_of.values())) < len(claim_of):
            notes.append(
                f"{len(claim_of) - len(set(claim_of.values())):,} documents repeat another's text: one claim for both"
            )
        queries = [query._replace(gold=_as_claims(query.gold, claim_of)) for query in data.queries]
        lost = {query.group for query in queries} - set(groups)
        if lost:
            raise InputError(f"queries of group '{min(lost)}' have no documents", file=str(folder))
        asked = sample(queries, limit)
        notes += _sampled(asked, queries)
        with Memory(file, policy=policy) as first:
            memories = {name: Memory(file, project=name, policy=policy) for name in groups}
            try:
                return _measure(str(folder), first, memories, asked, k, notes, tell, len(set(claim_of.values())))
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
            Query(f"{number}", text, dict.fromkeys(sorted(relevant), 1.0))
            for number, (text, relevant) in enumerate(labelled)
            if relevant
        ]
        notes = [f"{len(queries):,} labelled queries"]
        unknown = sum(1 for query in queries for id_ in query.gold if id_ not in ids)
        if unknown:
            notes.append(f"{unknown:,} labels name a claim that is not here: they count as not found")
    else:
        queries = pseudo_queries(claims, _relations(memory))
        parts = [part_of(claim) for claim in claims]
        counted = ", ".join(f"{part} {parts.count(part):,}" for part in ("train", "valid", "test"))
        notes = [
            f"split by hash: {counted}; queries are pieces of the test part's claims, so words have it easy: "
            "--labels asks what people ask"
        ]
    if not queries:
        raise InputError(
            "no query has a relevant claim"
            if labelled is not None
            else f"{len(claims):,} claims here, and none falls into the test part: add more, or give --labels"
        )
    # All of one project: whatever the labels' order, one group.
    queries = [query._replace(group="") for query in queries]
    asked = sample(queries, limit)
    notes += _sampled(asked, queries)
    done = _measure(str(memory.store.path), memory, {"": memory}, asked, k, notes, tell, len(claims))
    event = AddEvent("benchmark", _payload(done), memory.who.tenant, trace_id=memory.who.trace_id)
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


def _sampled(asked: Sequence[Query], queries: Sequence[Query]) -> list[str]:
    if len(asked) == len(queries):
        return []
    return [f"{len(asked):,} of {len(queries):,} queries, the same each time (--limit)"]


def _measure(
    source: str,
    first: Memory,
    memories: Mapping[str, Memory],
    asked: Sequence[Query],
    k: int,
    notes: list[str],
    tell: Tell | None,
    claims: int,
) -> Bench:
    """Every level, then the hybrid, then some activations."""
    with _traced(memories.values()) as trace:
        unready = _without_vectors(memories.values())
        levels = [
            Level(name, what, reason=unready)
            if vector_level and unready
            else _level(name, what, memories, asked, k, _candidates(text_level, vector_level, k), tell)
            for name, (text_level, vector_level, what) in SINGLE_LEVELS.items()
        ]
        versions: set[str] = set()
        levels.append(_level(HYBRID, "both, as recall has it", memories, asked, k, _search(k, versions), tell))
        fallback_rate = _fallback_rate(first, trace, levels[-1])
        activate_ms = _activations(memories, asked, k, levels, tell)
    return Bench(
        source,
        k,
        claims,
        len(asked),
        levels,
        _lines(k, levels, activate_ms, fallback_rate),
        activate_ms,
        fallback_rate,
        first.stats().model or "",
        ", ".join(sorted(versions)),
        notes,
    )


@contextmanager
def _traced(memories: Any) -> Iterator[str]:
    """Everything that is asked meanwhile carries one trace id: so its events can be told from others."""
    trace = new_id("bench")
    before = [(memory, memory.who) for memory in memories]
    for memory, who in before:
        memory.who = msgspec.structs.replace(who, trace_id=trace)
    try:
        yield trace
    finally:
        for memory, who in before:
            memory.who = who


def _without_vectors(memories: Any) -> str | None:
    """Why meaning cannot be searched, if it cannot."""
    figures = [memory.stats() for memory in memories]
    if any(one.without_vector < one.claims for one in figures):
        return None
    return NO_VECTORS if any(one.model for one in figures) else NO_ENCODER


Asking = Callable[[Memory, str], list[str]]


def _candidates(text_level: str, vector_level: str, k: int) -> Asking:
    def ask(memory: Memory, query: str) -> list[str]:
        found = memory.candidates(query, text_level=text_level, vector_level=vector_level, k=k)
        if vector_level and not found.model:
            raise KaratError(NO_ENCODER)
        return [id_ for id_, _ in (found.vector if vector_level else found.text)]

    return ask


def _search(k: int, versions: set[str]) -> Asking:
    def ask(memory: Memory, query: str) -> list[str]:
        found = memory.search(query, k)
        versions.add(found.policy_version)
        return [one.id for one in found]

    return ask


def _level(
    name: str, what: str, memories: Mapping[str, Memory], asked: Sequence[Query], k: int, ask: Asking, tell: Tell | None
) -> Level:
    """All queries at one level; one that cannot work here is said to be not measured."""
    recalls, ndcgs, times = [], [], []
    try:
        for group, queries in groupby(asked, key=lambda query: query.group):
            memory = memories[group]
            for place, query in enumerate(queries):
                if not place:
                    _warm(ask, memory, query)
                started = perf_counter()
                found = ask(memory, query.text)
                times.append((perf_counter() - started) * 1000)
                recalls.append(recall_at(found, query.gold, k))
                ndcgs.append(ndcg_at(found, query.gold, k))
                if tell is not None:
                    tell(name, len(times), len(asked))
    except KaratError as error:
        if name == HYBRID:
            raise
        return Level(name, what, reason=str(error).partition("\n")[0])
    p50, p90 = np.percentile(times, [50, 90])
    return Level(name, what, float(np.mean(recalls)), float(np.mean(ndcgs)), float(p50), float(p90))


def _warm(ask: Asking, memory: Memory, query: Query) -> None:
    """The first question loads the model and fills what a level keeps; it may take longer than a recall may."""
    try:
        ask(memory, query.text)
    except TookTooLongError:
        ask(memory, query.text)


def _fallback_rate(memory: Memory, trace: str, hybrid: Level) -> float | None:
    """search_fallback events over search events of this bench."""
    if hybrid.recall is None:
        return None
    count = "SELECT topic, count(*) FROM events WHERE trace_id = '{}' GROUP BY 1"
    counts: dict[str, int] = {}
    seen, patience = -1, monotonic() + EVENTS_PATIENCE
    # Events of searches are written a moment later: wait until no more come.
    while counts.get("search", 0) != seen and monotonic() < patience:
        seen = counts.get("search", 0)
        sleep(0.02)
        counts = {str(topic): int(n) for topic, n in memory.store.sql(count.format(trace))}
    return counts.get("search_fallback", 0) / counts["search"] if counts.get("search") else None


def _activations(
    memories: Mapping[str, Memory], asked: Sequence[Query], k: int, levels: Sequence[Level], tell: Tell | None
) -> dict[str, dict[str, float]]:
    """How long an activation takes: as the policy has it, and at L2+L1, which the spec's line is about."""
    some = sample(asked, ACTIVATIONS)
    measured = {level.level for level in levels if level.recall is not None}
    ways: dict[str, Mapping[str, Memory]] = {"as the policy has it": memories}
    if {"L1", "L2"} <= measured:
        ways["L2+L1"] = {name: _at_levels(memory, "L2", "L1") for name, memory in memories.items()}
    taken = {}
    for name, ones in ways.items():
        level = _level(HYBRID, "", ones, some, k, lambda memory, query: _activate(memory, query, k), None)
        taken[name] = {"p50": level.p50_ms or 0.0, "p90": level.p90_ms or 0.0}
        if tell is not None:
            tell("activations", len(taken), len(ways))
    return taken


def _activate(memory: Memory, query: str, k: int) -> list[str]:
    return [one.id for one in memory.activate(query, k)]


def _at_levels(memory: Memory, text: str, vectors: str) -> Memory:
    """The same memory, asked at other levels than its policy names."""
    said = msgspec.msgpack.decode(memory._said, type=Said)
    layer = Layer("bench", {"retrieval": {"text": {"level": text}, "vectors": {"level": vectors}}})
    other = copy(memory)
    other._said = msgspec.msgpack.encode(Said(said.below, [*said.above, layer]))
    return other


def _lines(
    k: int, levels: Sequence[Level], activate_ms: Mapping[str, Mapping[str, float]], fallback_rate: float | None
) -> list[Line]:
    hybrid = levels[-1]
    lines = [
        _at_least(f"Recall@{k}, hybrid", hybrid.recall, LEAST_RECALL),
        _at_least(f"nDCG@{k}, hybrid", hybrid.ndcg, LEAST_NDCG),
    ]
    for name in ("as the policy has it", "L2+L1"):
        p90 = activate_ms[name]["p90"] if name in activate_ms else None
        lines.append(
            _at_most(f"activate p90, {name}", p90, MOST_ACTIVATE_MS, f"{MOST_ACTIVATE_MS:,.0f} ms", "{:.1f} ms")
        )
    lines.append(_at_most("search_fallback / search", fallback_rate, MOST_FALLBACKS, f"{MOST_FALLBACKS:.0%}", "{:.1%}"))
    return lines


def _at_least(name: str, measured: float | None, limit: float) -> Line:
    shown = "not measured" if measured is None else f"{measured:.3f}"
    return Line(name, f">= {limit:.2f}", measured, shown, None if measured is None else measured >= limit)


def _at_most(name: str, measured: float | None, limit: float, said: str, form: str) -> Line:
    shown = "not measured" if measured is None else form.format(measured)
    return Line(name, f"<= {said}", measured, shown, None if measured is None else measured <= limit)
