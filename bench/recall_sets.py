"""The data that recall is fitted and measured on, with speakers, positions and dates as claims have them.

A document of locomo is a turn, its conversation the session; of jaquad_sentences a sentence, its source the paragraph;
of scifact and stackfaq a title and text. `scifact_sentences` is made from scifact: the sentences that its annotators
marked as evidence, among those of some 1,400 abstracts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = ("locomo", "scifact", "stackfaq", "jaquad_sentences")
FITTED_ON = ("scifact", "stackfaq", "jaquad_sentences", "scifact_sentences")
"""Their licenses allow it; that of locomo does not."""
OTHER_ABSTRACTS = 1000


class Doc(NamedTuple):
    """A claim to be: its id here, the project it is in, and what `Memory.add_many` takes."""

    id: str
    project: str
    claim: dict[str, Any]


class Query(NamedTuple):
    """A question, the project it is asked in, and the ids it should find."""

    id: str
    text: str
    project: str
    gold: frozenset[str]
    kind: str = ""


class DataSet(NamedTuple):
    """Documents and questions; `language` is that of both."""

    name: str
    docs: list[Doc]
    queries: list[Query]
    language: str = "en"


def load(name: str, folder: Path = DATA) -> DataSet:
    """A set by its name."""
    if not (folder / name.removesuffix("_sentences")).exists() and not (folder / name).exists():
        raise SystemExit(f"{folder / name} is not here: this needs the data sets")
    return {"locomo": _locomo, "jaquad_sentences": _jaquad, "scifact_sentences": _scifact_sentences}.get(name, _plain)(
        name, folder
    )


def _plain(name: str, folder: Path) -> DataSet:
    docs = [
        Doc(row["id"], "all", {"text": f"{row['title']}\n{row['text']}" if row.get("title") else row["text"]})
        for row in _rows(folder / name / "corpus.jsonl")
    ]
    return DataSet(name, docs, _queries(folder / name, {}))


def _locomo(name: str, folder: Path) -> DataSet:
    docs = [
        Doc(
            row["id"],
            row["conv"],
            {
                "text": row["text"],
                "speaker": row["speaker"],
                "conversation": f"{row['conv']}/{row['session']}",
                "turn": row["turn"],
                "said_at": row["timestamp"],
            },
        )
        for row in _rows(folder / name / "corpus.dev.jsonl")
    ]
    return DataSet(name, docs, _queries(folder / name, {"project": "conv", "kind": "category"}))


def _jaquad(name: str, folder: Path) -> DataSet:
    docs = []
    for row in _rows(folder / name / "corpus.jsonl"):
        position = int(row["id"].rpartition("-")[2])
        claim = {"text": row["text"], "position": position, "provenance": {"source": row["paragraph"]}}
        docs.append(Doc(row["id"], "all", claim))
    return DataSet(name, docs, _queries(folder / name, {"kind": "question_type"}), "ja")


def _scifact_sentences(name: str, folder: Path) -> DataSet:
    folder = folder / "scifact"
    gold: dict[str, set[str]] = {}
    marked = set()
    for row in _rows(folder / "evidence.dev.jsonl"):
        gold.setdefault(row["qid"], set()).update(f"{row['doc_id']}/{place}" for place in row["evidence_sentences"])
        marked.add(row["doc_id"])
    abstracts = {row["id"]: row for row in _rows(folder / "corpus.jsonl")}
    others = sorted(abstracts.keys() - marked, key=lambda id_: sha256(id_.encode()).digest())[:OTHER_ABSTRACTS]
    docs = [
        Doc(f"{id_}/{place}", "all", {"text": text, "position": place, "provenance": {"source": id_}})
        for id_ in sorted({*marked, *others})
        for place, text in enumerate(abstracts[id_]["sentences"])
        if text.strip()
    ]
    asked = {row["id"]: row["text"] for row in _rows(folder / "queries.dev.jsonl")}
    queries = [Query(id_, asked[id_], "all", frozenset(some)) for id_, some in gold.items() if id_ in asked]
    return DataSet(name, docs, queries)


def _queries(folder: Path, fields: Mapping[str, str]) -> list[Query]:
    gold: dict[str, set[str]] = {}
    for row in _rows(folder / "qrels.dev.jsonl"):
        if row["rel"] > 0:
            gold.setdefault(row["qid"], set()).add(row["doc_id"])
    return [
        Query(
            row["id"],
            row["text"],
            row[fields["project"]] if "project" in fields else "all",
            frozenset(gold[row["id"]]),
            row.get(fields.get("kind", ""), ""),
        )
        for row in _rows(folder / "queries.dev.jsonl")
        if row["id"] in gold
    ]


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def sample(queries: Sequence[Query], most: int | None) -> list[Query]:
    """The same queries each time."""
    if most is None or len(queries) <= most:
        return list(queries)
    return sorted(queries, key=lambda query: sha256(query.id.encode()).digest())[:most]


def foreign(data: DataSet) -> DataSet:
    """Locomo's questions, each put to the next conversation, with the names of that one's people.

    With the names left in, names alone would tell that nothing fits. Adversarial questions are left out.
    """
    people: dict[str, list[str]] = {}
    for doc in data.docs:
        known = people.setdefault(doc.project, [])
        if doc.claim["speaker"] not in known:
            known.append(doc.claim["speaker"])
    projects = list(people)
    following = dict(zip(projects, [*projects[1:], projects[0]], strict=True))
    queries = []
    for query in data.queries:
        if query.kind != "adversarial":
            there = following[query.project]
            renamed = dict(zip(people[query.project], people[there], strict=True))
            names = re.compile(r"\b(" + "|".join(map(re.escape, renamed)) + r")\b")
            text = names.sub(lambda name, renamed=renamed: renamed[name[1]], query.text)  # type: ignore[misc]
            queries.append(Query(query.id, text, there, frozenset(), query.kind))
    return data._replace(queries=queries)
