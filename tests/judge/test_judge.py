"""What the caller gets from a model that answers well or badly, and what is asked once only."""

import json
from typing import Any

import pytest

from scalepan.judge import Judge, Judgement, Prompt, TokenUsage
from scalepan.policy import load_policy
from tests.judge.ask import WELL, about
from tests.judge.conftest import KEY, Meet
from tests.modelserver import (
    Behaviour,
    Reply,
    completion,
    error,
    fails,
    in_turn,
    refuses,
    says,
)

# Well


def test_a_good_answer(meet: Meet) -> None:
    judge, server = meet(WELL)
    judgement = judge.ask(about())
    assert judgement == Judgement(
        value=0.8,
        values={"score": 0.8},
        raw='{"score": 0.8}',
        tokens=TokenUsage(100, 7),
        model="stand-in",
        prompt="t 1",
        calls=1,
        took_ms=judgement.took_ms,
    )
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    sent = request.body
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("stand-in", 0.0, 1024)
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["score"]


def test_self_evaluation_and_coverage_in_one_call(meet: Meet) -> None:
    judge, server = meet(says('{"evaluation": 0.9, "coverage": 0.5}'))
    judgement = judge.ask(judge.prompt("both", {"query": "q", "answer": "a", "sources": ["s"]}))
    assert (judgement.value, judgement.values) == (0.9, {"evaluation": 0.9, "coverage": 0.5})
    assert (judgement.tokens and judgement.tokens.total, server.calls) == (107, 1)


@pytest.mark.parametrize("words", ["I would say 8/10.", "スコアは０．８です。", '```json\n{"score": 0.8}\n```'])
def test_prose(meet: Meet, words: str) -> None:
    judge, _ = meet(says(words))
    judgement = judge.ask(about())
    assert judgement.value == pytest.approx(0.8)
    assert (judgement.status, judgement.raw) == ("ok", words)


def test_a_number_out_of_range_is_clamped_and_noted_or_refused(meet: Meet) -> None:
    judge, _ = meet(says("1.2"))
    assert judge.ask(about()).notes == ("score 1.2 was clamped to 1",)
    strict, _ = meet(says("1.2"), parse="strict")
    refused = strict.ask(about())
    assert (refused.value, refused.status, refused.tokens) == (None, "failed", TokenUsage(100, 7))
    assert refused.reason == "score is 1.2, which is not between 0 and 1 (judge.parse: strict)"


def test_no_key_no_header(meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCALEPAN_JUDGE_KEY")
    judge, server = meet(WELL)
    assert judge.ask(about()).value == 0.8
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("env", "key_env", "sent"),
    [
        ({"OPENAI_API_KEY": "next"}, "SCALEPAN_JUDGE_KEY", "Bearer next"),
        ({"OPENAI_API_KEY": "next", "SCALEPAN_JUDGE_KEY": " first\n"}, "SCALEPAN_JUDGE_KEY", "Bearer first"),
        ({"OPENAI_API_KEY": "next", "MINE": "mine"}, "MINE", "Bearer mine"),
        ({"OPENAI_API_KEY": "next"}, "MINE", None),  # who names a variable means that one
    ],
)
def test_where_the_key_comes_from(
    meet: Meet, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], key_env: str, sent: str | None
) -> None:
    monkeypatch.delenv("SCALEPAN_JUDGE_KEY")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    judge, server = meet(WELL, key_env=key_env)
    judge.ask(about())
    assert server.requests[0].headers.get("authorization") == sent


# Badly

GARBAGE: list[tuple[Behaviour, str]] = [
    (says("A fine answer, I think."), "no number for 'score' in the answer"),
    (says("0.2 or 0.9"), "several numbers for 'score' in the answer: 0.2, 0.9"),
    (says(""), "the answer is empty"),
    (lambda _: Reply(body=b"<html>welcome</html>"), "the endpoint's reply is not a chat completion"),
    (lambda _: Reply(body=b"\xff\xfe\x00"), "the endpoint's reply is not a chat completion"),
    (lambda _: Reply(body=b"{}"), "the endpoint's reply is not a chat completion"),
    (lambda _: Reply(body=b'{"choices": []}'), "the endpoint's reply is not a chat completion"),
    (lambda _: Reply(body=b'{"choices": [{"message": null}]}'), "the endpoint's reply is not a chat completion"),
    (lambda _: Reply(body=error("overloaded")), "the endpoint's reply is not a chat completion: overloaded"),
    (lambda _: Reply(body=b"[" * 100_000), "the endpoint's reply is not a chat completion"),
    (lambda _: Reply(body=b" " * 1_100_000), "the endpoint's reply is longer than 1,000,000 bytes"),
    (
        lambda _: Reply(body=completion("0.", finish="length")),
        "the answer was cut off at 1024 tokens; a larger judge.max_tokens may help",
    ),
    (
        lambda _: Reply(body=completion("0.8", finish="content_filter")),
        "the endpoint's content filter withheld the answer",
    ),
    (lambda _: Reply(body=completion(None, refusal="I cannot help.")), "the model declined: I cannot help."),
    (lambda _: Reply(body=completion(None)), "the answer is empty"),
]


@pytest.mark.parametrize(("behaviour", "reason"), GARBAGE)
def test_garbage_is_a_failure_with_a_reason_and_is_not_kept(meet: Meet, behaviour: Behaviour, reason: str) -> None:
    judge, server = meet(behaviour)
    for _ in range(2):
        judgement = judge.ask(about())
        assert (judgement.value, judgement.values, judgement.status) == (None, {}, "failed")
        assert judgement.reason == reason
    assert server.calls == 2  # a failure is asked for again, but not repeated by itself
    assert judge._cache is not None
    assert judge._cache._connect().execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_words_in_pieces_and_a_server_that_does_not_count(meet: Meet) -> None:
    pieces = json.loads(completion("", usage=False))
    pieces["choices"][0]["message"]["content"] = [{"type": "text", "text": "0."}, {"type": "text", "text": "8"}]
    judge, _ = meet(lambda _: Reply(body=json.dumps(pieces).encode()))
    judgement = judge.ask(about())
    assert (judgement.value, judgement.tokens) == (0.8, None)


# What a server does not take


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Unrecognized request argument supplied: response_format"),
        (400, "'response_format.type' must be 'text'"),
        (500, 'response_format type must be one of "text" or "json_object", but got: json_schema'),
        (422, "bad request"),
    ],
)
def test_structured_output_that_is_refused_is_left_out_and_that_is_remembered(
    meet: Meet, status: int, message: str
) -> None:
    judge, server = meet(refuses("response_format", says("0.8"), message, status))
    first, second = judge.ask(about("one")), judge.ask(about("two"))
    assert (first.value, first.calls, second.value, second.calls) == (0.8, 2, 0.8, 1)
    assert first.notes == ("the server does not accept response_format",)
    assert ["response_format" in request.body for request in server.requests] == [True, False, False]


def test_other_parameters_that_a_model_does_not_take(meet: Meet) -> None:
    max_tokens = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    behaviour = refuses("max_tokens", refuses("temperature", WELL, "temperature does not support 0.0"), max_tokens)
    judge, server = meet(behaviour)
    assert judge.ask(about("one")).calls == 3
    assert judge.ask(about("two")).notes == (
        "the server does not accept max_tokens",
        "the server does not accept temperature",
    )
    last = server.requests[-1].body
    assert (server.calls, last["max_completion_tokens"], "temperature" in last) == (4, 1024, False)


def test_a_refusal_that_was_about_something_else_is_not_remembered(meet: Meet) -> None:
    judge, server = meet(in_turn(fails(400, "too long"), fails(400, "too long"), WELL))
    assert judge.ask(about("one")).status == "failed"
    assert judge.ask(about("two")).value == 0.8
    assert "response_format" in server.requests[-1].body


# Cache


def test_the_same_question_is_asked_once(meet: Meet) -> None:
    judge, server = meet(WELL)
    first, second = judge.ask(about()), judge.ask(about())
    assert (server.calls, first.cached, second.cached, second.calls) == (1, False, True, 0)
    assert (second.value, second.raw, second.tokens, second.prompt) == (0.8, first.raw, first.tokens, "t 1")


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": about("another answer")},
        {"prompt": Prompt(text="Is it good? {answer}", values={"answer": "an answer"}, version="t 2")},
        {"prompt": about(fields=("rating",))},
        {"model": "another"},
        {"temperature": 0.5},
        {"max_tokens": 99},
        {"parse": "strict"},
        {"prompts": {"system": "Be kind."}},
    ],
)
def test_another_question_is_asked(meet: Meet, change: dict[str, Any]) -> None:
    judge, server = meet(WELL)
    judge.ask(about())
    prompt = change.pop("prompt", about())
    settings = {"base_url": server.base_url, "model": "stand-in", **change}
    with Judge(load_policy(overrides={"judge": settings}), cache=judge._cache) as other:
        assert other.ask(prompt).cached is False
    assert server.calls == 2


def test_a_cache_that_is_damaged_or_switched_off(meet: Meet) -> None:
    judge, server = meet(WELL)
    judge.ask(about())
    assert judge._cache is not None
    (key,) = [row[0] for row in judge._cache._connect().execute("SELECT key FROM kept")]
    judge._cache.put({key: b"nonsense"})
    assert judge.ask(about()).cached is False
    uncached, other = meet(WELL, cache=False)
    assert [uncached.ask(about()).cached for _ in range(2)] == [False, False]
    assert (server.calls, other.calls) == (2, 2)
