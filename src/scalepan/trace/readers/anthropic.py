"""The reader of Anthropic Messages."""

from scalepan.trace.readers.bodies.reader import reader

READER = reader("anthropic", "Anthropic Messages: requests and responses")
