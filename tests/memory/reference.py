"""The contract (memory.2 to memory.36) in plain SQL: what the fast path is compared with, in tests.

Corrected: the boundary comes before everything, order before limit, the age is that of the last change, half-lives are
the kind's, and utility is a z-score of what may be read. The constants stand here as in the contract: a reference that
read them from the policy would agree with any mistake in it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.reach import Reach
from scalepan.text import normal_form, terms

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TextSide = Literal["ilike", "bm25"]
Join = Literal["outer", "union"]


class Question(NamedTuple):
    """What is asked, of what, and when."""

    query: str
    vector: Sequence[float]
    reach: Reach
    alpha: float
    moment: float
    """Seconds since 1970 that count as now."""
    k_txt: int
    k_vec: int
    k_final: int
    kinds: Sequence[str] | None = None


class Ranked(NamedTuple):
    """A row of the answer."""

    id: str
    s_text: float
    s_vec: float
    S: float
    util: float
    conf: float
    rec: float
    score_final: float


# memory.2: what may be read, and nothing else is looked at from here on.
_REACHABLE = """
asked AS (
    SELECT make_timestamp((? * 1e6)::BIGINT) AS moment, ?::TEXT AS query, from_json_strict(?, '["VARCHAR"]') AS words,
        from_json_strict(?, '["FLOAT"]') AS vector, ? AS alpha, ? AS k_txt, ? AS k_vec, ? AS k_final
),
reachable AS (
    SELECT claims.*, claims.rowid AS place, coalesce(updated_at, created_at) AS ts_eff,
        utility * recency_decay(utility_at, 30, moment := moment) AS utility_now,
        CASE kind WHEN 'fact' THEN 120 WHEN 'task' THEN 14 WHEN 'preference' THEN 90 WHEN 'policy_hint' THEN 365
            ELSE 30 END AS half_life_days
    FROM claims, asked WHERE {where}
)"""

# Steps 2 and 5 without FTS: 1 / (1 + rank).
_ILIKE = r"""
txt AS (
    SELECT id, 1.0 / (1.0 + row_number() OVER (ORDER BY ts_eff DESC, place)) AS s_text
    FROM reachable, asked
    WHERE query <> ''
        AND normalized_text ILIKE '%' || regexp_replace(query, '([\\%_])', '\\\1', 'g') || '%' ESCAPE '\'
    ORDER BY s_text DESC LIMIT (SELECT k_txt FROM asked)
)"""

# The same with BM25, k1 = 1.2 and b = 0.75, over the terms of what may be read; then min-max, where equals are 1.
_BM25 = """
documents AS (SELECT d.*, len(d.terms) AS length FROM claim_terms d JOIN reachable r ON r.id = d.claim_id),
population AS (SELECT count(*) AS n, avg(length) AS average FROM documents),
occurrences AS (
    SELECT claim_id, length, term, count(*) AS tf FROM (SELECT claim_id, length, unnest(terms) AS term FROM documents)
    WHERE term IN (SELECT unnest(words) FROM asked) GROUP BY ALL
),
weights AS (SELECT term, ln(1 + (any_value(n) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
    FROM occurrences, population GROUP BY term),
weighed AS (
    SELECT claim_id AS id, sum(idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))) AS bm25
    FROM occurrences JOIN weights USING (term), population GROUP BY claim_id
),
found AS (
    SELECT id, bm25 FROM weighed JOIN reachable USING (id)
    ORDER BY bm25 DESC, ts_eff DESC, place LIMIT (SELECT k_txt FROM asked)
),
txt AS (
    SELECT id, CASE WHEN high - low < 1e-6 THEN 1 ELSE (bm25 - low) / (high - low) END AS s_text
    FROM found, (SELECT min(bm25) AS low, max(bm25) AS high FROM found)
)"""

# Steps 3 and 5.
_VECTORS = """
vec AS (
    SELECT r.id, norm_cos(cos_sim(v.embedding, vector)::DOUBLE) AS s_vec
    FROM claim_vectors v JOIN reachable r ON r.id = v.claim_id, asked
    ORDER BY s_vec DESC, ts_eff DESC, place LIMIT (SELECT k_vec FROM asked)
)"""

# memory.5: the two ways to join.
_OUTER = """
joined AS (
    SELECT coalesce(t.id, v.id) AS id, coalesce(t.s_text, 0) AS s_text, coalesce(v.s_vec, 0) AS s_vec
    FROM txt t FULL OUTER JOIN vec v ON t.id = v.id
)"""
_UNION = """
ids AS (SELECT id FROM txt UNION SELECT id FROM vec),
joined AS (
    SELECT ids.id, coalesce(txt.s_text, 0) AS s_text, coalesce(vec.s_vec, 0) AS s_vec
    FROM ids LEFT JOIN txt ON txt.id = ids.id LEFT JOIN vec ON vec.id = ids.id
)"""

# Steps 6 and 7. Without two claims, or without spread, there is no z: utility itself, -1 to 1, stands in.
_SCORES = """
people AS (
    SELECT avg(utility_now) AS mean,
        CASE WHEN min(utility_now) = max(utility_now) THEN 0 ELSE stddev_pop(utility_now) END AS deviation
    FROM reachable
),
parts AS (
    SELECT id, s_text, s_vec, alpha * s_vec + (1 - alpha) * s_text AS S, ts_eff,
        CASE WHEN deviation > 0 THEN 1 / (1 + exp(-(utility_now - mean) / deviation)) ELSE (utility_now + 1) / 2 END
            AS util,
        confidence AS conf, recency_decay(ts_eff, half_life_days, moment := moment) AS rec
    FROM joined JOIN reachable USING (id), people, asked
)
SELECT id, s_text, s_vec, S, util, conf, rec,
    S * (0.6 + 0.4 * util) * (0.5 + 0.5 * conf) * (0.3 + 0.7 * rec) AS score_final
FROM parts ORDER BY score_final DESC, ts_eff DESC, id LIMIT (SELECT k_final FROM asked)
"""


def reference_sql(question: Question, text: TextSide = "bm25", join: Join = "outer") -> tuple[str, list[Any]]:
    """All of it as one query, and the values that it binds."""
    where, values = reach_sql(question.reach)
    if question.kinds is not None:
        where += f" AND {among('kind')}"
        values.append(as_json(question.kinds))
    tables = [
        _REACHABLE.format(where=where),
        _BM25 if text == "bm25" else _ILIKE,
        _VECTORS,
        _OUTER if join == "outer" else _UNION,
    ]
    # Lists go as JSON: DuckDB takes 0.2 ms for each number of a bound list.
    asked = [
        question.moment,
        normal_form(question.query),
        as_json(terms(question.query)),
        msgspec.json.encode(list(map(float, question.vector))).decode(),
        question.alpha,
        question.k_txt,
        question.k_vec,
        question.k_final,
    ]
    return f"WITH {','.join(tables)},{_SCORES}", [*asked, *values]


def write_terms(
    connection: "DuckDBPyConnection", reach: Reach, terms_of: Callable[[str], Sequence[str]] = terms
) -> None:
    """The table `claim_terms`: of what this reach may read, and no more. It goes with the connection."""
    where, values = reach_sql(reach)
    rows = connection.execute(f"SELECT id, text FROM claims WHERE {where}", values).fetchall()
    connection.execute("CREATE OR REPLACE TEMP TABLE claim_terms (claim_id TEXT, terms TEXT[])")
    documents = [{"claim_id": id_, "terms": list(terms_of(text))} for id_, text in rows]
    shape = '[{"claim_id": "VARCHAR", "terms": ["VARCHAR"]}]'
    connection.execute(
        f"INSERT INTO claim_terms SELECT unnest(from_json_strict(?, '{shape}'), max_depth := 2)",
        [msgspec.json.encode(documents).decode()],
    )


def run_reference(
    connection: "DuckDBPyConnection", question: Question, text: TextSide = "bm25", join: Join = "outer"
) -> list[Ranked]:
    """The reference's answer, best first."""
    if text == "bm25":
        write_terms(connection, question.reach)
    query, values = reference_sql(question, text, join)
    return [Ranked(*row) for row in connection.execute(query, values).fetchall()]
