"""Keeps a recall from repeating itself: one claim per content, few per entity, MMR (contract memory.44)."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.policy.retrieval import Diversity

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Contender(NamedTuple):
    """A candidate with its score."""

    score: float
    content_hash: str
    entities: tuple[str, ...]


class Choice(NamedTuple):
    """Who was chosen, in order, with the score that chose it; and why others were passed over."""

    chosen: list[tuple[int, float | None]]
    passed_over: dict[int, str]

    def among(self, places: Sequence[int]) -> "Choice":
        """The same, where contenders are named by their place in a longer list."""
        chosen = [(places[i], score) for i, score in self.chosen]
        return Choice(chosen, {places[i]: why for i, why in self.passed_over.items()})


def diversify(
    contenders: Sequence[Contender],
    k: int,
    policy: Diversity,
    likeness: Callable[[int], "NDArray[np.floating]"] | None,
) -> Choice:
    """Choose k, one at a time: the highest `lambda x score - (1 - lambda) x likeness to the nearest chosen`.

    `contenders` come best first and are named by their place; `likeness(i)` is how alike each of them is to i. None:
    likeness does not count, and nobody has a score that MMR chose it by.
    """
    open_, passed_over = _one_per_content(contenders, policy)
    weight = policy.mmr_lambda
    relevance = weight * np.array([contender.score for contender in contenders])
    nearest = np.full(len(contenders), -np.inf)
    chosen: list[tuple[int, float | None]] = []
    about: Counter[str] = Counter()
    while open_.any() and len(chosen) < k:
        # Before the first choice there is nothing to be like.
        scores = relevance - (1 - weight) * nearest if chosen and likeness is not None else relevance
        # argmax takes the first of equals, which is the one with the higher score.
        best = int(np.argmax(np.where(open_, scores, -np.inf)))
        open_[best] = False
        full = _full(contenders[best], about, policy.entity_cap)
        if full is not None:
            passed_over[best] = f"entity_cap={policy.entity_cap}:{full}"
            continue
        chosen.append((best, None if likeness is None else float(scores[best])))
        about.update(contenders[best].entities)
        if likeness is not None:
            nearest = np.maximum(nearest, likeness(best))
    passed_over |= {int(i): f"k={k}" for i in np.flatnonzero(open_)}
    return Choice(chosen, passed_over)


def _full(contender: Contender, about: Counter[str], cap: int) -> str | None:
    """An entity of the contender that has as many claims as it may."""
    return next((entity for entity in contender.entities if about[entity] >= cap), None) if cap else None


def _one_per_content(contenders: Sequence[Contender], policy: Diversity) -> tuple["NDArray[np.bool_]", dict[int, str]]:
    open_ = np.ones(len(contenders), dtype=bool)
    seen: set[str] = set()
    for i, contender in enumerate(contenders):
        open_[i] = not policy.unique_content or contender.content_hash not in seen
        seen.add(contender.content_hash)
    return open_, {int(i): "repeats=content" for i in np.flatnonzero(~open_)}
