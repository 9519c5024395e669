"""How valuable is this trace? (docs/contract/value.md)"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from time import perf_counter
from typing import Any

import msgspec

from scalepan.arguments import as_instance, wrong
from scalepan.embed import shared_encoder
from scalepan.embed.find import embed_settings
from scalepan.policy import Policy
from scalepan.policy.given import Given, policy_given
from scalepan.score import Score
from scalepan.trace.model import ReasoningTrace, check_stated
from scalepan.trace.novelty import Encodes, Novelty, NoveltyMeter
from scalepan.trace.valued import DomainConstants, Valued, ValueDetails, value_trace
from scalepan.trace.vectors import VectorCache

__all__ = ["TraceValuer", "ValueDetails", "evaluate_value"]

BATCH = 64
DOMAINS = 256
"""How many domains' constants are kept at hand."""


class TraceValuer:
    """Values traces one after the other, each compared with those before it.

    >>> from scalepan.samples import sample_trace
    >>> valuer = TraceValuer(Policy(), embedder=None)
    >>> print(valuer.evaluate_value(sample_trace()).part("novelty").note)
    no encoder
    """

    def __init__(
        self,
        policy: Given = None,
        cache: VectorCache | None = None,
        embedder: Encodes | str | None = "default",
    ) -> None:
        """`policy` is a Policy, a file, or a dict that overrides parts of the policy in force, which is the default.

        `embedder` is any object with `encode(texts)`, or the name of a model; by default the encoder that the policy
        names, if it is installed. With None, novelty is not measured and counts 0.5. Without a `cache` a new one is
        made, as the policy has it.
        """
        self.policy = policy_given(policy)
        self._value = self.policy.value
        section, version = self._value, self.policy.version("value")
        self._constants = lru_cache(DOMAINS)(lambda domain: DomainConstants.of(domain, section, version))
        if cache is not None:
            as_instance("cache", cache, VectorCache, "a VectorCache; VectorCache.load(file) reads one that was saved")
        self._meter = NoveltyMeter(self._value, cache, _embedder(embedder, self.policy))

    @property
    def cache(self) -> VectorCache | None:
        """The vectors of the traces so far; None before the first."""
        return self._meter.cache

    @property
    def remembers(self) -> int:
        """How many earlier traces a trace is compared with at most; 0 without an encoder."""
        return self._value.novelty.max_elements if self._meter.embedder is not None else 0

    def evaluate_value(self, trace: ReasoningTrace | Mapping[str, Any]) -> Score:
        """How valuable the trace is. It is remembered, so that later ones are compared with it too."""
        return self._one(trace, remember=True)

    def peek(self, trace: ReasoningTrace | Mapping[str, Any]) -> Score:
        """How valuable the trace would be. Nothing is remembered."""
        return self._one(trace, remember=False)

    def by_profile(self, trace: ReasoningTrace, score: Score) -> dict[str, Score]:
        """The value of a trace in the domain of each profile: the same novelty, other weights."""
        start = perf_counter()
        part, details = score.part("novelty"), score.details
        novelty = Novelty(part.value, part.source, part.note, details.nearest, details.text_length, details.text_cut)
        scores = {}
        for profile in self._value.profiles:
            metadata = msgspec.structs.replace(trace.metadata, task_domain=profile)
            scores[profile] = self._valued(msgspec.structs.replace(trace, metadata=metadata), novelty, start).score
        return scores

    @property
    def batch_size(self) -> int:
        """How many traces are worth encoding together: without an encoder each is valued as it comes."""
        return BATCH if self._meter.embedder is not None else 1

    def evaluate_many(self, traces: Iterable[ReasoningTrace | Mapping[str, Any]]) -> Iterator[Score]:
        """The same as `evaluate_value` one by one, but encoded in batches and without a time limit."""
        return (valued.score for valued in self.value_many(traces))

    def value_many(self, traces: Iterable[ReasoningTrace | Mapping[str, Any]]) -> Iterator[Valued]:
        """The same, each trace with its value; its Score is made when it is asked for."""
        if self._meter.embedder is None:
            yield from map(self.value_alone, traces)
            return
        remaining = iter(traces)
        self._meter.load()
        while some := [_checked(trace) for trace in islice(remaining, self.batch_size)]:
            start = perf_counter()
            batch = self._meter.encode_batch(some)
            each = (perf_counter() - start) / len(some)
            for trace, encoded in zip(some, batch, strict=True):
                start = perf_counter() - each
                yield self._valued(trace, self._meter.measure_encoded(trace, encoded), start)

    def value_alone(self, trace: ReasoningTrace | Mapping[str, Any]) -> Valued:
        """A trace with its value, where there is no encoder to compare it with others."""
        start = perf_counter()
        return self._valued(_checked(trace), self._meter.without_encoder, start)

    def _one(self, trace: ReasoningTrace | Mapping[str, Any], *, remember: bool) -> Score:
        trace = _checked(trace)
        self._meter.load()
        start = perf_counter()
        return self._valued(trace, self._meter.measure(trace, remember=remember), start).score

    def _valued(self, trace: ReasoningTrace, novelty: Novelty, start: float) -> Valued:
        valued = value_trace(trace, novelty, self._constants(trace.metadata.task_domain))
        valued.took_ms = (perf_counter() - start) * 1000.0
        return valued


def _embedder(embedder: Encodes | str | None, policy: Policy) -> Encodes | None:
    if isinstance(embedder, str):
        settings = policy.embed if embedder == "default" else embed_settings("embedder", embedder, policy.embed)
        return shared_encoder(settings)
    if embedder is not None and not callable(getattr(embedder, "encode", None)):
        legal = "an object with encode(texts), the name of a model such as 'minilm', 'default', or None"
        raise wrong("embedder", embedder, legal)
    return embedder


def _checked(trace: ReasoningTrace | Mapping[str, Any]) -> ReasoningTrace:
    if not isinstance(trace, ReasoningTrace):
        return ReasoningTrace.from_dict(trace)
    check_stated(trace)
    return trace


_process_valuer: TraceValuer | None = None
_process_lock = threading.Lock()


def evaluate_value(trace: ReasoningTrace | Mapping[str, Any]) -> Score:
    """How valuable a trace is, compared with those that this process valued before.

    >>> from scalepan.samples import sample_trace
    >>> print(evaluate_value(sample_trace()).status)
    ok
    """
    global _process_valuer
    if _process_valuer is None:
        with _process_lock:
            if _process_valuer is None:
                _process_valuer = TraceValuer()
    return _process_valuer.evaluate_value(trace)
