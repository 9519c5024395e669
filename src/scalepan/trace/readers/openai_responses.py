"""The reader of OpenAI Responses."""

from scalepan.trace.readers.bodies.reader import reader

READER = reader("openai-responses", "OpenAI Responses: requests and responses")
