"""The cache under processes that write to it at once."""

import multiprocessing
from pathlib import Path

from scalepan.cache import Cache


def _write(path: Path, number: int) -> None:
    cache = Cache(path)
    for i in range(50):
        cache.put({f"{number}-{i}".encode(): b"x"})


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(path, number)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    keys = [f"{number}-{i}".encode() for number in range(4) for i in range(50)]
    assert len(Cache(path).get(keys)) == 200
