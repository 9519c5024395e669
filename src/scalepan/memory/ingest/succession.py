"""One claim replaces another: is the other there, within the writer's reach, and not replaced by the first already?"""

from typing import TYPE_CHECKING, Any

from scalepan.errors import ConflictError, InputError, NotFoundError
from scalepan.memory.claim import written
from scalepan.store.reach import Reach
from scalepan.store.rows import ClaimRow

if TYPE_CHECKING:
    from scalepan.store import Here


def check_succession(here: "Here", newer: str, older: str, within: Reach) -> None:
    """In the transaction that writes it. `within` is what the writer may change: to replace a claim is to change it."""
    if newer == older:
        raise InputError(f"claim '{newer}' cannot replace itself", path="supersedes")
    found = here.claims.reachable(within, [older])
    if not found:
        raise NotFoundError(f"no claim '{older}' here to supersede")
    if found[0].merged_into is not None:
        raise ConflictError(f"claim '{older}' was merged into '{found[0].merged_into}': name that one")
    if newer in here.claims.replaced_through(older):
        raise ConflictError(
            f"claim '{older}' itself supersedes '{newer}', which says this already: forget '{older}', or clear what it "
            f"supersedes, and '{newer}' is current again"
        )


def succeed(here: "Here", newer: str, older: str, within: Reach) -> bool:
    """Check that a claim that was just added replaces another; whether one that was known had to be told so."""
    check_succession(here, newer, older, within)
    row = here.claims.get(newer)
    if row is None or row.supersedes == older:
        return False
    if row.supersedes is not None:
        # Which one is not told: it may be shut to the caller.
        raise ConflictError(f"claim '{newer}' says this already, and supersedes another one: update it instead")
    here.claims.update(newer, supersedes=older)
    return True


def check_period(row: ClaimRow, columns: dict[str, Any] | None = None) -> None:
    """A claim must be true for some time; `columns` are about to be changed."""
    begins, ends = ((columns or {}).get(name, getattr(row, name)) for name in ("valid_from", "valid_until"))
    if begins is not None and ends is not None and begins >= ends:
        raise InputError(f"{written(ends)} is not after valid_from, {written(begins)}", path="valid_until")


def move_successions(here: "Here", duplicate: str, into: str) -> list[list[str | None]]:
    """What replaced a duplicate replaces its representative, which replaces what the duplicate did.

    What would bend the chain into a ring is left out. Each change comes back as the claim, what it named and names now.
    """
    rows = here.claims.by_ids([duplicate, into])
    moves = [(id_, into) for id_ in here.claims.replacing(duplicate)]
    if rows[into].supersedes in (None, duplicate):
        moves.append((into, rows[duplicate].supersedes or ""))
    moves.append((duplicate, ""))
    moved: list[list[str | None]] = []
    for id_, target in moves:
        row = here.claims.get(id_)
        named = target if target and id_ not in here.claims.replaced_through(target) else None
        if row is not None and row.supersedes != named:
            here.claims.update(id_, supersedes=named)
            moved.append([id_, row.supersedes, named])
    return moved


def move_successions_back(here: "Here", moved: list[list[str | None]]) -> list[str]:
    """Undo it, for claims that have not been changed since then; which ones."""
    done = []
    for id_, before, after in reversed(moved):
        row = here.claims.get(id_ or "")
        if row is None or row.supersedes != after or (before is not None and here.claims.get(before) is None):
            continue
        if before is None or row.id not in here.claims.replaced_through(before):
            here.claims.update(row.id, supersedes=before)
            done.append(row.id)
    return done
