"""Running a command inside the test's own process, and seeing what a user would see."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from scalepan.cli import main
from scalepan.samples import TRACES


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`run("value", "traces.jsonl")` in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*args: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["scalepan", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        sys.stdout.flush()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Done(code, out, err)

    return call


@pytest.fixture
def samples() -> Path:
    """The sample traces: 30 good ones and 4 bad."""
    return TRACES
