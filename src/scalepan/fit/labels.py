"""Labels: numbers that were stated, and whether what they were about turned out right.

A file has a JSON object per line, or is Parquet: `{"value": 0.83, "label": 1, "group": "billing"}`. In place of `value`
there may be `factors` (of a confidence) or a `trace`, from which the number is computed under the policy in force.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from scalepan.check import read_json
from scalepan.errors import InputError, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LABELS = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True, "wrong": False, "right": True}
LEGAL = "0, 1, false, true, wrong, right"
PARQUET = ".parquet"
MANY_GROUPS = 30
"""From so many groups on, groups are a sample themselves (tasks, customers); fewer are known parts (tools, domains)."""

ValueOf = Callable[[Mapping[str, Any]], float | None]
"""Computes the number of a row that has factors or a trace in place of it; None if it has neither."""


class LabeledNumbers(NamedTuple):
    """Numbers with their labels, as arrays of one length."""

    values: "NDArray[np.float64]"
    right: "NDArray[np.bool_]"
    groups: tuple[str | None, ...] = ()
    """What each case belongs to: a tool, a domain, a customer; empty if no row says so."""
    bad: tuple[InputError, ...] = ()
    """Rows that could not be used, and why."""
    digest: str = ""
    """A hash of what was used, to tell later what a threshold was fitted on."""

    def __len__(self) -> int:
        return len(self.values)

    def by_group(self) -> dict[str, list[int]]:
        """The places of each group's cases, the largest group first."""
        found: dict[str, list[int]] = {}
        for place, group in enumerate(self.groups):
            if group is not None:
                found.setdefault(group, []).append(place)
        return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0])))

    @property
    def held_out_units(self) -> list[str]:
        """What a curve is not fitted on while it is tested: whole groups, if there are two; else single cases."""
        return self._units(fewest=2)

    @property
    def drawn_units(self) -> list[str]:
        """What the bootstrap draws: whole groups, if there are many; else single cases."""
        return self._units(fewest=MANY_GROUPS)

    def _units(self, fewest: int) -> list[str]:
        if len(set(self.groups) - {None}) < fewest:
            return [str(number) for number in range(len(self))]
        return [f"row {number}" if group is None else f"group {group}" for number, group in enumerate(self.groups)]

    def at(self, places: list[int]) -> "LabeledNumbers":
        """Some of the cases, as if there were no groups."""
        return LabeledNumbers(self.values[places], self.right[places])


def read_labels(path: str | PathLike[str], value_of: ValueOf | None = None, *, strict: bool = False) -> LabeledNumbers:
    """The labels of a file, JSON lines or Parquet. A bad row is in `bad`, or raised with `strict`."""
    return labels_of(_file_rows(Path(path)), value_of, file=str(path), strict=strict)


def labels_of(
    rows: Iterable[tuple[int, Any]],
    value_of: ValueOf | None = None,
    *,
    file: str | None = None,
    strict: bool = False,
) -> LabeledNumbers:
    """Labels from rows with their line numbers; an InputError in place of a row is a bad one.

    >>> labels = labels_of([(1, {"value": 0.9, "label": 1}), (2, {"value": 0.4, "label": "maybe"})])
    >>> len(labels), str(labels.bad[0])
    (1, "line 2: label: 'maybe' is not one of 0, 1, false, true, wrong, right")
    """
    import numpy as np

    cases: list[tuple[float, bool, str | None]] = []
    bad: list[InputError] = []
    for line, row in rows:
        try:
            cases.append(_checked(row, value_of))
        except InputError as error:
            error = error.at(file=file, line=line)
            if strict:
                raise error from None
            bad.append(error)
    groups = tuple(group for _, _, group in cases)
    return LabeledNumbers(
        np.array([value for value, _, _ in cases], dtype=float),
        np.array([label for _, label, _ in cases], dtype=bool),
        groups if any(group is not None for group in groups) else (),
        tuple(bad),
        hashlib.sha256(msgspec.json.encode(cases)).hexdigest(),
    )


def json_rows(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    """The rows of JSON lines with their numbers; an InputError in place of one that is not JSON."""
    for number, line in enumerate(stream, 1):
        if line.strip():
            try:
                yield number, read_json(line)
            except InputError as error:
                yield number, error


def _file_rows(path: Path) -> Iterator[tuple[int, Any]]:
    from scalepan.files import open_source

    if path.suffix == PARQUET:
        from scalepan.store.duckdb.parquet import parquet_rows

        yield from enumerate(parquet_rows(path), 1)
        return
    try:
        with open_source(path) as stream:
            yield from json_rows(stream)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _checked(row: Any, value_of: ValueOf | None) -> tuple[float, bool, str | None]:
    if isinstance(row, InputError):
        raise row
    if not isinstance(row, Mapping):
        raise InputError(f"{quoted(row)} is not an object such as " + '{"value": 0.83, "label": 1}')
    label = _label(row.get("label"))
    value = row.get("value")
    if value is None and value_of is not None:
        value = value_of(row)
    if value is None:
        raise InputError("is missing", path="value")
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise InputError(f"{quoted(value)} is not a number from 0 to 1", path="value")
    group = row.get("group")
    if group is not None and (isinstance(group, bool) or not isinstance(group, (str, int))):
        raise InputError(f"{quoted(group)} is not a text", path="group")
    return float(value), label, None if group is None else str(group)


def _label(given: Any) -> bool:
    if given is None:
        raise InputError(f"is missing; it is one of {LEGAL}", path="label")
    key = given.lower() if isinstance(given, str) else given
    if not isinstance(key, (int, str, float)) or key not in LABELS:
        raise InputError(f"{quoted(given)} is not one of {LEGAL}", path="label")
    return LABELS[key]
