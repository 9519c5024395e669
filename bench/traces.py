"""What reading, valuing and writing traces costs: native lines beside orjson, Claude Code logs, a million traces.

python -m bench.traces [traces in the largest file, 1,000,000 by default]
"""

import os
import subprocess
import sys
import tempfile
from collections import deque
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random

import msgspec
import orjson

from bench.timing import best_cpu, row
from bench.traces_logs import claude_session
from scalepan.policy import Policy
from scalepan.samples import TRACES
from scalepan.trace import ReasoningTrace, TraceLine, read_jsonl
from scalepan.trace.batch import read_files
from scalepan.trace.files import input_files
from scalepan.trace.output import RowsFile
from scalepan.trace.rows import ValueRow
from scalepan.trace.shard import value_shard

LINES, ROUNDS = 6000, 12
CLAUDE_LINES = 12_000
SIZES = (10_000, 100_000, 1_000_000)


SHORT = 5


def native_lines(count: int, *, unknown_keys: bool = False, short: bool = False) -> list[bytes]:
    """The good rows of the sample file again and again, each with an id and a confidence of its own."""
    random = Random(0)
    samples = [entry.trace for entry in read_jsonl(TRACES) if isinstance(entry, TraceLine)]
    data = [
        trace.to_dict()
        for trace in samples
        if (unknown_keys or not _has_unknown_keys(trace)) and not (short and len(trace.steps) > SHORT)
    ]
    return [
        msgspec.json.encode(
            one | {"id": f"kp:trace:{number}", "outcome": one["outcome"] | {"confidence": random.random()}}
        )
        for number, one in zip(range(count), cycle(data), strict=False)
    ]


def _has_unknown_keys(trace: ReasoningTrace) -> bool:
    pieces = (trace, trace.metadata, trace.task, trace.outcome, *trace.steps, *(step.tool for step in trace.steps))
    return any(piece is not None and piece.extra for piece in pieces)


def native(folder: Path) -> None:
    """A file of native lines read, valued and written, beside `orjson.loads` of the same lines."""
    kinds = {
        "native lines": native_lines(LINES),
        f"short ones, 1 to {SHORT} steps": native_lines(LINES, short=True),
        "a fifth with unknown keys": native_lines(LINES, unknown_keys=True),
    }
    for label, lines in kinds.items():
        file = folder / "native.jsonl"
        file.write_bytes(b"\n".join(lines) + b"\n")
        peer, read, whole = best_cpu(
            ROUNDS, 1, partial(_peer, lines), partial(_read, file), partial(_whole, file, folder / "values.jsonl")
        )
        row(
            f"{label}, {file.stat().st_size // LINES} bytes",
            f"{whole / LINES * 1e6:.1f} us",
            f"{peer / LINES * 1e6:.1f} us orjson",
            f"ratio {whole / peer:.2f}",
            f"reading {read / peer:.2f}",
        )


def _peer(lines: list[bytes]) -> None:
    deque(map(orjson.loads, lines), 0)


def _read(file: Path) -> None:
    deque(read_files(input_files(file)), 0)


def _whole(file: Path, out: Path) -> None:
    out.unlink(missing_ok=True)
    policy = Policy()
    rows = RowsFile(out, policy.version("value"))
    for found in value_shard(read_files(input_files(file)), policy):
        if isinstance(found, ValueRow):
            rows.add(found)
    rows.close()


def claude(folder: Path) -> None:
    """A Claude Code session: read, and read, valued and written, in MB per second of one core."""
    file = folder / "session.jsonl"
    file.write_text("\n".join(claude_session(0, CLAUDE_LINES)) + "\n", encoding="utf-8")
    lines = file.read_bytes().splitlines()
    size = file.stat().st_size / 1e6
    peer, read, whole = best_cpu(
        5, 1, partial(_peer, lines), partial(_read, file), partial(_whole, file, folder / "claude.jsonl")
    )
    row(
        f"Claude Code session, {size:.0f} MB, {len(lines):,} lines",
        f"{size / whole:.0f} MB/s",
        f"reading {size / read:.0f} MB/s",
        f"{size / peer:.0f} MB/s orjson",
        f"ratio {whole / peer:.2f}",
    )


def sizes(folder: Path, largest: int) -> None:
    """The command itself on files of growing size: CPU per trace and peak memory of the process."""
    lines = native_lines(10_000)
    first: float | None = None
    for count in [size for size in SIZES if size < largest] + [largest]:
        file, out = folder / "many.jsonl", folder / "many-values.jsonl"
        with file.open("wb") as written:
            for at in range(0, count, len(lines)):
                written.write(b"\n".join(lines[: count - at]) + b"\n")
        cpu, peak = min(_command(file, out) for _ in range(3 if count <= 100_000 else 2))
        started, _ = min(_command(TRACES, out) for _ in range(3))
        each = (cpu - started) / count
        first = first or each
        row(
            f"scalepan value, {count:,} traces",
            f"{each * 1e6:.1f} us each",
            f"{each / first:.2f} of the first",
            f"{peak / 1024:.0f} MB peak",
            f"{file.stat().st_size / 1e6 / (cpu - started):.0f} MB/s",
        )
        file.unlink()


# The peak that getrusage gives is at least that of the process which started this one.
_MEASURED = """
import re, sys
from pathlib import Path
from time import process_time
from scalepan.cli import main
try:
    main()
finally:
    peak = re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())
    print(process_time(), peak[1], file=sys.stderr)
"""


def _command(file: Path, out: Path) -> tuple[float, int]:
    """CPU seconds and peak memory in kB of `scalepan value FILE --embedder none --out ...`."""
    out.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "value", file, "--embedder", "none", "--out", out],
        capture_output=True,
        text=True,
        env={**os.environ, "SCALEPAN_CACHE": str(out.parent)},
        check=False,
    )
    cpu, peak = done.stderr.splitlines()[-1].split()
    return float(cpu), int(peak)


if __name__ == "__main__":
    largest = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else SIZES[-1]
    with tempfile.TemporaryDirectory() as folder:
        native(Path(folder))
        claude(Path(folder))
        sizes(Path(folder), largest)
