"""The levels of search: index, L0 ILIKE, L1 cosine in SQL, L2 DuckDB's full-text search, L3 its vector search.

Each takes what is sought and how many, and gives hits, best first. One that cannot work here raises: the ladder goes on
to the next.
"""

from math import ceil

from scalepan.memory.recall.candidates.sought import Hit, Sought, ranked


def index_words(sought: Sought, k: int) -> list[Hit]:
    """BM25 of the index."""
    index = sought.index
    with index.lock:
        newest = index.shelf.column("ts")
        return ranked(index, index.words.search(sought.terms, sought.mask(), k, newest, sought.policy.text))


def index_vectors(sought: Sought, k: int) -> list[Hit]:
    """Cosine of the index: exact, or, of very many claims, of those that are likely to be near."""
    index = sought.index
    with index.lock:
        newest = index.shelf.column("ts")
        return ranked(index, index.vectors.search(sought.vector, sought.mask(), k, newest, sought.policy.vectors))


def l0_ilike(sought: Sought, k: int) -> list[Hit]:
    """Claims whose normal form has the query in it, newest first. It finds, but does not weigh."""
    if not sought.normal:
        return []
    with sought.deadline.seconds_left("L0") as seconds:
        found = sought.tables.containing(sought.normal, sought.reach, sought.kinds, k, seconds)
    return [Hit(id_, 1.0, rank) for rank, id_ in enumerate(found, 1)]


def l1_exact(sought: Sought, k: int) -> list[Hit]:
    """Cosine with every claim in reach, in SQL."""
    with sought.deadline.seconds_left("L1") as seconds:
        found = sought.tables.nearest(sought.vector, sought.reach, sought.kinds, k, seconds)
    return [Hit(id_, sim, rank) for rank, (id_, sim) in enumerate(found, 1)]


def l2_full_text(sought: Sought, k: int) -> list[Hit]:
    """BM25 by DuckDB's FTS, over the claims in reach and no others: its statistics are those of its table."""
    return sought.sides.full_text.search(sought, k)


def l3_nearest(sought: Sought, k: int) -> list[Hit]:
    """DuckDB's HNSW index, approximate: more than k are fetched, and the k nearest of them kept."""
    return sought.sides.nearest.search(sought, ceil(k * sought.policy.vectors.overfetch))[:k]


TEXT_LEVELS = {"index": index_words, "L2": l2_full_text, "L0": l0_ilike}
VECTOR_LEVELS = {"index": index_vectors, "L3": l3_nearest, "L1": l1_exact}
"""Each ladder from its top rung down."""
