"""The block that connects a client to `scalepan mcp`, to paste into its configuration."""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

CLIENTS = ("claude-code", "claude-desktop", "cursor")
_WHERE = {
    "claude-code": ".mcp.json in the project, or: claude mcp add-json scalepan '<the inner object>'",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
}


def where(client: str) -> str:
    """The file that the block goes into."""
    return _WHERE[client]


def block(client: str, options: Sequence[str], program: str | None = None) -> str:
    """The block as JSON. Desktop programs have another PATH than a shell, so the program is named in full.

    >>> print(block("cursor", ["--project", "billing"], program="/usr/bin/scalepan"))
    {
      "mcpServers": {
        "scalepan": {
          "command": "/usr/bin/scalepan",
          "args": [
            "mcp",
            "--project",
            "billing"
          ]
        }
      }
    }
    """
    server: dict[str, object] = {"command": program or _program(), "args": ["mcp", *options]}
    if client == "claude-code":
        server = {"type": "stdio", **server}
    return msgspec.json.format(msgspec.json.encode({"mcpServers": {"scalepan": server}})).decode()


def _program() -> str:
    """The `scalepan` beside this Python, which is the one that runs."""
    beside = Path(sys.executable).with_name("scalepan")
    return str(beside if beside.exists() else Path(sys.argv[0]).resolve())
