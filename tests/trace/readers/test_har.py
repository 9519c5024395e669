"""HAR files: the calls of language models among everything else that was recorded."""

import base64
import json
from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import BadRow, TraceLine
from tests.trace.readers import test_bodies_anthropic as anthropic
from tests.trace.readers import test_bodies_chat as chat
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of

Json = dict[str, Any]


def entry(url: str, asked: Any, answered: Any, **content: Any) -> Json:
    said = answered if isinstance(answered, str) else json.dumps(answered)
    return {
        "startedDateTime": "2026-01-31T13:00:00.000+01:00",
        "request": {
            "method": "POST",
            "url": url,
            "postData": {"mimeType": "application/json", "text": json.dumps(asked)},
        },
        "response": {"status": 200, "content": {"mimeType": "application/json", "text": said} | content},
    }


def har(*entries: Json) -> Json:
    return {"log": {"version": "1.2", "creator": {"name": "proxy", "version": "1"}, "entries": list(entries)}}


CHAT = [entry("https://api.example.com/v1/chat/completions", one["request"], one["response"]) for one in chat.EXCHANGES]
PAGE = {
    "startedDateTime": "2026-01-31T12:00:00Z",
    "request": {"method": "GET", "url": "https://example.com/"},
    "response": {"content": {"text": "<html>"}},
}
EMBEDDING = entry(
    "https://api.example.com/v1/embeddings",
    {"input": "a", "model": "m"},
    {"object": "list", "data": [{"embedding": [0.1]}]},
)
FILE = har(PAGE, CHAT[0], EMBEDDING, CHAT[1])
SAMPLE = msgspec.json.encode(FILE)


def test_only_calls_of_language_models_count() -> None:
    (row,) = rows_of(FILE, "log.har")
    (trace,) = traces_of(FILE, "log.har")
    assert row.line == 2
    assert steps_of(trace) == chat.STEPS
    assert trace.metadata.created_at == "2026-01-31T12:00:00Z"
    assert trace.origin is not None
    assert trace.origin.format == "openai-chat"


def test_answers_may_be_base64_and_streams() -> None:
    stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in anthropic.EVENTS)
    packed = base64.b64encode(stream.encode()).decode()
    asked = anthropic.request(anthropic.ASKED, stream=True)
    for one in (
        entry("https://api.example.com/v1/messages", asked, stream),
        entry("https://api.example.com/v1/messages?beta=true", asked, packed, encoding="base64"),
    ):
        (trace,) = traces_of(har(one))
        assert [row[2] for row in steps_of(trace)] == ["Look first.", "I look.", '{"path":"a.txt"}']


def test_two_apis_in_one_file_are_two_traces() -> None:
    other = [entry("https://b.example.com/v1/messages", one["request"], one["response"]) for one in anthropic.EXCHANGES]
    traces = traces_of(har(*CHAT, *other))
    assert [steps_of(trace) for trace in traces] == [chat.STEPS, anthropic.STEPS]


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (har(PAGE, EMBEDDING), "has no call of a language model that can be read"),
        (har(), "has no call of a language model that can be read"),
    ],
)
def test_a_file_without_one_says_so(file: Json, problem: str) -> None:
    assert problems_of(file, "log.har") == [f"log.har:1: {problem}"]


def test_an_entry_that_is_not_an_object_is_one_line_and_the_others_are_read() -> None:
    file = har(*CHAT)
    file["log"]["entries"].insert(1, 5)
    rows = rows_of(file, "log.har")
    assert [str(row.error) for row in rows if isinstance(row, BadRow)] == ["log.har:2: is not a JSON object"]
    assert [steps_of(row.trace) for row in rows if isinstance(row, TraceLine)] == [chat.STEPS]


def test_a_file_that_was_cut_off_is_one_line() -> None:
    (problem,) = problems_of(SAMPLE[: len(SAMPLE) // 2], "log.har")
    assert problem.startswith("log.har:1: is not a HAR file: ")


def test_it_is_found_by_its_content() -> None:
    assert reader_of(SAMPLE) == "har"
    assert reader_of(msgspec.json.format(SAMPLE)) == "har"
    assert reader_of(msgspec.json.encode({"log": {"lines": []}})) is None
