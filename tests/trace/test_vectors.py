"""VectorCache: the most similar of the last vectors, and when one is forgotten."""

import threading
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scalepan.errors import InputError
from scalepan.trace import Near, VectorCache


class Clock:
    """Time that stands still until it is told to move; in seconds."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_defaults_are_the_specs() -> None:
    cache = VectorCache()
    assert (cache.max_elements, cache.dimensions, cache.ttl_ms, cache.size) == (1000, 384, None, 0)


@pytest.mark.parametrize(
    ("kept", "query", "cosine"),
    [
        ([], [1, 0], 0.0),  # nothing to compare with
        ([[1, 0]], [5, 0], 1.0),  # length does not matter
        ([[3, 4]], [1, 0], 0.6),  # 3 / 5
        ([[0, 1], [3, 4]], [1, 0], 0.6),  # the largest counts
        ([[-1, 0]], [1, 0], -1.0),
        ([[0, 0]], [1, 0], 0.0),  # a zero vector is similar to nothing
        ([[1, 0]], [0, 0], 0.0),
        ([[1e-30, 0]], [1e30, 0], 1.0),  # squares that float32 cannot hold
        ([[1e-200, 1e-200]], [1e200, 0], 0.5**0.5),
    ],
)
def test_max_cosine_similarity(kept: list[list[float]], query: list[float], cosine: float) -> None:
    cache = VectorCache(dimensions=2)
    for vector in kept:
        cache.add(vector)
    assert cache.max_cosine_similarity(query) == pytest.approx(cosine, abs=1e-6)


@given(hnp.arrays(np.float32, (7, 5), elements=st.floats(-100, 100, width=32)))
def test_it_is_the_largest_cosine_as_numpy_has_it(vectors: np.ndarray) -> None:
    cache = VectorCache(dimensions=5)
    for vector in vectors[1:]:
        cache.add(vector)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    lengths[lengths == 0] = 1.0
    unit = vectors / lengths[:, None]
    assert cache.max_cosine_similarity(vectors[0]) == pytest.approx(float((unit[1:] @ unit[0]).max()), abs=1e-5)


def test_the_nearest_is_named() -> None:
    cache = VectorCache(dimensions=2)
    assert cache.nearest([1, 0]) is None
    cache.add([0, 1], id="up")
    cache.add([1, 0], id="right")
    assert cache.nearest([2, 0]) == Near("right", 1.0)


@pytest.mark.parametrize("wrong", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 3.0, [], [nan, 0], [inf, 0], [0, -inf]])
def test_a_wrong_length_or_a_number_that_is_not_finite_is_an_error_on_add_and_on_query(wrong: Any) -> None:
    cache = VectorCache(dimensions=2)
    for call in (cache.add, cache.max_cosine_similarity, cache.nearest):
        with pytest.raises(InputError):
            call(wrong)
        with pytest.raises(InputError):
            call(np.array(wrong, dtype=np.float32))
    assert cache.size == 0


def test_what_is_given_is_copied() -> None:
    cache = VectorCache(dimensions=2)
    vector = np.array([1, 0], dtype=np.float32)
    cache.add(vector)
    vector[:] = [0, 1]
    assert cache.max_cosine_similarity([1, 0]) == 1.0


def test_at_capacity_the_oldest_goes_first() -> None:
    cache = VectorCache(max_elements=2, dimensions=3)
    for name, vector in [("a", [1, 0, 0]), ("b", [0, 1, 0]), ("c", [0, 0, 1])]:
        cache.add(vector, id=name)
    assert cache.size == 2
    assert cache.max_cosine_similarity([1, 0, 0]) == 0.0  # a is gone
    assert cache.nearest([0, 1, 0]) == Near("b", 1.0)
    cache.add([1, 0, 0], id="d")
    assert cache.max_cosine_similarity([0, 1, 0]) == 0.0  # now b


@pytest.mark.parametrize(("age_ms", "similarity"), [(999, 1.0), (1000, 0.0), (1001, 0.0)])
def test_an_entry_as_old_as_the_ttl_is_expired(age_ms: int, similarity: float) -> None:
    clock = Clock()
    cache = VectorCache(dimensions=2, ttl_ms=1000, clock=clock)
    cache.add([1, 0])
    clock.now += age_ms / 1000
    assert cache.max_cosine_similarity([1, 0]) == similarity


def test_evict_expired_drops_what_is_old_in_any_order_of_the_ring() -> None:
    clock = Clock()
    cache = VectorCache(max_elements=3, dimensions=4, ttl_ms=2500, clock=clock)
    for axis in range(4):  # the fourth overwrites the first
        cache.add(np.eye(4)[axis], id=str(axis))
        clock.now += 1
    assert cache.evict_expired() == 1  # added at 0 (overwritten), 1, 2, 3; now is 4: only the one of 1 is 3 s old
    assert cache.size == 2
    assert [cache.max_cosine_similarity(axis) for axis in np.eye(4)] == [0.0, 0.0, 1.0, 1.0]
    cache.add([1, 1, 1, 1], id="new")
    cache.add([1, 0, 0, 0], id="newer")  # over capacity again: the oldest that is left goes
    assert [cache.nearest(axis).id for axis in np.eye(4)] == ["newer", "new", "new", "3"]  # type: ignore[union-attr]


def test_without_a_ttl_nothing_expires() -> None:
    clock = Clock()
    cache = VectorCache(dimensions=2, clock=clock)
    cache.add([1, 0])
    clock.now += 1e9
    assert cache.evict_expired() == 0
    assert cache.max_cosine_similarity([1, 0]) == 1.0


def test_clear_forgets_everything() -> None:
    cache = VectorCache(dimensions=2)
    cache.add([1, 0])
    cache.clear()
    assert cache.size == 0
    assert cache.max_cosine_similarity([1, 0]) == 0.0


def test_saved_and_loaded_it_goes_on_as_before(tmp_path: Path) -> None:
    clock = Clock()
    cache = VectorCache(max_elements=2, dimensions=3, ttl_ms=5000, clock=clock)
    for name, vector in [("a", [1, 0, 0]), (None, [0, 1, 0]), ("c", [0, 0, 1])]:
        cache.add(vector, id=name)
        clock.now += 1
    cache.save(tmp_path / "cache.npz")
    again = VectorCache.load(tmp_path / "cache.npz", clock=clock)
    assert (again.max_elements, again.dimensions, again.ttl_ms, again.size) == (2, 3, 5000, 2)
    assert again.nearest([0, 1, 0]) == Near(None, 1.0)
    again.add([1, 0, 0], id="d")  # the unnamed one is the oldest
    assert again.max_cosine_similarity([0, 1, 0]) == 0.0
    clock.now += 4  # the age of c goes on from when it was added
    assert again.max_cosine_similarity([0, 0, 1]) == 0.0
    assert again.max_cosine_similarity([1, 0, 0]) == 1.0
    assert [file.name for file in tmp_path.iterdir()] == ["cache.npz"]


@pytest.mark.parametrize("content", [b"", b"not a cache", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_cache_is_an_input_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cache.npz").write_bytes(content)
    with pytest.raises(InputError, match="is not a vector cache"):
        VectorCache.load(tmp_path / "cache.npz")
    with pytest.raises(InputError, match="no such file"):
        VectorCache.load(tmp_path / "nothing.npz")


@pytest.mark.parametrize("arguments", [{"max_elements": 0}, {"dimensions": 0}, {"ttl_ms": 0}, {"ttl_ms": -1}])
def test_a_cache_that_could_hold_nothing_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        VectorCache(**arguments)


def test_threads_share_a_cache() -> None:
    cache = VectorCache(max_elements=50, dimensions=8)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for vector in rng.standard_normal((300, 8)):
                cache.add(vector, id=str(seed))
                assert cache.max_cosine_similarity(vector) <= 1.0
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert cache.size == 50


def test_a_processor_flag_raised_by_chance_is_no_warning() -> None:
    """OpenBLAS set "invalid" on seven rows of zeros in CI; float32 numbers this large always set "overflow"."""
    cache = VectorCache(dimensions=2)
    cache.add(np.array([1e30, 0], dtype=np.float32))
    assert cache.max_cosine_similarity(np.array([2e30, 0], dtype=np.float32)) == pytest.approx(1.0)
