"""Where traces come from: one reader per format, each yielding traces one by one, so that no file is too large."""

from scalepan.trace.readers.jsonl import BadRow, TraceLine, read_jsonl

__all__ = ["BadRow", "TraceLine", "read_jsonl"]
