"""Search by meaning: exact among few claims, and of very many those that agree with the query in most signs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scalepan.memory.recall.candidates.vectors import VectorIndex
from scalepan.policy.retrieval import VectorsPolicy as Policy

BY_SIGNS = Policy(exact_claims=0, rescore=1)


def filled(matrix: NDArray[np.float32]) -> VectorIndex:
    vectors = VectorIndex()
    vectors.put(range(len(matrix)), matrix)
    return vectors


def rows(found: list[tuple[int, float]]) -> list[int]:
    return [row for row, _ in found]


@pytest.mark.parametrize("width", [3, 64, 65, 384])
def test_signs_find_what_points_the_same_way(width: int) -> None:
    dice = np.random.default_rng(width)
    matrix = dice.standard_normal((500, width)).astype(np.float32)
    matrix[7] = 5 * matrix[3]  # as long as it likes: only its direction counts
    vectors, everyone = filled(matrix), np.ones(500, dtype=bool)
    found = vectors.search(matrix[3], everyone, 2, np.zeros(500), BY_SIGNS)
    assert sorted(rows(found)) == [3, 7]
    assert [sim for _, sim in found] == pytest.approx([1.0, 1.0], abs=1e-6)


def test_scores_are_exact_cosines() -> None:
    dice = np.random.default_rng(1)
    matrix = dice.standard_normal((400, 64)).astype(np.float32)
    query = dice.standard_normal(64).astype(np.float32)
    cosines = matrix @ query / np.linalg.norm(matrix, axis=1) / np.linalg.norm(query)
    found = filled(matrix).search(query, np.ones(400, dtype=bool), 5, np.zeros(400), Policy(exact_claims=0, rescore=20))
    assert [sim for _, sim in found] == pytest.approx([cosines[row] for row in rows(found)], abs=1e-6)
    assert [sim for _, sim in found] == sorted((sim for _, sim in found), reverse=True)


def test_with_enough_rescored_nothing_is_lost() -> None:
    dice = np.random.default_rng(2)
    matrix = dice.standard_normal((300, 32)).astype(np.float32)
    vectors, mask = filled(matrix), dice.random(300) < 0.5
    for query in dice.standard_normal((20, 32)).astype(np.float32):
        exact = vectors.search(query, mask, 6, np.zeros(300))
        assert vectors.search(query, mask, 6, np.zeros(300), Policy(exact_claims=0, rescore=24)) == exact


def test_what_may_not_be_read_is_never_found() -> None:
    dice = np.random.default_rng(3)
    matrix = dice.standard_normal((300, 64)).astype(np.float32)
    mask = np.arange(300) % 3 == 0
    for row in range(60):
        found = filled(matrix).search(matrix[row], mask, 4, np.zeros(300), BY_SIGNS)
        assert len(found) == 4
        assert all(mask[one] for one in rows(found))


def test_up_to_the_limit_the_search_is_exact() -> None:
    dice = np.random.default_rng(4)
    matrix = dice.standard_normal((200, 8)).astype(np.float32)  # so few signs that they mislead
    vectors, everyone = filled(matrix), np.ones(200, dtype=bool)
    query = dice.standard_normal(8).astype(np.float32)
    exact = vectors.search(query, everyone, 10, np.zeros(200))
    assert vectors.search(query, everyone, 10, np.zeros(200), Policy(exact_claims=200, rescore=1)) == exact
    assert vectors.search(query, everyone, 10, np.zeros(200), Policy(exact_claims=199, rescore=1)) != exact


def test_rows_that_come_later_are_found_too() -> None:
    vectors = VectorIndex()
    vectors.put([0], np.array([[1.0, 0.0]], dtype=np.float32))
    vectors.put([2000], np.array([[0.6, 0.8]], dtype=np.float32))
    found = vectors.search(
        np.array([0.0, 1.0], dtype=np.float32), np.ones(2001, dtype=bool), 1, np.zeros(2001), BY_SIGNS
    )
    assert rows(found) == [2000]
    assert found[0][1] == pytest.approx(0.8)
