"""Claims: found by id, by content or within a reach, and changed one commit at a time.

Inside a commit, what was read stays as it is until the commit ends: a content that was not there is still not there
when it is added, and a claim whose generation was compared is the one that is changed. DuckDB keeps that by its one
writer; an engine with many writers locks what these methods read.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec.structs import replace

from scalepan.policy.claim_rules import Tree
from scalepan.store.duckdb.erasing import erase
from scalepan.store.duckdb.reach import BEGINS, reach_sql, rules_sql
from scalepan.store.duckdb.values import AT, among, as_json, column_of
from scalepan.store.reach import Reach
from scalepan.store.rows import CLAIMS, ClaimRow, Content

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PAGE = 20_000
SAVED_INDEX = "memory_index"
"""Key of the table `meta`: which saved index belongs to this file."""
_CHANGED_AT = "coalesce(updated_at, created_at)"
_COLUMNS = {column.name: column for column in CLAIMS.columns}


class Decayed(NamedTuple):
    """Claims that have something to lose: how many, and the mean size of it before and after."""

    claims: int
    before: float | None
    after: float | None


class Claims:
    """The table of claims. Whatever is written to a claim, its vector or its entities gives it a new generation."""

    def __init__(self, connection: "DuckDBPyConnection", generation: int) -> None:
        """`generation` is the number of the commit under way; on reads nothing is written, and it is the last one."""
        self._connection = connection
        self._generation = generation
        self._written: set[str] = set()

    def get(self, id_: str) -> ClaimRow | None:
        """One claim, whoever's it is."""
        found = self._select("id = ?", [id_])
        return found[0] if found else None

    def by_ids(self, ids: Iterable[str]) -> dict[str, ClaimRow]:
        """Claims by id, whoever's they are; those that are not there are left out."""
        return {row.id: row for row in self._select(among("id"), [as_json(ids)])}

    def existing(self, ids: Collection[str]) -> set[str]:
        """Which of these claims are there."""
        if not ids:
            return set()
        return set(column_of(self._connection, f"SELECT id FROM claims WHERE {among('id')}", [as_json(ids)]))

    def reachable(self, reach: Reach, ids: Sequence[str]) -> list[ClaimRow]:
        """Those of these claims that are within reach, merged ones included."""
        where, values = reach_sql(reach, merged=True)
        if len(ids) == 1:
            return self._select(f"{where} AND id = ?", [*values, ids[0]])
        return self._select(f"{where} AND {among('id')}", [*values, as_json(ids)])

    def superseding(self, ids: Sequence[str], reach: Reach) -> dict[str, str]:
        """By claim, the one within reach that replaced it; of several, the one that began last."""
        if not ids:
            return {}
        where, values = reach_sql(reach)
        query = f"SELECT supersedes, id FROM claims WHERE {where} AND {among('supersedes')} ORDER BY {BEGINS}, id"
        return dict(self._connection.execute(query, [*values, as_json(ids)]).fetchall())

    def replaced_through(self, id_: str) -> Iterator[str]:
        """A claim, what it replaces, what that replaces, and so on."""
        seen: set[str] = set()
        row = self.get(id_)
        while row is not None and row.id not in seen:
            seen.add(row.id)
            yield row.id
            row = self.get(row.supersedes) if row.supersedes is not None else None

    def replacing(self, id_: str) -> list[str]:
        """The claims that replace one, whoever's they are."""
        return column_of(self._connection, "SELECT id FROM claims WHERE supersedes = ? ORDER BY id", [id_])

    def newest(
        self, reach: Reach, kinds: Sequence[str] | None = None, *, after: str | None = None, limit: int
    ) -> list[ClaimRow]:
        """A page of what is within reach, newest first, behind the claim `after`."""
        where, values = reach_sql(reach)
        if kinds is not None:
            where += f" AND {among('kind')}"
            values.append(as_json(kinds))
        if after is not None:
            where += f" AND ({_CHANGED_AT}, id) < (SELECT ({_CHANGED_AT}, id) FROM claims WHERE id = ?)"
            values.append(after)
        return self._select(f"{where} ORDER BY {_CHANGED_AT} DESC, id DESC LIMIT {limit:d}", values)

    def of_tenant(self, tenant: str, *, after: str | None, limit: int) -> list[ClaimRow]:
        """A page of all claims of a tenant, by id."""
        return self._select(f"tenant = ? AND id > ? ORDER BY id LIMIT {limit:d}", [tenant, after or ""])

    def of_project(
        self,
        tenant: str,
        project: str | None,
        rules: Sequence[Tree],
        moment: float,
        *,
        after: str | None,
        limit: int,
    ) -> list[ClaimRow]:
        """A page of the claims of a project and the tenant's principles, by id, without those that were merged."""
        conditions, bound = rules_sql(rules, moment)
        mine = "(project IS NOT DISTINCT FROM ? OR project IS NULL AND scope = 'principle')"
        where = " AND ".join([f"tenant = ? AND {mine} AND merged_into IS NULL AND id > ?", *conditions])
        return self._select(f"{where} ORDER BY id LIMIT {limit:d}", [tenant, project, after or "", *bound])

    def same_content(self, contents: Iterable[Content]) -> dict[Content, list[ClaimRow]]:
        """By content, the claims that have it, merged ones first."""
        hashes = {content.content_hash for content in contents}
        found: dict[Content, list[ClaimRow]] = {}
        for row in sorted(self._select(among("content_hash"), [as_json(hashes)]), key=lambda row: not row.merged_into):
            found.setdefault(Content.of(row), []).append(row)
        return found

    def representative(self, id_: str) -> ClaimRow | None:
        """What a claim was merged into, and that one, and so on; the claim itself if it was not merged."""
        seen: set[str] = set()
        row = self.get(id_)
        while row is not None and row.merged_into is not None and row.id not in seen:
            seen.add(row.id)
            row = self.get(row.merged_into)
        return row

    def indexable(self) -> Iterator[list[ClaimRow]]:
        """All claims that search may find, page by page, in the order in which they were added."""
        query = f"SELECT {CLAIMS.selected()} FROM claims WHERE merged_into IS NULL ORDER BY rowid"
        found = self._connection.execute(query)
        while page := found.fetchmany(PAGE):
            yield [CLAIMS.read(row) for row in page]

    def indexable_ids(self) -> set[str]:
        """Their ids."""
        return set(column_of(self._connection, "SELECT id FROM claims WHERE merged_into IS NULL"))

    def changed_since(self, generation: int) -> list[str]:
        """Claims that were written to after that commit. Those that were erased are not among them."""
        return column_of(self._connection, f"SELECT id FROM claims WHERE generation > {generation:d} ORDER BY id")

    def add(self, rows: Sequence[ClaimRow]) -> None:
        """Write new claims."""
        CLAIMS.insert(self._connection, [replace(row, generation=self._generation) for row in rows])
        self._written.update(row.id for row in rows)

    def update(self, id_: str, **columns: Any) -> None:
        """New values for some columns of a claim."""
        assigned = "".join(f"{name} = ?, " for name in columns)
        self._connection.execute(
            f"UPDATE claims SET {assigned}generation = {self._generation:d} WHERE id = ?",
            [*(_COLUMNS[name].bound(value) for name, value in columns.items()), id_],
        )
        self._written.add(id_)

    def touch(self, ids: Iterable[str]) -> None:
        """Something that belongs to these claims was written: their vectors or entities."""
        others = set(ids) - self._written
        if others:
            self._connection.execute(
                f"UPDATE claims SET generation = {self._generation:d} WHERE {among('id')}", [as_json(others)]
            )
            self._written |= others

    def erase(self, ids: Sequence[str]) -> list[str]:
        """Delete claims and all that is about them; which others replaced them, and now replace what they replaced.

        What is erased cannot be seen to have changed, so an index that was saved before is of no use any more.
        """
        replacing = erase(self._connection, ids)
        self.touch(replacing)
        self.forget_saved_index()
        return replacing

    def saved_index(self) -> tuple[int, str] | None:
        """At which commit the index was saved, and under which name; None if no saved one belongs to this file."""
        (value,) = column_of(self._connection, f"SELECT value FROM meta WHERE key = '{SAVED_INDEX}'") or [""]
        generation, _, name = value.partition(" ")
        return (int(generation), name) if value else None

    def index_was_saved(self, name: str) -> None:
        """An index of what is there now was saved. The name tells it from one saved beside another copy of the file."""
        self._connection.execute(
            f"INSERT OR REPLACE INTO meta VALUES ('{SAVED_INDEX}', ?)", [f"{self._generation} {name}"]
        )

    def forget_saved_index(self) -> None:
        """No saved index fits any more."""
        self._connection.execute(f"DELETE FROM meta WHERE key = '{SAVED_INDEX}'")

    def decayed(
        self,
        column: Literal["utility", "quality"],
        half_life_days: float,
        since: float | None,
        now: float,
        tenant: str,
        project: str | None,
    ) -> Decayed:
        """What time left of a number of a project's claims at two moments. What was set between decays from then on."""
        moment = f"coalesce({AT}, {column}_at)"
        size = f"avg(abs({column}) * recency_decay({column}_at, ?::DOUBLE, moment := {moment}))"
        row = self._connection.execute(
            f"SELECT count(*), {size}, {size} FROM claims WHERE tenant = ? AND project IS NOT DISTINCT FROM ? "
            f"AND merged_into IS NULL AND {column} <> 0",
            [half_life_days, since, half_life_days, now, tenant, project],
        ).fetchone()
        return Decayed(*row) if row else Decayed(0, None, None)

    def _select(self, where: str, values: Sequence[Any]) -> list[ClaimRow]:
        return CLAIMS.select(self._connection, f"WHERE {where}", values)
