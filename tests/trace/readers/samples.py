"""A sample of every format, in every form that a reader knows: what mutations and hostile files are made from."""

import gzip
import json
from typing import Any, NamedTuple

import msgspec
import zstandard

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.writers import to_atif
from tests.real.wholetrace import WHOLE
from tests.trace.readers import (
    test_atif,
    test_bodies_anthropic,
    test_bodies_chat,
    test_bodies_responses,
    test_claude_code,
    test_claude_stream,
    test_codex,
    test_dataset,
    test_gemini,
    test_har,
    test_inspect,
    test_langfuse,
    test_langsmith,
    test_mini_swe_agent,
    test_otlp_files,
)
from tests.trace.traces import trace_dict


class Sample(NamedTuple):
    """A file that a reader reads."""

    reader: str
    form: str
    data: bytes
    name: str


def _lines(records: list[Any]) -> bytes:
    return b"\n".join(map(msgspec.json.encode, records))


_NATIVE = b"".join(json.dumps(trace_dict(id=f"kp:trace:{number}")).encode() + b"\n" for number in range(3))
_TREE = test_atif.SAMPLE | {
    "trajectory_id": "t",
    "subagent_trajectories": [test_atif.SAMPLE | {"trajectory_id": "s"}],
}
_EVAL = test_inspect.HEADER | {"samples": [test_inspect.FULL, test_inspect.SAMPLE]}
_STREAM = [
    {"request": test_bodies_anthropic.request(test_bodies_anthropic.ASKED), "response": test_bodies_anthropic.EVENTS},
    {"request": test_bodies_chat.request(test_bodies_chat.ASKED), "response": test_bodies_chat.CHUNKS},
    {"request": {"input": "Go"}, "response": test_bodies_responses.STREAM},
]

SAMPLES = (
    Sample("native", "lines", _NATIVE, "t.jsonl"),
    Sample("native", "gzip", gzip.compress(_NATIVE, mtime=0), "t.jsonl.gz"),
    Sample("native", "array", b"[" + _NATIVE.strip().replace(b"\n", b",") + b"]", "t.json"),
    Sample("claude-code", "session", _lines(test_claude_code.sample().lines), "s-1.jsonl"),
    Sample("claude-stream", "stream", _lines(test_claude_stream.STREAM), "stream.jsonl"),
    Sample("atif", "foreign", msgspec.json.encode(_TREE), "trajectory.json"),
    Sample("atif", "own", msgspec.json.encode(to_atif(ReasoningTrace.from_dict(WHOLE))), "trajectory.json"),
    Sample("dataset", "rows", _lines([test_dataset.ROW | {"id": f"air-{number}"} for number in range(3)]), "d.jsonl"),
    Sample("codex", "rollout", test_codex.SAMPLE, "rollout.jsonl"),
    Sample("codex", "zst", zstandard.compress(test_codex.SAMPLE), "rollout.jsonl.zst"),
    Sample("codex", "exec", test_codex.EXEC_SAMPLE, "printed.jsonl"),
    Sample("inspect", "archive", test_inspect.archive(test_inspect.FULL), "log.eval"),
    Sample("inspect", "document", msgspec.json.encode(_EVAL), "log.json"),
    Sample("mini-swe-agent", "trajectory", msgspec.json.encode(test_mini_swe_agent.CHAT), "run.traj.json"),
    Sample("gemini", "chat", test_gemini.SAMPLE, "session-1.jsonl"),
    Sample("langsmith", "lines", test_langsmith.SAMPLE, "runs.jsonl"),
    Sample("langsmith", "answer", msgspec.json.encode({"runs": test_langsmith.GRAPH}), "runs.json"),
    Sample("langfuse", "lines", test_langfuse.SAMPLE, "observations.jsonl"),
    Sample("langfuse", "csv", test_langfuse.CSV, "observations.csv"),
    Sample("langfuse", "trace", msgspec.json.encode(test_langfuse.TRACE), "trace.json"),
    *(Sample("otlp", form, data, "traces.otlp") for form, data in test_otlp_files.SAMPLES.items()),
    Sample("har", "file", test_har.SAMPLE, "log.har"),
    Sample("anthropic", "bodies", test_bodies_anthropic.SAMPLE, "log.jsonl"),
    Sample("openai-responses", "bodies", test_bodies_responses.SAMPLE, "log.jsonl"),
    Sample("openai-chat", "bodies", test_bodies_chat.SAMPLE, "log.jsonl"),
    Sample("anthropic", "streams", _lines(_STREAM), "log.jsonl"),
)
