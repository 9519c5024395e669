"""Doors for agents: the four questions as tools, over MCP. Nothing here is loaded before a door is opened."""
