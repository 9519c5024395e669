"""What evaluating costs: Scalepan beside pydantic-evals and DeepEval on the same cases, with the same four scorers.

python -m bench.evals               the figures; makes .venv-pydantic-evals and .venv-deepeval on first use
python -m bench.evals --no-peers    Scalepan alone
"""

import json
import os
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path
from typing import NamedTuple

from bench.evals_cases import write
from bench.evals_peers import PEERS, make
from bench.peers import ROOT
from bench.timing import row

MANY, MOST = 10_000, 100_000
ROUNDS = 3
SCORERS = 4
CPU_RATIO, PEAK_MB, GROWTH = 1 / 3, 80.0, 1.1
"""The targets: CPU time over that of pydantic-evals; memory at MANY cases; time a case at MOST over that at MANY."""
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "LOGFIRE_IGNORE_NO_CONFIG": "1",
    "OTEL_SDK_DISABLED": "true",
    "DO_NOT_TRACK": "1",
}
"""Nothing is sent anywhere."""


class Cost(NamedTuple):
    """What a side took: CPU seconds of loading and evaluating, of the whole process with its imports, and memory."""

    cpu: float
    process_cpu: float
    peak_mb: float


class Files(NamedTuple):
    """What is evaluated, and the folder that it is in."""

    folder: Path
    cases: Path
    outputs: Path


def run(name: str, python: Path, files: Files) -> tuple[Cost, bytes]:
    """One side in a process of its own, and the scores that it gave."""
    scores = files.folder / f"scores-{name}"
    # DeepEval leaves files where it runs and at home.
    env = os.environ | QUIET | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "HOME": str(files.folder)}
    worker = [str(python), "-m", "bench.evals_worker", name, str(files.cases), str(files.outputs), str(scores)]
    done = subprocess.run(worker, cwd=files.folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} ended with code {done.returncode}:\n{done.stderr}")
    # DeepEval prints a summary of its own first.
    return Cost(**json.loads(done.stdout.splitlines()[-1])), scores.read_bytes()


def command(files: Files) -> Cost:
    """`scalepan eval run --json` as a user runs it, all of it."""
    arguments = ["eval", "run", str(files.cases), "--outputs", str(files.outputs), "--preset", "strict", "--json"]
    with (files.folder / "printed.jsonl").open("wb") as printed:
        process = subprocess.Popen([sys.executable, "-m", "scalepan", *arguments], stdout=printed)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # Some cases fail by design.
    if process.returncode != 1:
        sys.exit(f"scalepan eval run ended with code {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(cpu, cpu, usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))


def best(costs: list[Cost]) -> Cost:
    """The least of each: noise only ever adds."""
    return Cost(*map(min, zip(*costs, strict=True)))


def differing(ours: bytes, theirs: bytes) -> int:
    """How many scores are not the same number."""
    return sum(a != b for a, b in zip(array("d", ours), array("d", theirs), strict=True))


def show(name: str, cost: Cost, count: int) -> None:
    each = f"{cost.cpu / count * 1e6:.0f} us"
    row(f"{name}, {count:,} cases", f"{cost.cpu:.2f} s", each, f"{cost.process_cpu:.2f} s", f"{cost.peak_mb:.0f} MB")


def side_by_side(files: Files, sides: dict[str, Path]) -> dict[str, Cost]:
    """Every side at MANY cases, taken in turn so that noise hits all alike. Their scores are compared each time."""
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    differ = compared = 0
    for _ in range(ROUNDS):
        ours = b""
        for name, python in sides.items():
            cost, scores = run(name, python, files)
            costs[name].append(cost)
            ours = ours or scores
            differ += differing(ours, scores)
            compared += 0 if name == "scalepan" else MANY * SCORERS
    found = {name: best(taken) for name, taken in costs.items()}
    for name, cost in found.items():
        show(name, cost, MANY)
    if compared:
        row("scores that differ from Scalepan's", f"{differ} of {compared:,}")
    return found


def growth(python: Path, many: Files, most: Files) -> tuple[Cost, float]:
    """MOST cases, and their time over that of as many in runs of MANY, half of those before and half after.

    Not the best of several: a short run finds a quiet moment more easily than a long one.
    """
    half = MOST // MANY // 2
    before = [run("scalepan", python, many)[0].cpu for _ in range(half)]
    large, _ = run("scalepan", python, most)
    after = [run("scalepan", python, many)[0].cpu for _ in range(half)]
    return large, large.cpu / MOST / (sum(before + after) / (2 * half * MANY))


def verdict(label: str, value: str, target: str, holds: bool) -> None:
    row(label, value, target, "holds" if holds else "MISSED")


def compare(found: dict[str, Cost]) -> None:
    """Scalepan's time over that of each peer; only one of them has a target."""
    ours = found["scalepan"]
    for name, theirs in found.items():
        ratio, whole = ours.cpu / theirs.cpu, ours.process_cpu / theirs.process_cpu
        if name == "pydantic-evals":
            verdict(f"CPU time over that of {name}", f"{ratio:.3f}", f"<= {CPU_RATIO:.3f}", ratio <= CPU_RATIO)
            verdict("the same, whole process", f"{whole:.3f}", f"<= {CPU_RATIO:.3f}", whole <= CPU_RATIO)
        elif name != "scalepan":
            row(f"CPU time over that of {name}", f"{ratio:.3f}")
            row("the same, whole process", f"{whole:.3f}")


def main() -> None:
    sides = {"scalepan": Path(sys.executable)}
    if "--no-peers" not in sys.argv:
        sides |= {name: make(name) for name in PEERS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many, most = (Files(folder, *write(folder, count)) for count in (MANY, MOST))
        size = many.cases.stat().st_size / MANY / 1000
        print(f"{SCORERS} scorers, {size:.1f} kB per case; CPU time and memory, the best of {ROUNDS}\n")
        row("", "load and evaluate", "per case", "whole process", "peak memory")
        found = side_by_side(many, sides)
        large, slower = growth(sides["scalepan"], many, most)
        show("scalepan", large, MOST)
        whole = best([command(many) for _ in range(ROUNDS)])
        row(
            f"scalepan eval run --json, {MANY:,} cases", "", "", f"{whole.process_cpu:.2f} s", f"{whole.peak_mb:.0f} MB"
        )
    print()
    row("", "measured", "target")
    compare(found)
    peak = max(found["scalepan"].peak_mb, whole.peak_mb)
    verdict(f"peak memory, {MANY:,} cases", f"{peak:.0f} MB", f"< {PEAK_MB:.0f} MB", peak < PEAK_MB)
    verdict(f"time per case, {MOST:,} over {MANY:,}", f"{slower:.2f}", f"<= {GROWTH:.2f}", slower <= GROWTH)
    row(f"peak memory, {MOST:,} over {MANY:,}", f"+{large.peak_mb - found['scalepan'].peak_mb:.0f} MB")


if __name__ == "__main__":
    main()
