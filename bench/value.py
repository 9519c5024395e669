"""What valuing a trace costs: the vector scan beside a numpy product, a call, and the table of contract value.26.

python -m bench.value
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core each, so that CPU time is time

import tempfile
from itertools import count
from time import process_time

import numpy as np
from msgspec import structs

from bench.timing import best_cpu, row
from scalepan.cache import Cache
from scalepan.embed import find_encoder
from scalepan.policy import Policy, load_policy
from scalepan.policy.embed import Embed
from scalepan.samples import TRACES, sample_trace
from scalepan.trace import ReasoningTrace, Task, TraceLine, TraceValuer, VectorCache, formula, read_jsonl

ELEMENTS, DIMENSIONS = 1000, 384


def samples() -> list[ReasoningTrace]:
    """The good rows of the sample file."""
    with TRACES.open("rb") as file:
        return [entry.trace for entry in read_jsonl(file, TRACES.name) if isinstance(entry, TraceLine)]


def scan() -> None:
    """`max_cosine_similarity` compared with the bare matrix product."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((ELEMENTS, DIMENSIONS), dtype=np.float32)
    query = rng.standard_normal(DIMENSIONS, dtype=np.float32)
    cache = VectorCache(ELEMENTS, DIMENSIONS)
    for vector in matrix:
        cache.add(vector)
    bare, ours = best_cpu(30, 500, lambda: matrix @ query, lambda: cache.max_cosine_similarity(query))
    row(
        "max_cosine_similarity, 1000 x 384",
        f"{ours * 1e6:.1f} us",
        f"{bare * 1e6:.1f} us bare",
        f"ratio {ours / bare:.2f}",
    )


def whole_call() -> None:
    """One `evaluate_value` without an encoder, and the decoding of a line."""
    valuer = TraceValuer(Policy())
    # The size of the contract's examples: five steps, two tools.
    small = next(trace for trace in samples() if len(trace.steps) == 5)
    large = sample_trace()
    line = small.to_json()
    cost_small, cost_large, decode = best_cpu(
        20,
        2000,
        lambda: valuer.evaluate_value(small),
        lambda: valuer.evaluate_value(large),
        lambda: ReasoningTrace.from_json(line),
    )
    row("evaluate_value, no encoder, 5 steps", f"{cost_small * 1e6:.1f} us")
    row(f"evaluate_value, no encoder, {len(large.steps)} steps", f"{cost_large * 1e6:.1f} us")
    row("decoding a line of JSON, 5 steps", f"{decode * 1e6:.1f} us")


def spec_table() -> None:
    """The latency table of contract value.26, line by line."""
    policy = load_policy(env={}, overrides={"value": {"budget_ms": None}})
    trace = next(trace for trace in samples() if len(trace.steps) == 5)
    shape = formula.shape_of(trace)
    weights = policy.value.profiles["default"]
    rng = np.random.default_rng(0)
    cache = VectorCache()
    for vector in rng.standard_normal((1000, 384)):
        cache.add(vector)
    query = rng.standard_normal(384).astype(np.float32)

    def arithmetic() -> float:
        c = formula.complexity(shape, policy.value)
        d = formula.tool_diversity(shape, policy.value)
        o = formula.outcome_confidence(0.9, True, policy.value)
        return formula.composite(c, 0.5, d, o, weights)

    scan_s, sum_s, rules_s = best_cpu(
        20,
        500,
        lambda: cache.max_cosine_similarity(query),
        arithmetic,
        lambda: formula.changes(0.6, shape, True, policy.value),
    )
    row("contract: vector cache, 1,000 vectors", "< 1 ms", f"{scan_s * 1e3:.3f} ms")
    row("contract: composite, arithmetic only", "< 0.1 ms", f"{sum_s * 1e3:.4f} ms")
    row("contract: three rules", "< 0.01 ms", f"{rules_s * 1e3:.4f} ms")
    encoder(trace)


def encoder(trace: ReasoningTrace) -> None:
    """The encoder's lines of the table: the first call, those after it, and whole evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        settings, cache = Embed(threads=1), Cache(f"{folder}/cache.sqlite")
        once = find_encoder(settings, cache)
        if once is None:
            row("contract: embedder", "not installed: scalepan doctor")
            return
        once.load()  # prepares the model, which happens once per machine
        start = process_time()
        model = find_encoder(settings, cache)
        assert model is not None
        model.encode([trace.text])
        row("contract: embedder, first call (loads it)", "~ 50 ms", f"{(process_time() - start) * 1e3:.0f} ms")
        with_model, without = TraceValuer(Policy(), embedder=model), TraceValuer(Policy())
        number = count()

        def fresh() -> ReasoningTrace:
            """The same trace with an objective that no cache has seen."""
            return structs.replace(trace, task=Task(objective=f"{next(number)} {trace.task.objective}"))

        further, whole, plain = best_cpu(
            10,
            10,
            lambda: model.encode([fresh().text]),
            lambda: with_model.evaluate_value(fresh()),
            lambda: without.evaluate_value(fresh()),
        )
        words = len(trace.text.split())
        row(f"contract: embedder, further calls ({words} words)", "~ 5 ms", f"{further * 1e3:.1f} ms")
        row("contract: whole evaluation with embedder", "< 100 ms", f"{whole * 1e3:.1f} ms")
        row("contract: whole evaluation without embedder", "< 1 ms", f"{plain * 1e3:.3f} ms")


if __name__ == "__main__":
    scan()
    whole_call()
    spec_table()
