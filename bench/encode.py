"""What encoding costs, and whether it is right: Scalepan on onnxruntime beside sentence-transformers on torch.

python -m bench.encode                  the figures; makes .venv-torch on first use
python -m bench.encode --write-table    also tests/data/minilm_vectors.json, from sentence-transformers
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from bench.encode_texts import english, mixed, table
from bench.peers import ROOT, make_torch
from bench.timing import row
from scalepan.embed.prepare import prepare

TABLE = ROOT / "tests" / "data" / "minilm_vectors.json"
ROUNDS = 5
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


class Side:
    """A stack in a process of its own, so that neither pays for the other's imports."""

    def __init__(self, name: str, python: Path) -> None:
        self.process = subprocess.Popen(
            [python, "-m", "bench.encode_worker", name],
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.ready = self.read()
        self.peak_mb = 0.0

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(map(str, self.process.args))} ended with code {self.process.wait()}")  # type: ignore[arg-type]
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, texts: list[str], one_by_one: bool = False) -> dict[str, Any]:
        assert self.process.stdin
        print(json.dumps({"texts": texts, "one_by_one": one_by_one}), file=self.process.stdin, flush=True)
        answer = self.read()
        self.peak_mb = answer["peak_mb"]
        return answer


def best(sides: list[Side], texts: list[str], one_by_one: bool = False) -> list[float]:
    """CPU seconds of each side: the best of some rounds, taken in turn so that noise hits both alike."""
    rounds = [[side.ask(texts, one_by_one)["cpu"] for side in sides] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def compare(label: str, values: list[float], unit: str, higher_is_better: bool) -> None:
    ours, theirs = values
    ratio = ours / theirs if higher_is_better else theirs / ours
    row(label, f"{ours:.4g} {unit}", f"{theirs:.4g} {unit}", f"{ratio:.2f} x")


def preparing() -> float:
    """CPU seconds from installed weights to a folder that an encoder can use."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SCALEPAN_CACHE"] = folder
        start = process_time()
        prepare(None)
        del os.environ["SCALEPAN_CACHE"]
        return process_time() - start


def write_table(torch: Side) -> None:
    """What sentence-transformers gives, so that a test can compare without it."""
    rows = [
        {"name": name, "text": text, "repeat": repeat, "vector": [round(x, 6) for x in vector]}
        for (name, text, repeat) in table()
        for vector in torch.ask([text * repeat])["vectors"]
    ]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in rows)
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"wrote {TABLE.relative_to(ROOT)}: {len(rows)} texts, {TABLE.stat().st_size / 1000:.0f} kB")


def main() -> None:
    torch_python = make_torch()
    torch = Side("torch", torch_python)
    sides = [Side("scalepan", Path(sys.executable)), torch]
    row("", "scalepan", "torch", "scalepan is better by")
    for label, texts in (
        ("texts per CPU second, English, 20 words", english()),
        ("the same, all kinds mixed", mixed()),
    ):
        compare(label, [len(texts) / seconds for seconds in best(sides, texts)], "/s", higher_is_better=True)
    queries = english(40)
    one = [seconds / len(queries) * 1000 for seconds in best(sides, queries, one_by_one=True)]
    compare("one query", one, "ms CPU", higher_is_better=False)
    compare("from start to ready", [side.ready["ready_cpu"] for side in sides], "s CPU", higher_is_better=False)
    compare("memory when ready", [side.ready["peak_mb"] for side in sides], "MB", higher_is_better=False)
    compare("peak memory, all texts", [side.peak_mb for side in sides], "MB", higher_is_better=False)
    ours, theirs = (np.array(side.ask(mixed())["vectors"]) for side in sides)
    row("largest difference of a number in a vector", f"{np.abs(ours - theirs).max():.1e}")
    # Last, because Linux counts the parent's memory as the child's peak.
    row("preparing MiniLM, once", f"{preparing():.2g} s CPU")
    if "--write-table" in sys.argv:
        write_table(torch)


if __name__ == "__main__":
    main()
