"""A trace as an ATIF v1.8 document, from which exactly the same trace can be read.

The first step is the user's, with the objective. Then a thought, calls and their results share a step of the agent, as
long as their order allows it. What the format has no place for stands in `extra.scalepan`; no text stands twice.
"""

from datetime import datetime
from typing import Any

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.atif.own import (
    MADE_ID,
    MARK,
    ORIGIN,
    RESULT,
    SUMMARY,
    UNNAMED,
    WRAPPED,
    difference,
    plain_call,
    plain_result,
    plain_text,
    plain_trace,
    plain_user,
)
from scalepan.trace.readers.lenient import mapping

VERSION = "ATIF-v1.8"

# The order in which the pieces of an agent's step are read.
_TEXT, _CALL, _RESULT = 0, 1, 2


def to_atif(trace: ReasoningTrace) -> dict[str, Any]:
    """The trace as an ATIF v1.8 document, ready to be encoded as JSON.

    >>> from scalepan.samples import sample_trace
    >>> document = to_atif(sample_trace())
    >>> document["schema_version"], document["steps"][0]["source"], document["extra"]["scalepan"]["success"]
    ('ATIF-v1.8', 'user', True)
    """
    native = trace.to_dict()
    steps = native.pop("steps")
    origin = mapping(native.get(ORIGIN))
    metadata, outcome = native["metadata"], native["outcome"]
    first: dict[str, Any] = {"source": "user", "message": native["task"]["objective"]}
    if metadata["created_at"] is not None and _is_time(metadata["created_at"]):
        first["timestamp"] = metadata["created_at"]
    written = _Steps(steps, outcome["result_summary"], from_log=ORIGIN in native)
    document: dict[str, Any] = {
        "schema_version": VERSION,
        "session_id": origin.get("session"),
        "trajectory_id": native["id"],
        "agent": _without_none(
            {"name": metadata.get("framework") or UNNAMED, "version": UNNAMED, "model_name": origin.get("model")}
        ),
        "steps": [{"step_id": number, **step} for number, step in enumerate([first, *written.steps], 1)],
        "final_metrics": _totals(origin),
    }
    document = _without_none(document)
    mark = {"success": metadata["success"], "confidence": outcome["confidence"], "domain": metadata["task_domain"]}
    document["extra"] = {MARK: _without_none(mark)}
    document["extra"][MARK]["trace"] = difference(native, plain_trace(document))
    return document


def _totals(origin: dict[str, Any]) -> dict[str, Any] | None:
    totals = {
        "total_prompt_tokens": origin.get("input_tokens"),
        "total_completion_tokens": origin.get("output_tokens"),
        "total_cost_usd": origin.get("cost_usd"),
    }
    return _without_none(totals) or None


class _Steps:
    """The steps of the document. A piece joins the last one if it comes later in the order of reading."""

    def __init__(self, native: list[dict[str, Any]], result: str, *, from_log: bool) -> None:
        self.steps: list[dict[str, Any]] = []
        self._from_log = from_log
        self._phase = _RESULT
        self._calls: dict[str, str] = {}
        self._open: list[str] = []
        self._ids: set[str] = set()
        self._tools: dict[str, dict[str, Any]] = {}
        said = [number for number, step in enumerate(native) if result and step.get("content") == result]
        thoughts = [number for number in said if _kind(native[number]) == "text"]
        for number, step in enumerate(native):
            self._number = number
            self._write(step, is_result=thoughts[-1:] == [number])
        if result and not thoughts:
            self._add_result(result)

    def _write(self, step: dict[str, Any], *, is_result: bool) -> None:
        kind = _kind(step)
        if kind == "text":
            self._text(step, is_result=is_result)
        elif kind == "call":
            self._call(step)
        elif self._from_log and "tool" not in step and set(mapping(step.get(ORIGIN))) <= {"at"}:
            self._user(step)
        else:
            self._result(step)

    def _text(self, step: dict[str, Any], *, is_result: bool) -> None:
        content = step.get("content") or ""
        here = self._agent(_TEXT, step)
        here["message" if is_result else "reasoning_content"] = content
        self._mark(here, step, plain_text(content, here))

    def _user(self, step: dict[str, Any]) -> None:
        here = {"source": "user", "message": step.get("content") or ""} | _timestamp(step)
        self.steps.append(here)
        self._phase = _RESULT
        self._open, self._calls = [], {}
        self._mark(here, step, plain_user(here))

    def _call(self, step: dict[str, Any]) -> None:
        here = self._agent(_CALL, step)
        stated = mapping(step.get(ORIGIN)).get("call_id")
        call_id = f"scalepan-{self._number}"
        if isinstance(stated, str) and stated not in self._ids and not MADE_ID.fullmatch(stated):
            call_id = stated
        self._ids.add(call_id)
        if stated is not None:
            self._calls[stated] = call_id
        self._open.append(call_id)
        input_ = step.get("input", {})
        call: dict[str, Any] = {
            "tool_call_id": call_id,
            "function_name": step["tool"]["name"] if "tool" in step else UNNAMED,
            "arguments": input_ if isinstance(input_, dict) else {"input": input_},
        }
        if not isinstance(input_, dict):
            _add_mark(call, "input", WRAPPED)
        here.setdefault("tool_calls", []).append(call)
        if "output_summary" in step:
            summary = {"source_call_id": call_id, "content": step["output_summary"]}
            _add_mark(summary, "is", SUMMARY)
            _results_of(here).append(summary)
        self._mark(call, step, plain_call(call, here))
        if "tool" in step:
            self._tools[call_id] = step["tool"]

    def _result(self, step: dict[str, Any]) -> None:
        here = self._agent(_RESULT, step)
        origin = mapping(step.get(ORIGIN))
        # A native trace does not say which call a result belongs to: the first that has none yet.
        waiting = self._open[0] if self._open else None
        call_id = self._calls.get(origin["call_id"]) if "call_id" in origin else waiting
        if call_id in self._open:
            self._open.remove(call_id)
        result: dict[str, Any] = _without_none({"source_call_id": call_id, "content": step.get("content")})
        if "failed" in origin:
            result["extra"] = {"is_error": origin["failed"]}
        _results_of(here).append(result)
        self._mark(result, step, plain_result(result, here, self._tools))

    def _agent(self, phase: int, step: dict[str, Any]) -> dict[str, Any]:
        """The agent's step that this piece belongs to: the last one, or a new one."""
        if not self.steps or self.steps[-1]["source"] != "agent" or phase < self._phase or phase == _TEXT:
            self.steps.append({"source": "agent", "message": ""} | _timestamp(step))
            self._open, self._calls = [], {}
        self._phase = phase
        return self.steps[-1]

    def _add_result(self, result: str) -> None:
        """The result, if no step says it: the last message of the agent, which is not a step of the trace."""
        last = next((step for step in reversed(self.steps) if step["source"] == "agent"), None)
        if last is not None:
            last["message"] = result
            _add_mark(last, "message", RESULT)

    def _mark(self, holder: dict[str, Any], step: dict[str, Any], plain: dict[str, Any]) -> None:
        if found := difference(step, {"step_id": self._number, **plain}):
            _add_mark(holder, "step", found)


def _kind(step: dict[str, Any]) -> str:
    """What a step becomes: a text, a call or a result."""
    if step["type"] == "observation":
        return "result"
    if step["type"] == "tool_call" or (step["type"] == "error_recovery" and "tool" in step):
        return "call"
    return "text"


def _results_of(step: dict[str, Any]) -> list[Any]:
    results: list[Any] = step.setdefault("observation", {"results": []})["results"]
    return results


def _add_mark(holder: dict[str, Any], key: str, value: Any) -> None:
    holder.setdefault("extra", {}).setdefault(MARK, {})[key] = value


def _timestamp(step: dict[str, Any]) -> dict[str, str]:
    at = mapping(step.get(ORIGIN)).get("at")
    return {"timestamp": at} if at is not None and _is_time(at) else {}


def _is_time(text: str) -> bool:
    """Whether the format takes it as a time."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    # Validators replace every Z by an offset; one that is elsewhere than at the end would be a fault for them.
    return "Z" not in text[:-1]


def _without_none(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}
