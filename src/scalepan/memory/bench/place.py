"""Where does a document of a data set stand? What its row says of conversation, turn, speaker, source and date."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scalepan.errors import InputError, counted
from scalepan.memory.claim import LONGEST_PROVENANCE, seconds_of
from scalepan.memory.plain import new_claim

if TYPE_CHECKING:
    from scalepan.memory.bench.data import Document

FIELDS = {
    "turn": ("turn",),
    "speaker": ("speaker",),
    "position": ("position",),
    "said_at": ("said_at", "timestamp"),
    "source": ("source", "paragraph"),
}
"""A claim's fields, and the names they have in data sets; the first that a row has."""
CONVERSATION = ("conversation", "conv"), ("session",)
"""A session is a part of its conversation: neighboring turns are those of one session."""


def read_place(row: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a row says of its place, as a claim has it; and the fields that no claim can have, which are left out.

    >>> read_place({"conv": "a", "session": 2, "turn": 7, "speaker": "Aoi", "timestamp": "2023-05-08T13:56"})[0]
    {'turn': 7, 'speaker': 'Aoi', 'said_at': '2023-05-08T13:56', 'conversation': 'a/2'}
    >>> read_place({"position": "top left", "speaker": None})
    ({}, ('position',))
    """
    said = {field: value for field, names in FIELDS.items() if (value := _first(row, names)) is not None}
    parts = [part for names in CONVERSATION if (part := _first(row, names)) is not None]
    if parts:
        said["conversation"] = "/".join(map(str, parts)) if all(map(_is_name, parts)) else None
    if _is_name(said.get("source")):
        said["source"] = str(said["source"])
    unfit = tuple(field for field, value in said.items() if not _fits(field, value))
    return {field: value for field, value in said.items() if field not in unfit}, unfit


def place_notes(documents: Iterable["Document"]) -> list[str]:
    """What of the places was left out."""
    unfit = Counter(field for document in documents for field in document.unfit)
    return [f"{field} of {counted(count, 'document')} left out: no claim can have it" for field, count in unfit.items()]


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _fits(field: str, value: Any) -> bool:
    """Data sets use these names for other things too: what is not of a claim's kind is no mistake of the data."""
    if value is None:
        return False
    try:
        new_claim({"text": "x", field: value}, 0)
        if field == "said_at":
            seconds_of(value, field)
    except InputError:
        return False
    return field != "source" or len(value) <= LONGEST_PROVENANCE["source"]
