"""What a durable write costs: 8 processes writing one row at a time into one file; SQLite and DuckDB as peers.

python -m bench.store
"""

import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from bench.timing import row
from scalepan.store import Store
from scalepan.store.own import AddEvent

PROCESSES, SECONDS, REPEATS = 8, 5.0, 3
spawn = multiprocessing.get_context("spawn")


def scalepan(path: Path) -> Callable[[int], object]:
    """Through Scalepan's store: one of the processes owns the file."""
    store = Store(path)
    return lambda number: store.call("store.add_event", AddEvent(topic="ingest", payload={"n": number}))


def sqlite(path: Path) -> Callable[[int], object]:
    """SQLite in WAL mode, every commit synced."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, topic TEXT, payload TEXT)")
    return lambda number: connection.execute("INSERT INTO events (topic, payload) VALUES ('ingest', ?)", [str(number)])


SIDES: dict[str, Callable[[Path], Callable[[int], object]]] = {"scalepan": scalepan, "sqlite": sqlite}


def work(side: str, path: Path, start: Any, out: Any) -> None:
    """Write until the time is up; how many, and the longest wait."""
    write = SIDES[side](path)
    write(-1)
    start.wait()
    end = time.monotonic() + SECONDS
    count, longest = 0, 0.0
    while (now := time.monotonic()) < end:
        write(count)
        count += 1
        longest = max(longest, time.monotonic() - now)
    out.put((count, longest))
    out.close()
    out.join_thread()


def together(side: str) -> tuple[float, float]:
    """Writes per second of all processes, and the longest wait of any."""
    with tempfile.TemporaryDirectory() as folder:
        start, out = spawn.Barrier(PROCESSES), spawn.Queue()
        processes = [
            spawn.Process(target=work, args=(side, Path(folder) / "notes.db", start, out)) for _ in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        results = [out.get(timeout=120) for _ in processes]
        for process in processes:
            process.join()
    return sum(count for count, _ in results) / SECONDS, max(longest for _, longest in results)


def bare_duckdb() -> float:
    """One process alone, one row per commit: DuckDB lets no second one in."""
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect(f"{folder}/bare.duckdb")
        connection.execute("CREATE TABLE events (topic TEXT, payload TEXT)")
        count, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            connection.execute("INSERT INTO events VALUES ('ingest', ?)", [str(count)])
            count += 1
        connection.close()
    return count / SECONDS


if __name__ == "__main__":
    # In turns, and the best of each, so that other load on the machine does not decide.
    runs = [{side: together(side) for side in SIDES} | {"bare DuckDB": (bare_duckdb(), 0.0)} for _ in range(REPEATS)]
    best = {side: max(run[side] for run in runs) for side in runs[0]}
    row(f"best of {REPEATS}", "writes per second", "longest wait")
    for name in SIDES:
        rate, waited = best[name]
        row(f"{name}, {PROCESSES} processes", f"{rate:,.0f}", f"{waited * 1000:,.0f} ms")
    row("bare DuckDB, 1 process", f"{best['bare DuckDB'][0]:,.0f}")
    for name in ("sqlite", "bare DuckDB"):
        row(f"scalepan over {name}", f"{best['scalepan'][0] / best[name][0]:.2f}")
    row("scalepan, every run", ", ".join(f"{run['scalepan'][0]:,.0f}" for run in runs))
