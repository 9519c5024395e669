"""How new is this trace? Its text is embedded within the time allowed and compared with earlier ones."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scalepan.errors import shorten
from scalepan.policy.value import Value
from scalepan.score import Source
from scalepan.trace.budget import Budget, LateError, budget_of
from scalepan.trace.formula import novelty
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.vectors import Near, VectorCache

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Encodes(Protocol):
    """What an encoder must have; `load()` and `is_cut(text)` are used if it has them."""

    def encode(self, texts: Sequence[str]) -> Any:
        """One row of numbers per text."""


class Encoded(NamedTuple):
    """A text's vector, and whether the encoder saw only its beginning (None: it cannot say)."""

    vector: "NDArray[Any]"
    cut: bool | None


class Novelty(NamedTuple):
    """N, its source, and what it was compared with."""

    value: float
    source: Source
    note: str
    nearest: Near | None = None
    text_length: int | None = None
    text_cut: bool | None = None


class NoveltyMeter:
    """An encoder and the vectors of the traces so far. No error of the encoder reaches the caller."""

    def __init__(self, policy: Value, cache: VectorCache | None, embedder: Encodes | None) -> None:
        self.policy = policy
        self.embedder = embedder
        self._cache = cache
        self._lock = threading.Lock()
        self._budget: Budget[Encoded] = budget_of(embedder)
        self.without_encoder = Novelty(policy.novelty.fallback, "default", "no encoder")
        """N of every trace if there is no encoder."""

    @property
    def cache(self) -> VectorCache | None:
        """The vectors so far; None before the first if no cache was given."""
        return self._cache

    def load(self) -> None:
        """Get the encoder ready now, so that loading does not count as encoding. Its errors show when it is used."""
        load = getattr(self.embedder, "load", None)
        if load is not None:
            try:
                load()
            except Exception:
                return

    def measure(self, trace: ReasoningTrace, *, remember: bool) -> Novelty:
        """N of one trace, within the budget; `remember` adds its vector to the cache, even a late one."""
        if self.embedder is None:
            return self.without_encoder
        text = trace.text

        def keep(encoded: Encoded) -> None:
            if remember:
                self.keep(trace, encoded)

        try:
            if self.policy.budget_ms is None:
                encoded = self._encode(text)
            else:
                encoded = self._budget.call(lambda: self._encode(text), self.policy.budget_ms / 1000.0, keep)
            measured = self.compare(trace, encoded)
            keep(encoded)
        except Exception as error:
            return self._failed(text, error)
        return measured

    def encode_batch(self, traces: Sequence[ReasoningTrace]) -> "list[Encoded | Exception | None]":
        """Vectors of many traces at once, without a budget. A text that cannot be encoded affects only itself."""
        if self.embedder is None:
            return [None] * len(traces)
        texts = [trace.text for trace in traces]
        try:
            vectors = self.embedder.encode(texts)
            return [Encoded(vector, self._is_cut(text)) for vector, text in zip(vectors, texts, strict=True)]
        except Exception:
            return [self._encode_or_error(text) for text in texts]

    def measure_encoded(self, trace: ReasoningTrace, encoded: "Encoded | Exception | None") -> Novelty:
        """N of a trace whose vector came from `encode_batch`; the vector joins the cache."""
        if encoded is None:
            return self.without_encoder
        if isinstance(encoded, Exception):
            return self._failed(trace.text, encoded)
        try:
            measured = self.compare(trace, encoded)
            self.keep(trace, encoded)
        except Exception as error:
            return self._failed(trace.text, error)
        return measured

    def compare(self, trace: ReasoningTrace, encoded: Encoded) -> Novelty:
        """N of a vector against those in the cache."""
        nearest = self._cache.nearest(encoded.vector) if self._cache is not None else None
        length = len(trace.text)
        if nearest is None:
            return Novelty(self.policy.novelty.fallback, "default", "first of its kind here", None, length, encoded.cut)
        note = f"{nearest.similarity:.2f} similar to {nearest.id or 'an earlier trace'}"
        return Novelty(novelty(nearest.similarity), "measured", note, nearest, length, encoded.cut)

    def keep(self, trace: ReasoningTrace, encoded: Encoded) -> None:
        """Remember a trace's vector."""
        with self._lock:
            if self._cache is None:
                key = self.policy.novelty
                self._cache = VectorCache(key.max_elements, len(encoded.vector), key.ttl_ms)
        self._cache.add(encoded.vector, trace.id)

    def _encode(self, text: str) -> Encoded:
        assert self.embedder is not None  # noqa: S101 - both callers have checked
        (vector,) = self.embedder.encode([text])
        return Encoded(vector, self._is_cut(text))

    def _encode_or_error(self, text: str) -> Encoded | Exception:
        try:
            return self._encode(text)
        except Exception as error:
            return error

    def _is_cut(self, text: str) -> bool | None:
        is_cut = getattr(self.embedder, "is_cut", None)
        return is_cut(text) if is_cut is not None else None

    def _failed(self, text: str, error: Exception) -> Novelty:
        said = shorten(str(error), 100) or type(error).__name__
        note = f"encoder {said}" if isinstance(error, LateError) else f"encoder failed: {said}"
        return Novelty(self.policy.novelty.fallback, "failed", note, None, len(text))
