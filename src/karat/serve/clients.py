"""The block that connects a client to `karat mcp`, to paste into its configuration."""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

CLIENTS = ("claude-code", "claude-desktop", "cursor")
_WHERE = {
    "claude-code": ".mcp.json in the project, or: claude mcp add-json karat '<the inner object>'",
    "claude-desktop": "claude_desktop_config.json (Settings, Developer, Edit Config)",
    "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
}


def where(client: str) -> str:
    """The file that the block goes into."""
    return _WHERE[client]


def block(client: str, options: Sequence[str], program: str | None = None) -> str:
    """The block as JSON. Desktop programs have another PATH than a shell, so the program is named in full.

    >>> print(block("cursor", ["--project", "billing"], program="/usr/bin/karat"))
    {
      "mcpServers": {
        "karat": {
          "command": "/usr/bin/karat",
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
    return msgspec.json.format(msgspec.json.encode({"mcpServers": {"karat": server}})).decode()


def _program() -> str:
    """The `karat` beside this Python, which is the one that runs."""
    beside = Path(sys.executable).with_name("karat")
    return str(beside if beside.exists() else Path(sys.argv[0]).resolve())
