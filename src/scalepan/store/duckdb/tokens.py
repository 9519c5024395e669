"""Tokens: digests, and what each one opens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.store.duckdb.values import AT
from scalepan.store.rows import TOKENS, TokenRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Tokens:
    """The table of tokens."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, rows: Sequence[TokenRow]) -> None:
        """Write new tokens; an id is unique."""
        TOKENS.insert(self._connection, rows)

    def all(self) -> list[TokenRow]:
        """Every token, oldest first."""
        return TOKENS.select(self._connection, "ORDER BY ts, rowid")

    def get(self, id_: str) -> TokenRow | None:
        """A token by its id."""
        found = TOKENS.select(self._connection, "WHERE id = ?", [id_])
        return found[0] if found else None

    def revoke(self, id_: str, now: float) -> bool:
        """Revoke a token that is not revoked yet; whether there was one."""
        revoked = self._connection.execute(
            f"UPDATE tokens SET revoked_at = {AT} WHERE id = ? AND revoked_at IS NULL RETURNING id", [now, id_]
        )
        return revoked.fetchone() is not None
