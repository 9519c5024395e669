"""Policies of tenants and projects, and the generation that caches of them go by."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scalepan.store.rows import POLICIES, PolicyRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store.here import Host


class Policies:
    """The table of policies. The last one that was written counts, whatever the clock said."""

    def __init__(
        self, connection: "DuckDBPyConnection", host: "Host", after_commit: Callable[[Callable[[], None]], None]
    ) -> None:
        self._connection = connection
        self._host = host
        self._after_commit = after_commit

    @property
    def generation(self) -> int:
        """Changes with every commit that sets a policy: what was made from policies is good for one generation."""
        return self._host.policy_generation

    def add(self, rows: Sequence[PolicyRow]) -> None:
        """Write policies. The generation moves when they are durable, before anybody is told."""
        POLICIES.insert(self._connection, rows)
        self._after_commit(self._move)

    def _move(self) -> None:
        self._host.policy_generation += 1

    def history(self, tenant: str, project: str | None, limit: int | None = None) -> list[PolicyRow]:
        """What a tenant, or one of its projects, said; the last one first."""
        most = "" if limit is None else f" LIMIT {limit:d}"
        return POLICIES.select(
            self._connection,
            # A clock that went back must not bring an old policy back, so the order is that of the rows.
            f"WHERE tenant = ? AND project IS NOT DISTINCT FROM ? ORDER BY rowid DESC{most}",
            [tenant, project],
        )

    def last(self, tenant: str, project: str | None) -> PolicyRow | None:
        """What it says now."""
        found = self.history(tenant, project, 1)
        return found[0] if found else None
