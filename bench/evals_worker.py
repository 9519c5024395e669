"""One side of bench/evals.py in a process of its own: `python -m bench.evals_worker NAME CASES OUTPUTS SCORES`.

It prints the cost of loading and evaluating as JSON, and writes the scores, four numbers per case, to the file SCORES.
The peers get every advantage: they read each file once, with Scalepan's own decoders; they call its scorers, and
apply a case's operations once for all four of them. So only the frameworks differ.

The peers' modules, each in its own environment: pydantic_evals, deepeval.
"""

import json
import resource
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import TypeVar

import msgspec

from scalepan.evals import Case, CaseFile, Context, Evaluator, Evidence, Output, OutputFile
from scalepan.evals.registry import Bound
from scalepan.policy import Policy

PRESET = "strict"
"""The preset that has the four scorers (contract evals.34)."""

T = TypeVar("T")
Scores = Callable[[], "array[float]"]
Work = Callable[[Path, Path], Scores]


def scalepan() -> Work:
    """Scalepan as `scalepan eval run` uses it: both files checked whole, then read case by case."""

    def work(cases: Path, outputs: Path) -> Scores:
        policy = Policy()
        evaluator = Evaluator(PRESET, policy)
        actual = OutputFile(outputs)
        scores = array("d")
        for _, _, result in evaluator.run(CaseFile(cases, policy.evals), actual.get):
            scores.extend(_number(one.score) for one in result.results)
        return lambda: scores

    return work


def pydantic_evals() -> Work:
    """pydantic-evals with an evaluator class for each scorer and a task that returns the recorded output."""
    from dataclasses import dataclass

    from pydantic_evals import Case as PeerCase  # type: ignore[import-not-found]
    from pydantic_evals import Dataset
    from pydantic_evals.evaluators import Evaluator as PeerEvaluator  # type: ignore[import-not-found]
    from pydantic_evals.evaluators import EvaluatorContext

    shared = Shared()

    @dataclass
    class OneScorer(PeerEvaluator):  # type: ignore[misc]
        number: int

        def evaluate(self, ctx: EvaluatorContext) -> dict[str, float]:
            bound = shared.bound[self.number]
            return {bound.type: shared.score(bound, ctx.inputs, ctx.output)}

    def work(cases: Path, outputs: Path) -> Scores:
        actual = {output.id: output for output in decoded(outputs, Output)}
        dataset = Dataset(
            name="cases",
            cases=[PeerCase(name=case.id, inputs=case) for case in decoded(cases, Case)],
            evaluators=[OneScorer(number) for number in range(len(shared.bound))],
        )

        # A plain function would be run in a thread, which costs more.
        async def recorded(case: Case) -> Output:
            return actual[case.id]

        # One after another is fastest here: nothing waits, so concurrency only costs.
        report = dataset.evaluate_sync(recorded, max_concurrency=1, progress=False)
        return lambda: array("d", [case.scores[b.type].value for case in report.cases for b in shared.bound])

    return work


def deepeval() -> Work:
    """DeepEval with a metric for each scorer. Its test cases are strings, so the metrics know the cases by name."""
    from deepeval import evaluate  # type: ignore[import-not-found]
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig  # type: ignore[import-not-found]
    from deepeval.metrics import BaseMetric  # type: ignore[import-not-found]
    from deepeval.test_case import LLMTestCase  # type: ignore[import-not-found]

    shared = Shared()
    known: dict[str, tuple[Case, Output]] = {}

    class OneScorer(BaseMetric):  # type: ignore[misc]
        async_mode = False

        def __init__(self, bound: Bound) -> None:
            self.bound = bound
            self.threshold = bound.threshold

        def measure(self, test_case: LLMTestCase, *args: object, **kwargs: object) -> float:  # noqa: ARG002
            self.score = shared.score(self.bound, *known[test_case.name])
            self.success = self.score >= self.threshold
            return self.score

        async def a_measure(self, test_case: LLMTestCase, *args: object, **kwargs: object) -> float:
            return self.measure(test_case, *args, **kwargs)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return self.bound.type

    def work(cases: Path, outputs: Path) -> Scores:
        actual = {output.id: output for output in decoded(outputs, Output)}
        known.update((case.id, (case, actual[case.id])) for case in decoded(cases, Case))
        tests = [LLMTestCase(name=case.id, input=case.user_message, actual_output="") for case, _ in known.values()]
        # Its async mode takes twice as long here.
        result = evaluate(
            tests,
            [OneScorer(bound) for bound in shared.bound],
            async_config=AsyncConfig(run_async=False),
            cache_config=CacheConfig(write_cache=False),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        )

        def scores() -> "array[float]":
            by_name = {test.name: {data.name: data.score for data in test.metrics_data} for test in result.test_results}
            return array("d", [by_name[name][bound.type] for name in known for bound in shared.bound])

        return scores

    return work


class Shared:
    """Scalepan's scorers for a peer. Those of one case come one after another, so only the last evidence is kept."""

    def __init__(self) -> None:
        evaluator = Evaluator(PRESET, Policy())
        self.bound = evaluator.bound
        self._context = Context(Evidence([], Output()), evaluator.policy.evals)

    def score(self, bound: Bound, case: Case, output: Output) -> float:
        if self._context.evidence.actual is not output:
            self._context = self._context._replace(evidence=Evidence(case.pages, output))
        return _number(bound(output, case.expected, self._context).score)


def decoded(path: Path, type_: type[T]) -> Iterator[T]:
    """A JSONL file, checked by its types as it is read."""
    decoder = msgspec.json.Decoder(type_)
    with path.open("rb") as file:
        for line in file:
            yield decoder.decode(line)


def _number(score: float | None) -> float:
    if score is None:
        raise ValueError("a case has a scorer that does not apply; bench.evals_cases makes no such case")
    return score


def peak_mb() -> float:
    """The most memory that this process ever had; macOS counts bytes, Linux kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def main() -> None:
    name, cases, outputs, target = sys.argv[1:]
    work = {"scalepan": scalepan, "pydantic-evals": pydantic_evals, "deepeval": deepeval}[name]()
    ready = process_time()
    scores = work(Path(cases), Path(outputs))
    done = process_time()
    print(json.dumps({"cpu": done - ready, "process_cpu": done, "peak_mb": peak_mb()}), flush=True)
    Path(target).write_bytes(scores().tobytes())


if __name__ == "__main__":
    main()
