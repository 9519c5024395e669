"""How the benchmarks measure: CPU time, repeats interleaved, the best of each. Machines are noisy; ratios are not."""

from collections.abc import Callable
from time import process_time


def best_cpu(rounds: int, loops: int, *works: Callable[[], object]) -> list[float]:
    """CPU seconds of one call of each work: the best of `rounds`, taken in turn so that noise hits all alike."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            start = process_time()
            for _ in range(loops):
                work()
            best[index] = min(best[index], (process_time() - start) / loops)
    return best


def row(label: str, *cells: str) -> None:
    """One line of a table."""
    print(f"{label:<44}" + "".join(f"{cell:>20}" for cell in cells))
