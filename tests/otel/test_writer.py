"""The events of a run: batches, files, what is lost and what is not."""

import json
from pathlib import Path
from typing import Any

import pytest

import scalepan
from scalepan.evals import ScorerResult
from scalepan.evals.result import case_score
from scalepan.otel import EvaluationSubject, EvaluationWriter, writer
from scalepan.otel.endpoint import OtlpEndpoint
from scalepan.policy import Policy
from scalepan.samples import sample_trace
from scalepan.score import Part, Score, not_measured
from tests.modelserver import Behaviour, ModelServer, Reply, fails, in_turn
from tests.otel.proto import attributes, records

SCORE = Score("value", 0.5, base=0.5, parts=(Part("all", 0.5, 1.0, note="mail ann@example.com"),))


def accepts(_: Any) -> Reply:
    return Reply(body=b"{}")


def sent(server: ModelServer) -> list[list[str]]:
    """The subjects of each request."""
    return [
        [attributes(record)["scalepan.subject.id"] for record in records(json.dumps(request.body))]
        for request in server.requests
    ]


def to(server: ModelServer) -> EvaluationWriter:
    endpoint = OtlpEndpoint(f"http://127.0.0.1:{server.port}", tries=2, backoff_s=0.001)
    return EvaluationWriter(endpoint.name, Policy(), endpoint=endpoint)


def test_a_file_has_a_request_per_line_redacted_and_private(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    with EvaluationWriter(file, Policy()) as events:
        events.add(SCORE, EvaluationSubject(id="a"), label="keep", at=1.0)
        events.add(not_measured("value", "said bob@example.com"), EvaluationSubject(id="b"), at=2.0)
    (line,) = file.read_text().splitlines()
    first, second = map(attributes, records(line))
    assert first["gen_ai.evaluation.score.label"] == "keep"
    assert first["scalepan.parts"][0]["note"] == "mail [pii:email]"
    assert second["gen_ai.evaluation.explanation"] == "said [pii:email]"
    assert "gen_ai.evaluation.score.value" not in second
    assert file.stat().st_mode & 0o777 == 0o600
    assert (events.delivered, events.lost, events.problem) == (2, 0, None)


def test_a_file_is_written_anew_or_continued(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    for append, there, lines in [(False, "old\n", 1), (True, "", 1), (True, '{"half', 2), (True, "{}\n", 2)]:
        file.write_text(there)
        with EvaluationWriter(file, Policy(), append=append) as events:
            events.add(SCORE, EvaluationSubject(id="a"))
        written = file.read_text().splitlines()
        assert len(written) == lines
        assert len(records(written[-1])) == 1


@pytest.mark.parametrize(("limit", "value"), [("MOST_EVENTS", 2), ("MOST_BYTES", 1500)])
def test_events_go_out_in_batches(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(writer, limit, value)
    with ModelServer(accepts) as server:
        with to(server) as events:
            for id_ in "abcde":
                events.add(SCORE, EvaluationSubject(id=id_))
        assert sent(server) == [["a", "b"], ["c", "d"], ["e"]]
    assert (events.delivered, events.lost) == (5, 0)


def partial(_: Any) -> Reply:
    return Reply(body=b'{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}')


@pytest.mark.parametrize(
    ("behaviour", "delivered", "lost", "calls", "problem"),
    [
        (accepts, 5, 0, 3, None),
        # Once it is away, nothing more is tried: 2 tries of the second batch, none of the third.
        (in_turn(accepts, fails(503)), 2, 3, 3, "answered 503 (2 tries)"),
        (in_turn(fails(503), accepts), 5, 0, 4, None),
        # What one batch loses does not stop the others.
        (in_turn(partial, accepts), 4, 1, 3, "too old"),
    ],
)
def test_what_is_not_delivered_is_counted(
    monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, delivered: int, lost: int, calls: int, problem: str | None
) -> None:
    monkeypatch.setattr(writer, "MOST_EVENTS", 2)
    with ModelServer(behaviour) as server:
        with to(server) as events:
            for _ in range(5):
                events.add(SCORE)
        assert server.calls == calls
    assert (events.delivered, events.lost) == (delivered, lost)
    assert (events.problem or "").endswith(problem or "")
    assert (events.problem is None) == (problem is None)


def test_scores_of_any_question_can_be_written(tmp_path: Path) -> None:
    scores = [
        scalepan.TraceValuer(Policy(), embedder=None).peek(sample_trace()),
        case_score([ScorerResult(type="exact", score=1.0, threshold=1.0)], "p1"),
        scalepan.ConfidenceCalculator(Policy()).calculate(scalepan.ConfidenceFactors()),
    ]
    file = tmp_path / "events.jsonl"
    with EvaluationWriter(file, Policy()) as events:
        for score in scores:
            events.add(score, evaluator="team", version="3")
    found = [attributes(record) for record in records(file.read_text())]
    assert [(one["gen_ai.evaluation.name"], one["gen_ai.evaluation.score.value"]) for one in found] == [
        (score.name, score.value) for score in scores
    ]
    assert {(one["scalepan.evaluator.name"], one["scalepan.evaluator.version"]) for one in found} == {("team", "3")}
