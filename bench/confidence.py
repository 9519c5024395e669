"""What judging many steps costs: the batch form on arrays beside the loop over single steps, in one process.

python -m bench.confidence
"""

import sys
from typing import Any

import numpy as np

from bench.timing import best_cpu, row
from scalepan.confidence.batch import confidence_batch
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import confidence

ROWS, ROUNDS = 100_000, 5
AT_LEAST = 50.0


def columns(rows: int) -> dict[str, Any]:
    """Factors as a run of an agent has them: a third search steps, some searches empty, some tools failing."""
    rng = np.random.default_rng(7)
    results = rng.integers(0, 6, rows)
    best = np.where(results > 0, rng.random(rows), 0.0)
    runs = rng.integers(0, 4, rows)
    succeeded = rng.integers(0, runs + 1)
    return {
        "search_result_count": results,
        "search_avg_score": best * rng.random(rows),
        "search_max_score": best,
        "search_score_variance": rng.random(rows) / 4,
        "source_agreement": rng.random(rows),
        "source_count": rng.integers(0, 4, rows),
        "llm_self_confidence": rng.random(rows),
        "tool_success_rate": np.where(runs > 0, succeeded / np.maximum(runs, 1), 1.0),
        "tool_execution_count": runs,
        "tool_success_count": succeeded,
        "query_coverage": rng.random(rows),
        "is_search_step": rng.random(rows) < 1 / 3,
    }


def main() -> None:
    table = columns(ROWS)
    lists = [column.tolist() for column in table.values()]
    steps = [ConfidenceFactors(**dict(zip(table, values, strict=True))) for values in zip(*lists, strict=True)]
    loop, batch = best_cpu(
        ROUNDS, 1, lambda: [confidence(step).value for step in steps], lambda: confidence_batch(table)
    )
    if confidence_batch(table).tolist() != [confidence(step).value for step in steps]:
        sys.exit("the batch and the loop do not agree")
    row(f"{ROWS:,} steps, one at a time", f"{loop * 1e3:.0f} ms", f"{loop / ROWS * 1e6:.2f} us per step")
    row(f"{ROWS:,} steps, as a batch", f"{batch * 1e3:.1f} ms", f"{batch / ROWS * 1e9:.0f} ns per step")
    row("loop over batch", f"{loop / batch:.0f} times", f"(target: {AT_LEAST:.0f})")
    sys.exit(loop / batch < AT_LEAST)


if __name__ == "__main__":
    main()
