"""Items of OpenAI's Responses API, as its requests and responses have them and as Codex logs them."""

from typing import Any

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import as_json, first_text, items, mapping, objects, parsed, text, words

# Where a call has what it was called with; the first that is there.
_INPUTS = ("arguments", "input", "action", "operation", "code", "queries", "query")
# Calls that the API runs itself: their result is in the same item, under this key.
_RESULTS = {"mcp_call": "output", "code_interpreter_call": "outputs", "file_search_call": "results"}


def item_entries(item: dict[str, Any], at: str | None = None) -> list[LogEntry]:
    """What one item says."""
    type_ = text(item.get("type")) or ("message" if "role" in item else "unknown")
    if type_ == "message":
        return [_message(item, at)]
    if type_ == "reasoning":
        return [_reasoning(item, at)]
    if type_ == "agent_message":
        # What another agent says to this one.
        said = words(item.get("content"))
        return [LogEntry("request", said, at=at) if said else LogEntry("skip", type_)]
    if type_.endswith("_output"):
        return [_result(item, at)]
    if type_.endswith("_call"):
        return _call(item, type_, at)
    return [LogEntry("skip", type_)]


def tool_name(name: str, namespace: Any) -> str:
    """A tool's name with the MCP server that it is from; other namespaces are the agent's own.

    >>> tool_name("search", "mcp__github__"), tool_name("spawn_agent", "multi_agent_v1")
    ('mcp__github__search', 'spawn_agent')
    """
    if isinstance(namespace, str) and namespace.startswith("mcp__"):
        return f"{namespace.rstrip('_')}__{name}"
    return name


def _message(item: dict[str, Any], at: str | None) -> LogEntry:
    role = text(item.get("role")) or "unknown"
    said = words([part.get("refusal", part) if isinstance(part, dict) else part for part in items(item.get("content"))])
    said = said or text(item.get("content"))
    if role in ("user", "assistant") and said:
        return LogEntry("say" if role == "assistant" else "request", said, at=at)
    return LogEntry("skip", f"{role} message" if said else "empty message")


def _reasoning(item: dict[str, Any], at: str | None) -> LogEntry:
    # The full text is rarer and says more than its summary.
    for key in ("content", "summary"):
        said = words(item.get(key))
        if said:
            return LogEntry("think", said, at=at)
    return LogEntry("skip", "encrypted reasoning" if item.get("encrypted_content") else "empty reasoning")


def _call(item: dict[str, Any], type_: str, at: str | None) -> list[LogEntry]:
    called = type_.removesuffix("_call")
    name = tool_name(text(item.get("name")) or called, item.get("namespace"))
    call_id = first_text(item.get("call_id"), item.get("id"))
    given = next((item[key] for key in _INPUTS if item.get(key) is not None), None)
    made = LogEntry(
        "call",
        name=name,
        # A custom tool's input is free text, even where it looks like JSON.
        input=given if type_ == "custom_tool_call" else parsed(given),
        call_id=call_id,
        server=text(item.get("server_label")),
        at=at,
    )
    said = _run_by_the_api(item, type_)
    return [made, said._replace(name=name, call_id=call_id, at=at)] if said else [made]


def _run_by_the_api(item: dict[str, Any], type_: str) -> LogEntry | None:
    """The result in the same item as the call, if there is one."""
    wrong = item.get("error")
    if wrong:
        return LogEntry("result", text(wrong) or words(mapping(wrong).get("message")) or as_json(wrong), failed=True)
    failed = True if item.get("status") == "failed" else None
    if type_ == "image_generation_call" and item.get("result"):
        return LogEntry("result", "[image]", failed=failed)
    output = item.get(_RESULTS.get(type_, ""))
    if output is None and failed is None:
        return None
    done = False if item.get("status") == "completed" else None
    return LogEntry("result", words(output), failed=failed or done)


def _result(item: dict[str, Any], at: str | None) -> LogEntry:
    call_id = first_text(item.get("call_id"), item.get("id"))
    name = text(item.get("name"))
    output = item.get("output", item.get("tools"))
    said, failed = _output(output)
    if item.get("status") == "failed":
        failed = True
    return LogEntry("result", said, name=name, call_id=call_id, failed=failed, at=at)


def _output(output: Any) -> tuple[str | None, bool | None]:
    """The text of an output, and whether it failed if it says so."""
    if isinstance(output, dict):
        if output.get("type") == "computer_screenshot":
            return "[image]", None
        success = output.get("success")
        failed = not success if isinstance(success, bool) else None
        return words(output.get("content", output)), failed
    commands = [part for part in objects(output) if "outcome" in part]
    if commands:
        codes = [mapping(part["outcome"]).get("exit_code") for part in commands]
        printed = [text(part.get(key)) for part in commands for key in ("stdout", "stderr")]
        stated = [code for code in codes if type(code) is int]
        return "\n".join(filter(None, printed)) or None, any(stated) if stated else None
    return words(output), None
