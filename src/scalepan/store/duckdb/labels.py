"""Labels: whether something turned out to be right."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.store.duckdb.values import among, as_json
from scalepan.store.rows import LABELS, LabelRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Labels:
    """The table of labels. The last one of a target counts."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, rows: Sequence[LabelRow]) -> None:
        """Write labels."""
        LABELS.insert(self._connection, rows)

    def last_of(self, tenant: str, targets: Sequence[str]) -> dict[str, LabelRow]:
        """The label that counts of each target; those without one are left out."""
        if not targets:
            return {}
        rows = LABELS.select(
            self._connection, f"WHERE tenant = ? AND {among('target_id')} ORDER BY rowid", [tenant, as_json(targets)]
        )
        return {row.target_id: row for row in rows}
