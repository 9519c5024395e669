"""How valuable is this trace? (docs/contract/value.md)"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from time import perf_counter
from typing import Any

import msgspec

from scalepan.arguments import as_instance, wrong
from scalepan.embed import shared_encoder
from scalepan.embed.find import embed_settings
from scalepan.policy import Policy
from scalepan.policy.given import Given, policy_given
from scalepan.policy.value import Value
from scalepan.score import Part, Score
from scalepan.trace import formula, gate
from scalepan.trace.formula import Shape
from scalepan.trace.model import ReasoningTrace, check_stated
from scalepan.trace.novelty import Encodes, Novelty, NoveltyMeter
from scalepan.trace.vectors import Near, VectorCache

BATCH = 64


class ValueDetails(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence behind a trace's value."""

    domain: str
    profile: str
    gate: gate.ValueGate
    nearest: Near | None = None
    """The most similar earlier trace, if novelty was measured."""
    range: tuple[float, float] | None = None
    """Worst and best value, if the trace does not state its confidence or success."""
    text_length: int | None = None
    """Length of the text to embed, in characters; None without an encoder."""
    text_cut: bool | None = None
    """Whether the encoder saw only the beginning of them."""
    took_ms: float


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
        self._version = self.policy.version("value")
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
            scores[profile] = self._score(msgspec.structs.replace(trace, metadata=metadata), novelty, start)
        return scores

    @property
    def batch_size(self) -> int:
        """How many traces are worth encoding together: without an encoder each is valued as it comes."""
        return BATCH if self._meter.embedder is not None else 1

    def evaluate_many(self, traces: Iterable[ReasoningTrace | Mapping[str, Any]]) -> Iterator[Score]:
        """The same as `evaluate_value` one by one, but encoded in batches and without a time limit."""
        remaining = iter(traces)
        self._meter.load()
        while some := [_checked(trace) for trace in islice(remaining, self.batch_size)]:
            start = perf_counter()
            batch = self._meter.encode_batch(some)
            each = (perf_counter() - start) / len(some)
            for trace, encoded in zip(some, batch, strict=True):
                start = perf_counter() - each
                yield self._score(trace, self._meter.measure_encoded(trace, encoded), start)

    def _one(self, trace: ReasoningTrace | Mapping[str, Any], *, remember: bool) -> Score:
        trace = _checked(trace)
        self._meter.load()
        start = perf_counter()
        return self._score(trace, self._meter.measure(trace, remember=remember), start)

    def _score(self, trace: ReasoningTrace, novelty: Novelty, start: float) -> Score:
        policy = self._value
        domain, success = trace.metadata.task_domain, trace.metadata.success
        profile, weights = policy.profile(domain)
        shape = formula.shape_of(trace)
        outcome = formula.outcome_of(trace.outcome.confidence, success, policy)
        measured = Part("novelty", novelty.value, weights.novelty, novelty.source, novelty.note)
        score = formula.value_score(shape, measured, outcome, success, weights, policy, self._version)
        threshold = policy.gate_for(domain)
        needed = formula.base_needed(threshold, shape, success is True, policy)
        lift = needed - score.base if needed is not None and score.base is not None else None
        details = ValueDetails(
            domain=domain,
            profile=profile,
            gate=gate.judge(float(score), threshold, score.parts, lift),
            nearest=novelty.nearest,
            range=_range(score.parts, trace, shape, outcome, policy) if outcome.source != "measured" else None,
            text_length=novelty.text_length,
            text_cut=novelty.text_cut,
            took_ms=(perf_counter() - start) * 1000.0,
        )
        return msgspec.structs.replace(score, details=details)


def _range(
    parts: tuple[Part, ...], trace: ReasoningTrace, shape: Shape, outcome: formula.Stated, policy: Value
) -> tuple[float, float]:
    """The value at its worst and at its best, whatever the trace leaves open."""
    c, n, d, _ = (part.value for part in parts)
    _, weights = policy.profile(trace.metadata.task_domain)
    success = trace.metadata.success
    worst = formula.composite(c, n, d, outcome.worst, weights)
    best = formula.composite(c, n, d, outcome.best, weights)
    return (
        formula.after_rules(worst, shape, success is True, policy),
        formula.after_rules(best, shape, success is not False, policy),
    )


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
