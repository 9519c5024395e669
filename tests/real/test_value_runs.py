"""scalepan value as a process: stopped, killed and continued, on every kind of file that it reads."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
import zstandard

from tests.trace.spec import TYPES, trace_of
from tests.trace.traces import trace_dict

FIRST, FED, ALL = 2500, 1500, 2000


def traces(count: int, start: int = 0) -> Iterator[dict[str, Any]]:
    """Different ones, long and short, good and bad."""
    random = Random(start)
    for number in range(start, start + count):
        types = random.choices(TYPES, k=random.randrange(1, 12))
        yield trace_of(
            types,
            [random.choice([*"abcde", None, None]) for _ in types],
            confidence=round(random.random(), 3) if number % 97 else 5,
            success=random.random() < 0.7,
            domain=random.choice(("code", "finance", "else")),
            name=str(number),
        )


def lines(count: int, start: int = 0) -> bytes:
    return b"".join(json.dumps(trace).encode() + b"\n" for trace in traces(count, start))


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "scalepan", "value", *map(str, arguments), "--embedder", "none"]


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two files, of which the second can be a pipe."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(lines(FIRST))
    return folder


def outputs(folder: Path, name: str) -> list[object]:
    folder.mkdir(exist_ok=True)
    return ["--out", folder / name, "--kept", folder / "kept.jsonl", "--rejects", folder / "bad.jsonl"]


def stopped(logs: Path, folder: Path, name: str, how: signal.Signals) -> "subprocess.CompletedProcess[str]":
    """A run that gets the signal while it waits for the rest of the second file."""
    second = logs / "b.jsonl"
    os.mkfifo(second)
    process = subprocess.Popen(
        command(logs / "a.jsonl", second, *outputs(folder, name)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with second.open("wb", buffering=0) as pipe:  # opens when the first file was read
        fed = lines(FED, FIRST)
        pipe.write(fed)
        while _unread(pipe.fileno()):
            pass
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    second.unlink()
    return subprocess.CompletedProcess([], process.returncode, out, err)


def _unread(handle: int) -> int:
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(handle, termios.FIONREAD, bytes(4)), sys.byteorder)


def content(file: Path) -> Any:
    if file.suffix == ".parquet":
        with duckdb.connect() as connection:
            return connection.execute("SELECT * FROM read_parquet($1)", [str(file)]).fetchall()
    return file.read_bytes()


@pytest.mark.parametrize("name", ["values.jsonl", "values.parquet"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_or_killed_continues_to_what_it_would_have_written(
    logs: Path, tmp_path: Path, name: str, how: signal.Signals
) -> None:
    folder = tmp_path / "stopped"
    done = stopped(logs, folder, name, how)
    assert "Traceback" not in done.stderr
    if how == signal.SIGINT:
        assert done.returncode == 130
        said = re.search(r"([\d,]+) rows in \S+; the same command with --resume goes on", done.stderr)
        assert said, done.stderr
        rows = content(folder / name)
        assert len(rows if name.endswith("parquet") else rows.splitlines()) == int(said[1].replace(",", ""))
        assert int(said[1].replace(",", "")) > FIRST
    else:
        assert done.returncode == -signal.SIGKILL

    (logs / "b.jsonl").write_bytes(lines(ALL, FIRST))
    files = logs / "a.jsonl", logs / "b.jsonl"
    again = run(*files, *outputs(folder, name), "--resume")
    assert again.returncode == 0, again.stderr
    whole = run(*files, *outputs(tmp_path / "whole", name))
    assert whole.returncode == 0, whole.stderr
    for file in (name, "kept.jsonl", "bad.jsonl"):
        assert content(folder / file) == content(tmp_path / "whole" / file)
    assert {file.name for file in folder.iterdir()} == {name, "kept.jsonl", "bad.jsonl"}
    assert (folder / "kept.jsonl").stat().st_size > 0
    assert (folder / "bad.jsonl").stat().st_size > 0


def test_plain_packed_and_parquet_files_have_the_same_values(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "deep").mkdir(parents=True)
    data = lines(10_000)
    (folder / "a.jsonl").write_bytes(data)
    (folder / "deep" / "b.jsonl.gz").write_bytes(gzip.compress(data, 1))
    (folder / "deep" / "c.jsonl.zst").write_bytes(zstandard.compress(data))
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT json FROM read_ndjson_objects($1)) TO $2 (FORMAT parquet)",
            [str(folder / "a.jsonl"), str(folder / "d.parquet")],
        )
    for out in ("values.jsonl", "values.parquet"):
        done = run(f"{folder}/**/*", "--out", tmp_path / out, "--rejects", tmp_path / f"{out}.bad")
        assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "values.jsonl").read_text().splitlines()]
    by_file: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_file.setdefault(Path(row.pop("file")).name, []).append(row)
    assert list(by_file) == ["a.jsonl", "d.parquet", "b.jsonl.gz", "c.jsonl.zst"]
    assert len(by_file["a.jsonl"]) == 10_000 - 104  # every 97th is bad
    assert all(found == by_file["a.jsonl"] for found in by_file.values())
    written = content(tmp_path / "values.parquet")
    assert [row[0] for row in written] == [row["id"] for row in rows]
    assert [row[1] for row in written] == [row["value"] for row in rows]


def test_on_a_terminal_a_long_run_shows_its_rate_and_the_time_left(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    block = lines(3000)
    with file.open("wb") as written:
        for _ in range(60):
            written.write(block)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(file, "--json"), stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | {"COLUMNS": "120"}
    )
    os.close(theirs)
    shown = _until_end(ours)
    assert process.wait(60) == 0
    frames = re.findall(r"valuing  \[[#-]+\] +(\d+)%  (\d\d:\d\d:\d\d)  ([\d,]+) traces/s", shown)
    assert frames, shown[-500:]
    assert len(frames) < 1000


def _until_end(handle: int) -> str:
    pieces = []
    try:
        while piece := os.read(handle, 1 << 16):
            pieces.append(piece)
    except OSError:  # the terminal is gone
        pass
    os.close(handle)
    return b"".join(pieces).decode()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_that_may_not_be_read_is_reported_and_the_others_are_valued() -> None:
    """Run as a user who owns nothing here; in /tmp, because pytest's own folder is closed to others."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        for name, mode in (("mine", 0o755), ("private", 0o700)):
            folder = Path(place) / name
            folder.mkdir()
            (folder / "a.jsonl").write_text(json.dumps(trace_dict(id=f"kp:trace:{name}")) + "\n")
            os.chmod(folder, mode)
        # First as root, so that all modules are imported: the interpreter may be in root's home.
        code = (
            "import os, sys; from scalepan.cli import main, scalepan;"
            "scalepan.main(sys.argv[1:], standalone_mode=False); os.setuid(65534); main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "value", place, "--embedder", "none", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
            env={"PATH": os.environ["PATH"], "HOME": place},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    valued = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert valued == ["kp:trace:mine", "kp:trace:private", "kp:trace:mine"]
    assert f"{place}/private: cannot be read: Permission denied" in done.stderr
