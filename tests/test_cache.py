"""Cache: shared by processes, and never in the way."""

import gc
import os
import sqlite3
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.cache import Cache, cache_folder, content_key


def test_what_is_put_is_found_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "deep" / "cache.sqlite")
    cache.put({b"a": b"1", b"b": b"2"})
    cache.put({b"b": b"3"})
    assert cache.get([b"a", b"b", b"c", b"a"]) == {b"a": b"1", b"b": b"3"}
    assert Cache(cache.path).get([b"a"]) == {b"a": b"1"}


def test_more_keys_than_one_query_takes(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    items = {str(i).encode(): bytes(4) for i in range(2500)}
    cache.put(items)
    assert cache.get(items) == items


@given(st.lists(st.text(), min_size=1), st.lists(st.text(), min_size=1))
def test_different_parts_give_different_keys(one: list[str], other: list[str]) -> None:
    assert (content_key(*one) == content_key(*other)) is (one == other)


def test_a_lone_surrogate_has_a_key() -> None:
    assert content_key("\ud800") != content_key("\ud801")


def test_a_damaged_file_is_started_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"this is no database, though it is long enough to be taken for one" * 100)
    cache = Cache(path)
    assert cache.get([b"a"]) == {}
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {b"a": b"1"}


def test_a_place_that_cannot_be_written_keeps_nothing_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = Cache(tmp_path / "file" / "cache.sqlite")
    cache.put({b"a": b"1"})
    assert cache.get([b"a"]) == {}


def test_deleting_it_only_costs_speed(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    cache.put({b"a": b"1"})
    for file in tmp_path.iterdir():
        file.unlink()
    cache.put({b"b": b"2"})
    cache.close()
    cache.put({b"c": b"3"})
    assert cache.get([b"c"]) == {b"c": b"3"}


def test_threads_share_one_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    threads = [threading.Thread(target=lambda n=n: cache.put({bytes([n]): b"x"})) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache.get(bytes([n]) for n in range(20))) == 20


def test_a_forked_child_uses_it_too(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    cache.put({b"parent": b"1"})
    cache._lock.acquire()  # another thread of the parent is using it at the moment of the fork
    child = os.fork()
    if child == 0:
        cache.put({b"child": b"2"})
        os._exit(0 if cache.get([b"parent"]) else 1)
    cache._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cache.get([b"child", b"parent"]) == {b"child": b"2", b"parent": b"1"}


def test_a_cache_that_nobody_holds_closes_its_file(tmp_path: Path) -> None:
    """Since Python 3.13, a connection that is collected while open is a warning, and here that is an error."""
    opened: list[str] = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        connect = sqlite3.connect

        class Noticed(sqlite3.Connection):
            def close(self) -> None:
                opened.remove("open")
                super().close()

        patch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, factory=Noticed, **options))
        cache = Cache(tmp_path / "cache.sqlite")
        cache.put({b"a": b"1"})
        opened.append("open")
        del cache
        gc.collect()
    assert not opened
    assert not caught


def test_the_folder_is_the_users_unless_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("SCALEPAN_CACHE")
    assert cache_folder().name == "scalepan"
