"""Store: one process owns the file, threads and other Stores share it, and what goes wrong is one line."""

import os
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from scalepan.errors import StoreError
from scalepan.repeat import same_request
from scalepan.store import Here, Operation, Store, commits, find_store
from scalepan.store.duckdb.schema import VERSION, backup_path
from scalepan.store.duckdb.wire import Call
from scalepan.store.duckdb.writer import Write, Writer
from scalepan.store.own import AddEvent, EventAdded, Nothing, Query
from scalepan.store.paths import socket_path


def add(store: Store, topic: str = "ingest", **more: Any) -> str:
    added: EventAdded = store.call("store.add_event", AddEvent(topic=topic, **more))
    return added.id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.duckdb"


def test_what_is_written_is_there_after_closing(path: Path) -> None:
    with Store(path) as store:
        id_ = add(store, payload={"text": "解約"}, tenant="acme", trace_id="t1")
        assert store.is_owner
    with Store(path) as store:
        assert store.sql("SELECT id, tenant, payload, trace_id FROM events") == [[id_, "acme", '{"text":"解約"}', "t1"]]


def test_two_stores_of_one_process_share_the_owner_and_the_last_to_close_lets_go(path: Path) -> None:
    one, other = Store(path), Store(path)
    add(one)
    add(other)
    one.close()
    assert other.sql("SELECT count(*) FROM events") == [[2]]
    other.close()
    duckdb.connect(str(path)).close()  # nobody holds the file
    assert not socket_path(path).exists()


def test_many_threads_write_and_read(path: Path) -> None:
    failures: list[BaseException] = []
    with Store(path) as store:

        def work() -> None:
            try:
                for _ in range(20):
                    add(store)
                    store.sql("SELECT count(*) FROM events")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.sql("SELECT count(*), count(DISTINCT id) FROM events") == [[160, 160]]


def test_a_repeated_call_is_answered_and_not_applied_again(path: Path) -> None:
    with Store(path) as store:
        request = msgspec.Raw(msgspec.msgpack.encode(AddEvent(topic="ingest")))
        first = store._answered(Call("store.add_event", request, "r1"))
        again = store._answered(Call("store.add_event", request, "r1", repeated=True))
        assert first.response == again.response
        assert store.sql("SELECT count(*) FROM events") == [[1]]


class Picky(msgspec.Struct, frozen=True):
    text: str


@commits(Operation("test.picky", Picky, Picky))
def picky(here: Here, requests: Sequence[Picky]) -> list[Picky]:
    for request in requests:
        if request.text == "bad":
            raise ValueError("bad is not wanted")
        here._connection.execute("INSERT INTO labels (id) VALUES (?)", [request.text])
    return list(requests)


def test_a_bad_write_costs_only_itself(path: Path) -> None:
    with Store(path) as store:
        results: dict[str, str] = {}

        def work(text: str) -> None:
            try:
                store.call("test.picky", Picky(text))
                results[text] = "ok"
            except StoreError as error:
                results[text] = str(error)

        threads = [threading.Thread(target=work, args=(text,)) for text in ("a", "bad", "b", "c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {"a": "ok", "b": "ok", "c": "ok", "bad": "test.picky: bad is not wanted"}
        assert store.sql("SELECT id FROM labels ORDER BY 1") == [["a"], ["b"], ["c"]]


def test_a_database_that_breaks_is_opened_anew_and_the_write_is_applied_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Writer._commit
    breaks = ["before", "after"]

    def breaking(self: Writer, batch: Sequence[Write]) -> None:
        when = breaks.pop() if breaks else ""
        if when == "before":
            raise duckdb.FatalException("broken")
        if when == "after":  # committed, and nobody was told
            commit(self, [write._replace(done=Future()) for write in batch])
            raise duckdb.FatalException("broken")
        commit(self, batch)

    with Store(path) as store:
        store.sql("SELECT 1")  # a cursor that would keep the file open
        monkeypatch.setattr(Writer, "_commit", breaking)
        id_ = add(store)
        assert breaks == []
        assert store.sql("SELECT id FROM events") == [[id_]]
        assert store.is_owner
    assert not socket_path(path).exists()


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("DELETE FROM events", "only one SELECT at a time"),
        ("SELECT 1; SELECT 2", "only one SELECT at a time"),
        ("COPY events TO 'x.csv'", "only one SELECT at a time"),
        ("SELEC 1", "not SQL"),
        ("SELECT * FROM nothing", "nothing does not exist"),
    ],
)
def test_sql_only_reads(path: Path, query: str, error: str) -> None:
    with Store(path) as store, pytest.raises(StoreError, match=error):
        store.sql(query)


def test_long_answers_come_in_pages(path: Path) -> None:
    with Store(path) as store:
        pages = [store.call("store.sql", Query("SELECT * FROM range(5)", limit=2, offset=at)) for at in (0, 2, 4)]
        assert [(page.rows, page.more) for page in pages] == [([[0], [1]], True), ([[2], [3]], True), ([[4]], False)]


def test_info_says_what_a_store_is_like(path: Path) -> None:
    with Store(path) as store:
        add(store)
        info = store.call("store.info", Nothing())
        assert info.schema == VERSION
        assert info.tables["events"] == 1
        assert {"claims", "events", "labels", "meta", "policies", "requests", "scores"} <= set(info.tables)


def test_a_file_of_a_newer_version_is_refused_in_one_line(path: Path) -> None:
    Store(path).sql("SELECT 1")
    connection = _closed_and_open(path)
    connection.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    connection.close()
    with pytest.raises(
        StoreError, match=f"is of version 99, and this Scalepan knows {VERSION}: upgrade Scalepan to use it"
    ):
        Store(path).sql("SELECT 1")


def _closed_and_open(path: Path) -> Any:
    from scalepan.store.duckdb.store import close_all

    close_all()
    return duckdb.connect(str(path))


def test_an_older_file_is_brought_up_after_a_backup(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scalepan.store.duckdb import schema

    with Store(path) as store:
        add(store)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE further (id TEXT)"))
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    with Store(path) as store:
        assert store.sql("SELECT count(*) FROM further") == [[0]]
        assert store.sql("SELECT count(*) FROM events") == [[1]]
    old = duckdb.connect(str(backup_path(path, VERSION)), read_only=True)
    assert old.execute("SELECT count(*) FROM events").fetchall() == [(1,)]
    old.close()


@pytest.mark.parametrize(
    ("content", "error"), [(b"this is no database" * 500, "cannot be (read|opened)"), (b"x", "cannot be (read|opened)")]
)
def test_a_damaged_file_is_one_clear_line_and_is_not_touched(path: Path, content: bytes, error: str) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=error) as caught:
        Store(path).sql("SELECT 1")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_database_of_somebody_else_is_not_taken_over(path: Path) -> None:
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE theirs (a INT)")
    connection.close()
    with pytest.raises(StoreError, match="is not a Scalepan store"):
        Store(path).sql("SELECT 1")


def test_a_stale_socket_is_replaced(path: Path) -> None:
    place = socket_path(path)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(place))
    left.close()  # nobody listens, the name stays
    with Store(path) as store:
        add(store)
        assert store.is_owner


def test_a_listener_that_is_not_scalepans_is_named(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_path(path)))
        listener.listen()

        def talk() -> None:
            other, _ = listener.accept()
            with other:
                other.sendall(b"\x00\x00\x00\x05hello")
                other.recv(1000)

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(StoreError, match="does not speak as Scalepan does"):
            Store(path).sql("SELECT 1")
        thread.join()


def test_something_else_in_the_sockets_place_is_named_and_left_alone(path: Path) -> None:
    socket_path(path).write_text("precious")
    with pytest.raises(StoreError, match="is in the way"):
        Store(path).sql("SELECT 1")
    assert socket_path(path).read_text() == "precious"


@pytest.mark.skipif(not os.access("/tmp", os.W_OK), reason="/tmp cannot be written here")
def test_a_long_path_has_its_socket_in_a_private_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with Store(deep / "notes.duckdb") as store:
        add(store)
        place = socket_path(store.path)
        assert len(os.fsencode(place)) <= 100
        assert place.parent.stat().st_mode & 0o077 == 0
        assert place.stat().st_mode & 0o077 == 0


def test_which_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_store(env={}).name == "scalepan.duckdb"
    (tmp_path / "scalepan.duckdb").touch()
    assert find_store(env={}) == tmp_path / "scalepan.duckdb"
    assert find_store(env={"SCALEPAN_STORE": "x.duckdb"}) == below / "x.duckdb"
    assert find_store("y.duckdb", env={"SCALEPAN_STORE": "x.duckdb"}) == below / "y.duckdb"


def test_an_unknown_operation_is_named(path: Path) -> None:
    with Store(path) as store, pytest.raises(StoreError, match=r"no operation 'store.ad_event'; did you mean"):
        store.call("store.ad_event", Nothing())


def test_a_call_that_is_repeated_as_a_request_is_that_call_and_no_other(tmp_path: Path) -> None:
    """A second call must not be answered as the first was: then it would never be applied."""
    with Store(tmp_path / "notes.duckdb") as store:
        ids = []
        for topic in ("first", "second"):
            store.call("store.add_event", AddEvent(topic))
            ids.append(store.sql("SELECT id FROM requests WHERE operation = 'store.add_event' ORDER BY ts DESC")[0][0])
        assert "#" not in "".join(ids)
        for id_, topic in zip(ids, ("first", "second"), strict=True):
            with same_request(id_):
                store.call("store.add_event", AddEvent(topic))
        assert store.sql("SELECT topic FROM events ORDER BY topic") == [["first"], ["second"]]
