"""Do the stand-ins tell grounded answers from others? AUROC beside word overlap and answer length.

python -m bench.groundedness [--development]

The rules were written on one half of the dev documents, split by a hash of their ids; the other half is reported,
without four documents of it that were read before there were rules.
Whole documents are drawn for the intervals: the thirty answers to one document are not thirty independent ones.
"""

import json
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.timing import row
from scalepan.confidence.stand_ins import Supported, coverage, support, support_many
from scalepan.embed import find_encoder
from scalepan.policy.embed import Embed
from scalepan.score import Score
from scalepan.stats import bootstrap
from scalepan.stats.bootstrap import resampled
from scalepan.stats.ranking import auroc
from scalepan.text import terms

DATA = Path(__file__).parents[1].parent / "shared" / "data"
DRAWS = 2000
SEED = 7
# They are at the top of the files, and were seen when the data was first opened.
SEEN = frozenset(["ectsum-9194ae35b4", "ectsum-70918fe9db", "ectsum-50b47d3559", "4684"])
HOSTILE = ["a", "1,", "A ", "$1 ", "one ", "漢", "ない、", "三百円", "May 1 "]

Floats = NDArray[np.float64]


class Record(NamedTuple):
    """An answer, what it is to be grounded in, and whether it is."""

    document: str
    query: str
    answer: str
    source: str
    grounded: bool


def draws(documents: list[str]) -> Floats:
    """How often each record is in, for each draw of whole documents."""
    return resampled(documents, draws=DRAWS, seed=SEED)


def interval(values: Floats) -> str:
    """95 % of the draws."""
    low, high = bootstrap.interval(values)
    return f"[{low:+.3f}, {high:+.3f}]"


def rows(file: str) -> list[dict[str, str]]:
    """The rows of a shared file."""
    with (DATA / file).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def summedits() -> list[Record]:
    """Summaries, most of them with one subtle edit; no query."""
    text = {doc["doc_id"]: doc["text"] for doc in rows("summedits/docs.dev.jsonl")}
    return [
        Record(r["doc_id"], "", r["answer"], text[r["doc_id"]], r["label"] == "grounded")
        for r in rows("summedits/records.dev.jsonl")
    ]


def halueval() -> list[Record]:
    """Questions with a right and a made-up answer each."""
    return [
        Record(r["id"].rpartition("_")[0], r["question"], r["answer"], r["source"], r["label"] == "grounded")
        for r in rows("halueval_qa/records.dev.jsonl")
    ]


def in_half(record: Record, half: int) -> bool:
    """0: rules were written on it; 1: nobody had read it."""
    own = int(sha256(record.document.encode()).hexdigest(), 16) % 2
    return own == half and not (half == 1 and record.document in SEEN)


def overlap(record: Record) -> float:
    """The share of the answer's words that the source has."""
    found = terms(record.answer)
    known = set(terms(record.source))
    return sum(term in known for term in found) / max(1, len(found))


def values(scores: list[Score]) -> Floats:
    """The numbers, NaN where there is none."""
    return np.array([np.nan if score.value is None else score.value for score in scores])


def report(name: str, records: list[Record]) -> None:
    """Every measure on one set, and support beside word overlap on the same draws."""
    encoder = find_encoder(Embed(threads=1), remember=False)
    pairs = [(record.answer, [record.source]) for record in records]
    start = process_time()
    judged = support_many(pairs)
    cost = process_time() - start
    measures = {"support, words alone": values(judged)}
    if encoder is not None:
        measures["support, with MiniLM"] = values(support_many(pairs, encoder))
    if records[0].query:
        measures["coverage, words alone"] = values([coverage(r.query, r.answer) for r in records])
    measures["word overlap"] = np.array([overlap(record) for record in records])
    measures["answer length (shorter)"] = np.array([-float(len(record.answer)) for record in records])
    kept = np.isfinite(sum(measures.values(), np.zeros(len(records))))
    labels = np.array([record.grounded for record in records])[kept]
    weights = draws([records[at].document for at in np.flatnonzero(kept)])
    print(
        f"{name}: {kept.sum()} answers, {labels.sum()} grounded, {len(records) - kept.sum()} not measured and left out"
    )
    drawn = {}
    for measure, scores in measures.items():
        drawn[measure] = auroc(scores[kept], labels, weights)
        row(f"  AUROC, {measure}", f"{auroc(scores[kept], labels)[0]:.3f}", interval(drawn[measure]))
    for measure in measures:
        if measure.startswith("support"):
            gain = auroc(measures[measure][kept], labels)[0] - auroc(measures["word overlap"][kept], labels)[0]
            row(f"  {measure}, minus word overlap", f"{gain:+.3f}", interval(drawn[measure] - drawn["word overlap"]))
    alarms(judged, records)
    row("  answers per CPU second, words alone", f"{len(records) / cost:,.0f}")


def alarms(judged: list[Score], records: list[Record]) -> None:
    """How often each check contradicts an answer that is grounded, and one that is not."""
    count: Counter[tuple[str, bool]] = Counter()
    for score, record in zip(judged, records, strict=True):
        if isinstance(score.details, Supported):
            found = {d.kind for claim in score.details.claims for d in claim.disagreements if d.contradicts}
            count.update((kind, record.grounded) for kind in (*found, *(["any"] if found else [])))
    grounded = sum(record.grounded for record in records)
    for kind in ("number", "date", "name", "negation", "antonym", "any"):
        right, wrong = count[kind, True] / grounded, count[kind, False] / (len(records) - grounded)
        row(f"  contradicted by {kind}", f"grounded {right:.3f}", f"others {wrong:.3f}")


def hostile() -> None:
    """The worst megabyte, as answer and as source."""
    worst = 0.0
    for seed in HOSTILE:
        text = seed * (1_000_000 // len(seed.encode()))
        start = process_time()
        support(text, [text + "x"])
        worst = max(worst, process_time() - start)
    row("worst megabyte against a megabyte", f"{worst:.1f} s of CPU")


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit(f"{DATA} is absent: groundedness is measured on its texts")
    half = 0 if "--development" in sys.argv[1:] else 1
    print("the half that rules were written on" if half == 0 else "the half that no rule was written on")
    for name, records in (("summedits dev", summedits()), ("halueval_qa dev", halueval())):
        report(name, [record for record in records if in_half(record, half)])
    hostile()
