"""Does a trace's value say anything about success? AUROC of its structural parts, beside plain shortness.

python -m bench.traces_auroc

Public runs of agents with known outcomes. The outcome is taken out of each trace before it is valued: what is left are
complexity, tool diversity, novelty and the rules. Whole tasks are drawn for the intervals, because runs of one task
are not independent. 0.5 says nothing; below 0.5 a high number is a sign of failure.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.timing import row
from scalepan.embed import find_encoder
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from scalepan.stats.bootstrap import interval, resampled
from scalepan.stats.ranking import auroc
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.novelty import Encodes
from scalepan.trace.readers import TraceLine, open_path, read_source
from scalepan.trace.value import TraceValuer

DATA = Path(__file__).parents[1].parent / "shared" / "data"
SEED = 7
SHORTNESS = "shortness (fewer steps)"

Floats = NDArray[np.float64]


class TraceSet(NamedTuple):
    """Runs of one benchmark."""

    name: str
    strategy: str | None = None
    """Only runs of this strategy: others stop as soon as they have succeeded, so that their length tells."""


SETS = (TraceSet("tau_bench_airline"), TraceSet("intercode", "react"), TraceSet("fireact_hotpotqa"))


class Labeled(NamedTuple):
    """A run, its task, and whether it succeeded."""

    trace: ReasoningTrace
    task: str
    success: bool


def load(file: Path, strategy: str | None) -> list[Labeled]:
    """The runs of a file, each without its outcome."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    with open_path(file) as source:
        lines = list(read_source(source))
    found = []
    for line, given in zip(lines, rows, strict=True):
        if not isinstance(line, TraceLine):
            raise SystemExit(f"{file.name}: {line.error}")
        if strategy in (None, given.get("strategy")):
            found.append(Labeled(blinded(line.trace), given["task_group"], given["outcome"]["success"]))
    return found


def blinded(trace: ReasoningTrace) -> ReasoningTrace:
    """The same trace, silent about how it ended."""
    return msgspec.structs.replace(
        trace,
        metadata=msgspec.structs.replace(trace.metadata, success=None),
        outcome=msgspec.structs.replace(trace.outcome, confidence=None),
    )


def measures(traces: list[ReasoningTrace], embedder: Encodes | None) -> dict[str, Floats]:
    """Every number that is compared with success, by name; higher is meant to be better."""
    plain = list(TraceValuer(Policy(), embedder=None).evaluate_many(traces))
    complexity, diversity = ([score.part(name) for score in plain] for name in ("complexity", "tool_diversity"))
    found = {
        "C, complexity": [part.value for part in complexity],
        "D, tool diversity": [part.value for part in diversity],
        "C and D, weighted as in the formula": [c.adds + d.adds for c, d in zip(complexity, diversity, strict=True)],
        "value without outcome, no encoder": [float(score) for score in plain],
    }
    if embedder is not None:
        scores = list(TraceValuer(Policy(), embedder=embedder).evaluate_many(traces))
        found["N, novelty (MiniLM)"] = [score.part("novelty").value for score in scores]
        found["value without outcome, MiniLM"] = [float(score) for score in scores]
    found[SHORTNESS] = [-len(trace.steps) for trace in traces]
    return {name: np.array(values, dtype=float) for name, values in found.items()}


def report(name: str, runs: list[Labeled], embedder: Encodes | None) -> None:
    """Every measure of one set, and how far it is from shortness on the same draws."""
    labels = np.array([run.success for run in runs])
    weights = resampled([run.task for run in runs], seed=SEED)
    found = measures([run.trace for run in runs], embedder)
    short, short_drawn = auroc(found[SHORTNESS], labels)[0], auroc(found[SHORTNESS], labels, weights)
    print(f"{name}: {len(runs)} runs of {len({run.task for run in runs})} tasks, {labels.sum()} succeeded")
    row("", "AUROC", "95 %", "minus shortness", "95 %")
    for measure, scores in found.items():
        area, drawn = auroc(scores, labels)[0], auroc(scores, labels, weights)
        beside = ("", "") if measure == SHORTNESS else (f"{area - short:+.3f}", ends(drawn - short_drawn, "+.3f"))
        row(f"  {measure}", f"{area:.3f}", ends(drawn, ".3f"), *beside)


def ends(drawn: Floats, form: str) -> str:
    """An interval in words."""
    low, high = interval(drawn)
    return f"{low:{form}} to {high:{form}}"


def main() -> None:
    """Every set that is there."""
    if not DATA.is_dir():
        sys.exit(f"{DATA} is absent: success is known of its traces only")
    embedder = find_encoder(Embed(threads=1), remember=False)
    if embedder is None:
        print("no encoder found: novelty is left out")
    for one in SETS:
        file = DATA / one.name / "traces.dev.jsonl"
        if not file.exists():
            print(f"{one.name}: {file} is absent; skipped")
            continue
        strategy = f", {one.strategy} only" if one.strategy else ""
        report(f"{one.name}{strategy}", load(file, one.strategy), embedder)


if __name__ == "__main__":
    main()
