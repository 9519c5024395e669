"""Other users of the machine: who listens, who may read, and whose store is found upward. Real users, so root only.

`python -m tests.real.test_store_users` counts what another user can read, and what an impostor is sent.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scalepan.cache import Cache
from scalepan.errors import StoreError
from scalepan.memory import Memory
from scalepan.store import Store
from scalepan.store.own import AddEvent
from scalepan.store.paths import socket_path

OTHER = 65534
SECRET = "the quiet heron lands at dusk"
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

USE_EVERYTHING = """
import os, sys
from pathlib import Path
os.umask(int(sys.argv[2], 8))
from scalepan.cache import Cache
from scalepan.memory import Memory
from scalepan.memory.recall import saved
from scalepan.evals.runs.file import RunFile
from scalepan.store.duckdb import schema, store as stores
saved.WORTH_SAVING = 1
folder = Path(sys.argv[1])
with Memory(folder / "made" / "notes.duckdb") as memory:
    first = memory.add("the quiet heron lands at dusk")
    memory.add("herons nest in colonies")
    memory.add("a heron eats fish")
    memory.forget(first)  # the file is written anew as it closes
schema.MIGRATIONS += ("CREATE TABLE further (id TEXT)",)
schema.VERSION = len(schema.MIGRATIONS)
stores.VERSION = schema.VERSION
from scalepan.store.duckdb import owner
owner.VERSION = schema.VERSION
memory = Memory(folder / "made" / "notes.duckdb")  # upgraded, after a backup
memory.add("and frogs")
memory.search("heron")
cache = Cache(folder / "cached" / "deep" / "cache.sqlite")
cache.put({b"key": b"value"})
run = RunFile(folder / "run.jsonl", resume=False)
run.add({"id": "a", "passed": True})
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def used(folder: Path, umask: str) -> Iterator[None]:
    """Everything that is written, by a process that still has it open."""
    command = [sys.executable, "-c", USE_EVERYTHING, str(folder), umask]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"\n"
        yield
        process.stdin.close()
    assert process.returncode == 0


def loose(folder: Path) -> list[str]:
    """What others have any right to, with its mode."""
    found = [(path.relative_to(folder), path.lstat().st_mode & 0o777) for path in sorted(folder.rglob("*"))]
    return [f"{path} {mode:o}" for path, mode in found if mode & 0o077]


@pytest.mark.parametrize("umask", ["000", "002", "022", "077"])
def test_everything_is_its_owners_alone(tmp_path: Path, umask: str) -> None:
    with used(tmp_path, umask):
        names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
        made = {
            "notes.duckdb",
            "notes.duckdb.wal",
            "notes.duckdb.generation",
            ".notes.duckdb.sock",
            ".notes.duckdb.tmp",
        }
        assert {f"made/{name}" for name in made} <= names
        assert {"cached/deep/cache.sqlite", "cached/deep/cache.sqlite-wal", "run.jsonl"} <= names
        assert any(name.endswith(".backup") for name in names)
        assert loose(tmp_path) == []
    assert loose(tmp_path) == []
    assert any(path.suffix == ".index" for path in (tmp_path / "made").iterdir())


def test_rights_that_were_given_away_are_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        store.call("store.add_event", AddEvent("ingest"))
    cache = Cache(tmp_path / "cache.sqlite")
    cache.put({b"a": b"b"})
    cache.close()
    for file in tmp_path.iterdir():
        file.chmod(0o666)
    with Store(path) as store:
        store.call("store.add_event", AddEvent("ingest"))
        cache.put({b"a": b"b"})
        assert loose(tmp_path) == []
    cache.close()


def test_the_log_is_private_after_every_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scalepan.store.duckdb import writer

    monkeypatch.setattr(writer, "LONGEST_LOG", 5_000)
    old = os.umask(0)
    try:
        with Store(tmp_path / "notes.duckdb") as store:
            for _ in range(30):
                store.call("store.add_event", AddEvent("ingest", "x" * 1000))
                assert loose(tmp_path) == []
    finally:
        os.umask(old)


def as_other(work: str, *args: object, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run some Python as another user."""
    source = str(Path(__file__).parents[2] / "src")
    code = f"import os; os.setgid({OTHER}); os.setuid({OTHER})\nimport sys; sys.path.insert(0, {source!r})\n{work}"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, check=False, cwd=cwd
    )


@contextmanager
def impostor(place: Path) -> Iterator[list[bytes]]:
    """Another user who listens where the owner would, as in a sticky folder; what they are sent."""
    received: list[bytes] = []
    os.setegid(OTHER)
    os.seteuid(OTHER)
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place))
        place.chmod(0o777)
        listener.listen()
    finally:
        os.seteuid(0)
        os.setegid(0)

    def listen() -> None:
        while True:
            try:
                channel, _ = listener.accept()
            except OSError:
                return
            with channel:
                channel.settimeout(2.0)
                try:
                    while data := channel.recv(1 << 16):
                        received.append(data)
                        channel.sendall(_hello())  # play along, to get at the call itself
                except OSError:
                    pass

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield received
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        place.unlink(missing_ok=True)


def _hello() -> bytes:
    import struct

    import msgspec

    from scalepan.store.duckdb.schema import VERSION
    from scalepan.store.duckdb.wire import hello

    data = msgspec.msgpack.encode(hello(VERSION))
    return struct.pack(">I", len(data)) + data


@contextmanager
def sticky() -> Iterator[Path]:
    """A folder like /tmp. Not pytest's own: that one is closed to others whenever another run begins."""
    with tempfile.TemporaryDirectory(prefix="scalepan-users-") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


@pytest.fixture
def shared() -> Iterator[Path]:
    with sticky() as folder:
        yield folder


@root
def test_another_user_who_listens_is_sent_nothing(shared: Path) -> None:
    path = shared / "notes.duckdb"
    with impostor(socket_path(path)) as received:
        for _ in range(5):
            with pytest.raises(StoreError, match=r"is owned by a process of another user, 'nobody': nothing was sent"):
                Memory(Store(path, patience=2.0)).add(SECRET)
    assert received == []


@root
@pytest.mark.parametrize("beside", ["notes.duckdb.wal", "notes.duckdb.generation", "notes.duckdb.v1.backup"])
def test_a_file_of_another_user_beside_the_store_is_not_written_to(shared: Path, beside: str) -> None:
    (shared / beside).touch()
    os.chown(shared / beside, OTHER, OTHER)
    with pytest.raises(StoreError, match=r"is in the way: it is a file of user 'nobody'"):
        Store(shared / "notes.duckdb").call("store.add_event", AddEvent("ingest", SECRET))
    assert (shared / beside).read_bytes() == b""


@root
def test_another_user_cannot_read_anything(shared: Path) -> None:
    with used(shared, "000"):
        files = [path for path in shared.rglob("*") if path.is_file()]
        assert len(files) > 5
        (shared / "open").write_text("for all")
        (shared / "open").chmod(0o644)
        assert as_other("import sys; print(open(sys.argv[1]).read())", shared / "open").stdout == "for all\n"
        for file in files:
            assert "PermissionError" in as_other("import sys; open(sys.argv[1], 'rb')", file).stderr


@root
@pytest.mark.parametrize("kind", ["theirs", "their link to ours"])
def test_a_store_upward_that_is_anothers_is_not_used_and_said(tmp_path: Path, kind: str) -> None:
    mine = tmp_path / "home" / "project"
    mine.mkdir(parents=True)
    planted = tmp_path / "home" / "scalepan.duckdb"
    if kind == "theirs":
        with Store(planted) as store:
            store.call("store.add_event", AddEvent("ingest"))
        os.chown(planted, OTHER, OTHER)
    else:
        with Store(tmp_path / "private.duckdb") as store:
            store.call("store.add_event", AddEvent("ingest"))
        planted.symlink_to(tmp_path / "private.duckdb")
        os.lchown(planted, OTHER, OTHER)
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")}
    env.pop("SCALEPAN_STORE", None)
    command = [sys.executable, "-m", "scalepan", "memory", "sql", "SELECT count(*) AS n FROM events", "--json"]
    done = subprocess.run(command, cwd=mine, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == '{"n":0}\n'
    assert done.stderr == f"scalepan: {planted} belongs to user 'nobody', not to you, and is not used\n"
    assert (tmp_path / "data" / "scalepan" / "scalepan.duckdb").is_file()


@root
def test_a_store_of_another_user_that_is_named_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        store.call("store.add_event", AddEvent("ingest"))
    os.chown(path, OTHER, OTHER)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"it belongs to user 'nobody', not to you; run this as that user, or copy"):
        Store(path).sql("SELECT 1")
    assert path.read_bytes() == before
    assert path.stat().st_uid == OTHER


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        with used(Path(place), "022"):
            readable = loose(Path(place))
            everything = list(Path(place).rglob("*"))
        print(f"umask 022: {len(readable)} of {len(everything)} files and folders are open to others: {readable}")
    with sticky() as folder:
        target = folder / "notes.duckdb"
        sent = 0
        for _ in range(10):
            with impostor(socket_path(target)) as got:
                try:
                    Memory(Store(target, patience=1.0)).add(SECRET)
                except Exception as error:
                    last = error
            sent += SECRET.encode() in b"".join(got)
        print(f"an impostor got the text in {sent} of 10; {last}")
