"""A process that hangs: stopped for certain, in all its threads."""

import os
import signal
from pathlib import Path
from time import monotonic, sleep


def hang(pid: int) -> None:
    """Stop a process, and return when every thread of it stands still.

    The signal is sent at once and takes effect a moment later; until then the process may still answer.
    """
    os.kill(pid, signal.SIGSTOP)
    deadline = monotonic() + 10
    while any(_state(task) != "T" for task in Path(f"/proc/{pid}/task").iterdir()):
        assert monotonic() < deadline, f"process {pid} does not stop"
        sleep(0.001)


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]
