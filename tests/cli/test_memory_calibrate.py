"""scalepan memory calibrate: what it measured is shown, and a fit that makes recall worse is refused."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scalepan.memory import state
from scalepan.memory.calibrate import half_of
from tests.cli.conftest import Run

OWN = ("--store", "own.duckdb")
WORDS = [f"tag{n}" for n in range(24)]


class ByNumber:
    """An encoder of these texts: `tagN` and `paperN` mean the same, everything else something of its own."""

    model_id = "by number@1"
    dimensions = 64

    def load(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str], kind: str = "passage") -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            number = int("".join(filter(str.isdigit, text)) or 0)
            row[number + (30 if "ledger" in text else 0)] = 1.0
        return rows

    def is_cut(self, text: str, kind: str = "passage") -> bool:
        return False


@pytest.fixture(autouse=True)
def store(run: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """For each word a claim that has it and a claim that means it; gives the ids by text."""
    monkeypatch.setattr(state, "find_encoder", lambda *_, **__: ByNumber())
    monkeypatch.setenv("SCALEPAN_RETRIEVAL__DYNAMIC__ALPHA", "false")
    rows = [{"text": text} for n in range(24) for text in (f"tag{n} ledger", f"paper{n}")]
    run("memory", "add", *OWN, "--file", "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
    listed = run("memory", "list", *OWN, "--limit", 100, "--json").out.splitlines()
    return {row["text"]: row["id"] for row in map(json.loads, listed)}


def label(store: dict[str, str], halves: tuple[int, ...]) -> None:
    """In these halves the claim that has the word is right, else the one that means it."""
    lines = [
        {"query": word, "relevant": [store[f"tag{n} ledger" if half_of(word) in halves else f"paper{n}"]]}
        for n, word in enumerate(WORDS)
    ]
    Path("queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_fit_that_helps_is_kept_and_shown(run: Run, store: dict[str, str]) -> None:
    label(store, (0, 1))
    done = run("memory", "calibrate", *OWN, "queries.jsonl")
    assert (done.code, done.err) == (0, "")
    # The claim with the word was second for every query, and is first: 1 / log2(3) to 1.
    assert ["nDCG@12", "0.631", "1.000", "+0.369", "(+0.369", "to", "+0.369)"] in map(str.split, done.out.splitlines())
    assert "kept in the project's policy" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_fit_that_makes_recall_worse_is_refused_in_one_line(run: Run, store: dict[str, str]) -> None:
    label(store, (0,))
    done = run("memory", "calibrate", *OWN, "queries.jsonl")
    assert done.code == 2
    assert done.err.startswith("scalepan: the fit makes recall worse on queries that it was not fitted on: nDCG@12 0.")
    assert done.err.count("\n") == 1
    assert "24 queries, not fitted on" in done.out
    assert "kept in" not in done.out
    assert run("memory", "sql", *OWN, "SELECT yaml FROM policies", "--json").out == ""
    told = run("memory", "calibrate", *OWN, "queries.jsonl", "--json")
    assert told.code == 2
    report = json.loads(told.out)
    assert (report["kept"], report["held_out"]["worse"]) == (False, True)
    tried = run("memory", "calibrate", *OWN, "queries.jsonl", "--dry-run")
    assert (tried.code, tried.err) == (0, "")
    assert "not kept: it makes recall worse" in tried.out
    kept = run("memory", "calibrate", *OWN, "queries.jsonl", "--anyway", "--json")
    assert (kept.code, json.loads(kept.out)["kept"]) == (0, True)
    assert "calibrat" in run("memory", "sql", *OWN, "SELECT yaml FROM policies", "--json").out
