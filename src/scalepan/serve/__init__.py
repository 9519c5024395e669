"""Doors: the four questions as tools over MCP, and as JSON over HTTP. Nothing is loaded before a door is opened."""
