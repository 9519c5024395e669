"""Damaged copies of a sample: what full disks, cut-off logs, other versions and hostile authors make of a file.

    @pytest.mark.parametrize("seed", range(200))
    def test_a_damaged_file_gives_traces_or_reasons(seed):
        read_damaged(READER, SAMPLE, seed)

Works on JSON lines, on a JSON document and on bytes of any other kind. The same seed gives the same damage.
"""

import io
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.source import BadRow, Source, TraceLine
from scalepan.trace.readers.table import Reader, SeenRecords, find_reader


def _deep(levels: int) -> Any:
    value: Any = "bottom"
    for level in range(levels):
        value = [value] if level % 2 else {"content": value}
    return value


# What stands where something else should: every type, and the values of each that break most often.
STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    2**63,
    -(2**200),
    1e308,
    "",
    "x",
    "\n",
    "\x00",
    "\ud800",
    "2026-13-45T99:99:99Z",
    '{"a": 1}',
    "[]",
    "é" * 3000,
    [],
    [None],
    [[]],
    [{}],
    ["x", 1, None],
    {},
    {"": None},
    {"type": "text", "text": 5},
    {"type": 7, "content": [3]},
    _deep(40),
    _deep(3000),
)


def damaged(sample: bytes, seed: int) -> bytes:
    """A copy with one to four faults."""
    random = Random(seed)
    for _ in range(random.choice((1, 1, 2, 4))):
        kinds = _kinds(sample)
        sample = random.choice(kinds)(sample, random)
    return sample


def read_damaged(reader: Reader, sample: bytes, seed: int, name: str = "sample.jsonl") -> list[TraceLine | BadRow]:
    """Read a damaged copy: rows of the two kinds, each trace legal and writable, or an InputError. Nothing else."""
    data = damaged(sample, seed)
    rows: list[TraceLine | BadRow] = []
    try:
        source = Source(io.BytesIO(data), name)
        find_reader(source.head)
        rows.extend(reader.read(source, SeenRecords()))
    except InputError as error:
        assert_one_line(error)
    for row in rows:
        assert isinstance(row, (TraceLine, BadRow)), row
        if isinstance(row, BadRow):
            assert_one_line(row.error)
        else:
            assert ReasoningTrace.from_json(row.trace.to_json()).to_dict() == row.trace.to_dict()
    return rows


def assert_one_line(error: InputError) -> None:
    """An error for a person: one line that a terminal can show."""
    text = str(error)
    assert text.strip()
    assert text.isprintable(), repr(text)


def _kinds(sample: bytes) -> list[Callable[[bytes, Random], bytes]]:
    """The damage that fits: on its values for JSON, on its bytes for everything."""
    by_bytes: list[Callable[[bytes, Random], bytes]] = [_cut_end, _cut_out, _flip, _insert]
    if not sample.lstrip().startswith((b"{", b"[")):
        return by_bytes
    # Values are where a reader's assumptions are: most of the damage goes there.
    by_value = [_change_value] * 8
    by_line = [_swap_lines, _repeat_line, _drop_line] if sample.count(b"\n") > 1 else []
    return [*by_bytes, *by_value, *by_line]


def _change_value(sample: bytes, random: Random) -> bytes:
    """One value of one record deleted, replaced by a strange one, or put into another record's place."""
    records, join = _records(sample)
    places = [index for index, record in enumerate(records) if isinstance(record, (dict, list)) and record]
    if not places:
        return _flip(sample, random)
    index = random.choice(places)
    spots = list(_spots(records[index]))
    holder, key = random.choice(spots)
    kind = random.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, from_key = random.choice(list(_spots(records[random.choice(places)])))
        # A copy: a value that holds itself cannot be written.
        holder[key] = _decoded(_encoded(other[from_key]))
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, random.choice(STRANGE))
    else:
        holder[key] = random.choice(STRANGE)
    return join(records)


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value: what holds it and under which key, without recursion."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])


def _records(sample: bytes) -> tuple[list[Any], Callable[[list[Any]], bytes]]:
    """The values of JSON lines, undecodable lines as bytes; or the one document; and how to write them again."""
    document = _decoded(sample)
    if isinstance(document, (dict, list)):
        return [document], lambda records: _encoded(records[0])
    lines = sample.split(b"\n")
    values = [_decoded(line) for line in lines]
    records: list[Any] = [line if value is None else value for line, value in zip(lines, values, strict=True)]
    return records, lambda changed: b"\n".join(map(_encoded, changed))


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _encoded(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return b"[" * 5000 + b"]" * 5000


def _lines(sample: bytes) -> list[bytes]:
    return sample.split(b"\n")


def _swap_lines(sample: bytes, random: Random) -> bytes:
    lines = _lines(sample)
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _repeat_line(sample: bytes, random: Random) -> bytes:
    lines = _lines(sample)
    lines.insert(random.randrange(len(lines)), random.choice(lines))
    return b"\n".join(lines)


def _drop_line(sample: bytes, random: Random) -> bytes:
    lines = _lines(sample)
    del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def _cut_end(sample: bytes, random: Random) -> bytes:
    return sample[: random.randrange(len(sample) + 1)]


def _cut_out(sample: bytes, random: Random) -> bytes:
    start = random.randrange(len(sample) + 1)
    return sample[:start] + sample[start + random.choice((1, 2, 10, 200)) :]


def _flip(sample: bytes, random: Random) -> bytes:
    data = bytearray(sample)
    for _ in range(min(len(data), random.choice((1, 1, 3, 20)))):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def _insert(sample: bytes, random: Random) -> bytes:
    at = random.randrange(len(sample) + 1)
    return sample[:at] + random.randbytes(random.choice((1, 2, 30))) + sample[at:]
