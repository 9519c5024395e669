"""schemathesis tries the HTTP API by its own OpenAPI document: what it says is what it does, and nothing breaks it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("schemathesis")

from tests.scalepanserver import serving, token


def test_the_api_is_what_its_document_says(tmp_path: Path) -> None:
    """As a process of its own: it warns of things that are errors here, and starts threads."""
    store = tmp_path / "notes.duckdb"
    value, _ = token(store)
    with serving(store, "--rate", "0") as running:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{running.url}/openapi.json"),
                *("--header", f"Authorization: Bearer {value}", "--seed", "8", "--max-examples", "8"),
                *("--phases", "coverage,fuzzing", "--warnings", "off"),
                # What fits the schema may still be refused: a vote for a claim that is not there, a trace with gaps.
                *("--exclude-checks", "positive_data_acceptance", "--suppress-health-check", "all"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        with running.client(value) as http:
            broken = [line for line in http.get("/metrics").text.splitlines() if 'code="500"' in line]
        assert running.stop() == 0
        assert running.process.stderr is not None
        said = running.process.stderr.read().decode()
        assert not broken, said[-3000:]
        assert "Traceback" not in said
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
