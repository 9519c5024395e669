"""Numbers as they are kept, as far as a caller may see them, and each made again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan.check import resolved
from scalepan.confidence import receipt as of_confidence
from scalepan.errors import shorten
from scalepan.evals import receipt as of_case
from scalepan.memory import receipt as of_recall
from scalepan.receipts.compare import (
    Difference,
    Number,
    attempt,
    differs,
    input_differences,
    score_differences,
    status_of,
)
from scalepan.score import Score
from scalepan.store.receipts import LostError, read_object, sealed_of
from scalepan.store.request import Who
from scalepan.trace import receipt as of_trace

if TYPE_CHECKING:
    from scalepan.store import Here

AGAIN: dict[str, Callable[[Any], Score]] = {
    "confidence": of_confidence.recompute,
    "score_final": of_recall.recompute,
    "value": of_trace.recompute,
    "case": of_case.recompute,
}
"""How a number of each name is made again."""
resolved(Score)


class Seen(NamedTuple):
    """The store as this caller may see it."""

    here: "Here"
    who: Who
    where: str
    """The condition that a claim is within reach."""
    values: list[Any]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.here.connection.execute(query, list(values)).fetchall()

    def claim(self, id_: str) -> tuple[Any, ...] | None:
        """A claim's numbers, if it is within reach."""
        columns = "utility, epoch(utility_at), confidence, utility_at::TEXT"
        query = f"SELECT {columns} FROM claims WHERE {self.where} AND id = ?"  # noqa: S608 - made of constants
        rows = self.rows(query, *self.values, id_)
        return rows[0] if rows else None


class Row(NamedTuple):
    """A number as it is kept."""

    id: str
    at: str | None
    name: str | None
    value: float | None
    inputs: str | None
    policy_version: str | None
    body: str | None
    about: str | None
    seal: str | None

    @property
    def made_of(self) -> dict[str, Any]:
        """Its inputs."""
        return read_object(self.inputs)

    def not_about(self, id_: str) -> list[Difference]:
        """Whether it is a number of something else. Older versions did not keep that, nor a seal."""
        return list(differs("what its number is about", self.about, id_)) if self.about or self.seal else []


def kept(seen: Seen, condition: str, *values: Any) -> Row | None:
    """The newest number that a condition is true of, and that is this caller's."""
    # The newest of those within reach: one that is not must not hide an older one.
    claims = f"SELECT id FROM claims WHERE {seen.where}"  # noqa: S608 - made of constants
    within = f"(name IS DISTINCT FROM 'score_final' OR subject IS NULL OR subject IN ({claims}))"
    rows = seen.rows(
        "SELECT id, ts::TEXT, name, value, inputs::TEXT, policy_version, body::TEXT, subject, seal FROM scores "  # noqa: S608
        f"WHERE {condition} AND id IS NOT NULL AND tenant = ? AND (project IS NULL OR project = ?) "
        f"AND {within} ORDER BY rowid DESC LIMIT 1",
        *values,
        seen.who.tenant,
        seen.who.project,
        *seen.values,
    )
    row = Row(*rows[0]) if rows else None
    # What is out of reach looks as if it were not there.
    return None if row is None or (row.name == "score_final" and seen.claim(row.about or "") is None) else row


def number_of(row: Row) -> Number:
    """A number made again from its inputs, and compared with what was kept."""
    name, inputs = row.name or "", row.made_of
    stored, _ = attempt(lambda: msgspec.convert(read_object(row.body), Score))
    # As plain data and back: what a formula makes of a list or a text in place of a number is no score.
    again, reason = attempt(lambda: msgspec.convert(_again(name, inputs).to_dict(), Score))
    differences, unsealed = input_differences(sealed_of(name, row.about, inputs), row.seal)
    if again is not None:
        differences += differs("value", row.value, again.value)
        differences += differs("policy_version", row.policy_version, again.policy)
        if stored is not None:
            differences += score_differences(stored, again)
        else:
            differences.append(Difference("how it came about", None, again.value))
    reason = reason or unsealed
    shown: Score | None = stored if stored is not None else again
    explanation, _ = attempt(lambda: shown.explain() if shown is not None else "")
    return Number(
        id=row.id,
        name=name,
        status=status_of(differences, reason),
        value=row.value,
        recomputed=None if again is None else again.value,
        differences=differences,
        reason=reason,
        about=row.about,
        at=row.at or "",
        policy_version=row.policy_version or "",
        explanation=explanation or "",
        breakdown=None if shown is None else shown.to_dict(),
    )


def _again(name: str, inputs: dict[str, Any]) -> Score:
    if name not in AGAIN:
        raise LostError(f"no formula makes a '{shorten(name)}'")
    return AGAIN[name](inputs)
