"""The levels of search: index, L0 ILIKE, L1 cosine in SQL, L2 DuckDB's full-text search, L3 its vector search.

Each takes what is query and how many, and gives hits, best first. One that cannot work here raises: the ladder goes on
to the next.
"""

from math import ceil

from scalepan.memory.recall.candidates.query import Hit, SearchQuery, ranked


def index_words(query: SearchQuery, k: int) -> list[Hit]:
    """BM25 of the index."""
    index = query.index
    with index.lock:
        newest = index.columns.column("ts")
        return ranked(index, index.words.search(query.terms, query.mask(), k, newest, query.policy.text))


def index_vectors(query: SearchQuery, k: int) -> list[Hit]:
    """Cosine of the index: exact, or, of very many claims, of those that are likely to be near."""
    index = query.index
    with index.lock:
        newest = index.columns.column("ts")
        return ranked(index, index.vectors.search(query.vector, query.mask(), k, newest, query.policy.vectors))


def l0_ilike(query: SearchQuery, k: int) -> list[Hit]:
    """Claims whose normal form has the query in it, newest first. It finds, but does not weigh."""
    if not query.normal:
        return []
    with query.deadline.seconds_left("L0") as seconds:
        found = query.tables.containing(query.normal, query.reach, query.kinds, k, seconds)
    return [Hit(id_, 1.0, rank) for rank, id_ in enumerate(found, 1)]


def l1_exact(query: SearchQuery, k: int) -> list[Hit]:
    """Cosine with every claim in reach, in SQL."""
    with query.deadline.seconds_left("L1") as seconds:
        found = query.tables.nearest(query.vector, query.reach, query.kinds, k, seconds)
    return [Hit(id_, sim, rank) for rank, (id_, sim) in enumerate(found, 1)]


def l2_full_text(query: SearchQuery, k: int) -> list[Hit]:
    """BM25 by DuckDB's FTS, over the claims in reach and no others: its statistics are those of its table."""
    return query.sides.full_text.search(query, k)


def l3_nearest(query: SearchQuery, k: int) -> list[Hit]:
    """DuckDB's HNSW index, approximate: more than k are fetched, and the k nearest of them kept."""
    return query.sides.nearest.search(query, ceil(k * query.policy.vectors.overfetch))[:k]


TEXT_LEVELS = {"index": index_words, "L2": l2_full_text, "L0": l0_ilike}
VECTOR_LEVELS = {"index": index_vectors, "L3": l3_nearest, "L1": l1_exact}
"""Each ladder from its top rung down."""
