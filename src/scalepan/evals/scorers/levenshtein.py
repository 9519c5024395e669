"""levenshtein: how many characters must change to get from the output to the expected text?"""

from scalepan.errors import InputError, counted
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import ratio
from scalepan.evals.scorers._text import TextOptions, texts
from scalepan.score import Score

NAME = "levenshtein"
LONGEST = 100_000
"""The longest text, in characters: time grows with the product of both lengths, and this takes a few seconds."""
Options = TextOptions


class LevenshteinDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """The distance, and the longer text's length."""

    distance: int
    length: int


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """1 - distance / length of the longer text."""
    got, wanted = texts(actual, expected, context.options or Options())
    changes, length = distance(got, wanted), max(len(got), len(wanted))
    value = 1.0 - changes / length if length else 1.0
    return ratio(
        NAME, value, f"{changes} of {counted(length, 'character')}", LevenshteinDetails(distance=changes, length=length)
    )


def distance(one: str, other: str) -> int:
    """The number of insertions, deletions and changes that turn one text into the other.

    Myers' bit vectors: a column of the table is one long integer, so a character costs a few operations on it.

    >>> distance("kitten", "sitting")
    3
    """
    if max(len(one), len(other)) > LONGEST:
        raise InputError(f"a text of more than {LONGEST:,} characters takes too long to compare")
    one, other = _without_common_ends(one, other)
    if not one or not other:
        return len(one) + len(other)
    places: dict[str, int] = {}
    for index, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << index
    last = 1 << (len(one) - 1)
    everything = (1 << len(one)) - 1
    up, down, score_ = everything, 0, len(one)
    for character in other:
        equal = places.get(character, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        plus = down | ~(diagonal | up) & everything
        minus = up & diagonal
        score_ += bool(plus & last) - bool(minus & last)
        plus = (plus << 1 | 1) & everything
        minus = minus << 1 & everything
        up = minus | ~(diagonal | plus) & everything
        down = plus & diagonal
    return score_


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    """Both texts without the beginning and the end that they share: these cost no change.

    >>> _without_common_ends("a small cat", "a tall cat")
    ('sm', 't')
    """
    if one == other:
        return "", ""
    start = _shared(one, other)
    one, other = one[start:], other[start:]
    end = _shared(one[::-1], other[::-1])
    return (one[:-end], other[:-end]) if end else (one, other)


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common from the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
