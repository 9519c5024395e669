"""Files of the user's that are read: pipes and terminals are read, devices without an end are refused."""

import os
import threading
from pathlib import Path

import pytest

from scalepan.errors import InputError, PolicyError
from scalepan.evals.load import CaseError, CaseFile, OutputFile
from scalepan.evals.own_scorers import run_file
from scalepan.files import open_source
from scalepan.policy.files import read_file
from scalepan.store import Store
from scalepan.store.policies import WhosePolicy
from scalepan.trace.readers import read_jsonl
from tests.cli.conftest import Run, run  # noqa: F401 - a fixture

ENDLESS = ["/dev/zero", "/dev/full"]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that says something once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(b"value: {gate: 0.5}\n"), daemon=True).start()
    return path


@pytest.mark.parametrize("device", ENDLESS)
def test_a_device_without_an_end_is_refused_wherever_a_file_is_read(device: str) -> None:
    refused = "it is a device; give a file"
    with pytest.raises(OSError, match=refused):
        open_source(device)
    with pytest.raises(PolicyError, match=refused):
        read_file(Path(device))
    with pytest.raises(InputError, match=refused):
        next(iter(read_jsonl(device)))
    with pytest.raises(CaseError, match=refused):
        CaseFile(device)
    with pytest.raises(CaseError, match=refused):
        OutputFile(device)
    with pytest.raises(InputError, match=refused):
        run_file(Path(device))


def test_nothing_and_a_pipe_are_read(pipe: Path) -> None:
    with open_source(os.devnull) as file:
        assert file.read() == b""
    assert read_file(pipe).values == {"value": {"gate": 0.5}}


def test_a_pipe_is_not_read_twice(pipe: Path) -> None:
    """The second time nobody is at its other end, and whoever opens it waits for ever."""
    with pytest.raises(CaseError, match="it is a pipe, and must be read more than once; give a file"):
        OutputFile(pipe)


def test_a_policy_that_comes_through_a_pipe_is_not_set_as_an_empty_one(
    run: Run,  # noqa: F811
    pipe: Path,
    tmp_path: Path,
) -> None:
    store = tmp_path / "notes.duckdb"
    done = run("policy", "set", str(pipe), "--tenant", "acme", "--store", str(store))
    assert done.code == 2
    assert "it is a pipe, and must be read more than once; give a file" in done.err
    with Store(store) as opened:
        assert opened.call("store.policy_history", WhosePolicy("acme")).changes == []
