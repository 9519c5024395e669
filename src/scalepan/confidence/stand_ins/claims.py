"""What does one sentence claim, in a form that can be compared: terms, numbers, dates, names, what it denies."""

import msgspec

from scalepan.confidence.stand_ins.antonyms import japanese_pattern
from scalepan.confidence.stand_ins.dates import Date, dates
from scalepan.confidence.stand_ins.names import Name, names
from scalepan.confidence.stand_ins.negation import denied, has_cue
from scalepan.confidence.stand_ins.numbers import TextNumber, numbers
from scalepan.confidence.stand_ins.stems import stems
from scalepan.text.normal import visible


class ClaimFacts(msgspec.Struct, frozen=True):
    """What a sentence says, taken apart."""

    text: str
    terms: tuple[str, ...]
    """Its words, and each number and date in one spelling, so that `three percent` is found by `3 %`."""
    words: frozenset[str]
    """The same terms, to look one up."""
    numbers: tuple[TextNumber, ...]
    dates: tuple[Date, ...]
    names: tuple[Name, ...]
    denied: frozenset[str]
    denies: bool
    """Whether there is any negative word."""
    poles: frozenset[str]
    """Japanese words that have an opposite, as they are written."""


def facts(sentence: str) -> ClaimFacts:
    """The facts of one sentence.

    >>> found = facts("In 2019 Scalepan did not sell 1,200 units.")
    >>> [date.text for date in found.dates], [number.value for number in found.numbers], found.terms
    (['2019'], [1200.0], ('scalepan', 'sell', 'unit', '#1200', '#year 2019'))
    """
    text = visible(sentence)
    said, rest = dates(text)
    counted, rest = numbers(rest)
    found = stems(rest) + [f"#{number.value:g}" for number in counted]
    found += [f"#{field} {value}" for date in said for field, value in date.said.items()]
    return ClaimFacts(
        text,
        tuple(dict.fromkeys(found)),
        frozenset(found),
        tuple(counted),
        tuple(said),
        tuple(names(rest)),
        denied(text),
        has_cue(text),
        frozenset() if text.isascii() else frozenset(japanese_pattern().findall(text)),
    )
