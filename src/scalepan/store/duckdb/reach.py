"""What a request may read, as a condition on the table of claims. What cannot be evaluated denies."""

from collections.abc import Sequence
from typing import Any

from scalepan.policy.boundary import CLASSES
from scalepan.policy.claim_rules import AGE, Tree
from scalepan.store.reach import Reach

SECONDS_A_DAY = 86400.0


BEGINS = "CASE WHEN supersedes IS NULL THEN valid_from ELSE coalesce(valid_from, said_at, created_at) END"
"""Since when a claim is true; NULL: always. What replaces another begins at some time."""
_AGE = f"greatest(? - epoch(coalesce(updated_at, created_at)), 0) / {SECONDS_A_DAY}"


_ABOUT = (
    "id IN (SELECT l.claim_id FROM claim_entities l JOIN entities e ON e.id = l.entity_id WHERE e.name = ?::VARCHAR)"
)


_SQL_SIGNS = {"==": "=", "!=": "<>", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


def rules_sql(rules: Sequence[Tree], moment: float | None) -> tuple[list[str], list[Any]]:
    """The same as conditions on the table of claims, and the values that they bind."""
    conditions, values = [], []
    for tree in rules:
        sql, bound = _sql(tree, moment)
        conditions.append(f"coalesce({sql}, false)")
        values += bound
    return conditions, values


def _sql(tree: Tree, moment: float | None) -> tuple[str, list[Any]]:
    """A tree as an expression that is true, false, or NULL where it cannot be said."""
    match tree:
        case ("is", value):
            return ("true" if value else "false"), []
        case ("not", one):
            sql, values = _sql(one, moment)
            return f"(NOT {sql})", values
        case ("any" | "all" as join, trees):
            return _sql_joined(join, [_sql(one, moment) for one in trees])
        case ("about", name):
            return _ABOUT, [name]
        case (_, attribute, *_) if attribute == AGE:
            return _sql_leaf(tree, _AGE, [moment], "DOUBLE") if moment is not None else ("false", [])
        case ("compare" | "among" | "part of" | "contains", "kind" | "boundary_class" | "scope" as attribute, *_):
            return _sql_leaf(tree, attribute, [], "VARCHAR")
        case _:
            return "NULL::BOOLEAN", []


def _sql_leaf(tree: Tree, column: str, first: list[Any], type_: str) -> tuple[str, list[Any]]:
    match tree:
        case ("compare", _, sign, value):
            return f"({column} {_SQL_SIGNS[sign]} ?::{type_})", [*first, value]
        case ("among", _, members):
            return f"({column} IN ({', '.join([f'?::{type_}'] * len(members))}))", [*first, *members]
        case ("part of", _, text):
            return f"contains(?::VARCHAR, {column})", [text]
        case ("contains", _, text):
            return f"contains({column}, ?::VARCHAR)", [text]
        case _:
            return "NULL::BOOLEAN", []


def _sql_joined(join: str, asked: Sequence[tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """SQL's own OR makes `NULL OR true` true; here what cannot be said on the left is not made up for on the right."""
    sql, values = asked[-1]
    for left, bound in reversed(asked[:-1]):
        decided, open_ = ("TRUE", "FALSE") if join == "any" else ("FALSE", "TRUE")
        sql = f"(CASE {left} WHEN {decided} THEN {decided} WHEN {open_} THEN {sql} END)"
        values = [*bound, *values]
    return sql, values


def reach_sql(reach: Reach, *, merged: bool = False) -> tuple[str, list[Any]]:
    """The reach as a condition, and the values that it binds. Merged claims only if asked for.

    One that was merged into a claim of a class that is shut is out of reach too: it would tell of the other.
    """
    here = "project IS NOT DISTINCT FROM ?"
    scopes: list[str] = []
    values: list[Any] = [reach.tenant]
    if "session" in reach.scopes and reach.session is not None:
        scopes.append(f"scope = 'session' AND {here} AND session = ?")
        values += [reach.project, reach.session]
    if "project" in reach.scopes:
        scopes.append(f"scope = 'project' AND {here}")
        values.append(reach.project)
    if "principle" in reach.scopes:
        scopes.append(f"scope = 'principle' AND ({here} OR project IS NULL)")
        values.append(reach.project)
    # Written out: they are names of ours, and DuckDB takes 0.1 ms for each value that is bound.
    classes = ", ".join(f"'{name}'" for name in CLASSES if name in reach.classes)
    conditions = [
        "tenant = ?",
        f"boundary_class IN ({classes})" if classes else "false",
        f"({' OR '.join(scopes)})" if scopes else "false",
    ]
    if not merged:
        conditions.append("merged_into IS NULL")
    elif len(reach.classes) < len(CLASSES):
        into = f"SELECT m.id FROM claims m WHERE m.boundary_class IN ({classes})" if classes else "NULL"
        conditions.append(f"(merged_into IS NULL OR merged_into IN ({into}))")
    rules, bound = rules_sql(reach.rules, reach.moment)
    where, values = " AND ".join([*conditions, *rules]), [*values, *bound]
    if reach.valid_at is None:
        return where, values
    # What is replaced is decided among what may be read, merged claims aside: they replace nothing any more.
    newer, bound = reach_sql(reach._replace(valid_at=None))
    at = f"make_timestamp({round(reach.valid_at * 1_000_000):d}::BIGINT)"
    in_force = (
        f"coalesce({BEGINS} <= {at}, true) AND coalesce(valid_until > {at}, true) AND id NOT IN "
        f"(SELECT supersedes FROM claims WHERE {newer} AND supersedes IS NOT NULL AND {BEGINS} <= {at})"
    )
    return f"{where} AND {in_force}", [*values, *bound]
