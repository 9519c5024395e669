"""A data set as an index in memory, and what recall observes of its queries' candidates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.recall_sets import DataSet, Query
from scalepan.embed import Embedder, find_encoder
from scalepan.memory.bench.result import ndcg_at
from scalepan.memory.claim import NewClaim, moment
from scalepan.memory.rank import parameters
from scalepan.memory.recall.candidates.columns import Entry
from scalepan.memory.recall.candidates.query import SearchQuery
from scalepan.memory.recall.candidates.side import Sides
from scalepan.memory.recall.deadline import Deadline
from scalepan.memory.recall.evidence import Observed, letters_beyond, observe
from scalepan.memory.recall.index import Index, spoken
from scalepan.policy import Policy
from scalepan.policy.evidence import MINILM
from scalepan.policy.retrieval import Retrieval
from scalepan.redact import Redactor
from scalepan.store.reach import Reach
from scalepan.store.rows import ClaimRow
from scalepan.text import content_hash, normal_form, terms

Floats = NDArray[np.float64]
NOW = 1_760_000_000.0


class Asked(NamedTuple):
    """A query, and what was observed of its candidates."""

    id: str
    set: str
    weight: float
    alpha: float
    """0 where meaning was not searched."""
    ids: list[str]
    columns: Mapping[str, Floats]
    labels: Floats
    gold: Mapping[str, float]
    without: "Asked | None" = None
    """The same, asked where its answer is not."""

    def column(self, name: str) -> Floats:
        """One observation of all candidates; 0 where it was not made."""
        found = self.columns.get(name)
        return np.zeros(len(self.ids)) if found is None else np.nan_to_num(found)

    def of(self, names: Sequence[str]) -> Floats:
        """Some observations, a column for each."""
        return np.column_stack([self.column(name) for name in names])

    def order(self, scores: Floats) -> list[str]:
        """The best twelve by these scores."""
        return [self.ids[i] for i in np.argsort(-scores, kind="stable")[:12]]

    def ndcg(self, scores: Floats) -> float:
        """nDCG@10 by these scores."""
        return ndcg_at(self.order(scores), self.gold, 10)


class SetIndex:
    """All documents of a set in one index."""

    def __init__(self, data: DataSet, encoder: Embedder, policy: Retrieval) -> None:
        self.data, self.encoder, self.policy = data, encoder, policy
        self.index = Index(policy.morphology, Redactor(Policy().redact))
        texts = [spoken(doc.claim["text"], doc.claim.get("speaker")) for doc in data.docs]
        self.index.add([_entry(doc.id, doc.project, doc.claim) for doc in data.docs], [terms(text) for text in texts])
        # Its cosines are not looked at where it cannot read the language.
        for at in range(0, len(texts) if data.language == "en" else 0, 512):
            some = slice(at, at + 512)
            self.index.put_vectors([doc.id for doc in data.docs[some]], encoder.encode(texts[some]))

    def query(self, query: Query, vector: "NDArray[np.float32]") -> SearchQuery:
        """A query as recall has it."""
        reach = Reach(
            "default", query.project, None, ("session", "project", "principle"), ("public", "internal"), frozenset()
        )
        return SearchQuery(
            self.index,
            None,  # type: ignore[arg-type]
            reach,
            None,
            query.text,
            normal_form(query.text),
            terms(query.text, self.index.morphology),
            vector,
            self.policy,
            Deadline(1e9),
            Sides(),
        )

    def observe(self, query: SearchQuery) -> Observed:
        """The candidates of a query."""
        evidence = self.policy.evidence
        usual = None if letters_beyond(query.query) else evidence.encoders[MINILM].usual
        return observe(query, evidence, usual, NOW, in_context=True)

    def hidden(self, ids: Sequence[str]) -> "NDArray[np.int64]":
        """The rows of these documents and of everything in their sources: where their answer is."""
        rows = [self.index.columns.row_of[id_] for id_ in ids if id_ in self.index.columns.row_of]
        source = self.index.columns.places.column("source")
        together = np.isin(source, [code for code in source[rows] if code >= 0])
        return np.union1d(rows, np.flatnonzero(together))


def observe_all(
    data: DataSet, pool: int, choose: Callable[[Sequence[Query]], list[Query]], *, without: bool
) -> Iterator[Asked]:
    """What is observed of each query that is chosen; each weighs as much as there are few of them."""
    policy = Retrieval()
    policy = msgspec.structs.replace(policy, evidence=msgspec.structs.replace(policy.evidence, pool=pool))
    encoder = find_encoder("minilm")
    if encoder is None:
        raise SystemExit("MiniLM is not installed: scalepan doctor says how to add it")
    place = SetIndex(data, encoder, policy)
    queries = choose(data.queries)
    vectors = encoder.encode([query.text for query in queries], "query")
    for query, vector in zip(queries, vectors, strict=True):
        asked = place.query(query, vector)
        one = _asked(data.name, query, place, asked, 1 / len(queries))
        if without:
            one = one._replace(without=_asked_without(one, query, place, asked))
        yield one


def _asked(set_: str, query: Query, place: SetIndex, asked: SearchQuery, weight: float) -> Asked:
    seen = place.observe(asked)
    ids = [place.index.columns.ids[row] for row in seen.rows.tolist()]
    alpha = parameters(query.text, place.policy).alpha if "cosine_z" in seen.columns else 0.0
    labels = np.array([float(id_ in query.gold) for id_ in ids])
    return Asked(query.id, set_, weight, alpha, ids, seen.columns, labels, dict.fromkeys(query.gold, 1.0))


def _asked_without(one: Asked, query: Query, place: SetIndex, asked: SearchQuery) -> Asked:
    columns = place.index.columns
    rows = place.hidden(sorted(query.gold))
    columns.column("alive")[rows] = False
    columns._changed()
    found = _asked(one.set, query, place, asked, one.weight)
    columns.column("alive")[rows] = True
    columns._changed()
    return found


def _entry(id_: str, project: str, given: Mapping[str, object]) -> Entry:
    claim = msgspec.convert(given, NewClaim)
    row = ClaimRow(
        id=id_,
        tenant="default",
        project=project,
        session=None,
        text=claim.text,
        normalized_text="",
        kind="fact",
        scope="project",
        boundary_class="internal",
        content_hash=content_hash(id_),
        utility=0.0,
        utility_at=NOW,
        confidence=0.5,
        quality=None,
        quality_at=None,
        created_at=NOW,
        updated_at=None,
        merged_into=None,
        provenance=msgspec.json.encode(claim.provenance).decode(),
        conversation=claim.conversation,
        turn=claim.turn,
        speaker=claim.speaker,
        position=claim.position,
        said_at=moment(claim.said_at) if claim.said_at else None,
    )
    return Entry.of(row)
