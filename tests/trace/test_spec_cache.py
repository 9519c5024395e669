"""The cache that novelty looks into: the nearest vector, the oldest out first, a time to live."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.errors import InputError
from scalepan.trace import VectorCache
from tests.trace.spec import Vectors, compass, facing, novelty


def vector(*numbers: float) -> Vectors:
    return np.array(numbers, dtype=np.float32)


def test_the_defaults_of_the_cache() -> None:
    cache = VectorCache()
    assert (cache.max_elements, cache.dimensions, cache.ttl_ms) == (1000, 384, None)
    assert cache.size == 0


def test_the_example_of_the_cache() -> None:
    cache = VectorCache(max_elements=500, dimensions=384)
    assert cache.max_cosine_similarity(np.ones(384, dtype=np.float32)) == 0.0  # empty
    cache.add(np.zeros(384, dtype=np.float32))
    assert cache.size == 1
    assert cache.max_cosine_similarity(np.ones(384, dtype=np.float32)) == 0.0  # zero is like nothing
    assert cache.max_cosine_similarity(np.zeros(384, dtype=np.float32)) == 0.0
    cache.add(np.ones(384, dtype=np.float32))
    assert cache.max_cosine_similarity(np.full(384, 7, dtype=np.float32)) == pytest.approx(1.0)
    cache.clear()
    assert cache.size == 0
    assert cache.max_cosine_similarity(np.ones(384, dtype=np.float32)) == 0.0


def test_the_similarity_is_the_largest_cosine() -> None:
    cache = VectorCache(dimensions=2)
    cache.add(vector(3, 4))
    assert cache.max_cosine_similarity(vector(1, 0)) == pytest.approx(0.6)  # 3 / 5
    cache.add(vector(0, -2))
    assert cache.max_cosine_similarity(vector(0, 1)) == pytest.approx(0.8)  # of 4 / 5 and -1
    assert cache.max_cosine_similarity(vector(-4, 3)) == pytest.approx(0.0, abs=1e-7)  # of 0 and -.6
    cache.clear()
    cache.add(vector(1, 0))
    assert cache.max_cosine_similarity(vector(-1, 0)) == pytest.approx(-1.0)  # the only one is opposite


def test_the_oldest_goes_first() -> None:
    cache = VectorCache(max_elements=3, dimensions=5)
    axes = np.eye(5, dtype=np.float32)
    for i in range(5):
        cache.add(axes[i])
        assert cache.size == min(i + 1, 3)
        # Axis 0 goes when axis 3 comes, axis 1 when axis 4 comes.
        here = [cache.max_cosine_similarity(axis) == pytest.approx(1.0) for axis in axes]
        assert here == [max(0, i - 2) <= j <= i for j in range(5)]


def test_the_full_default_cache() -> None:
    cache = VectorCache()
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(1001, 384)).astype(np.float32)
    for v in vectors:
        cache.add(v)
    assert cache.size == 1000
    assert cache.max_cosine_similarity(vectors[0]) < 0.5
    assert cache.max_cosine_similarity(vectors[1]) == pytest.approx(1.0)
    assert cache.max_cosine_similarity(vectors[1000]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("age_s", "there"),
    [(0.0, True), (3599.0, True), (3600.0, False), (3601.0, False)],  # an age equal to the TTL is expired
)
def test_an_entry_expires_at_its_ttl(age_s: float, there: bool) -> None:
    now = [1_000_000.0]
    cache = VectorCache(max_elements=1000, dimensions=2, ttl_ms=3_600_000, clock=lambda: now[0])
    cache.add(vector(1, 0))
    now[0] += age_s
    assert cache.max_cosine_similarity(vector(1, 0)) == (pytest.approx(1.0) if there else 0.0)
    assert cache.evict_expired() in (0, 1)
    assert cache.size == (1 if there else 0)


def test_the_size_does_not_count_what_has_expired() -> None:
    """Contract value.23: an expired entry is not there, before it is evicted too."""
    now = [1_000_000.0]
    cache = VectorCache(max_elements=3, dimensions=2, ttl_ms=1000, clock=lambda: now[0])
    sizes = []
    for _ in range(5):
        cache.add(vector(1, 0))
        now[0] += 0.4
        sizes.append(cache.size)
    assert sizes == [1, 2, 2, 2, 2]  # ages .4, .8 and, expired, 1.2 seconds
    assert cache.evict_expired() == 1  # looking at the size took nothing away
    now[0] += 1.0
    assert (cache.size, cache.evict_expired(), cache.size) == (0, 2, 0)


def test_only_the_expired_go() -> None:
    now = [1_000_000.0]
    cache = VectorCache(dimensions=2, ttl_ms=1000, clock=lambda: now[0])
    cache.add(vector(1, 0))
    now[0] += 0.5
    cache.add(vector(0, 1))
    now[0] += 0.5
    assert cache.max_cosine_similarity(vector(1, 0)) == pytest.approx(0.0)
    assert cache.max_cosine_similarity(vector(0, 1)) == pytest.approx(1.0)
    now[0] += 0.5
    assert cache.max_cosine_similarity(vector(0, 1)) == 0.0


def test_novelty_comes_back_after_the_ttl() -> None:
    now = [1_000_000.0]
    valuer = compass(VectorCache(dimensions=3, ttl_ms=1000, clock=lambda: now[0]))
    valuer.evaluate_value(facing("north"))
    now[0] += 0.9
    valuer.evaluate_value(facing("east"))
    assert novelty(valuer.peek(facing("north"))) == (0.0, "measured")
    now[0] += 0.1  # north is exactly 1 s old now; east .1 s
    assert novelty(valuer.peek(facing("north"))) == (1.0, "measured")
    now[0] += 1
    assert novelty(valuer.peek(facing("north"))) == (0.5, "default")


def test_ages_survive_a_restart(tmp_path: Path) -> None:
    now = [1_000_000.0]
    cache = VectorCache(max_elements=7, dimensions=2, ttl_ms=1000, clock=lambda: now[0])
    cache.add(vector(1, 0), "kp:trace:a")
    cache.save(tmp_path / "vectors")
    now[0] += 0.5
    again = VectorCache.load(tmp_path / "vectors", clock=lambda: now[0])
    assert (again.max_elements, again.dimensions, again.ttl_ms, again.size) == (7, 2, 1000, 1)
    near = again.nearest(vector(2, 0))
    assert near is not None
    assert near.id == "kp:trace:a"
    now[0] += 0.5
    assert again.max_cosine_similarity(vector(1, 0)) == 0.0


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones(5), np.ones((1, 4)), np.array(1.0), np.ones(0)])
def test_a_vector_of_another_length_is_refused(wrong: Any) -> None:
    cache = VectorCache(dimensions=4)
    with pytest.raises((InputError, ValueError)):
        cache.add(wrong)
    cache.add(np.ones(4, dtype=np.float32))
    with pytest.raises((InputError, ValueError)):
        cache.max_cosine_similarity(wrong)
    assert cache.size == 1
