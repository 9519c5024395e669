"""VectorCache: how similar is this trace to earlier ones? (contract value.21 to value.24)"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from scalepan.arguments import as_path, is_number, wrong
from scalepan.errors import InputError
from scalepan.forks import after_fork
from scalepan.stats.products import product

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = Sequence[float] | NDArray[Any]

FILE_VERSION = 1


class Near(NamedTuple):
    """The nearest earlier vector: the id it was added with, and its cosine similarity."""

    id: str | None
    similarity: float


class VectorCache:
    """The last `max_elements` vectors, for finding the most similar one. The oldest goes first.

    >>> cache = VectorCache(max_elements=500, dimensions=3)
    >>> cache.max_cosine_similarity([1, 0, 0])
    0.0
    >>> cache.add([3, 4, 0], id="kp:trace:1")
    >>> cache.nearest([1, 0, 0])
    Near(id='kp:trace:1', similarity=0.6000000238418579)
    >>> cache.size
    1
    """

    def __init__(
        self,
        max_elements: int = 1000,
        dimensions: int = 384,
        ttl_ms: float | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`ttl_ms` is by wall clock, so that it survives a restart; `clock` returns seconds."""
        import numpy as np

        for name, count in (("max_elements", max_elements), ("dimensions", dimensions)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise wrong(name, count, "a whole number, at least 1")
        if ttl_ms is not None and (not is_number(ttl_ms) or not ttl_ms > 0):
            raise wrong("ttl_ms", ttl_ms, "a number of milliseconds, more than 0, or None")
        if not callable(clock):
            raise wrong("clock", clock, "a function that returns seconds")
        self.max_elements = max_elements
        self.dimensions = dimensions
        self.ttl_ms = ttl_ms
        self._clock = clock
        self._lock = threading.Lock()
        # Rows have length 1, so that a cosine is a dot product. The ring is filled to `_size`, then overwritten
        # at `_next`, which is the oldest row by then.
        self._rows = np.zeros((max_elements, dimensions), dtype=np.float32)
        self._times = np.zeros(max_elements, dtype=np.float64)
        self._ids: list[str | None] = [None] * max_elements
        self._size = 0
        self._next = 0
        after_fork(self._after_fork)

    @property
    def size(self) -> int:
        """How many vectors have not expired."""
        with self._lock:
            return self._size - int(self._expired().sum()) if self.ttl_ms is not None else self._size

    def add(self, vector: "Vector", id: str | None = None) -> None:  # noqa: A002 - the trace's own word
        """Add a copy of `vector`; at capacity the oldest is dropped."""
        if id is not None and not isinstance(id, str):
            raise wrong("id", id, "text, or None")
        row, length = self._measured(vector)
        with self._lock:
            self._rows[self._next] = row / length
            self._times[self._next] = self._clock()
            self._ids[self._next] = id
            self._next = (self._next + 1) % self.max_elements
            self._size = min(self._size + 1, self.max_elements)

    def max_cosine_similarity(self, vector: "Vector") -> float:
        """The cosine with the most similar vector that has not expired; 0.0 if there is none."""
        near = self.nearest(vector)
        return near.similarity if near else 0.0

    def nearest(self, vector: "Vector") -> Near | None:
        """The most similar vector that has not expired."""
        query, length = self._measured(vector)
        with self._lock:
            if self.ttl_ms is not None:
                self._evict()
            if not self._size:
                return None
            similarities = product(self._rows[: self._size], query)
            best = int(similarities.argmax())
            # Rounding can carry a cosine past 1.
            return Near(self._ids[best], min(1.0, max(-1.0, float(similarities[best]) / length)))

    def evict_expired(self) -> int:
        """Drop what is as old as the TTL or older; returns how many."""
        with self._lock:
            return self._evict()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._size = self._next = 0
            self._ids = [None] * self.max_elements

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file: whole or not at all."""
        import numpy as np

        path = as_path("path", path)
        with self._lock:
            order = self._oldest_first()
            content: dict[str, Any] = {
                "version": np.int64(FILE_VERSION),
                "max_elements": np.int64(self.max_elements),
                "ttl_ms": np.float64(np.nan if self.ttl_ms is None else self.ttl_ms),
                "rows": self._rows[order],
                "times": self._times[order],
                "has_id": np.array([self._ids[i] is not None for i in order], dtype=bool),
                "ids": np.array([self._ids[i] or "" for i in order], dtype=np.str_),
            }
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> "VectorCache":
        """The cache that was saved to a file; ages go on from when each vector was added."""
        import numpy as np

        path = as_path("path", path)
        try:
            with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
                saved = {name: file[name] for name in file.files}
            rows, times, ids, has_id = (saved[name] for name in ("rows", "times", "ids", "has_id"))
            ttl_ms = float(saved["ttl_ms"])
            fits = (
                int(saved["version"]) == FILE_VERSION
                and rows.ndim == 2
                and len(rows) == len(times) == len(ids) == len(has_id) <= int(saved["max_elements"])
                and bool(np.isfinite(rows).all() and np.isfinite(times).all())
            )
        except FileNotFoundError:
            raise InputError("no such file", file=str(path)) from None
        except Exception:  # anything that a damaged zip archive can raise
            fits = False
        if not fits:
            raise InputError("is not a vector cache of this version of Scalepan, or is damaged", file=str(path))
        cache = cls(int(saved["max_elements"]), rows.shape[1], None if np.isnan(ttl_ms) else ttl_ms, clock=clock)
        cache._size = len(rows)
        cache._next = len(rows) % cache.max_elements
        cache._rows[: len(rows)] = rows
        cache._times[: len(rows)] = times
        cache._ids[: len(rows)] = [str(id_) if has else None for id_, has in zip(ids, has_id, strict=True)]
        return cache

    def _measured(self, vector: "Vector") -> "tuple[NDArray[np.float32], float]":
        """The vector in float32 and its length, both within a range in which float32 products are exact enough."""
        import numpy as np

        try:
            row = np.asarray(vector)
        except ValueError:  # rows of different lengths
            raise wrong("vector", vector, f"{self.dimensions} numbers") from None
        if row.shape == (self.dimensions,) and row.dtype.kind not in "fiub":
            raise wrong("vector", vector, f"{self.dimensions} numbers")
        if row.shape != (self.dimensions,):
            raise InputError(f"a vector of shape {row.shape} is not one of {self.dimensions} numbers")
        if row.dtype == np.float32:
            length = sqrt(product(row, row))
            if 1e-15 < length < 1e15:
                return row, length
        row = row.astype(np.float64)
        largest = float(np.abs(row).max())
        if not isfinite(largest):
            raise InputError("a vector has a value that is not a finite number")
        if largest == 0.0:
            return np.zeros(self.dimensions, dtype=np.float32), 1.0  # similar to nothing
        row /= largest
        return row.astype(np.float32), sqrt(product(row, row))

    def _oldest_first(self) -> list[int]:
        start = self._next if self._size == self.max_elements else 0
        return [(start + i) % self.max_elements for i in range(self._size)]

    def _expired(self) -> "NDArray[np.bool_]":
        """Which rows are as old as the TTL or older."""
        ages: NDArray[np.float64] = (self._clock() - self._times[: self._size]) * 1000.0
        return ages >= (self.ttl_ms if self.ttl_ms is not None else inf)

    def _evict(self) -> int:
        if self.ttl_ms is None:
            return 0
        expired = self._expired()
        gone = int(expired.sum())
        if gone:
            alive = [i for i in self._oldest_first() if not expired[i]]
            self._rows[: len(alive)] = self._rows[alive]
            self._times[: len(alive)] = self._times[alive]
            self._ids[: len(alive)] = [self._ids[i] for i in alive]
            self._size = len(alive)
            self._next = self._size % self.max_elements
        return gone

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
