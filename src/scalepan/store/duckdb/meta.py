"""What the store knows of itself, by key."""

from typing import TYPE_CHECKING

from scalepan.store.rows import META

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Meta:
    """The table of the store's own facts, such as the encoder of its vectors."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def get(self, key: str) -> str | None:
        """The value of a key."""
        found = META.select(self._connection, "WHERE key = ?", [key])
        return found[0].value if found else None

    def set(self, key: str, value: str) -> None:
        """Set a key."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])
