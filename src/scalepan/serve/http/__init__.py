"""The HTTP door: the tools as JSON under /v1, MCP at /mcp, and what a server needs to be left alone with strangers."""
