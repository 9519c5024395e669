"""The SDK's own client, as the tests of both doors use it: over stdio and over HTTP."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client

MODES = ["legacy", "auto"]


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def within() -> Any:
        with anyio.fail_after(60):
            return await work()

    return anyio.run(within)


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool that is to work."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    data: dict[str, Any] = result.structured_content
    assert isinstance(result.content[0], types.TextContent)
    assert json.loads(result.content[0].text) == data
    assert data["policy_version"]
    assert data["request_id"]
    assert data["trace_id"]
    return data


async def refused(client: Client, name: str, **arguments: Any) -> tuple[str, str]:
    """Code and message of a tool that is not to."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    # An error does not fit the output schema, so it must not stand where clients look for what does.
    assert result.structured_content is None
    assert isinstance(result.content[0], types.TextContent)
    data = json.loads(result.content[0].text)
    assert set(data) == {"error", "request_id", "trace_id"}
    return data["error"]["code"], data["error"]["message"]
