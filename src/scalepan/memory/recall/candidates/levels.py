"""The levels of search: index, L0 ILIKE, L1 cosine in SQL, L2 DuckDB's full-text search, L3 its vector search.

Each takes what is sought and how many, and gives hits, best first. One that cannot work here raises: the ladder goes on
to the next.
"""

from math import ceil

from scalepan.memory.recall.candidates.sought import Hit, Sought, ranked
from scalepan.store.duckdb.reach import reach_sql

_NEWEST_FIRST = "coalesce(updated_at, created_at) DESC, rowid"


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
    where, values = _within(sought)
    pattern = "".join(f"\\{sign}" if sign in "\\%_" else sign for sign in sought.normal)
    query = (
        f"SELECT id FROM claims WHERE {where} AND normalized_text ILIKE ? ESCAPE '\\' "
        f"ORDER BY {_NEWEST_FIRST} LIMIT {k:d}"
    )
    with sought.deadline.interrupting(sought.cursor, "L0"):
        found = sought.cursor.execute(query, [*values, f"%{pattern}%"]).fetchall()
    return [Hit(id_, 1.0, rank) for rank, (id_,) in enumerate(found, 1)]


def l1_exact(sought: Sought, k: int) -> list[Hit]:
    """Cosine with every claim in reach, in SQL."""
    where, values = _within(sought)
    query = (
        f"SELECT c.id, cos_sim(v.embedding, {sought.vector_literal()}) AS sim "
        f"FROM claim_vectors v JOIN claims c ON c.id = v.claim_id WHERE {where} "
        f"ORDER BY sim DESC, coalesce(c.updated_at, c.created_at) DESC LIMIT {k:d}"
    )
    with sought.deadline.interrupting(sought.cursor, "L1"):
        found = sought.cursor.execute(query, values).fetchall()
    return [Hit(id_, sim, rank) for rank, (id_, sim) in enumerate(found, 1)]


def l2_full_text(sought: Sought, k: int) -> list[Hit]:
    """BM25 by DuckDB's FTS, over the claims in reach and no others: its statistics are those of its table."""
    return sought.sides.full_text.search(sought, k)


def l3_nearest(sought: Sought, k: int) -> list[Hit]:
    """DuckDB's HNSW index, approximate: more than k are fetched, and the k nearest of them kept."""
    return sought.sides.nearest.search(sought, ceil(k * sought.policy.vectors.overfetch))[:k]


def _within(sought: Sought) -> tuple[str, list[object]]:
    where, values = reach_sql(sought.reach)
    if sought.kinds is not None:
        where += f" AND kind IN ({', '.join('?' * len(sought.kinds)) or 'NULL'})"
        values += sought.kinds
    return where, values


TEXT_LEVELS = {"index": index_words, "L2": l2_full_text, "L0": l0_ilike}
VECTOR_LEVELS = {"index": index_vectors, "L3": l3_nearest, "L1": l1_exact}
"""Each ladder from its top rung down."""
