"""What preselecting by sign bits loses and saves, compared with the exact search, on real texts and their encoder.

Scalepan compares a query with every claim up to `retrieval.vectors.exact_claims`. Beyond that, it first finds claims
that agree with the query in most sign bits, and compares `retrieval.vectors.rescore` times k of them. Here both search
the same corpora for the same queries, each corpus alone and all of them together, whatever their size.

python -m bench.vectors [FOLDER ...]      folders with corpus and queries; default: those of ../shared/data
"""

import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from bench.timing import row
from scalepan.embed import find_encoder
from scalepan.memory.bench.data import read_folder
from scalepan.memory.recall.candidates.vectors import VectorIndex
from scalepan.policy.embed import Embed
from scalepan.policy.retrieval import VectorsPolicy as Policy

FOLDERS = ("stackfaq", "scifact", "jaquad_sentences")
QUERIES = 500
K = 96
"""`k_vec` of the default policy."""
RESCORED = (10, 20, 40, 80)


def measure(name: str, matrix: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
    """Recall of the exact K nearest, of the exact 12 nearest, and the time, for several rescore factors."""
    vectors = VectorIndex()
    vectors.put(range(len(matrix)), matrix)
    everyone, newest = np.ones(len(matrix), dtype=bool), np.zeros(len(matrix))
    started = perf_counter()
    exact = [[row for row, _ in vectors.search(query, everyone, K, newest)] for query in queries]
    exact_ms = (perf_counter() - started) / len(queries) * 1000
    row(f"{name}, {len(matrix):,} texts, exact", "", "", f"{exact_ms:.2f} ms")
    for times in RESCORED:
        if times * K >= len(matrix):
            continue
        policy = Policy(exact_claims=0, rescore=times)
        started = perf_counter()
        found = [{row for row, _ in vectors.search(query, everyone, K, newest, policy)} for query in queries]
        ms = (perf_counter() - started) / len(queries) * 1000
        recall = [
            np.mean([len(some & set(best[:k])) / k for some, best in zip(found, exact, strict=True)]) for k in (K, 12)
        ]
        row(f"  rescored {times} x {K}", *(f"{share:.4f}" for share in recall), f"{ms:.2f} ms", f"{exact_ms / ms:.1f}x")


def main() -> None:
    """Each folder, then all together."""
    data = Path(__file__).resolve().parents[2] / "shared" / "data"
    folders = [Path(name) for name in sys.argv[1:]] or [data / name for name in FOLDERS]
    encoder = find_encoder(Embed(), remember=True)
    if encoder is None:
        sys.exit("no encoder found; 'scalepan doctor' shows how to add one")
    row("", f"of the nearest {K}", "of the nearest 12", "per search", "exact over it")
    texts, asked = [], []
    for folder in folders:
        read = read_folder(folder)
        texts.append(encoder.encode([one.text for one in read.documents]))
        asked.append(encoder.encode([one.text for one in read.queries[:QUERIES]], "query"))
        measure(folder.name, texts[-1], asked[-1])
    if len(folders) > 1:
        measure("all together", np.concatenate(texts), np.concatenate(asked))


if __name__ == "__main__":
    main()
