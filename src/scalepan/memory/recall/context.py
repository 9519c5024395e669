"""What speaks for a claim beyond its own text? Its neighbors, its source, who said it and when.

All of it is optional data of claims. What a claim does not say adds nothing to it, and where no claim says anything
nothing is computed.
"""

import re
from typing import TYPE_CHECKING

import numpy as np

from scalepan.memory.claim import SECONDS_A_DAY
from scalepan.memory.recall.candidates.places import ClaimPlaces
from scalepan.memory.recall.candidates.query import SearchQuery
from scalepan.text.dates import TimeSpan, dates_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Rows = NDArray[np.int64]

CLOSE_DAYS = 7.0
"""People speak of a day on that day and soon after or before: so many days away it counts half."""
_WORD = re.compile(r"\w+")


def context(query: SearchQuery, rows: "Rows", bm25: "Column", z: "Column | None", now: float) -> dict[str, "Column"]:
    """Observations of these rows by their names in the policy. `bm25` and `z`, of cosines, are those of all rows."""
    places = query.index.columns.places
    if not places.known:
        return {}
    mask = query.mask()
    best = float(bm25.max(initial=0.0)) or 1.0
    found = _beside(query, rows, mask, bm25 / best, z)
    found |= _source(places, rows, mask, bm25, best, z)
    speakers = named_speakers(query.query, places.speakers)
    if speakers:
        found["speaker"] = np.isin(places.column("speaker")[rows], speakers).astype(float)
    spans = dates_in(query.query, now)
    if spans:
        found["date"] = closeness(places.column("said_at")[rows], spans)
    return found


def _beside(
    query: SearchQuery, rows: "Rows", mask: "NDArray[np.bool_]", text: "Column", z: "Column | None"
) -> dict[str, "Column"]:
    """The better of the claims before and after, in the conversation or the source."""
    columns = query.index.columns
    beside_text, beside_meaning = np.zeros(len(rows)), np.zeros(len(rows))
    for line in ("conversation", "source"):
        for step in (-1, 1):
            near = columns.beside(line, rows, step)
            there = np.flatnonzero(near >= 0)
            there = there[mask[near[there]]]
            beside_text[there] = np.maximum(beside_text[there], text[near[there]])
            if z is not None:
                beside_meaning[there] = np.fmax(beside_meaning[there], z[near[there]])
    return {"beside_text": beside_text} | ({} if z is None else {"beside_meaning": beside_meaning})


def _source(
    places: ClaimPlaces, rows: "Rows", mask: "NDArray[np.bool_]", bm25: "Column", best: float, z: "Column | None"
) -> dict[str, "Column"]:
    """The best claim of its source, or else of its conversation; and how far all of it stands out by words."""
    source = places.column("source")
    groups = np.where(source >= 0, source, places.column("conversation"))
    there = mask & (groups >= 0)
    if not there.any():
        return {}
    own = groups[rows]
    has_one, own = own >= 0, np.maximum(own, 0)
    count = int(groups.max()) + 1
    matched = np.flatnonzero(there & (bm25 > 0))
    highest, total = np.zeros(count), np.bincount(groups[matched], bm25[matched], count)
    np.maximum.at(highest, groups[matched], bm25[matched])
    sizes = np.bincount(groups[there], minlength=count)
    # Over claims, as large sources are met more often.
    mean = float(sizes @ total) / float(sizes.sum())
    deviation = (float(sizes @ (total - mean) ** 2) / float(sizes.sum())) ** 0.5
    stands_out = np.log1p(np.maximum(total - mean, 0.0) / deviation) if deviation > 0 else np.zeros(count)
    found = {
        "source_best": np.where(has_one, highest[own] / best, 0.0),
        "source_z": np.where(has_one, stands_out[own], 0.0),
    }
    if z is not None:
        nearest = np.zeros(count)
        compared = np.flatnonzero(there & ~np.isnan(z))
        np.maximum.at(nearest, groups[compared], z[compared])
        found["source_meaning"] = np.where(has_one, nearest[own], 0.0)
    return found


def named_speakers(query: str, speakers: dict[str, int]) -> list[int]:
    """The codes of speakers that a query names, by any word of a name of theirs.

    >>> named_speakers("When did Aoi meet Dr. Mori?", {"aoi sato": 0, "mori": 1, "ren": 2})
    [0, 1]
    """
    said = {word.casefold() for word in _WORD.findall(query)}
    # Languages without spaces have no words to compare: the name is looked for as it is.
    folded = query.casefold()
    return [
        code
        for name, code in speakers.items()
        if (not name.isascii() and name in folded)
        or any(len(word) > 1 and word in said for word in _WORD.findall(name))
    ]


def closeness(said_at: "Column", spans: list[TimeSpan]) -> "Column":
    """How close times are to the dates of a query: 1 within one, half for each week away; 0 where no time is known.

    >>> closeness(np.array([5.0, 20.0, np.nan]) * 86400, [TimeSpan(0, 0, 0.0, 6 * 86400.0)]).tolist()
    [1.0, 0.25, 0.0]
    """
    nearest = np.zeros(len(said_at))
    for span in spans:
        away = np.maximum(np.maximum(span.start - said_at, said_at - span.end), 0.0) / SECONDS_A_DAY
        nearest = np.fmax(nearest, 0.5 ** (away / CLOSE_DAYS))
    return nearest
