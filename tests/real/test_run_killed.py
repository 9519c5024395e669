"""A run that is killed with SIGKILL and resumed leaves the same file as one that never was."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

CASES = [{"id": f"case-{number:03}", "expected": {"output": f"answer {number % 3}"}} for number in range(40)]
# Its answers depend on the case and the time it takes is stated, so that two runs are the same.
AGENT = """\
import json, sys, time
case = json.load(sys.stdin)
assert "expected" not in case
time.sleep(0.02)
number = int(case["id"][-3:])
if number % 10 == 9:
    sys.exit("no model")
print(json.dumps({"output": f"answer {number % 2}", "durationMs": 5}))
"""


def command(name: str, *more: str) -> list[str]:
    task = ["--task", f"{sys.executable} agent.py", "--jobs", "2", "--repeats", "2", "--pass", "1"]
    return [sys.executable, "-m", "scalepan", "eval", "run", "cases.yaml", *task, "--name", name, *more]


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def without_date(line: bytes) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(line)
    return {**header["run"], "date": None}


def without_time(line: bytes) -> dict[str, Any]:
    """A task that fails cannot say how long it took, so that is measured, and differs from run to run."""
    row: dict[str, Any] = json.loads(line)
    if "error" in row["output"]:
        row["output"].pop("durationMs")
    return row


def test_a_killed_run_resumes_to_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(CASES))
    (tmp_path / "agent.py").write_text(AGENT)
    whole, killed = tmp_path / "runs" / "whole.jsonl", tmp_path / "runs" / "killed.jsonl"
    never = subprocess.run(command("whole"), cwd=tmp_path, capture_output=True, text=True, check=False)
    kills = 0
    for wanted in (3, 20, 41):
        process = subprocess.Popen(
            command("killed", "--resume"), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while len(lines_of(killed)) < wanted and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    with killed.open("ab") as file:
        file.write(b'{"id":"case-0')  # killed in the middle of a line
    date = json.loads(lines_of(killed)[0])["run"]["date"]
    resumed = subprocess.run(command("killed", "--resume"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert kills == 3
    assert "Traceback" not in resumed.stderr
    assert resumed.returncode == never.returncode == 1
    assert [line for line in resumed.stdout.splitlines() if "pass" in line][1:] == [
        line for line in never.stdout.splitlines() if "pass" in line
    ][1:]
    expected, found = lines_of(whole), lines_of(killed)
    assert len(expected) == 81
    assert list(map(without_time, found[1:])) == list(map(without_time, expected[1:]))
    same = [one == other for one, other in zip(found[1:], expected[1:], strict=True)]
    assert sum(same) >= 72  # byte for byte, but for 4 cases x 2 tries that failed
    assert without_date(found[0]) == without_date(expected[0])
    assert json.loads(found[0])["run"]["date"] == date
