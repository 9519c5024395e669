"""Asking the queries of a bench: at every level alone, by the hybrid, and as activations, by the clock."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import groupby
from time import monotonic, perf_counter, sleep
from typing import Any

import msgspec
import numpy as np

from scalepan.errors import ScalepanError, TookTooLongError
from scalepan.memory.bench.data import BenchQuery, sample
from scalepan.memory.bench.result import (
    AS_THE_POLICY_HAS_IT,
    AS_THE_SPEC_HAS_IT,
    Bench,
    Level,
    ndcg_at,
    pass_lines,
    recall_at,
)
from scalepan.memory.memory import Memory
from scalepan.memory.recall.search import NO_ENCODER, NO_VECTORS
from scalepan.policy import Layer
from scalepan.store.ids import new_id
from scalepan.store.request import Overlay

ACTIVATIONS = 25
"""So many are enough for a p90; each leaves an active context."""
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


def measure(
    source: str,
    first: Memory,
    memories: Mapping[str, Memory],
    asked: Sequence[BenchQuery],
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
        pass_lines(k, levels, activate_ms, fallback_rate),
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
            raise ScalepanError(NO_ENCODER)
        return [id_ for id_, _ in (found.vector if vector_level else found.text)]

    return ask


def _search(k: int, versions: set[str]) -> Asking:
    def ask(memory: Memory, query: str) -> list[str]:
        found = memory.search(query, k)
        versions.add(found.policy_version)
        return [one.id for one in found]

    return ask


def _level(
    name: str,
    what: str,
    memories: Mapping[str, Memory],
    asked: Sequence[BenchQuery],
    k: int,
    ask: Asking,
    tell: Tell | None,
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
    except ScalepanError as error:
        if name == HYBRID:
            raise
        return Level(name, what, reason=str(error).partition("\n")[0])
    p50, p90 = np.percentile(times, [50, 90])
    return Level(name, what, float(np.mean(recalls)), float(np.mean(ndcgs)), float(p50), float(p90))


def _warm(ask: Asking, memory: Memory, query: BenchQuery) -> None:
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
    while (not counts.get("search") or counts["search"] != seen) and monotonic() < patience:
        seen = counts.get("search", 0)
        sleep(0.1)
        counts = {str(topic): int(n) for topic, n in memory.store.sql(count.format(trace))}
    return counts.get("search_fallback", 0) / counts["search"] if counts.get("search") else None


def _activations(
    memories: Mapping[str, Memory], asked: Sequence[BenchQuery], k: int, levels: Sequence[Level], tell: Tell | None
) -> dict[str, dict[str, float]]:
    """How long an activation takes: as the policy has it, and at L2+L1, which the pass line is about."""
    some = sample(asked, ACTIVATIONS)
    measured = {level.level for level in levels if level.recall is not None}
    ways: dict[str, Mapping[str, Memory]] = {AS_THE_POLICY_HAS_IT: memories}
    if {"L1", "L2"} <= measured:
        ways[AS_THE_SPEC_HAS_IT] = {name: _at_levels(memory, "L2", "L1") for name, memory in memories.items()}
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
    said = msgspec.msgpack.decode(memory.overlay, type=Overlay)
    layer = Layer("bench", {"retrieval": {"text": {"level": text}, "vectors": {"level": vectors}}})
    other = copy(memory)
    other.overlay = msgspec.msgpack.encode(Overlay(said.below, [*said.above, layer]))
    return other
