"""Cases, outputs and scorers to results: one after the other, or several at once if a task makes the outputs."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.arguments import as_instance, wrong
from scalepan.errors import InputError
from scalepan.evals.cases import Case, Output
from scalepan.evals.context import Context, Evidence
from scalepan.evals.kinds import EDITS, NONE_APPLIES, NOTHING, choose
from scalepan.evals.registry import Bound, bind, load_scorers
from scalepan.evals.result import ScorerResult, is_measured, judged
from scalepan.evals.task import stop_all
from scalepan.policy import Policy
from scalepan.policy.given import Given, policy_given
from scalepan.score import Score, Status

if TYPE_CHECKING:
    from scalepan.embed import Embedder
    from scalepan.judge import Judge

Produce = Callable[[Case], Output]


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one case: passed or not, the average as a Score, and every scorer's verdict."""

    id: str
    passed: bool
    score: Score
    results: tuple[ScorerResult, ...]
    duration_ms: float | None = None

    @property
    def weighted_average(self) -> float | None:
        """The average; None if nothing was measured."""
        return self.score.value

    @property
    def is_measured(self) -> bool:
        """Whether it is known if the case passes; a task or a scorer that failed leaves it open."""
        return is_measured(self.passed, self.results)

    def to_dict(self) -> dict[str, Any]:
        """As `scalepan eval run --json` prints it."""
        scores = {
            name: {
                "value": result.score,
                "status": result.status,
                "threshold": result.threshold,
                "passed": result.passed,
                "details": result.details,
                **({"reason": result.reason} if result.reason else {}),
            }
            for name, result in zip(free_names(one.type for one in self.results), self.results, strict=True)
        }
        return {"id": self.id, "passed": self.passed, "weighted_average": self.weighted_average, "scores": scores}


def free_names(types: Iterable[str]) -> list[str]:
    """Unique names: a list may have a scorer more than once, with other options (`regex`, `regex#2`)."""
    taken: dict[str, None] = {}
    for type_ in types:
        number = 1
        while (name := type_ if number == 1 else f"{type_}#{number}") in taken:
            number += 1
        taken[name] = None
    return list(taken)


class Evaluator:
    """Scorers under a policy. `scorers`: a preset's name or a list; a case's own list overrides both.

    A preset is for block edits: a free-text case without scorers gets what its `expected` asks for. A list judges
    every case. `scorers_from`: a Python file whose `@scorer` registrations may then be named; it is run.
    """

    def __init__(
        self,
        scorers: str | Sequence[Mapping[str, Any]] | None = None,
        policy: Given = None,
        embedder: "Callable[[], Embedder | None]" = lambda: None,
        *,
        scorers_from: str | os.PathLike[str] | None = None,
    ) -> None:
        if scorers_from is not None:
            load_scorers(scorers_from)
        self.policy = policy_given(policy)
        self._evals = self.policy.evals
        self._version = self.policy.version("evals")
        if embedder is None or not callable(embedder):
            raise wrong("embedder", embedder, "a function that gives an encoder: lambda: my_encoder")
        self._embedder = embedder
        self._judge_kept: Judge | None = None
        self.bound = bind(scorer_list(scorers, self.policy), self._evals)
        self._is_preset = scorers is None or isinstance(scorers, str)
        self._by_name: dict[str, Bound] = {}

    def _judge(self) -> "Judge":
        """The language model that this run's policy names, whatever other policies are around."""
        if self._judge_kept is None:
            from scalepan.judge import Judge

            self._judge_kept = Judge(self.policy)
        return self._judge_kept

    def evaluate(self, case: Case, output: Output) -> CaseResult:
        """Judge one output."""
        as_instance("case", case, Case, "a Case; CaseFile reads them from a file")
        as_instance("output", output, Output, "an Output, such as Output(output='...')")
        context = self.context_of(case, output)
        results = tuple(judge_one(one, case, output, context) for one in self.bound_for(case))
        return self.verdict(case.id, results, output.duration_ms)

    def context_of(self, case: Case, output: Output) -> Context:
        """What the scorers of a case may look at."""
        evidence = Evidence(case.pages, output, case.user_message)
        return Context(evidence, self._evals, None, self._embedder, self._judge)

    def verdict(self, id_: str, results: tuple[ScorerResult, ...], duration_ms: float | None = None) -> CaseResult:
        """The verdict on a case from those of its scorers."""
        passed, score = judged(results, self._version)
        if score.status == "not_applicable":
            score = msgspec.structs.replace(score, reason=NONE_APPLIES if results else NOTHING)
        return CaseResult(id=id_, passed=passed, score=score, results=results, duration_ms=duration_ms)

    def bound_for(self, case: Case) -> list[Bound]:
        """The scorers of a case: its own, else the run's list, else those of the preset that fit the kind of case."""
        if case.scorers is not None:
            return bind(case.scorers, self._evals)
        return choose(case, self.bound, self._one) if self._is_preset else self.bound

    def _one(self, name: str) -> Bound:
        if name not in self._by_name:
            (self._by_name[name],) = bind([{"type": name}], self._evals)
        return self._by_name[name]

    def run(
        self, cases: Iterable[Case], produce: Produce, *, jobs: int = 1
    ) -> Iterator[tuple[Case, Output, CaseResult]]:
        """Every case with its output and result, in the order of the cases; `jobs` outputs are made at once."""
        for case, output in _produced(cases, produce, jobs):
            yield case, output, self.evaluate(case, output)


def judge_one(one: Bound, case: Case, output: Output, context: Context) -> ScorerResult:
    """One scorer's verdict on an output. If the task failed, there is nothing to judge, and the scorer has failed."""
    if output.error:
        return unmeasured(one, "failed", output.error)
    if one.type in EDITS and not case.is_edit and not output.operations:
        return unmeasured(one, "not_applicable", "the case has neither pages nor expected operations")
    return one(output, case.expected, context)


def unmeasured(one: Bound, status: Status, reason: str) -> ScorerResult:
    """A verdict without a number."""
    return ScorerResult(
        type=one.type, score=None, threshold=one.threshold, weight=one.weight, status=status, reason=reason
    )


def scorer_list(scorers: str | Sequence[Mapping[str, Any]] | None, policy: Policy) -> Sequence[Mapping[str, Any]]:
    """A preset by name, a list unchanged, or the policy's preset."""
    if scorers is None:
        scorers = policy.evals.preset
    if isinstance(scorers, str):
        if scorers not in policy.evals.presets:
            raise InputError(f"no preset '{scorers}'; there are {', '.join(policy.evals.presets)}")
        return policy.evals.presets[scorers]
    given: Any = [scorers] if isinstance(scorers, Mapping) else scorers  # a single scorer, not its keys
    if not isinstance(given, Sequence):
        raise wrong("scorers", scorers, "a preset's name, a list such as [{'type': 'exact'}], or None")
    return given


def _produced(cases: Iterable[Case], produce: Produce, jobs: int) -> Iterator[tuple[Case, Output]]:
    if jobs <= 1:
        for case in cases:
            yield case, produce(case)
        return
    # A few are always running, and results wait for their turn: the cases are not all read at once.
    pool = ThreadPoolExecutor(jobs)
    waiting: deque[tuple[Case, Future[Output]]] = deque()
    try:
        for case in cases:
            waiting.append((case, pool.submit(produce, case)))
            if len(waiting) >= 2 * jobs:
                first, future = waiting.popleft()
                yield first, future.result()
        for case, future in waiting:
            yield case, future.result()
    finally:
        # After Ctrl-C or an error, do not wait for running tasks.
        pool.shutdown(wait=False, cancel_futures=True)
        stop_all()
