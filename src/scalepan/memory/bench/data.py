"""What a bench asks, and what it should find: from a folder with labels, or from the claims themselves."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scalepan.check import read_json
from scalepan.errors import InputError, counted
from scalepan.files import open_source
from scalepan.memory.claim import Claim
from scalepan.store.request import DEFAULT_PROJECT
from scalepan.text.scripts import HAN, HANGUL, KANA, UNSPACED

Part = Literal["train", "valid", "test"]
GRAM = 6
"""Words of a pseudo-query; of unspaced writing two characters are about a word."""
# Unspaced writing has no words to see: two characters stand for one.
_WORD = re.compile(f"[{HAN}{KANA}{HANGUL}{UNSPACED}]{{1,2}}|[^\\W{HAN}{KANA}{HANGUL}{UNSPACED}]+")


class BenchQuery(NamedTuple):
    """A query, how relevant which claims are to it, and the group within which it is asked."""

    id: str
    text: str
    gold: Mapping[str, float]
    group: str = DEFAULT_PROJECT


class Document(NamedTuple):
    """A text to be found."""

    id: str
    text: str
    group: str = DEFAULT_PROJECT


class Folder(NamedTuple):
    """A data set: documents, queries with labels, and what about it a reader should know."""

    documents: list[Document]
    queries: list[BenchQuery]
    notes: list[str]


def read_folder(folder: Path, group: str | None = None) -> Folder:
    """Documents, queries and labels of a folder, all JSON lines: corpus, queries and qrels, as BEIR has them.

    With `group`, a field of documents and queries, each query is asked among the documents of its own group.
    """
    if not folder.is_dir():
        raise InputError("is not a folder" if folder.exists() else "no such folder", file=str(folder))
    documents = [_document(row, where, group) for row, where in _rows(folder, "corpus")]
    asked = {_text(row, "id", where): (row, where) for row, where in _rows(folder, "queries")}
    gold = _labels(folder)
    queries = [
        BenchQuery(id_, _text(row, "text", where), gold[id_], _group(row, where, group))
        for id_, (row, where) in asked.items()
        if gold.get(id_)
    ]
    notes = []
    empty = [document for document in documents if not document.text.strip()]
    if empty:
        notes.append(f"{counted(len(empty), 'document')} without text left out")
        documents = [document for document in documents if document.text.strip()]
    if len(queries) < len(asked):
        notes.append(f"{counted(len(asked) - len(queries), 'query', 'queries')} without a relevant document left out")
    known = {document.id for document in documents}
    unknown = sum(1 for query in queries for id_ in query.gold if id_ not in known)
    if unknown:
        notes.append(f"{counted(unknown, 'label')} of a document that is not there, counted as not found")
    if not documents or not queries:
        raise InputError("has no documents" if not documents else "has no query with a label", file=str(folder))
    return Folder(documents, queries, notes)


def _labels(folder: Path) -> dict[str, dict[str, float]]:
    gold: dict[str, dict[str, float]] = {}
    for row, where in _rows(folder, "qrels"):
        relevance = row.get("rel", 1)
        if isinstance(relevance, bool) or not isinstance(relevance, (int, float)):
            raise where.error("rel", f"{relevance!r} is not a number")
        if relevance > 0:
            gold.setdefault(_text(row, "qid", where), {})[_text(row, "doc_id", where)] = float(relevance)
    return gold


class _Where(NamedTuple):
    file: str
    line: int

    def error(self, path: str, message: str) -> InputError:
        return InputError(message, file=self.file, line=self.line, path=path)


def _rows(folder: Path, name: str) -> Iterator[tuple[dict[str, Any], _Where]]:
    for file in _files(folder, name):
        with open_source(file) as lines:
            for number, line in enumerate(lines, 1):
                where = _Where(str(file), number)
                if line.strip():
                    yield _row(line, where), where


def _row(line: bytes, where: _Where) -> dict[str, Any]:
    try:
        row = read_json(line)
    except InputError as error:
        raise error.at(file=where.file, line=where.line) from None
    if not isinstance(row, dict):
        raise InputError("expected an object", file=where.file, line=where.line)
    return row


def _files(folder: Path, name: str) -> list[Path]:
    """`qrels.jsonl` and `qrels.dev.jsonl`; only where there is neither, one of another name such as `qrels_dev`."""
    plain = sorted({*folder.glob(f"{name}.jsonl"), *folder.glob(f"{name}.*.jsonl")})
    others = sorted(folder.glob(f"{name}*.jsonl"))
    if not plain and len(others) > 1:
        names = ", ".join(file.name for file in others)
        raise InputError(f"which of these is it: {names}? Name one {name}.jsonl", file=str(folder))
    if not others:
        raise InputError(f"no {name}*.jsonl in it", file=str(folder))
    return plain or others


def _document(row: Mapping[str, Any], where: _Where, group: str | None) -> Document:
    text = row.get("text") or ""
    title = row.get("title") or ""
    for path, value in (("text", text), ("title", title)):
        if not isinstance(value, str):
            raise where.error(path, f"{value!r} is not text")
    whole = f"{title}\n{text}" if title else text
    return Document(_text(row, "id", where), whole, _group(row, where, group))


def _group(row: Mapping[str, Any], where: _Where, group: str | None) -> str:
    return DEFAULT_PROJECT if group is None else _text(row, group, where)


def _text(row: Mapping[str, Any], path: str, where: _Where) -> str:
    value = row.get(path)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # some sets number their rows
    if not isinstance(value, str) or not value:
        raise where.error(path, "is missing" if value is None else f"{value!r} is not text")
    return value


def part_of(claim: Claim) -> Part:
    """Train, valid or test, 8:1:1. By content: the same claim is in the same part, in whichever store it is."""
    tenth = int(sha256(claim.content_hash.encode()).hexdigest(), 16) % 10
    return "train" if tenth < 8 else "valid" if tenth == 8 else "test"


def ngram(text: str, seed: str) -> str:
    """A piece of a text, up to six neighbouring words and at most half of it: a query that somebody might type.

    >>> ngram("Plans are cancelled by a POST to the billing service, at once.", "a")
    'are cancelled by a POST to'
    >>> ngram("解約はサポートへの連絡で完了します", "b")
    '絡で完了します'
    """
    words = list(_WORD.finditer(text))
    if not words:
        return ""
    size = min(GRAM, max(len(words) // 2, 1))
    start = int(sha256(seed.encode()).hexdigest(), 16) % (len(words) - size + 1)
    return text[words[start].start() : words[start + size - 1].end()]


def pseudo_queries(claims: Sequence[Claim], relations: Iterable[tuple[str, str]]) -> list[BenchQuery]:
    """A query from each claim of the test part; it should find the claim, and what a relation links to it."""
    ids = {claim.id for claim in claims}
    linked: dict[str, set[str]] = {}
    for one, other in relations:
        if one in ids and other in ids:
            linked.setdefault(one, set()).add(other)
            linked.setdefault(other, set()).add(one)
    queries = []
    for claim in claims:
        text = ngram(claim.text, claim.content_hash) if part_of(claim) == "test" else ""
        if text:
            queries.append(
                BenchQuery(claim.id, text, dict.fromkeys([claim.id, *sorted(linked.get(claim.id, ()))], 1.0))
            )
    return queries


def sample(queries: Sequence[BenchQuery], limit: int | None) -> list[BenchQuery]:
    """The same `limit` queries each time, in order of their groups; all of them without a limit."""
    chosen = list(queries)
    if limit is not None and limit < len(chosen):
        chosen = sorted(chosen, key=lambda query: sha256(query.id.encode()).digest())[:limit]
    return sorted(chosen, key=lambda query: query.group)
