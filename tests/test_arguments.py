"""Every public constructor and function, given what is plainly meant and what cannot be: taken, or refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scalepan
from scalepan.confidence import judge_answer
from scalepan.errors import EncoderError, InputError
from scalepan.evals import Case, CaseFile, Expected, Output, OutputFile
from scalepan.policy import Policy
from scalepan.policy.confidence import Confidence
from scalepan.samples import CASES, OUTPUTS, TRACES, sample_trace

FACTORS = {"search_result_count": 5, "search_max_score": 0.8, "source_count": 2}
S: Any = scalepan


@pytest.fixture(autouse=True)
def no_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    monkeypatch.chdir(tmp_path)


def trace(**more: Any) -> Any:
    return S.TraceValuer(**{"embedder": None, **more})


POLICIES = "is not a Policy, a policy file, or a dict of sections"
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "valuer policy": (lambda: trace(policy=5), f"policy: 5 {POLICIES}"),
    "valuer cache": (lambda: trace(cache="x.npz"), "cache: 'x.npz' is not a VectorCache; VectorCache.load"),
    "valuer embedder": (lambda: trace(embedder=5), r"embedder: 5 is not an object with encode\(texts\), the name of"),
    "valuer empty name": (lambda: trace(embedder=""), "embedder: '' is not the embed section"),
    "valuer trace": (lambda: trace().peek(5), "5 is not a trace object"),
    "valuer no trace": (lambda: trace().evaluate_value(None), "null is not a trace object"),
    "valuer text": (lambda: trace().peek("x"), "'x' is not a trace object"),
    "evaluate_value": (lambda: S.evaluate_value(None), "null is not a trace object"),
    "cache size": (lambda: S.VectorCache("10"), "max_elements: '10' is not a whole number, at least 1"),
    "cache size 0": (lambda: S.VectorCache(0), "max_elements: 0 is not a whole number, at least 1"),
    "cache width": (lambda: S.VectorCache(10, 1.5), "dimensions: 1.5 is not a whole number"),
    "cache ttl": (lambda: S.VectorCache(10, 3, "1h"), "ttl_ms: '1h' is not a number of milliseconds"),
    "cache clock": (lambda: S.VectorCache(clock=5), "clock: 5 is not a function that returns seconds"),
    "cache vector": (lambda: S.VectorCache(3, 3).add("abc"), "a vector of shape"),
    "cache words": (lambda: S.VectorCache(3, 3).add(["a", "b", "c"]), "vector: .* is not 3 numbers"),
    "cache none": (lambda: S.VectorCache(3, 3).nearest(None), "a vector of shape"),
    "cache id": (lambda: S.VectorCache(3, 3).add([1, 2, 3], id=5), "id: 5 is not text, or None"),
    "cache save": (lambda: S.VectorCache(3, 3).save(5), "path: 5 is not a path"),
    "cache load": (lambda: S.VectorCache.load(None), "path: None is not a path"),
    "read_jsonl": (lambda: S.read_jsonl(5), "source: 5 is not a path, or a file that is open for reading bytes"),
    "read_jsonl file": (lambda: list(S.read_jsonl("none.jsonl")), "none.jsonl: cannot be read: No such file"),
    "trace": (lambda: S.ReasoningTrace.from_dict(None), "null is not a trace object"),
    "find_encoder": (lambda: S.find_encoder(5), "settings: 5 is not the embed section of a policy, or a model"),
    "load_policy": (lambda: S.load_policy(5), r"path: 5 is not a policy file; single keys go into overrides=\{"),
    "load_policy dict": (lambda: S.load_policy({"value": {}}), "is not a policy file; single keys go into overrides"),
    "load_policy overrides": (lambda: S.load_policy(overrides=5), "overrides: 5 is not a dict of sections"),
    "calculator": (lambda: S.ConfidenceCalculator(5), f"config: 5 {POLICIES}"),
    "calculate": (lambda: S.ConfidenceCalculator().calculate(5), "factors: 5 is not ConfidenceFactors, or a dict of"),
    "calculate none": (lambda: S.ConfidenceCalculator().calculate(None), "factors: None is not ConfidenceFactors"),
    "calculate key": (lambda: S.ConfidenceCalculator().calculate({"source_cuont": 2}), "did you mean 'source_count'"),
    "calculate range": (lambda: S.ConfidenceCalculator().calculate({"query_coverage": 2}), "2 is not between 0 and 1"),
    "decide": (lambda: S.ConfidenceCalculator().decide_action(0.9), "score: 0.9 is not a Score, as calculate gives it"),
    "aggregator": (lambda: S.ConfidenceAggregator("none.yaml"), "none.yaml"),
    "aggregate": (lambda: S.ConfidenceAggregator().aggregate(0.5), "scores: 0.5 is not a list of Scores"),
    "aggregate numbers": (lambda: S.ConfidenceAggregator().aggregate([0.5]), r"scores\[0\]: 0.5 is not a Score"),
    "self evaluator": (lambda: S.LLMSelfEvaluator(5), f"config: 5 {POLICIES}"),
    "self evaluator model": (lambda: S.LLMSelfEvaluator(model_name=5), "model_name: 5 is not the name of a model"),
    "self evaluator text": (
        lambda: S.LLMSelfEvaluator().evaluate(5, "a"),
        "query and answer: .* is not a list of texts",
    ),
    "self evaluator sources": (
        lambda: S.LLMSelfEvaluator().evaluate("q", "a", "s"),
        "sources: 's' is not a list of texts",
    ),
    "coverage": (lambda: S.QueryCoverageCalculator(5), f"config: 5 {POLICIES}"),
    "agreement": (lambda: S.SourceAgreementCalculator(5), f"config: 5 {POLICIES}"),
    "agreement embedder": (lambda: S.SourceAgreementCalculator(embedder=5), "embedder: 5 is not an object with encode"),
    "agreement text": (lambda: S.SourceAgreementCalculator().calculate("ab"), "answers: 'ab' is not a list of texts"),
    "gate ask": (lambda: S.Gate(ask=5), "ask: 5 is not a function that takes a Question"),
    "gate notify": (lambda: S.Gate(notify="me"), "notify: 'me' is not a function that takes a Question, or None"),
    "gate store": (lambda: S.Gate(store=5), "store: 5 is not a Store, a store file, or None"),
    "gate tenant": (lambda: S.Gate(tenant=None), "tenant: None is not text"),
    "gate timeout": (lambda: S.Gate(timeout_seconds="1m"), "timeout_seconds: '1m' is not a number of seconds"),
    "gate timeout below 0": (lambda: S.Gate(timeout_seconds=-1), "timeout_seconds: -1 is not a number of seconds"),
    "gate config": (lambda: S.Gate(5), f"config: 5 {POLICIES}"),
    "gate evidence": (lambda: S.Gate().check(0.9, "send"), "evidence: 0.9 is not ConfidenceFactors, or a dict"),
    "gate action": (lambda: S.Gate().check(FACTORS, None), "action: None is not text that says what is to be done"),
    "gate guard": (lambda: S.Gate().guard(5), "evidence: 5 is not a function that takes the call's arguments"),
    "evaluator scorers": (lambda: S.Evaluator(5), "scorers: 5 is not a preset's name, a list such as"),
    "evaluator numbers": (lambda: S.Evaluator([5]), r"scorers\[0\]: 5 is not a scorer with a type"),
    "evaluator preset": (lambda: S.Evaluator("blokc"), "no preset 'blokc'; there are"),
    "evaluator policy": (lambda: S.Evaluator(policy=5), f"policy: 5 {POLICIES}"),
    "evaluator embedder": (lambda: S.Evaluator(embedder="minilm"), "embedder: 'minilm' is not a function that gives"),
    "evaluator case": (lambda: S.Evaluator().evaluate({}, Output()), "case: {} is not a Case; CaseFile reads them"),
    "evaluator output": (
        lambda: S.Evaluator().evaluate(Case(id="a", expected=Expected()), "x"),
        "output: 'x' is not an Output, such as",
    ),
    "case file": (lambda: CaseFile(5), "path: 5 is not a file of golden cases"),  # type: ignore[arg-type]
    "case file empty": (lambda: CaseFile(""), "path: '' is not a file of golden cases"),
    "case file none": (lambda: CaseFile("none.yaml"), "none.yaml: cannot be read"),
    "output file": (lambda: OutputFile(None), "path: None is not a JSONL file of outputs"),  # type: ignore[arg-type]
    "is_passed": (lambda: S.is_passed(None), "results: None is not a list of ScorerResults"),
    "weighted_average": (lambda: S.weighted_average([0.5]), r"results: \[0.5\] is not a list of ScorerResults"),
    "scorer": (
        lambda: S.scorer(lambda actual, expected: 1.0),
        r"name: <function .* is not the name of a scorer: @scorer\(",
    ),
    "scorer threshold": (lambda: S.scorer("a", threshold="high"), "threshold: 'high' is not a number from 0 to 1"),
    "scorer target": (lambda: S.scorer("a")(5), "scorer 'a' is neither a function nor a class with score"),
    "response time": (lambda: S.ResponseTimeScorer("1s"), "max_acceptable_ms: '1s' is not a number of milliseconds"),
    "session query": (lambda: S.session(None), "query: None is not text"),
    "session memory": (lambda: S.session("q", 5), "path: 5 is not a store file"),
    "session ask": (lambda: S.session("q", "n.duckdb", ask=5), "ask: 5 is not a function that takes a Question"),
    "session domain": (lambda: S.session("q", "n.duckdb", domain=5), "domain: 5 is not text, such as 'finance'"),
    "session policy": (lambda: S.session("q", "n.duckdb", policy=5), f"policy: 5 {POLICIES}"),
    "memory": (lambda: S.Memory(5), "path: 5 is not a store file"),
    "async memory": (lambda: S.AsyncMemory(5), "path: 5 is not a store file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused_in_one_line_that_names_the_argument(name: str) -> None:
    use, said = REFUSED[name]
    with pytest.raises(InputError, match=said) as caught:
        use()
    assert "\n" not in str(caught.value)
    assert caught.value.code in ("VALIDATION_ERROR", "POLICY_INVALID")


def test_a_model_that_is_not_there_says_how_to_get_it() -> None:
    with pytest.raises(EncoderError, match="no encoder 'minilmm': it was not fetched; 'scalepan doctor"):
        trace(embedder="minilmm")


def test_a_dict_of_factors_is_factors() -> None:
    calculator = S.ConfidenceCalculator()
    assert calculator.calculate(FACTORS) == calculator.calculate(S.ConfidenceFactors(**FACTORS)) == 0.733


@pytest.mark.parametrize("form", ["policy", "section", "dict", "file", "text"])
def test_a_policy_is_taken_in_every_form(form: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("confidence: {thresholds: {notify: 0.75}}\n")
    given = {
        "policy": S.load_policy(file),
        "section": S.load_policy(file).confidence,
        "dict": {"confidence": {"thresholds": {"notify": 0.75}}},
        "file": file,
        "text": str(file),
    }[form]
    assert isinstance(given, Confidence) == (form == "section")
    calculator = S.ConfidenceCalculator(given)
    assert calculator.decide_action(calculator.calculate(FACTORS)).level.name == "CONFIRM"
    if form != "section":
        for made in (S.LLMSelfEvaluator(given).policy, S.Evaluator(policy=given).policy, trace(policy=given).policy):
            assert made.confidence.thresholds.notify == 0.75


def test_a_case_file_is_read_by_its_path_alone(tmp_path: Path) -> None:
    assert len(CaseFile(str(CASES))) == len(CaseFile(CASES, Policy().evals)) == len(CaseFile(CASES, Policy())) == 9
    outputs = OutputFile(str(OUTPUTS))
    try:
        assert len(outputs) == 9
    finally:
        outputs.close()


def test_traces_are_read_by_path_and_from_an_open_file() -> None:
    with TRACES.open("rb") as file:
        assert len(list(S.read_jsonl(file))) == len(list(S.read_jsonl(str(TRACES)))) == len(list(S.read_jsonl(TRACES)))


def test_one_scorer_is_a_list_of_one() -> None:
    for given in ({"type": "exact"}, [{"type": "exact"}]):
        assert [one.type for one in S.Evaluator(given).bound] == ["exact"]


def test_a_store_may_be_a_file_and_a_gate_may_be_given_factors_as_a_dict(tmp_path: Path) -> None:
    gate = S.Gate(store=str(tmp_path / "notes.duckdb"))
    verdict = gate.check(FACTORS, "send mail")
    gate.store.close()
    assert verdict.id
    assert str(verdict).isprintable()
    assert "0.733" in str(verdict)
    assert "<svg" in verdict._repr_html_()


def test_a_question_draws_itself_and_runs_nothing() -> None:
    asked: list[Any] = []
    unsure = {"search_result_count": 1, "search_max_score": 0.3, "source_count": 1, "is_search_step": True}
    verdict = S.Gate(ask=asked.append).check(unsure, "<script>alert(1)</script>")
    assert not verdict
    assert str(verdict).startswith("not allowed by ")
    (question,) = asked
    for shown in (question, verdict):
        assert "<script" not in shown._repr_html_()
        assert "<svg" in shown._repr_html_()


def test_stand_ins_take_what_they_took() -> None:
    assert judge_answer("What is 2 + 2?", "4", ["2 + 2 = 4"]).by == "stand-ins"
    assert trace().peek(sample_trace()) > 0.5
