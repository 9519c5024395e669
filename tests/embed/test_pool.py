"""Pooling, worked by hand."""

import numpy as np
import pytest

from scalepan.embed.pool import normalize, pool
from scalepan.policy.embed import Pooling

TOKENS = np.array(
    [
        [[1, -2], [3, -4], [8, -9]],
        [[5, 6], [100, 100], [100, 100]],  # one token, two of padding
    ],
    dtype=np.float32,
)
MASK = np.array([[1, 1, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("mean", [[4, -5], [5, 6]]),  # (1+3+8)/3, (-2-4-9)/3
        ("cls", [[1, -2], [5, 6]]),
        ("max", [[8, -2], [5, 6]]),
        ("last", [[8, -9], [5, 6]]),
    ],
)
def test_padding_never_counts(pooling: Pooling, expected: list[list[float]]) -> None:
    pooled = pool(TOKENS, MASK, pooling)
    assert pooled.tolist() == expected
    assert pooled.dtype == np.float32


def test_a_normalized_vector_has_length_1_and_a_zero_vector_stays_zero() -> None:
    vectors = np.array([[3, 4], [0, 0]], dtype=np.float32)
    assert normalize(vectors) == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))
    assert normalize(vectors).dtype == np.float32
