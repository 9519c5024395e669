"""The store when the machine fails it: a full disk, a folder that is read-only, an owner of another version."""

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalepan.errors import StoreError
from scalepan.store import Store
from scalepan.store.duckdb import writer
from scalepan.store.duckdb.schema import VERSION, log_path
from scalepan.store.own import AddEvent, Nothing

BALLAST = 1_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, with a megabyte of something that can be deleted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=8m", "scalepan", folder], check=False).returncode
    ):
        pytest.skip("a small disk cannot be mounted here")
    (folder / "ballast").write_bytes(bytes(BALLAST))
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def make_room(disk: Path) -> None:
    """Delete what can be deleted. The disk grows too: near its size, a tmpfs may refuse what `df` has room for."""
    for name in ("ballast", "more"):
        (disk / name).unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)


def write_until_full(store: Store) -> tuple[list[str], str]:
    """The keys that were acknowledged, and what the first failure said."""
    keys: list[str] = []
    while True:
        key = f"{len(keys)}"
        try:
            store.call("store.add_event", AddEvent("ingest", "x" * 20_000, trace_id=key))
        except StoreError as error:
            return keys, str(error)
        keys.append(key)


def keys_of(store: Store) -> list[str]:
    return [key for (key,) in store.sql("SELECT trace_id FROM events ORDER BY rowid", limit=100_000)]


def full_line(path: Path) -> str:
    return f'{path}: store.add_event: Could not write file "{log_path(path)}": No space left on device'


def test_a_full_disk_is_one_clear_line_and_nothing_acknowledged_is_lost(disk: Path) -> None:
    path = disk / "notes.duckdb"
    with Store(path) as store:
        keys, error = write_until_full(store)
        assert error == full_line(path)
        assert keys_of(store) == keys  # reading goes on
        make_room(disk)
        store.call("store.add_event", AddEvent("ingest", trace_id="after"))
        assert keys_of(store) == [*keys, "after"]
    with Store(path) as store:
        assert keys_of(store) == [*keys, "after"]
        assert store.call("store.check", Nothing()).problems == []


def test_a_store_on_a_full_disk_can_be_opened_and_read(disk: Path) -> None:
    path = disk / "notes.duckdb"
    with Store(path) as store:
        keys, _ = write_until_full(store)
    free = shutil.disk_usage(disk).free
    (disk / "more").write_bytes(bytes(free))
    with Store(path) as store:
        assert keys_of(store) == keys
        with pytest.raises(StoreError, match="No space left on device"):
            store.call("store.add_event", AddEvent("ingest", "x" * 20_000))
    assert len(keys) > 10


def test_a_log_that_does_not_fit_into_the_file_breaks_nothing(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # DuckDB gives up the whole database when moving the log runs out of disk. Try it although there is no room.
    monkeypatch.setattr(writer, "LONGEST_LOG", 1_500_000)
    monkeypatch.setattr(writer, "ROOM", 0)
    path = disk / "notes.duckdb"
    broken: list[int] = []
    plain = writer.Writer._give_up

    def give_up(*args: Any) -> None:
        broken.append(1)
        plain(*args)

    monkeypatch.setattr(writer.Writer, "_give_up", give_up)
    with Store(path) as store:
        (disk / "more").write_bytes(bytes(2_500_000))
        keys, error = write_until_full(store)
        assert broken  # it was tried
        monkeypatch.undo()
        assert error == full_line(path)
        assert keys_of(store) == keys
        make_room(disk)
        store.call("store.add_event", AddEvent("ingest", trace_id="after"))
        assert keys_of(store) == [*keys, "after"]
    with Store(path) as store:
        assert keys_of(store) == [*keys, "after"]


def test_a_long_log_is_moved_into_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LONGEST_LOG", 100_000)
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        for _ in range(50):
            store.call("store.add_event", AddEvent("ingest", "x" * 20_000))
        assert not log_path(path).exists() or log_path(path).stat().st_size < 200_000
        assert store.sql("SELECT count(*) FROM events") == [[50]]


def write_within_a_limit(path: Path, out: Path) -> None:
    """In a process of its own: no file may grow over a megabyte, then over two."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    with Store(path) as store:
        keys, error = write_until_full(store)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
        store.call("store.add_event", AddEvent("ingest", trace_id="after"))
        out.write_text("\n".join([error, *keys, "after"]))


def test_a_file_that_may_not_grow_is_one_clear_line(tmp_path: Path) -> None:
    path, out = tmp_path / "notes.duckdb", tmp_path / "out"
    code = (
        "import sys; from pathlib import Path; from tests.real.test_store_failures import write_within_a_limit as w; "
        "w(*map(Path, sys.argv[1:]))"
    )
    subprocess.run([sys.executable, "-c", code, path, out], check=True, cwd=Path(__file__).parents[2])
    error, *keys = out.read_text().splitlines()
    assert error == f'{path}: store.add_event: Could not write file "{log_path(path)}": File too large'
    with Store(path) as store:
        assert keys_of(store) == keys


@pytest.mark.parametrize("there", [True, False], ids=["there", "new"])
def test_a_read_only_disk_is_one_clear_line(disk: Path, there: bool) -> None:
    path = disk / "notes.duckdb"
    if there:
        with Store(path) as store:
            store.call("store.add_event", AddEvent("ingest"))
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    before = path.read_bytes() if there else None
    with pytest.raises(StoreError, match=rf"^{path} cannot be opened: [^\n]+ Read-only file system$"):
        Store(path).sql("SELECT 1")
    assert (path.read_bytes() if there else None) == before


OTHER_VERSION = """
import sys
from scalepan.store import Store
from scalepan.store.duckdb import owner, schema
schema.MIGRATIONS += ("CREATE TABLE further (id TEXT)",)
schema.VERSION = owner.VERSION = len(schema.MIGRATIONS)
Store(sys.argv[1]).sql("SELECT 1")
print(flush=True)
sys.stdin.read()
"""


def test_an_owner_of_another_version_is_one_line_that_names_both(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        store.call("store.add_event", AddEvent("ingest"))
    owner = subprocess.Popen([sys.executable, "-c", OTHER_VERSION, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with owner:
        assert owner.stdin
        assert owner.stdout
        owner.stdout.readline()
        with pytest.raises(StoreError) as caught:
            Store(path).sql("SELECT 1")
        assert str(caught.value) == (
            f"the store's owner, process {owner.pid}, has protocol 1 and schema {VERSION + 1}, and this process 1 and "
            f"{VERSION}; use the same version of Scalepan for both"
        )
        owner.stdin.close()
    with pytest.raises(
        StoreError, match=f"is of version {VERSION + 1}, and this Scalepan knows {VERSION}: upgrade Scalepan"
    ):
        Store(path).sql("SELECT 1")
