"""The claims as arrays: who may see a row, and what ranking must know of it. A mirror of the table, row by row."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scalepan.memory.claim import KINDS, SECONDS_A_DAY, Claim, claim_of
from scalepan.memory.halflife import faded, recencies
from scalepan.memory.recall.candidates.places import ClaimPlaces, Line
from scalepan.memory.recall.candidates.validity import ALWAYS, Successions, Validity
from scalepan.memory.recall.claim_rules import allowed as rules_allow
from scalepan.memory.recall.population import Population, population
from scalepan.policy.boundary import CLASSES, SCOPES
from scalepan.policy.retrieval import Feedback
from scalepan.store.reach import Reach
from scalepan.store.rows import ClaimRow, EntityName

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Mask = NDArray[np.bool_]

FIRST_CAPACITY = 1024
KEPT_MASKS = 64
_COLUMNS: dict[str, Any] = {
    "alive": np.bool_,
    "tenant": np.int32,
    "project": np.int32,
    "session": np.int32,
    "scope": np.int8,
    "class_": np.int8,
    "kind": np.int32,
    "utility": np.float64,
    "utility_at": np.float64,
    "confidence": np.float64,
    "quality": np.float64,
    "quality_at": np.float64,
    "ts": np.float64,
    "begins": np.float64,
    "ends": np.float64,
}


class Entry(NamedTuple):
    """A claim as the columns store it, with the times that its numbers are from, in seconds since 1970."""

    claim: Claim
    utility_at: float
    quality_at: float | None
    ts: float
    """When its text was last changed."""
    said_at: float | None = None
    validity: Validity = ALWAYS

    @classmethod
    def of(cls, row: ClaimRow, entities: Iterable[EntityName] = ()) -> "Entry":
        """A stored claim."""
        changed = row.created_at if row.updated_at is None else row.updated_at
        return cls(claim_of(row, entities), row.utility_at, row.quality_at, changed, row.said_at, _validity(row))


class ClaimColumns:
    """Rows are only ever added; one that is removed is dead, and no mask has it. Hold the index's lock to use it."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._claims: list[Claim | None] = []
        self.row_of: dict[str, int] = {}
        self.dead = 0
        self._codes: dict[str | None, int] = {}
        self._kinds: dict[str, int] = {kind: code for code, kind in enumerate(KINDS)}
        self._about: dict[str, list[int]] = {}
        self.places = ClaimPlaces()
        self.successions = Successions()
        self.always_true = True
        """Whether no row ever said when it is true or what it replaces."""
        self._columns = {name: np.zeros(FIRST_CAPACITY, dtype) for name, dtype in _COLUMNS.items()}
        self._masks: dict[tuple[Reach, tuple[str, ...] | None], Mask] = {}
        self._populations: dict[Any, tuple[Population, float]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> "NDArray[Any]":
        """One column, all rows."""
        return self._columns[name][: len(self.ids)]

    def add(self, entries: Sequence[Entry]) -> None:
        """Add claims, each on a new row; an existing id is replaced."""
        self.remove(entry.claim.id for entry in entries)
        start = len(self.ids)
        self._reserve(start + len(entries))
        for row, entry in enumerate(entries, start):
            self.row_of[entry.claim.id] = row
            self.ids.append(entry.claim.id)
            self._claims.append(entry.claim)
            for entity in entry.claim.entities:
                self._about.setdefault(entity.name, []).append(row)
        rows = np.arange(start, start + len(entries))
        self._fill(rows, entries)
        self.places.add([entry.claim for entry in entries], [entry.said_at for entry in entries])
        self.successions.add(start, [entry.validity for entry in entries])
        self._changed()

    def _fill(self, rows: "Rows", entries: Sequence[Entry]) -> None:
        columns = self._columns
        claims = [entry.claim for entry in entries]
        columns["alive"][rows] = True
        for name in ("tenant", "project", "session"):
            columns[name][rows] = [self._code(getattr(claim, name)) for claim in claims]
        columns["scope"][rows] = [SCOPES.index(claim.scope) for claim in claims]
        columns["class_"][rows] = [CLASSES.index(claim.boundary_class) for claim in claims]
        columns["kind"][rows] = [self._kinds.setdefault(claim.kind, len(self._kinds)) for claim in claims]
        columns["utility"][rows] = [claim.utility for claim in claims]
        columns["confidence"][rows] = [claim.confidence for claim in claims]
        columns["quality"][rows] = [np.nan if claim.quality is None else claim.quality for claim in claims]
        columns["utility_at"][rows] = [entry.utility_at for entry in entries]
        columns["quality_at"][rows] = [np.nan if entry.quality_at is None else entry.quality_at for entry in entries]
        columns["ts"][rows] = [entry.ts for entry in entries]
        columns["begins"][rows] = [entry.validity.begins for entry in entries]
        columns["ends"][rows] = [entry.validity.ends for entry in entries]
        self.always_true = self.always_true and all(entry.validity == ALWAYS for entry in entries)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove claims; unknown ids are ignored."""
        rows = [row for id_ in ids if (row := self.row_of.pop(id_, None)) is not None]
        if rows:
            self.column("alive")[rows] = False
            self.dead += len(rows)
            for row in rows:
                self.ids[row], self._claims[row] = "", None
            self.places.changed()
            self.successions.remove(rows)
            self._changed()

    def change(self, id_: str, numbers: Mapping[str, float]) -> None:
        """New numbers for a claim; one that is not there is passed over."""
        row = self.row_of.get(id_)
        if row is not None:
            for name, number in numbers.items():
                self.column(name)[row] = number
            self._populations.clear()

    def mask(self, reach: Reach, kinds: Sequence[str] | None = None) -> "Mask":
        """The rows that a request may read. Cached until the columns change: many requests share a reach."""
        key = (self.stage(reach), tuple(kinds) if kinds is not None else None)
        found = self._masks.get(key)
        if found is None:
            found = self._mask(reach)
            if reach.valid_at is not None and not self.always_true:
                found = self._in_force(found, reach.valid_at)
            if kinds is not None:
                codes = [self._kinds[kind] for kind in kinds if kind in self._kinds]
                found = found & np.isin(self.column("kind"), codes)
            found.flags.writeable = False  # requests share it
            if len(self._masks) >= KEPT_MASKS:
                self._masks.clear()
            self._masks[key] = found
        return found

    def stage(self, reach: Reach) -> Reach:
        """The same for all moments that see the same claims: for what is made once and kept."""
        if reach.valid_at is None or self.always_true:
            return reach._replace(valid_at=None)
        # Both counts only rise with time, so where they are the same, nothing begins or ends in between.
        passed = (np.count_nonzero(self.column(name) <= reach.valid_at) for name in ("begins", "ends"))
        return reach._replace(valid_at=float(sum(passed)))

    def _in_force(self, reached: "Mask", moment: float) -> "Mask":
        """Of the rows that a caller may read, those that are true at the moment and that no other of them replaced."""
        begun = self.column("begins") <= moment
        left = reached & begun & (self.column("ends") > moment)
        left[self.successions.replaced(reached, begun, self.row_of)] = False
        return left

    def replacing(self, id_: str, reach: Reach) -> str | None:
        """The claim that replaced another, of those that a request may read; the one that began last."""
        reached = self.mask(reach._replace(valid_at=None))
        begins = self.column("begins")
        found = [(begins[row], self.ids[row]) for row in self.successions.replacing(id_) if reached[row]]
        return max(found)[1] if found else None

    def _mask(self, reach: Reach) -> "Mask":
        tenant = self._codes.get(reach.tenant)
        if tenant is None:
            return np.zeros(len(self), dtype=bool)
        open_classes = np.array([name in reach.classes for name in CLASSES])
        allowed: Mask = self.column("alive") & (self.column("tenant") == tenant) & open_classes[self.column("class_")]
        allowed &= self._in_scope(reach)
        return allowed & rules_allow(reach.rules, self, reach.moment) if reach.rules else allowed

    def words(self, attribute: str) -> "tuple[NDArray[Any], Sequence[str]]":
        """Of each row the code of a word, and the words by their codes: for invariants over claims."""
        match attribute:
            case "kind":
                return self.column("kind"), list(self._kinds)
            case "scope":
                return self.column("scope"), SCOPES
            case _:
                return self.column("class_"), CLASSES

    def ages(self, moment: float) -> "NDArray[np.float64]":
        """How old each row's text is, in days."""
        return np.maximum(moment - self.column("ts"), 0.0) / SECONDS_A_DAY

    def about(self, entity: str) -> "Mask":
        """The rows that are about an entity of this name."""
        found = np.zeros(len(self), dtype=bool)
        found[self._about.get(entity, [])] = True
        return found

    def beside(self, line: Line, rows: "Rows", step: int) -> "Rows":
        """The rows next to these in their conversation or source, `step` away; NOWHERE where there is none.

        They may be out of the caller's reach: see its mask.
        """
        return self.places.beside(line, rows, step, self.column("alive"), self.ids)

    def _in_scope(self, reach: Reach) -> "Mask":
        """Session claims in their session, project claims in their project, principles in theirs or, without, all."""
        scope, project = self.column("scope"), self.column("project")
        here = project == self._codes.get(reach.project, -1)
        seen = np.zeros(len(self), dtype=bool)
        if "session" in reach.scopes and reach.session is not None:
            in_session = self.column("session") == self._codes.get(reach.session, -1)
            seen |= (scope == SCOPES.index("session")) & here & in_session
        if "project" in reach.scopes:
            seen |= (scope == SCOPES.index("project")) & here
        if "principle" in reach.scopes:
            seen |= (scope == SCOPES.index("principle")) & (here | (project == self._codes.get(None, -1)))
        return seen

    def _changed(self) -> None:
        self._masks.clear()
        self._populations.clear()

    def population(self, reach: Reach, kinds: Sequence[str] | None, now: float, policy: Feedback) -> Population:
        """Utility over everything in reach, as of now.

        All of it fades by one factor, so it is measured once and scaled after that, until something changes.
        """
        key = (self.stage(reach), tuple(kinds) if kinds is not None else None, policy.utility_half_life_days)
        kept = self._populations.get(key)
        if kept is None or now < kept[1]:
            mask = self.mask(reach, kinds)
            kept = (population(self.utility(mask, now, policy)), now)
            if bool((self.column("utility_at")[mask] > now).any()):
                return kept[0]  # what is set in the future does not fade yet
            if reach.moment is not None:
                return kept[0]  # what is in reach changes with time: there is nothing to come back to
            self._populations[key] = kept
        left = faded(1.0, (now - kept[1]) / SECONDS_A_DAY, policy.utility_half_life_days)
        return Population(kept[0].mean * left, kept[0].deviation * left)

    def content(self, row: int) -> tuple[Any, ...]:
        """What a claim says and who may see it, whatever its numbers are."""
        claim = self._claims[row]
        if claim is None:
            return ()
        return (claim.text, claim.tenant, claim.project, claim.session, claim.entities, claim.place(), claim.validity())

    def utility(self, rows: "Rows | Mask", now: float, policy: Feedback) -> "NDArray[np.float64]":
        """Utility, faded to now."""
        return self._faded("utility", rows, now, policy.utility_half_life_days)

    def claim(self, row: int) -> Claim:
        """A claim as it was stored: `numbers` has what time and votes have made of it."""
        claim = self._claims[row]
        if claim is None:
            raise KeyError(row)
        return claim

    def entries(self, rows: Sequence[int]) -> list[Entry]:
        """Claims as the columns store them, with the numbers that they have now."""
        columns = zip(
            rows,
            *(self.column(name)[rows].tolist() for name in ("utility", "confidence", "quality")),
            *(self.column(name)[rows].tolist() for name in ("utility_at", "quality_at", "ts", "begins", "ends")),
            self.places.column("said_at")[rows].tolist(),
            strict=True,
        )
        return [
            Entry(
                replace(self.claim(row), utility=utility, confidence=confidence, quality=_known(quality)),
                utility_at,
                _known(quality_at),
                ts,
                _known(said_at),
                Validity(begins, ends, self.successions.replaced_by(row)),
            )
            for row, utility, confidence, quality, utility_at, quality_at, ts, begins, ends, said_at in columns
        ]

    def numbers(self, rows: Sequence[int], now: float, policy: Feedback) -> "tuple[NDArray[np.float64], ...]":
        """Utility, confidence and quality as of now, and the age of the texts in days."""
        index = np.asarray(rows, dtype=np.int64)
        return (
            self.utility(index, now, policy),
            self.column("confidence")[index],
            self._faded("quality", index, now, policy.quality_half_life_days),
            (now - self.column("ts")[index]) / SECONDS_A_DAY,
        )

    def _faded(self, name: str, rows: "Rows | Mask", now: float, half_life_days: float) -> "NDArray[np.float64]":
        age = (now - self.column(f"{name}_at")[rows]) / SECONDS_A_DAY
        left: NDArray[np.float64] = self.column(name)[rows] * recencies(age, half_life_days)
        return left

    def _code(self, name: str | None) -> int:
        return self._codes.setdefault(name, len(self._codes))

    def _reserve(self, rows: int) -> None:
        capacity = len(self._columns["alive"])
        if rows > capacity:
            grown = max(rows, 2 * capacity)
            # Zeros behind the rows that are there: np.resize would repeat them, and with them other tenants' codes.
            self._columns = {name: np.pad(column, (0, grown - capacity)) for name, column in self._columns.items()}


def _validity(row: ClaimRow) -> Validity:
    """What replaces another begins when it says so, or when it was said, or else when it was added."""
    begins = row.valid_from
    if begins is None and row.supersedes is not None:
        begins = row.created_at if row.said_at is None else row.said_at
    ends = row.valid_until
    return Validity(-inf if begins is None else begins, inf if ends is None else ends, row.supersedes)


def _known(number: float) -> float | None:
    return None if isnan(number) else number
