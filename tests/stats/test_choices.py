"""Fits for ranking: worked by hand, as properties, and beside scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.stats.choices import Choices, fit_choice, fit_logistic, fit_sides, logistic, minimize


def made_up(seed: int, queries: int = 60, candidates: int = 12) -> tuple[np.ndarray, Choices]:
    """Queries of which one candidate each is relevant: the one with the highest 2 x first + noise."""
    dice = np.random.default_rng(seed)
    features = dice.normal(size=(queries * candidates, 3))
    query = np.repeat(np.arange(queries), candidates)
    worth = 2 * features[:, 0] + dice.gumbel(size=len(query))
    labels = np.zeros(len(query))
    for one in range(queries):
        some = np.flatnonzero(query == one)
        labels[some[np.argmax(worth[some])]] = 1.0
    return features, Choices(labels, query, np.ones(queries) / queries)


def test_what_made_the_choice_is_found() -> None:
    weights = fit_choice(*made_up(1, queries=600))
    assert weights[0] == pytest.approx(2.0, abs=0.3)
    assert weights[1:] == pytest.approx([0.0, 0.0], abs=0.15)


def test_what_is_the_same_for_a_whole_query_is_worth_nothing() -> None:
    features, choices = made_up(2)
    marker = (choices.query % 2).astype(float)  # of every other query all candidates have it
    weights = fit_choice(np.column_stack([features, marker]), choices)
    assert weights[-1] == pytest.approx(0.0, abs=1e-6)


@given(st.integers(0, 50))
@settings(max_examples=10, deadline=None)
def test_no_weight_is_below_zero_and_none_is_better_by_scipy(seed: int) -> None:
    from scipy.optimize import minimize as by_scipy  # type: ignore[import-untyped]

    features, choices = made_up(seed)
    features = np.column_stack([features, -features[:, 0]])  # speaks against what is relevant
    weights = fit_choice(features, choices, ridge=1e-3)
    assert (weights >= 0).all()
    spread = features.std(axis=0)

    def loss(w: np.ndarray) -> float:
        scores = features / spread @ w
        total = np.log(np.bincount(choices.query, np.exp(scores)))
        kept = np.bincount(choices.query, choices.labels * scores)
        return float(((total - kept) * choices.weight).sum() + 1e-3 * (w @ w))

    found = by_scipy(loss, np.zeros(4), bounds=[(0, None)] * 4, method="L-BFGS-B")
    assert loss(weights * spread) <= found.fun + 1e-5


def test_two_sides_find_what_each_is_worth() -> None:
    """Half of the queries are answered by the first observation of text, half by that of vectors."""
    dice = np.random.default_rng(3)
    queries, candidates = 300, 10
    query = np.repeat(np.arange(queries), candidates)
    text, vector = dice.normal(size=(len(query), 2)), dice.normal(size=(len(query), 1))
    labels = np.zeros(len(query))
    for one in range(queries):
        some = np.flatnonzero(query == one)
        right = some[dice.integers(candidates)]
        labels[right] = 1.0
        (text if one % 2 else vector)[right, 0] += 4.0
    fit = fit_sides(text, vector, np.full(len(query), 0.65), Choices(labels, query, np.ones(queries)))
    assert fit.text[0] > 1
    assert fit.vector[0] > 1
    assert fit.text[1] < 0.3  # noise
    both = 0.65 * logistic(vector @ fit.vector + fit.vector_bias) + 0.35 * logistic(text @ fit.text + fit.text_bias)
    first = [np.flatnonzero(query == one)[np.argmax(both[query == one])] for one in range(queries)]
    assert labels[first].mean() > 0.9


def test_logistic_regression_by_hand() -> None:
    # Of those without the feature 1 in 4 is relevant, of those with it 3 in 4: log-odds of -log 3 and + log 3.
    features = np.repeat([[0.0], [1.0]], 400, axis=0)
    labels = np.concatenate([np.repeat([1.0, 0.0], [100, 300]), np.repeat([1.0, 0.0], [300, 100])])
    (weight,), bias = fit_logistic(features, labels, np.ones(800), ridge=1e-9)
    assert bias == pytest.approx(-np.log(3), abs=1e-3)
    assert weight == pytest.approx(2 * np.log(3), abs=1e-3)


def test_a_feature_that_speaks_against_it_counts_for_nothing() -> None:
    (weight,), _ = fit_logistic(np.array([[1.0], [0.0]] * 10), np.array([0.0, 1.0] * 10), np.ones(20))
    assert weight == 0.0


@pytest.mark.parametrize("start", [-5.0, 0.0, 40.0])
def test_the_minimum_is_found_from_anywhere(start: float) -> None:
    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float(np.cosh(x - 3.0).sum()), np.sinh(x - 3.0)

    assert minimize(loss, np.full(2, start), np.array([-np.inf, 3.5])).tolist() == pytest.approx([3.0, 3.5], abs=1e-4)
