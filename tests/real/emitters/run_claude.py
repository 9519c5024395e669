"""Inside .venv-logs: one Claude Code session by the Agent SDK, where somebody is asked before a tool runs and says no.

run_claude.py <folder to work in> <prompt> [interrupt]
"""

import asyncio
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, PermissionResultDeny, ToolPermissionContext


async def main(work: str, prompt: str, *rest: str) -> None:
    """Ask, and read to the end."""
    interrupt = "interrupt" in rest

    async def refuse(name: str, arguments: dict[str, Any], context: ToolPermissionContext) -> PermissionResultDeny:
        return PermissionResultDeny(message="" if interrupt else "Not today.", interrupt=interrupt)

    options = ClaudeAgentOptions(cwd=work, model="claude-sonnet-4-5", can_use_tool=refuse, max_turns=5)
    async with ClaudeSDKClient(options) as client:
        await client.query(prompt)
        async for message in client.receive_response():
            print(type(message).__name__)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
