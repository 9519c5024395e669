"""Labels: numbers that were stated, and whether what they were about turned out right.

A file has a JSON object per line, or is Parquet: `{"value": 0.83, "label": 1, "group": "billing"}`. In place of `value`
there may be `factors` (of a confidence) or a `trace`, from which the number is computed under the policy in force.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan.errors import InputError, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LABELS = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True, "wrong": False, "right": True}
PARQUET = ".parquet"

ValueOf = Callable[[Mapping[str, Any]], float]
"""Computes the number of a row that has factors or a trace in place of it."""


class Labels(NamedTuple):
    """Labeled numbers as arrays of one length."""

    values: "NDArray[np.float64]"
    right: "NDArray[np.bool_]"
    groups: tuple[str, ...] | None
    """Cases of one group (one task, one question, one customer) are not independent; None if no row names one."""
    bad: tuple[InputError, ...] = ()
    """Rows that could not be used, and why."""
    digest: str = ""
    """A hash of what was used, to tell later what a curve was fitted on."""

    @property
    def units(self) -> tuple[str, ...]:
        """A group for every case: its own where none is named."""
        return self.groups or tuple(map(str, range(len(self.values))))


def read_labels(path: Path, value_of: ValueOf | None = None, *, strict: bool = False) -> Labels:
    """The labels of a file. A bad row is reported in `bad`, or raised with `strict`."""
    return collect(_rows(path), value_of, file=str(path), strict=strict)


def collect(
    rows: Iterable[tuple[int, Any]],
    value_of: ValueOf | None = None,
    *,
    file: str | None = None,
    strict: bool = False,
) -> Labels:
    """Labels from rows with their line numbers; an InputError in place of a row is a bad one.

    >>> labels = collect([(1, {"value": 0.9, "label": 1}), (2, {"value": 0.4, "label": "maybe"})])
    >>> len(labels.values), str(labels.bad[0])
    (1, "line 2: label: 'maybe' is not one of 0, 1, false, true, wrong, right")
    """
    import numpy as np

    values, right, groups, bad = [], [], [], []
    for line, row in rows:
        try:
            if isinstance(row, InputError):
                raise row
            value, label, group = _checked(row, value_of)
        except InputError as error:
            error = error.at(file=file, line=line)
            if strict:
                raise error from None
            bad.append(error)
            continue
        values.append(value)
        right.append(label)
        groups.append(group)
    named = None
    if any(group is not None for group in groups):
        named = tuple(group if group is not None else f"row {number}" for number, group in enumerate(groups))
    raw = msgspec.json.encode([values, right, named])
    return Labels(
        np.array(values, dtype=float), np.array(right, dtype=bool), named, tuple(bad), hashlib.sha256(raw).hexdigest()
    )


def _checked(row: Any, value_of: ValueOf | None) -> tuple[float, bool, str | None]:
    if not isinstance(row, Mapping):
        raise InputError(f"{quoted(row)} is not an object such as " + '{"value": 0.83, "label": 1}')
    given = row.get("label")
    key = given.lower() if isinstance(given, str) else given
    if not isinstance(key, (int, str, float)) or key not in _LABELS:
        problem = "is missing" if given is None else f"{quoted(given)} is not one of 0, 1, false, true, wrong, right"
        raise InputError(problem, path="label")
    value = row.get("value")
    if value is None and value_of is not None:
        value = value_of(row)
    if value is None:
        raise InputError("is missing", path="value")
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise InputError(f"{quoted(value)} is not between 0 and 1", path="value")
    group = row.get("group")
    if group is not None and not isinstance(group, (str, int)):
        raise InputError(f"{quoted(group)} is not a text", path="group")
    return float(value), _LABELS[key], None if group is None else str(group)


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    if path.suffix == PARQUET:
        from scalepan.store.duckdb.parquet import parquet_rows

        yield from enumerate(parquet_rows(path), 1)
        return
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _decoded(line)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except UnicodeError:
        return InputError("is not UTF-8 text")
    except (msgspec.DecodeError, RecursionError) as error:
        return InputError(f"is not JSON: {error}")
