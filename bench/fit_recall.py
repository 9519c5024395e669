"""Fits the constants of `scalepan.policy.evidence`, and says by cross-validation what they are worth.

python -m bench.fit_recall            the constants, fitted on all queries of the sets whose licenses allow it
python -m bench.fit_recall --check    fitted on four fifths of the queries, measured on the fifth, five times

Observations are made by the code that recall uses. Each set counts the same, and within a set each query. Speaker and
date are not fitted: no set that may be used shows them.
"""

import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.recall_index import Asked, observe_all
from bench.recall_sets import FITTED_ON, load, sample
from scalepan.memory.bench.result import ndcg_at, recall_at
from scalepan.memory.recall.by_evidence import strengths
from scalepan.policy.evidence import TEXT, VECTOR, EvidenceWeights, RecallEvidence
from scalepan.stats.choices import Choices, fit_choice, fit_logistic, fit_sides, logistic

Floats = NDArray[np.float64]
QUERIES = 300
"""Of each set, the same each time."""
POOL = 150
FOLDS = 5
CONTEXT = ("beside_text", "beside_meaning", "source_best", "source_z", "source_meaning")
USEFUL = ("stronger", "weaker", "coverage")
JOINT = (*USEFUL, "rarest", "cosine_z", *CONTEXT)
BY_HAND = {"speaker": 0.7, "date": 2.0}


class Fitted(NamedTuple):
    """The constants."""

    evidence: RecallEvidence

    def lines(self) -> Iterable[str]:
        """As they are written down."""
        found = self.evidence
        yield f"text = {_shown(found.text)}"
        yield f"vector = {_shown(found.vector)}"
        yield f"best = {_shown(found.best)}"
        yield f"useful = {_shown(found.useful)}"
        yield f"useful_alone = {_shown(found.useful_alone)}"


def _shown(section: Any) -> str:
    return ", ".join(f"{name}={value:.4g}" for name, value in msgspec.to_builtins(section).items() if value)


def fit(asked: Sequence[Asked]) -> RecallEvidence:
    """All constants from these queries."""
    with_gold = [one for one in asked if one.labels.any() and not one.labels.all()]
    choices, alpha = _choices(with_gold), np.concatenate([np.full(len(one.labels), one.alpha) for one in with_gold])
    sides = fit_sides(_stack(with_gold, TEXT), _stack(with_gold, VECTOR), alpha, choices)
    lift = _level(sides, with_gold)
    found = msgspec.structs.replace(
        RecallEvidence(),
        text=_weights(TEXT, sides.text, sides.text_bias + lift),
        vector=_weights(VECTOR, sides.vector, sides.vector_bias + lift),
    )
    found = msgspec.structs.replace(found, best=_best(found, asked, with_gold, choices))
    return msgspec.structs.replace(found, **_useful(found, asked))


def _weights(names: Sequence[str], weights: Floats, bias: float) -> EvidenceWeights:
    return EvidenceWeights(bias=bias, **dict(zip(names, map(float, weights), strict=True)))


def _level(sides: Any, asked: Sequence[Asked]) -> float:
    """What to add to both biases, so that S is as good a probability as it can be."""

    def loss(lift: float) -> float:
        total = 0.0
        for one in asked:
            p_text = logistic(one.of(TEXT) @ sides.text + sides.text_bias + lift)
            p_vector = logistic(one.of(VECTOR) @ sides.vector + sides.vector_bias + lift)
            both = np.clip(one.alpha * p_vector + (1 - one.alpha) * p_text, 1e-12, 1 - 1e-12)
            total -= one.weight * float((one.labels * np.log(both) + (1 - one.labels) * np.log(1 - both)).sum())
        return total

    lifts: list[float] = np.arange(-2.0, 6.01, 0.5).tolist()
    return min(lifts, key=loss)


def sides_of(one: Asked, found: RecallEvidence) -> tuple[Floats, Floats]:
    """S_text and S_vec of each candidate; no S_vec where meaning was not searched."""
    s_text = _probability(one, found.text, TEXT)
    if not one.alpha:
        return s_text, np.full(len(s_text), np.nan)
    return s_text, _probability(one, found.vector, VECTOR)


def relevance(one: Asked, found: RecallEvidence) -> Floats:
    """S of each candidate."""
    s_text, s_vec = sides_of(one, found)
    both: Floats = one.alpha * np.nan_to_num(s_vec) + (1 - one.alpha) * s_text
    return both


def _probability(one: Asked, weights: EvidenceWeights, names: Sequence[str]) -> Floats:
    worth = np.array([getattr(weights, name) for name in names])
    return logistic(one.of(names) @ worth + weights.bias)


def _best(
    found: RecallEvidence, asked: Sequence[Asked], with_gold: Sequence[Asked], choices: Choices
) -> EvidenceWeights:
    """Weights that order the candidates of a query; then the bias at which they are as probable as they can be."""
    weights = fit_choice(np.concatenate([joint(one, found) for one in with_gold]), choices)
    rows = [(joint(one, found) @ weights, one) for one in _everywhere(asked)]

    def loss(bias: float) -> float:
        total = 0.0
        for odds, one in rows:
            total += one.weight * float((np.logaddexp(0, odds + bias) - one.labels * (odds + bias)).sum())
        return total

    biases: list[float] = np.arange(-20.0, 0.01, 0.25).tolist()
    bias = min(biases, key=loss)
    worth = dict(zip(JOINT, weights.tolist(), strict=True))
    return EvidenceWeights(bias=bias, **{name: value for name, value in worth.items() if value > 1e-6}, **BY_HAND)


def _useful(found: RecallEvidence, asked: Sequence[Asked]) -> dict[str, EvidenceWeights]:
    """Of the best candidates of every query, asked where its answer is and where it is not."""
    both, alone = [], []
    for one in _everywhere(asked):
        best = np.argsort(-relevance(one, found), kind="stable")[:12]
        observed = joint(one, found)
        if one.alpha:
            both.append((observed[best][:, : len(USEFUL)], one.labels[best], one.weight))
        by_words = joint(one._replace(alpha=0.0), found)
        alone.append((by_words[best][:, : len(USEFUL)], one.labels[best], one.weight))
    found_both, found_alone = _logistic(both), _logistic(alone)
    return {"useful": _weights(USEFUL, *found_both), "useful_alone": _weights(USEFUL, *found_alone)}


def _everywhere(asked: Sequence[Asked]) -> list[Asked]:
    return [*asked, *(one.without for one in asked if one.without is not None)]


def joint(one: Asked, found: RecallEvidence) -> Floats:
    """Observations for profile best."""
    return np.column_stack([*strengths(*sides_of(one, found)), one.of(JOINT[2:])])


def _logistic(rows: Sequence[tuple[Floats, Floats, float]]) -> tuple[Floats, float]:
    features, labels = (np.concatenate([row[i] for row in rows]) for i in (0, 1))
    weight = np.concatenate([np.full(len(some), each) for _, some, each in rows])
    return fit_logistic(features, labels, weight)


def _stack(asked: Sequence[Asked], names: Sequence[str]) -> Floats:
    return np.concatenate([one.of(names) for one in asked])


def _choices(asked: Sequence[Asked]) -> Choices:
    query = np.repeat(np.arange(len(asked)), [len(one.labels) for one in asked])
    return Choices(np.concatenate([one.labels for one in asked]), query, np.array([one.weight for one in asked]))


def scores(one: Asked, found: RecallEvidence) -> dict[str, Floats]:
    """Candidates by profile, and by each side alone."""
    worth = np.array([getattr(found.best, name) for name in JOINT])
    return {
        "words": one.column("of_best"),
        "vectors": one.column("cosine_z"),
        "default": relevance(one, found),
        "best": joint(one, found) @ worth,
    }


def check(asked: Sequence[Asked]) -> None:
    """Each query by constants that it had no part in."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for fold in range(FOLDS):
        part = [sha256(one.id.encode()).digest()[0] % FOLDS == fold for one in asked]
        fitted = fit([one for one, held in zip(asked, part, strict=True) if not held])
        for one in (one for one, held in zip(asked, part, strict=True) if held):
            for name, by in scores(one, fitted).items():
                order = one.order(by)
                found.setdefault((one.set, name), []).append(
                    (recall_at(order, one.gold, 10), ndcg_at(order, one.gold, 10))
                )
    for (set_, name), pairs in sorted(found.items()):
        recall, ndcg = np.mean(pairs, axis=0)
        print(f"{set_:20} {name:10} {recall:.3f} / {ndcg:.3f}")


def main() -> None:
    """Print the constants, or check them."""
    asked = [
        one
        for name in FITTED_ON
        for one in observe_all(load(name), POOL, lambda queries: sample(queries, QUERIES), without=True)
    ]
    if "--check" in sys.argv:
        check(asked)
        return
    for line in Fitted(fit(asked)).lines():
        print(line)


if __name__ == "__main__":
    main()
