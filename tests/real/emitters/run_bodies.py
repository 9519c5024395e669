"""Inside .venv-logs: write the bodies that the OpenAI and Anthropic SDKs send and get, one {request, response} a line.

run_bodies.py chat|responses|anthropic <url> <file> [stream]
"""

import json
import sys
from pathlib import Path
from typing import Any

import httpx2 as httpx
from anthropic import Anthropic
from openai import OpenAI

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def count_lines(path: str) -> str:
    """The tool. It knows one file."""
    if path != "a.txt":
        raise FileNotFoundError(f"no such file: {path}")
    return "1"


def outcome(arguments: dict[str, Any]) -> tuple[str, bool]:
    """What the tool says, and whether it failed."""
    try:
        return count_lines(**arguments), False
    except FileNotFoundError as error:
        return str(error), True


def recorder(file: Path) -> httpx.Client:
    """An HTTP client that appends every exchange to the file."""

    def record(response: httpx.Response) -> None:
        response.read()
        request = json.loads(response.request.content)
        body = response.text if request.get("stream") else response.json()
        line = {"url": str(response.request.url), "status": response.status_code, "request": request, "response": body}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    return httpx.Client(event_hooks={"response": [record]})


def chat(url: str, http: httpx.Client, stream: bool) -> None:
    """A loop over chat completions."""
    client = OpenAI(base_url=f"{url}/v1", api_key="stand-in", http_client=http)
    tools: Any = [{"type": "function", "function": {"name": "count_lines", "parameters": SCHEMA}}]
    messages: Any = [
        {"role": "system", "content": "Count lines."},
        {"role": "user", "content": "How many lines has a.txt?"},
    ]
    while True:
        if stream:
            with client.chat.completions.stream(model="gpt-4o", messages=messages, tools=tools) as events:
                answer = events.get_final_completion().choices[0].message
        else:
            answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
        if not answer.tool_calls:
            return
        made = [
            one.model_dump(include={"id": True, "type": True, "function": {"name", "arguments"}})
            for one in answer.tool_calls
        ]
        messages.append({"role": "assistant", "content": answer.content, "tool_calls": made})
        for one in made:
            said, _ = outcome(json.loads(one["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": said})


def responses(url: str, http: httpx.Client, stream: bool) -> None:
    """A loop over the Responses API."""
    client = OpenAI(base_url=f"{url}/v1", api_key="stand-in", http_client=http)
    tools: Any = [{"type": "function", "name": "count_lines", "parameters": SCHEMA, "strict": False}]
    items: Any = [{"role": "user", "content": "How many lines has a.txt?"}]
    while True:
        asked: Any = {"model": "gpt-5", "instructions": "Count lines.", "input": items, "tools": tools}
        if stream:
            with client.responses.stream(**asked) as events:
                answer = events.get_final_response()
        else:
            answer = client.responses.create(**asked)
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        made = [item for item in answer.output if item.type == "function_call"]
        if not made:
            return
        for one in made:
            said, _ = outcome(json.loads(one.arguments))
            items.append({"type": "function_call_output", "call_id": one.call_id, "output": said})


def anthropic(url: str, http: httpx.Client, stream: bool) -> None:
    """A loop over the Messages API."""
    client = Anthropic(base_url=url, api_key="stand-in", http_client=http)
    tools: Any = [{"name": "count_lines", "input_schema": SCHEMA}]
    messages: Any = [{"role": "user", "content": "How many lines has a.txt?"}]
    while True:
        asked: Any = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1000,
            "system": "Count lines.",
            "messages": messages,
            "tools": tools,
        }
        if stream:
            with client.messages.stream(**asked) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**asked)
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]}
        )
        made = [block for block in answer.content if block.type == "tool_use"]
        if not made:
            return
        results = []
        for one in made:
            said, failed = outcome(one.input)
            results.append({"type": "tool_result", "tool_use_id": one.id, "content": said, "is_error": failed})
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    api, url, file, *rest = sys.argv[1:]
    {"chat": chat, "responses": responses, "anthropic": anthropic}[api](url, recorder(Path(file)), "stream" in rest)
