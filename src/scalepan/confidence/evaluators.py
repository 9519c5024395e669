"""Factors that somebody must judge: by a language model, by an encoder, or by stand-ins that need neither."""

import msgspec

from scalepan.arguments import as_instance, as_texts, wrong
from scalepan.confidence.stand_ins import coverage, support
from scalepan.embed import Embedder, find_encoder
from scalepan.errors import EncoderError, ScalepanError, counted, named
from scalepan.judge import Judge, Judgement, Prompt
from scalepan.policy import Policy
from scalepan.policy.given import Given, policy_given
from scalepan.policy.judge import JudgePolicy as JudgePolicy
from scalepan.score import Part, Rule, Score, not_measured
from scalepan.stats.products import product


def _judge(policy: Policy, model_name: str | None) -> Judge:
    if model_name is not None:
        as_instance("model_name", model_name, str, "the name of a model, or None for the policy's")
        policy = msgspec.structs.replace(policy, judge=msgspec.structs.replace(policy.judge, model=model_name))
    return Judge(policy)


class LLMSelfEvaluator:
    """A language model says how good an answer is: accurate by the sources, what was asked, style."""

    EVAL_PROMPT = JudgePolicy().prompts.evaluate.text

    def __init__(self, config: Given = None, model_name: str | None = None) -> None:
        self.policy = policy_given(config, "config")
        self.judge = _judge(self.policy, model_name)

    def evaluate(self, query: str, answer: str, sources: list[str] | None = None) -> Score:
        """0 to 1. A judgement that failed is 0.5 with source `failed` (contract confidence.17)."""
        return self._score(self.judge.ask(self._prompt(query, answer, sources)))

    async def aevaluate(self, query: str, answer: str, sources: list[str] | None = None) -> Score:
        """The same, awaited."""
        return self._score(await self.judge.aask(self._prompt(query, answer, sources)))

    def _prompt(self, query: str, answer: str, sources: list[str] | None) -> Prompt:
        as_texts("query and answer", [query, answer])
        return self.judge.prompt(
            "evaluate", {"query": query, "answer": answer, "sources": as_texts("sources", sources)}
        )

    def _score(self, judgement: Judgement) -> Score:
        return self_evaluation(judgement, judgement.value, self.policy)


class QueryCoverageCalculator:
    """A language model says how much of the question an answer covers."""

    COVERAGE_PROMPT = JudgePolicy().prompts.coverage.text

    def __init__(self, config: Given = None, model_name: str | None = None) -> None:
        self.judge = _judge(policy_given(config, "config"), model_name)

    def calculate(self, query: str, answer: str) -> Score:
        """0 to 1; a judgement that failed is not measured."""
        return query_coverage(judgement := self.judge.ask(self._prompt(query, answer)), judgement.value)

    async def acalculate(self, query: str, answer: str) -> Score:
        """The same, awaited."""
        return query_coverage(judgement := await self.judge.aask(self._prompt(query, answer)), judgement.value)

    def _prompt(self, query: str, answer: str) -> Prompt:
        as_texts("query and answer", [query, answer])
        return self.judge.prompt("coverage", {"query": query, "answer": answer})


class SourceAgreementCalculator:
    """How far several answers or sources say the same, by the mean likeness of all pairs."""

    def __init__(self, config: Given = None, embedder: Embedder | str | None = None) -> None:
        """`embedder`, an encoder or the name of a model, stands in for the encoder that the policy names."""
        if embedder is not None and not isinstance(embedder, str) and not callable(getattr(embedder, "encode", None)):
            raise wrong("embedder", embedder, "an object with encode(texts), the name of a model, or None")
        self._embed = policy_given(config, "config").embed
        self._embedder = find_encoder(embedder) if isinstance(embedder, str) else embedder

    def calculate(self, answers: list[str]) -> Score:
        """0 to 1; fewer than two texts agree. Without an encoder, or with one that fails, it is not measured."""
        as_texts("answers", answers)
        if len(answers) < 2:
            return Score("source_agreement", 1.0, parts=(Part("fewer than two texts", 1.0, 1.0, "default"),), base=1.0)
        try:
            self._embedder = self._embedder or find_encoder(self._embed)
            if self._embedder is None:
                return not_measured("source_agreement", "no encoder found; 'scalepan doctor' shows how to add one")
            mean, pairs = _mean_cosine(self._embedder, answers)
        except Exception as error:  # an encoder is somebody else's code, and an agent must not stop because of it
            reason = str(error) if isinstance(error, ScalepanError) else named(error)
            return not_measured("source_agreement", f"the encoder failed: {reason}", status="failed")
        value = min(max(mean, 0.0), 1.0)
        rules = () if value == mean else (Rule("clamp", mean, value, "between 0 and 1"),)
        parts = (Part("cosine", mean, 1.0, note=f"mean of {counted(pairs, 'pair')}"),)
        return Score("source_agreement", value, parts=parts, base=mean, rules=rules)


def _mean_cosine(embedder: Embedder, texts: list[str]) -> tuple[float, int]:
    """The mean likeness of all pairs, and how many there are."""
    import numpy as np

    vectors = np.asarray(embedder.encode(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise EncoderError(f"it gave no finite vector for each of {len(texts)} texts")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1.0)
    first, second = np.triu_indices(len(texts), k=1)
    return float(product(units, units.T)[first, second].mean()), len(first)


class Judged(msgspec.Struct, frozen=True):
    """Self-evaluation and coverage of one answer."""

    self_evaluation: Score
    coverage: Score
    by: str
    """Who judged: a language model, or the stand-ins."""


def judge_answer(
    query: str,
    answer: str,
    sources: list[str] | None = None,
    config: Policy | None = None,
    *,
    judge: Judge | None = None,
    embedder: Embedder | None = None,
) -> Judged:
    """Both numbers in one call of the language model; where none is set, by the stand-ins, which say so."""
    policy = policy_given(config, "config")
    judge = judge or Judge(policy)
    if judge.missing:
        constants = policy.confidence.stand_ins
        embedder = embedder or find_encoder(policy.embed)
        covered = coverage(query, answer, embedder, policy=constants)
        if not constants.support.enabled:
            supported = not_measured("llm_self_eval", "no language model, and the stand-in is switched off")
        else:
            supported = support(answer, sources or [], embedder, policy=constants)
        return Judged(supported, covered, "stand-ins")
    judgement = judge.ask(judge.prompt("both", {"query": query, "answer": answer, "sources": sources or []}))
    first, second = (judgement.values.get(field) for field in ("evaluation", "coverage"))
    return Judged(self_evaluation(judgement, first, policy), query_coverage(judgement, second), judgement.model)


def self_evaluation(judgement: Judgement, value: float | None, policy: Policy) -> Score:
    """A judged number as a score; 0.5 where there is none (contract confidence.17)."""
    if value is None:
        default = policy.confidence.failed_self_eval
        part = Part("language model", default, 1.0, "failed", judgement.reason)
        return Score("llm_self_eval", default, parts=(part,), base=default, details=judgement)
    return _judged("llm_self_eval", judgement, value)


def query_coverage(judgement: Judgement, value: float | None) -> Score:
    """The same for coverage, which is not measured where it failed."""
    if value is None:
        return not_measured("query_coverage", judgement.reason, status="failed")
    return _judged("query_coverage", judgement, value)


def _judged(name: str, judgement: Judgement, value: float) -> Score:
    note = ", ".join((judgement.model, *judgement.notes))
    return Score(name, value, parts=(Part("language model", value, 1.0, note=note),), base=value, details=judgement)
