"""Gemini CLI chats: messages that are written again, rewinds, histories that are set, one document as before."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import BadRow, SeenRecords, TraceLine, open_path, read_source
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of

Json = dict[str, Any]

START = {
    "sessionId": "S-1",
    "projectHash": "abc",
    "startTime": "2026-01-31T12:00:00.000Z",
    "lastUpdated": "2026-01-31T12:00:00.000Z",
    "kind": "main",
    "directories": ["/home/anna/shop"],
}


def user(id_: str, content: Any, **more: Any) -> Json:
    return {"id": id_, "timestamp": "2026-01-31T12:00:01Z", "type": "user", "content": content} | more


def gemini(id_: str, content: Any = "", **more: Any) -> Json:
    return {
        "id": id_,
        "timestamp": "2026-01-31T12:00:02Z",
        "type": "gemini",
        "content": content,
        "model": "gemini-x",
    } | more


def call(
    id_: str, name: str = "run_shell_command", status: str = "success", output: Any = None, **arguments: Any
) -> Json:
    made: Json = {"id": id_, "name": name, "args": arguments, "status": status, "timestamp": "2026-01-31T12:00:03Z"}
    if output is not None:
        response = {"error": output} if status == "error" else {"output": output}
        made["result"] = [{"functionResponse": {"id": id_, "name": name, "response": response}}]
    return made


def tokens(read: int, wrote: int, **more: int) -> Json:
    return {"input": read, "output": wrote, "cached": 1, "total": read + wrote} | more


FAILED = "Output: no b.txt\nExit Code: 1\nProcess Group PGID: 7"
LOOKS = gemini(
    "m2",
    "I look.",
    thoughts=[{"subject": "Counting", "description": "wc does it", "timestamp": "2026-01-31T12:00:02Z"}],
    tokens=tokens(10, 2, thoughts=3, tool=4),
)
CHAT = [
    START,
    user("m1", [{"text": "How long is a.txt?"}]),
    LOOKS,
    # A message is written again in full when its calls have ended.
    LOOKS | {"toolCalls": [call("c1", output=FAILED, command="wc -l b.txt")]},
    # The results come again as a message of the user.
    user("m3", [{"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": FAILED}}}]),
    gemini(
        "m4",
        toolCalls=[
            call("c2", output="Output: 1 a.txt\nExit Code: 0", command="wc -l a.txt"),
            call("c3", "read_file", "error", "no such file", path="c.txt"),
            call("c4", "write_file", "cancelled", "cancelled", path="d.txt"),
        ],
        tokens=tokens(20, 5),
    ),
    {"$set": {"lastUpdated": "2026-01-31T12:00:09Z"}},
    {"id": "m5", "timestamp": "2026-01-31T12:00:05Z", "type": "info", "content": "Saved."},
    gemini("m6", "One line.", tokens=tokens(30, 1)),
]
STEPS = [
    ("thought", None, "Counting: wc does it"),
    ("thought", None, "I look."),
    ("tool_call", "run_shell_command", '{"command":"wc -l b.txt"}'),
    ("observation", "run_shell_command", FAILED),
    ("error_recovery", "run_shell_command", '{"command":"wc -l a.txt"}'),
    ("tool_call", "read_file", '{"path":"c.txt"}'),
    ("tool_call", "write_file", '{"path":"d.txt"}'),
    ("observation", "run_shell_command", "Output: 1 a.txt\nExit Code: 0"),
    ("observation", "read_file", "no such file"),
    ("observation", "write_file", "cancelled"),
    ("thought", None, "One line."),
]
SAMPLE = b"\n".join(map(msgspec.json.encode, CHAT))


def test_a_chat_step_by_step() -> None:
    (trace,) = traces_of(CHAT, "session-1.jsonl")
    assert steps_of(trace) == STEPS
    assert (trace.id, trace.task.objective) == ("kp:trace:gemini:S-1", "How long is a.txt?")
    assert (trace.outcome.result_summary, trace.metadata.success, trace.metadata.task_domain) == (
        "One line.",
        None,
        "code",
    )
    assert trace.metadata.created_at == "2026-01-31T12:00:00Z"
    origin = trace.origin
    assert origin is not None
    assert (origin.project, origin.model) == ("shop", "gemini-x")
    # Thoughts are not among the output, nor what tools add among the input: 10 + 4 + 20 + 30 and 2 + 3 + 5 + 1.
    assert (origin.input_tokens, origin.output_tokens) == (64, 11)
    assert origin.unmapped == {"info message": 1}
    ends = [
        (step.origin.failed, step.origin.refused) for step in trace.steps if step.type == "observation" and step.origin
    ]
    # A command that fails is a call that succeeds: the exit code tells.
    assert ends == [(True, None), (False, None), (True, None), (None, True)]


def test_before_there_were_lines_it_was_one_document() -> None:
    messages = list({one["id"]: one for one in CHAT if "id" in one}.values())
    document = START | {"messages": messages}
    for data in (msgspec.json.encode(document), msgspec.json.format(msgspec.json.encode(document))):
        (trace,) = traces_of(data, "session-1.json")
        assert steps_of(trace) == STEPS
        assert reader_of(data) == "gemini"


def test_a_rewind_removes_a_message_and_all_after_it() -> None:
    wrong = [user("m7", "Delete it"), gemini("m8", "Deleted.", tokens=tokens(1, 1))]
    (trace,) = traces_of([*CHAT, *wrong, {"$rewindTo": "m7"}, user("m9", "Keep it"), gemini("m10", "Kept.")])
    assert steps_of(trace) == [*STEPS, ("observation", None, "Keep it"), ("thought", None, "Kept.")]
    assert trace.origin is not None
    assert trace.origin.unmapped["rewound message"] == 2
    assert trace.origin.input_tokens == 64


def test_a_rewind_to_a_message_that_is_not_there_removes_all_as_gemini_cli_does() -> None:
    (trace,) = traces_of([*CHAT, {"$rewindTo": "nowhere"}, user("m9", "Hi"), gemini("m10", "Hello.")])
    assert (trace.task.objective, steps_of(trace)) == ("Hi", [("thought", None, "Hello.")])


def test_a_message_may_come_back_after_a_rewind() -> None:
    (trace,) = traces_of([*CHAT, {"$rewindTo": "m6"}, gemini("m6", "Two lines.")])
    assert trace.outcome.result_summary == "Two lines."


def test_the_history_after_a_resume_has_the_same_messages_in_less_detail_and_adds_none() -> None:
    again = [user("m1", [{"text": "How long is a.txt?"}]), gemini("m2", "I look."), gemini("m6", "One line.")]
    resumed = {"$set": {"messages": again, "startTime": "2026-02-01T09:00:00Z"}}
    (trace,) = traces_of([*CHAT, resumed, user("m7", "Thanks"), gemini("m8", "Welcome.")])
    assert steps_of(trace) == [*STEPS, ("observation", None, "Thanks"), ("thought", None, "Welcome.")]
    assert trace.metadata.created_at == "2026-01-31T12:00:00Z"


def test_the_history_after_a_compression_is_a_summary_and_what_was_done_stays_done() -> None:
    compressed = [
        user("k1", [{"text": "<state_snapshot>counted</state_snapshot>"}]),
        gemini("k2", [{"text": "Got it. Thanks for the additional context!"}]),
    ]
    (trace,) = traces_of([*CHAT, {"$set": {"messages": compressed}}, user("m7", "And b?"), gemini("m8", "None.")])
    assert steps_of(trace) == [*STEPS, ("observation", None, "And b?"), ("thought", None, "None.")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"compression": 1, "info message": 1, "injected context": 1}


@pytest.mark.parametrize(
    ("content", "more", "kind"),
    [
        ("/clear", {}, "command"),
        ("?", {}, "command"),
        ([{"text": "<session_context>\nToday is"}], {}, "injected context"),
    ],
)
def test_what_no_person_asks_is_no_request(content: Any, more: Json, kind: str) -> None:
    (trace,) = traces_of([START, user("m0", content, **more), *CHAT[1:]])
    assert trace.task.objective == "How long is a.txt?"
    assert trace.origin is not None
    assert trace.origin.unmapped[kind] == 1


def test_what_was_typed_is_the_request_and_not_the_files_that_it_names() -> None:
    content = [{"text": "Count @a.txt"}, {"text": "--- a.txt ---\nlong"}]
    (trace,) = traces_of([START, user("m1", content, displayContent="Count @a.txt"), gemini("m2", "1")])
    assert trace.task.objective == "Count @a.txt"
    picture = [{"text": "This?"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    (trace,) = traces_of([START, user("m1", picture), gemini("m2", "1")])
    assert trace.task.objective == "This?\n[image]"


def test_an_output_that_gemini_cli_cut_at_50_kb_is_read_as_it_is() -> None:
    cut = "x" * 51_200 + "... [truncated]"
    (trace,) = traces_of([START, CHAT[1], gemini("m2", toolCalls=[call("c1", "read_file", output=cut)])])
    assert trace.steps[-1].content == cut


def test_a_sub_agent_is_a_trace_of_its_own_that_names_its_parent(tmp_path: Path) -> None:
    folder = tmp_path / "chats" / "S-0"
    folder.mkdir(parents=True)
    (folder / "S-1.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, [START | {"kind": "subagent"}, *CHAT[1:]])))
    with open_path(folder / "S-1.jsonl") as source:
        (row,) = read_source(source)
    assert isinstance(row, TraceLine)
    assert row.trace.origin is not None
    assert row.trace.origin.parent == "kp:trace:gemini:S-0"


def test_a_session_that_goes_on_in_another_file_counts_only_what_is_new_there() -> None:
    seen = SeenRecords()
    assert len(traces_of(CHAT, "session-1.jsonl", seen)) == 1
    assert traces_of(CHAT, "copy.jsonl", seen) == []
    (rest,) = traces_of([*CHAT, user("m7", "Thanks"), gemini("m8", "Welcome.")], "session-2.jsonl", seen)
    assert steps_of(rest) == [("thought", None, "Welcome.")]
    assert rest.id == "kp:trace:gemini:S-1:m7"


def test_a_last_line_that_was_not_written_to_its_end_is_counted_and_others_are_reported() -> None:
    rows = rows_of(SAMPLE + b'\n{"broken\n' + msgspec.json.encode(gemini("m9", "Bye.")) + b'\n{"id": "m', "s.jsonl")
    assert [str(row.error) for row in rows if isinstance(row, BadRow)] == [
        "s.jsonl:10: is not JSON: Input data was truncated"
    ]
    (trace,) = [row.trace for row in rows if isinstance(row, TraceLine)]
    assert trace.outcome.result_summary == "Bye."
    assert trace.origin is not None
    assert trace.origin.unmapped["cut line"] == 1


def test_a_chat_without_an_answer_says_so() -> None:
    (problem,) = problems_of(CHAT[:2])
    assert problem.endswith("kp:trace:gemini:S-1: has no step of an agent")


@pytest.mark.parametrize(
    ("data", "reader"),
    [
        (SAMPLE, "gemini"),
        (msgspec.json.encode({"$rewindTo": "m1"}), "gemini"),
        (msgspec.json.encode({"sessionId": "S"}), None),
    ],
)
def test_it_is_found_by_its_content(data: bytes, reader: str | None) -> None:
    assert reader_of(data) == reader
