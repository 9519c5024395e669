"""What do the sources say? Taken apart once, so that each claim is looked up and not searched for."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scalepan.confidence.stand_ins.claims import ClaimFacts, facts
from scalepan.confidence.stand_ins.dates import Date
from scalepan.confidence.stand_ins.names import Name, known_words
from scalepan.confidence.stand_ins.numbers import TextNumber
from scalepan.text import sentences
from scalepan.text.normal import visible
from scalepan.text.scripts import HAN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_PLACES = 256
"""A word that stands in more sentences than this hardly tells where to look; it bounds the work on hostile text."""
_NEIGHBOURS = 64
"""Among so many numbers or dates that are nearly the one query, it is looked for; the same one is always found."""
_HAN_PAIR = re.compile(f"(?=([{HAN}]{{2}}))")
_Said = tuple[tuple[str, int], ...]
_FINEST = ("day", "weekday", "month", "year")


class Place(msgspec.Struct, frozen=True, gc=False):
    """A sentence of a source: `sources[source][start:end] == text`."""

    source: int
    start: int
    end: int
    text: str


class Library:
    """The sentences of the sources, in an order that does not depend on the order of the sources."""

    def __init__(self, sources: Sequence[str]) -> None:
        where: dict[str, Place] = {}
        for at, source in enumerate(sources):
            for sentence in sentences(source):
                where.setdefault(sentence.text, Place(at, sentence.start, sentence.end, sentence.text))
        self.places = [where[text] for text in sorted(where)]
        self.texts = [place.text for place in self.places]
        self.facts: list[ClaimFacts] = [facts(place.text) for place in self.places]
        self._row_of = {fact.text: at for at, fact in enumerate(self.facts)}
        self._postings, self._weights = _index(self.facts)
        self._rarest = float(np.log(1 + len(self.facts)))
        self._numbers = _sorted_numbers(number for fact in self.facts for number in fact.numbers)
        self._stated = {(number.value, number.unit) for number in self._numbers}
        self._values = np.array([number.value for number in self._numbers])
        self._dates = {_key(date): date for fact in self.facts for date in fact.dates}
        self._by_field = _by_field(self._dates)
        self._words = known_words(fact.text for fact in self.facts)
        self._han = {pair for fact in self.facts for pair in _HAN_PAIR.findall(fact.text)}

    def nearest(self, claim: ClaimFacts, most: int, likeness: "Floats | None" = None) -> list[int]:
        """The sentences that share most of the claim's words by weight, the best first.

        `likeness`, where there is an encoder, has one number from 0 to 1 a sentence and counts as much as the words.
        """
        found = [(self._postings[term], self._weights[term]) for term in claim.terms if term in self._postings]
        total = sum(self.weight(term) for term in claim.terms)
        if likeness is None:
            rows, shares = _added(found, total)
        else:
            rows, shares = np.arange(len(self.facts)), likeness.copy()
            for places, weight in found:
                shares[places] += weight / total
        if (same := self._row_of.get(claim.text)) is not None:
            rows, shares = np.append(rows, same), np.append(shares, np.inf)
        order = np.argsort(-shares, kind="stable")[: most + 1]
        best = dict.fromkeys(int(rows[at]) for at in order if shares[at] > 0)
        return list(best)[:most]

    def facts_of(self, text: str) -> ClaimFacts | None:
        """The facts of a sentence that the sources have word for word: no need to take it apart again."""
        at = self._row_of.get(visible(text))
        return None if at is None else self.facts[at]

    def weight(self, term: str) -> float:
        """How much a term tells: the rarer in the sources the more; one that they do not have the most."""
        return self._weights.get(term, self._rarest)

    def has_number(self, said: TextNumber) -> bool:
        """Whether any sentence carries the number."""
        if (said.value, said.unit) in self._stated:
            return True
        # `at 7` is what 7 pm is often said by.
        around = (said.value, said.value / 60, said.value / 60 + 12) if said.unit == "clock" else (said.value,)
        return any(said.agrees(number) for value in around for number in self._numbers_near(value, said.step))

    def _numbers_near(self, value: float, step: float) -> list[TextNumber]:
        reach = max(step / 2, abs(value) * 1e-9) * (1 + 1e-6)
        low = int(np.searchsorted(self._values, value - reach, "left"))
        high = int(np.searchsorted(self._values, value + reach, "right"))
        return self._numbers[low : min(high, low + _NEIGHBOURS)]

    def has_date(self, said: Date) -> bool:
        """Whether a sentence says the finest part of the date, and nothing else about the rest."""
        if _key(said) in self._dates:
            return True
        finest = next(name for name in _FINEST if name in said.said)
        return any(said.agrees(date) for date in self._by_field.get((finest, said.said[finest]), ())[:_NEIGHBOURS])

    def missing(self, name: Name) -> list[str]:
        """The words of a name that no sentence has."""
        return [word for word in name.words if not self._knows(word)]

    def _knows(self, word: str) -> bool:
        if word in self._words or word in self._weights:
            return True
        if pairs := _HAN_PAIR.findall(word):
            return all(pair in self._han for pair in pairs)
        return "・" in word and all(part in self._words for part in word.split("・"))


def _index(facts_: list[ClaimFacts]) -> tuple[dict[str, "NDArray[np.int64]"], dict[str, float]]:
    places: dict[str, list[int]] = {}
    for at, fact in enumerate(facts_):
        for term in fact.terms:
            places.setdefault(term, []).append(at)
    postings = {term: np.array(found[:_MOST_PLACES]) for term, found in places.items()}
    weights = {term: float(np.log(1 + len(facts_) / len(found))) for term, found in places.items()}
    return postings, weights


def _sorted_numbers(found: Iterable[TextNumber]) -> list[TextNumber]:
    unique = {(number.value, number.unit, number.step): number for number in found}
    return [unique[key] for key in sorted(unique)]


def _key(date: Date) -> _Said:
    return tuple(sorted(date.said.items()))


def _by_field(dates: dict[_Said, Date]) -> dict[tuple[str, int], list[Date]]:
    fields: dict[tuple[str, int], list[Date]] = {}
    for said in sorted(dates):
        for field in said:
            fields.setdefault(field, []).append(dates[said])
    return fields


def _added(found: list[tuple["NDArray[np.int64]", float]], total: float) -> tuple["NDArray[np.int64]", "Floats"]:
    """The sentences that have any of the words, and the share of the whole weight that each has."""
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    places = np.concatenate([places for places, _ in found])
    weights = np.repeat([weight for _, weight in found], [len(places) for places, _ in found])
    rows, inverse = np.unique(places, return_inverse=True)
    return rows, np.bincount(inverse, weights=weights) / total
