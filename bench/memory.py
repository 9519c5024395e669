"""What a recall costs at 1,000, 10,000 and 100,000 claims, where the time goes, and what peers take for the same part.

The encoder is a stand-in: the sum of a fixed random vector for each word, 384 numbers, which costs microseconds. So
building takes seconds, and the figures are without encoding; MiniLM adds its 3 to 8 ms to each query. The claims are
made up: 6 to 20 words each, drawn as words are in real text (Zipf). Words are compared with bm25s on the same terms,
vectors with a bare product in numpy, and both with levels L0 to L3 in DuckDB, all in the same run.

python -m bench.memory [SIZE ...]
"""

import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.timing import row
from scalepan.memory import Memory, state
from scalepan.memory.recall import search as recall
from scalepan.memory.recall.candidates import levels
from scalepan.memory.recall.candidates.columns import ClaimColumns
from scalepan.memory.recall.candidates.vectors import VectorIndex
from scalepan.memory.recall.candidates.words import Words
from scalepan.policy.retrieval import Retrieval
from scalepan.store import Here
from scalepan.text import terms

SIZES = (1_000, 10_000, 100_000)
QUERIES = 200
SLOW_QUERIES = 20
MOST_FOR_L3 = 10_000
VOCABULARY = 30_000
WIDTH = 384
SEED = 11
TARGET_MS = 20.0
PAUSE = 0.03
"""Seconds: an event is written by then."""
K_TEXT, K_VECTORS = 48, 96

STAGES: list[tuple[Any, str, str]] = [
    (recall, "search_query", "query: redact, terms, encode"),
    (levels, "index_words", "words"),
    (levels, "index_vectors", "vectors"),
    (Words, "matches", "words"),
    (VectorIndex, "cosines", "vectors"),
    (recall, "weigh_by_evidence", "rank"),
    (recall._Search, "_by_spec", "rank"),
    (ClaimColumns, "numbers", "reading claims"),
    (recall, "diversify", "MMR"),
    (recall, "_likeness", "MMR"),
    (recall, "_recalled", "answer: redact, reasons"),
    (recall._Others, "rejected", "answer: what was not taken"),
    (recall, "_event", "event: statistics"),
    (Here, "commit_later", "event: to the writer"),
]


class StandIn:
    """Texts to vectors by the words in them, for almost nothing."""

    model_id = "stand-in@1"
    dimensions = WIDTH

    def __init__(self, words: Sequence[str]) -> None:
        self._place = {word: place for place, word in enumerate(words)}
        self._vectors = np.random.default_rng(SEED).standard_normal((len(words), WIDTH)).astype(np.float32)

    def load(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str], kind: str = "passage") -> NDArray[np.float32]:  # noqa: ARG002
        """The sum of the words' vectors, of length 1."""
        sums = np.stack(
            [self._vectors[[self._place[w] for w in text.split() if w in self._place]].sum(0) for text in texts]
        )
        unit: NDArray[np.float32] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        return unit

    def is_cut(self, text: str, kind: str = "passage") -> bool:  # noqa: ARG002
        """Never."""
        return False


def words() -> list[str]:
    """Made-up words of two to four syllables, all different."""
    dice = np.random.default_rng(SEED)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        found["".join(dice.choice(syllables, dice.integers(2, 5)))] = None
    return list(found)


def texts(vocabulary: Sequence[str], count: int, shortest: int, longest: int, seed: int) -> list[str]:
    """Sentences whose words are as frequent as in real text."""
    dice = np.random.default_rng(seed)
    chance = 1 / np.arange(10, len(vocabulary) + 10)
    lengths = dice.integers(shortest, longest + 1, count)
    drawn = iter(dice.choice(len(vocabulary), int(lengths.sum()), p=chance / chance.sum()).tolist())
    return [" ".join(vocabulary[next(drawn)] for _ in range(length)) for length in lengths]


class Watch:
    """Seconds by stage, call by call; what a stage calls that is a stage of its own is not counted twice."""

    REST = "the rest: messages, reach, policy"

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = defaultdict(list)
        self._now: dict[str, float] = {}
        self._inside: list[float] = []

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The same function, watched."""

        @wraps(function)
        def watched(*args: Any, **options: Any) -> Any:
            self._inside.append(0.0)
            started = perf_counter()
            try:
                return function(*args, **options)
            finally:
                taken = perf_counter() - started
                self._now[stage] = self._now.get(stage, 0.0) + taken - self._inside.pop()
                if self._inside:
                    self._inside[-1] += taken

        return watched

    def call(self, work: Callable[[], object]) -> None:
        """One whole call. What no stage took is the rest."""
        self._now = {}
        started = perf_counter()
        work()
        whole = perf_counter() - started
        for stage in dict.fromkeys(stage for _, _, stage in STAGES):
            self.taken[stage].append(self._now.get(stage, 0.0))
        self.taken[self.REST].append(whole - sum(self._now.values()))
        self.taken["whole search"].append(whole)


@contextmanager
def watching() -> Iterator[Watch]:
    """Put a watch on every stage."""
    watch, before = Watch(), [(owner, name, getattr(owner, name)) for owner, name, _ in STAGES]
    for owner, name, stage in STAGES:
        setattr(owner, name, watch.timed(getattr(owner, name), stage))
    tables = (levels.TEXT_LEVELS, levels.VECTOR_LEVELS)
    kept = [dict(table) for table in tables]
    levels.TEXT_LEVELS["index"], levels.VECTOR_LEVELS["index"] = levels.index_words, levels.index_vectors
    try:
        yield watch
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
        for table, old in zip(tables, kept, strict=True):
            table.update(old)


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p90 in milliseconds."""
    p50, p90 = np.percentile(seconds, [50, 90]) * 1000
    return float(p50), float(p90)


def seconds_of(work: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """How long each query takes, after one that does not count."""
    work(queries[0])
    taken = []
    for query in queries:
        started = perf_counter()
        work(query)
        taken.append(perf_counter() - started)
    return taken


def bm25s_search(documents: Sequence[str]) -> Callable[[str], object] | None:
    """bm25s over the same terms; None if it is not installed."""
    if find_spec("bm25s") is None:
        return None
    import bm25s  # type: ignore[import-untyped]

    text = Retrieval().text
    peer = bm25s.BM25(k1=text.k1, b=text.b)
    peer.index([terms(document) for document in documents], show_progress=False)
    known = set(peer.vocab_dict)
    k = min(K_TEXT, len(documents))

    def ask(query: str) -> object:
        asked = [term for term in terms(query) if term in known]
        return peer.retrieve([asked], k=k, show_progress=False) if asked else None

    return ask


def numpy_search(encoder: StandIn, documents: Sequence[str]) -> Callable[[str], object]:
    """A product and the best of it: what exact search costs at the least."""
    matrix = np.concatenate([encoder.encode(documents[at : at + 1000]) for at in range(0, len(documents), 1000)])
    k = min(K_VECTORS, len(documents))

    def ask(query: str) -> object:
        near = matrix @ encoder.encode([query])[0]
        best = np.argpartition(near, -k)[-k:]
        return best[np.argsort(-near[best])]

    return ask


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = Path("/proc/self/statm").read_text().split()[1] if Path("/proc/self/statm").exists() else "0"
    return int(pages) * 4096


def measure(size: int, encoder: StandIn, documents: Sequence[str], queries: Sequence[str]) -> None:
    """One size: build, open, search, take apart, compare."""
    print(f"\n{size:,} claims")
    with TemporaryDirectory(prefix="scalepan-bench-") as folder:
        file = Path(folder) / "bench.duckdb"
        started = perf_counter()
        with Memory(file) as memory:
            memory.add_many(documents)
        built = perf_counter() - started
        row("  adding, stand-in encoder", f"{built:.1f} s", f"{size / built:,.0f} claims/s")
        row("  file", f"{file.stat().st_size / 1e6:.1f} MB", f"{file.stat().st_size / size:,.0f} bytes per claim")
        gc.collect()
        before, started = resident(), perf_counter()
        with Memory(file) as memory:
            memory.search(queries[0])
            row("  opening, with the first search", f"{perf_counter() - started:.2f} s")
            row("  memory of the index", f"{(resident() - before) / 1e6:.0f} MB")
            whole = search(memory, queries)
            compare(memory, encoder, documents, queries, whole)
        started = perf_counter()
        with Memory(file) as memory:
            memory.search(queries[0])
            row("  opening again, index saved beside the file", f"{perf_counter() - started:.2f} s")


def search(memory: Memory, queries: Sequence[str]) -> Watch:
    """Whole searches, stage by stage, with a pause after each; then without, when each meets the last one's event."""
    with watching() as watch:
        memory.search(queries[0])
        for query in queries:
            watch.call(lambda query=query: memory.search(query))  # type: ignore[misc]
            sleep(PAUSE)
    p50, p90 = percentiles(watch.taken["whole search"])
    verdict = "within" if p90 <= TARGET_MS else "over"
    row("  whole Memory.search, p50 and p90", f"{p50:.2f} ms", f"{p90:.2f} ms", f"{verdict} {TARGET_MS:.0f} ms")
    for stage, taken in watch.taken.items():
        if stage != "whole search":
            row(f"    {stage}", *(f"{ms:.2f} ms" for ms in percentiles(taken)))
    cpu = process_time()
    p50, p90 = percentiles(seconds_of(memory.search, queries))
    cpu = (process_time() - cpu) / (len(queries) + 1)
    row("  back to back, p50 and p90", f"{p50:.2f} ms", f"{p90:.2f} ms", f"CPU {cpu * 1000:.2f} ms")
    return watch


def compare(memory: Memory, encoder: StandIn, documents: Sequence[str], queries: Sequence[str], whole: Watch) -> None:
    """Peers on the same claims and queries."""
    words_ms, vectors_ms = (percentiles(whole.taken[stage])[0] for stage in ("words", "vectors"))
    peer = bm25s_search(documents)
    if peer is None:
        print("  bm25s is not installed: make .venv/.ready")
    else:
        _peer("bm25s, words", seconds_of(peer, queries), words_ms)
    _peer("bare numpy, vectors", seconds_of(numpy_search(encoder, documents), queries), vectors_ms)
    few = queries[:SLOW_QUERIES]
    for level, text, vectors, ours in (
        ("L0", "L0", "", words_ms),
        ("L1", "", "L1", vectors_ms),
        ("L2", "L2", "", words_ms),
        ("L3", "", "L3", vectors_ms),
    ):
        if level == "L3" and len(documents) > MOST_FOR_L3:
            print("  DuckDB, L3: not measured, its index would take minutes to make")
            continue
        try:
            memory.candidates(few[0], text_level=text, vector_level=vectors)
        except Exception as error:
            print(f"  DuckDB {level}: first question: {str(error)[:90]}")
        try:
            taken = seconds_of(lambda q, t=text, v=vectors: memory.candidates(q, text_level=t, vector_level=v), few)  # type: ignore[misc]
        except Exception as error:
            print(f"  DuckDB {level}: not measured: {str(error)[:90]}")
            continue
        _peer(f"DuckDB, {level}", taken, ours)


def _peer(name: str, taken: Sequence[float], ours: float) -> None:
    p50, p90 = percentiles(taken)
    row(f"  {name}, p50 and p90", f"{p50:.2f} ms", f"{p90:.2f} ms", f"ratio {p50 / ours:.2f}")


def main() -> None:
    """All sizes, or those that are named."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    vocabulary = words()
    encoder = StandIn(vocabulary)
    vars(state)["find_encoder"] = lambda *_, **__: encoder
    queries = texts(vocabulary, QUERIES, 3, 8, SEED + 1)
    for size in sizes:
        measure(size, encoder, texts(vocabulary, size, 6, 20, SEED), queries)


if __name__ == "__main__":
    main()
