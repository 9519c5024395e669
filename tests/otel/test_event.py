"""A score as a log record: written by hand, and read by OpenTelemetry's own classes."""

import json
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalepan
from scalepan.otel import EvaluationSubject, evaluation_event, logs_request
from scalepan.score import Part, Rule, Score, not_measured
from tests.otel.proto import attributes, parsed, records

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def text(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def number(key: str, value: float) -> dict[str, Any]:
    return {"key": key, "value": {"doubleValue": value}}


def test_a_measured_score_by_hand() -> None:
    score = Score(
        "confidence",
        0.4,
        parts=(Part("search_quality", 0.5, 1.0, note="3 results"),),
        base=0.5,
        rules=(Rule("no_sources", 0.5, 0.4),),
        policy="team-3 ed3f54be0b03",
    )
    subject = EvaluationSubject(id="decision-7", trace_id=TRACE, span_id=SPAN, response_id="resp_1")
    assert evaluation_event(score, subject, at=1_700_000_000.25, label="confirm", version="9.9") == {
        "timeUnixNano": "1700000000250000000",
        "observedTimeUnixNano": "1700000000250000000",
        "severityNumber": 9,
        "severityText": "INFO",
        "eventName": "gen_ai.evaluation.result",
        "attributes": [
            text("gen_ai.evaluation.name", "confidence"),
            number("gen_ai.evaluation.score.value", 0.4),
            text("gen_ai.evaluation.score.label", "confirm"),
            text("gen_ai.evaluation.explanation", "confidence 0.400: search_quality +0.500; then no_sources -0.100"),
            text("gen_ai.response.id", "resp_1"),
            text("scalepan.subject.id", "decision-7"),
            text("scalepan.evaluator.name", "scalepan"),
            text("scalepan.evaluator.version", "9.9"),
            text("scalepan.policy.version", "team-3 ed3f54be0b03"),
            text("scalepan.status", "ok"),
            number("scalepan.base", 0.5),
            {
                "key": "scalepan.parts",
                "value": {
                    "arrayValue": {
                        "values": [
                            {
                                "kvlistValue": {
                                    "values": [
                                        text("name", "search_quality"),
                                        number("value", 0.5),
                                        number("weight", 1.0),
                                        text("source", "measured"),
                                        text("note", "3 results"),
                                    ]
                                }
                            }
                        ]
                    }
                },
            },
            {
                "key": "scalepan.rules",
                "value": {
                    "arrayValue": {
                        "values": [
                            {
                                "kvlistValue": {
                                    "values": [
                                        text("name", "no_sources"),
                                        number("before", 0.5),
                                        number("after", 0.4),
                                    ]
                                }
                            }
                        ]
                    }
                },
            },
        ],
        "traceId": TRACE,
        "spanId": SPAN,
    }


@pytest.mark.parametrize(
    ("status", "given", "severity", "error"),
    [
        ("not_applicable", None, 9, None),  # nothing went wrong: there was nothing to judge
        ("failed", None, 13, "_OTHER"),
        ("failed", "timeout", 13, "timeout"),
    ],
)
def test_a_score_that_was_not_measured_has_no_value_and_says_why(
    status: Any, given: str | None, severity: int, error: str | None
) -> None:
    event = evaluation_event(not_measured("coverage", "no answer within 3 s", status=status), at=0.0, error_type=given)
    found = {pair["key"]: pair["value"] for pair in event["attributes"]}
    assert event["severityNumber"] == severity
    assert found["gen_ai.evaluation.explanation"] == {"stringValue": "no answer within 3 s"}
    assert found["scalepan.status"] == {"stringValue": status}
    assert found.get("error.type") == ({"stringValue": error} if error else None)
    assert "gen_ai.evaluation.score.value" not in found


def test_zero_is_a_value() -> None:
    event = evaluation_event(Score("exact", 0.0, base=0.0, parts=(Part("exact", 0.0, 1.0),)), at=0.0)
    assert number("gen_ai.evaluation.score.value", 0.0) in event["attributes"]


@pytest.mark.parametrize(
    ("trace_id", "span_id", "expected"),
    [
        (TRACE, SPAN, {"traceId": TRACE, "spanId": SPAN}),
        (TRACE.upper(), SPAN.upper(), {"traceId": TRACE, "spanId": SPAN}),
        (TRACE, None, {"traceId": TRACE}),
        (TRACE, "b7ad", {"traceId": TRACE}),
        (None, SPAN, {}),  # a span is known within its trace only
        ("0" * 32, SPAN, {}),  # OpenTelemetry takes zeros for none
        (TRACE + "\n", SPAN, {}),
        ("kp:trace:1", SPAN, {}),
    ],
)
def test_the_event_belongs_to_the_span_that_was_judged(
    trace_id: str | None, span_id: str | None, expected: dict[str, str]
) -> None:
    subject = EvaluationSubject(trace_id=trace_id, span_id=span_id)
    event = evaluation_event(Score("value", 1.0), subject, at=0.0)
    assert {key: event[key] for key in ("traceId", "spanId") if key in event} == expected


def test_every_free_text_is_redacted() -> None:
    score = Score(
        "value", 0.5, base=0.5, parts=(Part("a", 0.5, 1.0, note="secret"),), rules=(Rule("r", 0.5, 0.5, "secret"),)
    )
    for one in (score, not_measured("value", "secret")):
        assert "secret" not in json.dumps(evaluation_event(one, at=0.0, clean=lambda text: text.replace("secret", "…")))


NUMBERS = st.floats(0, 1)
TEXTS = st.text(max_size=20)
PARTS = st.builds(
    Part, TEXTS, st.floats(), NUMBERS, st.sampled_from(["measured", "inherited", "default", "failed"]), TEXTS
)
SCORES = st.one_of(
    st.builds(
        Score,
        TEXTS,
        NUMBERS,
        parts=st.lists(PARTS, max_size=3).map(tuple),
        base=st.none() | st.floats(),
        rules=st.lists(st.builds(Rule, TEXTS, st.floats(), st.floats(), TEXTS), max_size=2).map(tuple),
        policy=TEXTS,
    ),
    st.builds(
        not_measured, TEXTS, st.text(min_size=1, max_size=20), status=st.sampled_from(["not_applicable", "failed"])
    ),
)


@given(score=SCORES, subject=st.builds(EvaluationSubject, id=st.none() | TEXTS, trace_id=st.none() | TEXTS))
def test_any_score_is_valid_otlp(score: Score, subject: EvaluationSubject) -> None:
    (record,) = records(json.dumps(logs_request([evaluation_event(score, subject, at=1.0)])))
    assert record.event_name == "gen_ai.evaluation.result"
    found = attributes(record)
    assert found["gen_ai.evaluation.name"] == score.name.encode("utf-8", "replace").decode()
    assert found.get("gen_ai.evaluation.score.value") == score.value
    assert len(found.get("scalepan.parts", [])) == len(score.parts)


@pytest.mark.parametrize(("value", "written"), [(nan, "NaN"), (inf, "Infinity"), (-inf, "-Infinity")])
def test_a_number_that_json_does_not_have_is_written_as_otlp_writes_it(value: float, written: str) -> None:
    event = evaluation_event(Score("value", 0.5, base=value), at=0.0)
    assert {"key": "scalepan.base", "value": {"doubleValue": written}} in event["attributes"]
    base = attributes(records(json.dumps(logs_request([event])))[0])["scalepan.base"]
    assert str(base) == str(value)


def test_the_request_names_who_sent_it_and_keeps_ids() -> None:
    subject = EvaluationSubject(trace_id=TRACE, span_id=SPAN)
    request = parsed(json.dumps(logs_request([evaluation_event(Score("value", 0.5), subject, at=2.5)])))
    (resource,) = request.resource_logs
    (scope,) = resource.scope_logs
    assert attributes(resource.resource) == {"service.name": "scalepan"}
    assert (scope.scope.name, scope.scope.version) == ("scalepan", scalepan.__version__)
    (record,) = scope.log_records
    assert (record.trace_id.hex(), record.span_id.hex(), record.time_unix_nano) == (TRACE, SPAN, 2_500_000_000)
