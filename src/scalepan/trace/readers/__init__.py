"""Where traces come from: one reader per format, each yielding traces one by one, so that no file is too large."""

from scalepan.trace.readers.native import read_jsonl
from scalepan.trace.readers.source import BadRow, Source, TraceLine, open_path
from scalepan.trace.readers.table import Reader, SeenRecords, find_reader, read_source, reader_named, readers

__all__ = [
    "BadRow",
    "Reader",
    "SeenRecords",
    "Source",
    "TraceLine",
    "find_reader",
    "open_path",
    "read_jsonl",
    "read_source",
    "reader_named",
    "readers",
]
