"""How a tool call of Codex ended: the exit code in its output, the words with which Codex turns a call down, events.

Codex has no field for it in an output: it writes a few lines in front of what the tool printed, or an answer of its own
instead. Only those lines are looked at, never what the tool printed.
"""

import re
from typing import Any, NamedTuple

import msgspec

from scalepan.trace.readers.lenient import mapping, text

_LINE = (
    r"(?:Chunk ID:|Wall time|Exit code:|Process (?:exited|running) with|"
    r"Original token count:|Total output lines:|Script )"
)
_HEAD = re.compile(rf"(?:{_LINE}[^\n]{{0,200}}\n){{1,8}}Output:(?:\n|$)")
_EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,10})$", re.MULTILINE)
_SCRIPT = re.compile(r"^Script (completed|failed|terminated)\b")

_TURNED_DOWN = (
    "unsupported call: ",
    "unsupported custom tool call: ",
    "failed to parse function arguments: ",
    "execution error: ",
    "exec_command failed",
    "apply_patch verification failed: ",
    "approval policy is ",
    "automatic approval review denied",
)
_REFUSED = ("exec command rejected by user", "patch rejected by user", "rejected by user", "aborted by user")
_ABORTED = re.compile(r"Wall time: [\d.]+ seconds\naborted by user")


class CallOutcome(NamedTuple):
    """What the log says of a call's end."""

    text: str | None = None
    failed: bool | None = None
    refused: bool | None = None


def read_outcome(output: str) -> CallOutcome:
    r"""The tool's own output, and how the call ended.

    >>> read_outcome("Chunk ID: 1\nProcess exited with code 1\nOutput:\nno such file\n")
    CallOutcome(text='no such file\n', failed=True, refused=None)
    >>> read_outcome("exec command rejected by user")
    CallOutcome(text='exec command rejected by user', failed=None, refused=True)
    """
    head = _HEAD.match(output)
    if head:
        return CallOutcome(output[head.end() :], _failed(head.group()))
    if output.startswith(_REFUSED) or _ABORTED.match(output):
        return CallOutcome(output, refused=True)
    if output.startswith(_TURNED_DOWN):
        return CallOutcome(output, failed=True)
    return _read_json(output) if output.startswith("{") else CallOutcome(output)


def _failed(head: str) -> bool | None:
    code = _EXIT.search(head)
    if code:
        return int(code[1]) != 0
    script = _SCRIPT.match(head)
    # A process that is still running has neither.
    return script[1] != "completed" if script else None


def _read_json(output: str) -> CallOutcome:
    """Older versions: {"output": "...", "metadata": {"exit_code": 1}} in a string."""
    try:
        value = mapping(msgspec.json.decode(output))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return CallOutcome(output)
    code = mapping(value.get("metadata")).get("exit_code")
    if type(code) is not int or not isinstance(value.get("output"), str):
        return CallOutcome(output)
    return CallOutcome(value["output"], code != 0)


def event_outcome(payload: dict[str, Any]) -> tuple[str, CallOutcome] | None:
    """The call and its end, if an event states them."""
    match payload.get("type"):
        case "item_completed":
            item = mapping(payload.get("item"))
            call_id, said = text(item.get("id")), by_status(item)
        case "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end":
            call_id, said = text(payload.get("call_id")), by_status(payload)
        case _:
            return None
    return (call_id, said) if call_id is not None and said is not None else None


def by_status(item: dict[str, Any]) -> CallOutcome | None:
    if item.get("status") == "declined":
        return CallOutcome(refused=True)
    code, success, result = item.get("exit_code"), item.get("success"), mapping(item.get("result"))
    if type(code) is int:
        return CallOutcome(failed=code != 0)
    if isinstance(success, bool):
        return CallOutcome(failed=not success)
    if "Err" in result or mapping(result.get("Ok", result)).get("isError") is True:
        return CallOutcome(failed=True)
    if item.get("status") in ("completed", "failed"):
        return CallOutcome(failed=item["status"] == "failed")
    return CallOutcome(failed=False) if "Ok" in result else None
