"""Redacts streams and files that do not fit into memory, line by line as they arrive.

A private key spans lines and is kept together; a name at the end of a line waits for the value on the next one. A file
that is not too long is read as a whole, and so is JSON that spans lines: only then does it stay valid. Values that were
found are cut in the rest of the input. The buffer is bounded, and so is memory.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from scalepan.redact.finding import Finding, Redacted
from scalepan.redact.keys import PEM_END, PEM_LIMIT, pem_head
from scalepan.redact.redactor import Redactor
from scalepan.redact.repeats import is_telling

BLOCK = 1 << 18
WHOLE = 1 << 25
"""Files up to this size, and JSON that spans lines, are read as a whole."""
LIMIT = 1 << 20
"""How many bytes of an unfinished line are buffered; for an unfinished private key it is PEM_LIMIT."""

KNOWN = 10_000
"""How many found values are remembered for the rest of the input."""
# The first line of JSON that spans lines.
_JSON_BEGINS = re.compile(rb"\s*(?:[{\[]\s*){1,4}\r?\n")
# A line with such an ending continues on the next line: `"password":`, `token =`, `Phone:`
_DANGLING = re.compile(r"[:=(>][ \t\"'(]*$")


class Passage(NamedTuple):
    """Some whole lines, redacted, and their position in the input."""

    original: str
    redacted: Redacted
    line: int
    """The line of its first character, from 1."""
    column: int
    """The column of its first character, from 1; more than 1 only inside a line that is too long to buffer."""

    def found(self) -> Iterator[tuple[Finding, int, int]]:
        """Every finding with its line and column."""
        place = (self.line, self.column)
        at = 0
        for finding in self.redacted.findings:
            place = _moved(place, self.original, at, finding.start)
            at = finding.start
            yield finding, *place

    def end(self) -> tuple[int, int]:
        """Line and column after it."""
        return _moved((self.line, self.column), self.original, 0, len(self.original))


def _moved(place: tuple[int, int], text: str, start: int, end: int) -> tuple[int, int]:
    """Line and column after reading a part of the text."""
    lines = text.count("\n", start, end)
    if not lines:
        return place[0], place[1] + end - start
    return place[0] + lines, end - text.rfind("\n", start, end)


def redact_stream(stream: BinaryIO, redactor: Redactor) -> Iterator[Passage]:
    """The input in passages. Bytes that are not valid UTF-8 are passed through unchanged."""
    held = bytearray()
    line, column = 1, 1
    known: dict[str, str] = {}
    limit = WHOLE if _is_file(stream) else 0
    read = getattr(stream, "read1", stream.read)
    while True:
        data = read(BLOCK)
        held += data
        if data and len(held) <= limit:
            continue
        if data and b"\n" not in data and len(held) <= LIMIT:
            continue  # a line that arrives in small pieces is searched once
        if data and (line, column) == (1, 1) and limit == 0 and _JSON_BEGINS.match(held):
            limit = WHOLE
            continue
        cut = len(held) if not data else _cut(held)
        if cut:
            passage = _passage(bytes(held[:cut]), redactor, known, line, column)
            del held[:cut]
            yield passage
            line, column = passage.end()
        if not data:
            return


def _is_file(stream: BinaryIO) -> bool:
    """Whether this is a file, so that no reader waits for the first lines."""
    try:
        return stream.seekable()
    except (AttributeError, OSError, ValueError):
        return False


def _passage(data: bytes, redactor: Redactor, known: dict[str, str], line: int, column: int) -> Passage:
    text = data.decode("utf-8", "surrogateescape")
    redacted = redactor.redact(text, known)
    for finding in redacted.findings:
        value = text[finding.start : finding.end]
        if len(known) < KNOWN and is_telling(value):
            known.setdefault(value, finding.kind)
    return Passage(text, redacted, line, column)


def _cut(held: bytearray) -> int:
    """How many bytes can be redacted now: up to the last line break, without lines that may continue."""
    if len(held) > LIMIT:
        return _forced_cut(held)
    end = held.rfind(b"\n") + 1
    if not end:
        return 0
    text = held[:end].decode("utf-8", "surrogateescape")
    open_key = _open_key(text)
    if open_key is not None:
        return len(text[:open_key].encode("utf-8", "surrogateescape"))
    last = text.rstrip("\r\n").rfind("\n") + 1
    if _DANGLING.search(text[last:].rstrip("\r\n")):
        return len(text[:last].encode("utf-8", "surrogateescape"))
    return end


def _open_key(text: str) -> int | None:
    """The start of the line with a private key that has no last line yet."""
    floor = max(0, len(text) - PEM_LIMIT)
    word = text.rfind("BEGIN ", floor)
    while word >= 0:
        head = pem_head(text, word, floor)
        if head:
            ended = "PRIVATE KEY" in text[head.end() :] and PEM_END.search(text, head.end())
            return None if ended else text.rfind("\n", 0, head.start()) + 1
        word = text.rfind("BEGIN ", floor, word)
    return None


def _forced_cut(held: bytearray) -> int:
    """Where to split a buffer that is too long: at a line break, else at a space, else between characters."""
    for gap in (b"\n", b" ", b","):
        at = held.rfind(gap, LIMIT // 2, LIMIT)
        if at >= 0:
            return at + 1
    at = LIMIT
    while held[at] & 0xC0 == 0x80 and at > LIMIT - 4:
        at -= 1
    return at
