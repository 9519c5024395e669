"""Independent parsers in .venv-logs: what Harbor and atif-make read in a log, as ATIF."""

import json
import shutil
from pathlib import Path
from typing import Any

from tests.real.emitters.agents import BIN, Place

ATIF = dict[str, Any]


def atif_make(place: Place, log: Path) -> ATIF:
    """atif-make's reading of a Claude Code, Codex or HAR log."""
    trajectory: ATIF = json.loads(place.run(BIN / "atif-make", "convert", "--quiet", "--json", log))
    return trajectory


def harbor(place: Place, kind: str, log: Path) -> ATIF:
    """Harbor's reading; kind is claude-code, codex, gemini-cli or mini-swe-agent."""
    trajectory: ATIF = json.loads(place.script("harbor", kind, _as_harbor_has_it(place, kind, log)))
    return trajectory


def _as_harbor_has_it(place: Place, kind: str, log: Path) -> Path:
    """Harbor looks for a log where its containers leave it."""
    if kind == "mini-swe-agent":
        return log
    folder = place.home / "harbor"
    shutil.rmtree(folder, ignore_errors=True)
    if kind == "gemini-cli":
        folder.mkdir()
        shutil.copy(log, folder / "gemini-cli.trajectory.jsonl")
        return folder
    sessions = folder / "sessions" / ("projects/-app" if kind == "claude-code" else "2026/01/01")
    sessions.mkdir(parents=True)
    shutil.copy(log, sessions)
    beside = log.with_suffix("")
    if beside.is_dir():
        shutil.copytree(beside, sessions / beside.name)
    return folder


def agent_turns(trajectory: ATIF) -> list[tuple[str, list[str], list[str | None]]]:
    """Of every step its source, the ids of its calls, and the ids that its results answer, if they say so."""
    return [
        (
            step["source"],
            [made["tool_call_id"] for made in step.get("tool_calls") or []],
            [result.get("source_call_id") for result in (step.get("observation") or {}).get("results", [])],
        )
        for step in trajectory["steps"]
    ]
