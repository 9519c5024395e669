"""Invariants over claims, compiled: to a mask over the index's rows, and to SQL. What cannot be evaluated denies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from scalepan.policy.claim_rules import AGE, Tree
from scalepan.policy.invariants import COMPARE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


class ClaimRows(Protocol):
    """Claims as arrays."""

    def __len__(self) -> int: ...

    def words(self, attribute: str) -> "tuple[NDArray[Any], Sequence[str]]":
        """Of each row the code of a word, and the words by their codes."""

    def ages(self, moment: float) -> "NDArray[np.float64]":
        """How old each row's text is, in days."""

    def about(self, entity: str) -> "Mask":
        """The rows that are about an entity of this name."""


def allowed(rules: Sequence[Tree], rows: ClaimRows, moment: float | None) -> "Mask":
    """The rows that every rule is true of."""
    mask = np.ones(len(rows), dtype=bool)
    for tree in rules:
        true, _ = _asked(tree, rows, moment)
        mask &= true
    return mask


def _asked(tree: Tree, rows: ClaimRows, moment: float | None) -> "tuple[Mask, Mask]":
    """Of which rows a tree is true, and of which it cannot be said."""
    nowhere = np.zeros(len(rows), dtype=bool)
    match tree:
        case ("is", value):
            return (~nowhere if value else nowhere), nowhere
        case ("not", one):
            true, unknown = _asked(one, rows, moment)
            return ~true & ~unknown, unknown
        case ("any" | "all" as join, trees):
            return _joined(join, [_asked(one, rows, moment) for one in trees])
        case ("about", name):
            return rows.about(name), nowhere
        case (_, attribute, *_) if attribute == AGE:
            return _ages_fit(tree, rows, moment), nowhere
        case ("compare" | "among" | "part of" | "contains", attribute, *_):
            codes, words = rows.words(attribute)
            fits = np.array([_word_fits(tree, word) for word in words], dtype=bool)
            return fits[codes] if len(words) else nowhere, nowhere
        case _:
            return nowhere, ~nowhere


def _joined(join: str, asked: "Sequence[tuple[Mask, Mask]]") -> "tuple[Mask, Mask]":
    """From the left: a row for which one decides is not asked further, and neither is one that cannot be said."""
    true, unknown = asked[0]
    for next_true, next_unknown in asked[1:]:
        if join == "any":
            unknown = unknown | (~true & next_unknown)
            true = (true | next_true) & ~unknown
        else:
            unknown = unknown | (true & next_unknown)
            true = true & next_true & ~unknown
    return true, unknown


def _word_fits(tree: Tree, word: str) -> bool:
    match tree:
        case ("compare", _, sign, value):
            return COMPARE[sign](word, value)
        case ("among", _, values):
            return word in values
        case ("part of", _, text):
            return word in text
        case ("contains", _, text):
            return text in word
        case _:
            return False


def _ages_fit(tree: Tree, rows: ClaimRows, moment: float | None) -> "Mask":
    if moment is None:
        return np.zeros(len(rows), dtype=bool)
    ages = rows.ages(moment)
    match tree:
        case ("compare", _, sign, value):
            return np.asarray(COMPARE[sign](ages, value), dtype=bool)
        case ("among", _, values):
            return np.isin(ages, values)
        case _:
            return np.zeros(len(rows), dtype=bool)
