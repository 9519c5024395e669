"""The reader of OpenAI Chat Completions, and of everything that is a list of messages and nothing more."""

from scalepan.trace.readers.bodies.reader import reader

READER = reader("openai-chat", "OpenAI Chat Completions: requests and responses, fine-tuning files")
