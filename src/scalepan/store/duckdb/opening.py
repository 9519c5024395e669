"""Opening the file: what is there is looked at first, and changed only when it is sound and ours."""

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scalepan.errors import StoreError, quoted, shorten
from scalepan.files import FOLDER_MODE, close_to_others, is_ours, open_private
from scalepan.store.duckdb import generation, schema
from scalepan.store.duckdb.generation import Generation
from scalepan.store.duckdb.place import check_companion, check_file
from scalepan.store.duckdb.schema import FORGET_REQUESTS, backup_path, backups, duckdb, log_path

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LOG_HEAD = bytes.fromhex("640062")  # of every log that DuckDB 1.5 writes: a field and its type
# One thread: waking the others for a few rows costs a quarter of a write, and a query of another process should not
# take every core of the one that happens to own the file. The writer decides when the log is moved into the file, so
# DuckDB's own limit is out of reach. Nothing is fetched or loaded because a name in a query asks for it.
SETTINGS = {
    "threads": 1,
    "checkpoint_threshold": "1TB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}

VERSION_TEXT = re.compile("[1-9][0-9]{0,5}")
OWN_MACRO = re.compile(r"CREATE MACRO (\w+)")


def open_database(path: Path, *, accept_loss: bool = False) -> "tuple[DuckDBPyConnection, Generation]":
    """The file, made or brought up to this version, and its last commit. duckdb.IOException if another process owns it.

    Until everything about it was checked, closing leaves file and log as they were.
    """
    check_companions(path)
    if not check_file(path):
        _make(path)
    before = path.stat().st_ino
    connection = _connect(path)
    try:
        _check_place(path, before)
        _check_log(path)
        found = _version(path, connection)
        if not accept_loss and found:
            generation.check(path, connection)
        connection.execute("PRAGMA enable_checkpoint_on_shutdown")
        if 0 < found < schema.VERSION:
            connection.close()
            # The file is closed for this: reading it through another handle would let go of its lock.
            _back_up(path, found)
            connection = _connect(path)
            connection.execute("PRAGMA enable_checkpoint_on_shutdown")
        make_private(path)
        at = _bring_up(connection, found)
        with suppress(duckdb().Error):  # a full disk: what is there can still be read
            connection.execute(FORGET_REQUESTS)
        _lock_in(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection, at


def file_id(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to now; None if it leads to none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_companions(path: Path) -> None:
    """What stands beside the file must be this user's. A log without its file holds writes that DuckDB would drop."""
    for beside in (log_path(path), generation.generation_path(path), *backups(path)):
        check_companion(beside)
    if not os.path.lexists(path) and log_path(path).exists() and log_path(path).stat().st_size:
        copies = ", ".join(copy.name for copy in backups(path))
        raise generation.LostWritesError(
            f"{path} is missing, and its log {log_path(path).name} is there: nothing in the log can be read without "
            f"the file; put {f'the file or a copy ({copies})' if copies else 'the file'} back, or run "
            f"{generation.RECOVER} to move the log away and start again"
        )


def make_private(path: Path) -> None:
    """Only the owner can read the file and what stands beside it, the log that DuckDB is about to make included."""
    for file in (path, *backups(path)):
        close_to_others(file)
    make_log(path)


def make_log(path: Path) -> None:
    """An empty log, so that DuckDB does not make it under the umask: it removes the log at every checkpoint."""
    with suppress(OSError):  # a full disk
        os.close(open_private(log_path(path), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW))


def work_folder(path: Path) -> Path:
    """Where DuckDB may put what does not fit into memory, and where a file that is written anew comes to be."""
    return path.with_name(f".{path.name}.tmp")


def drop_work_folder(path: Path) -> None:
    """Remove it with what is in it: what a killed owner left there is of no use to anybody."""
    folder = work_folder(path)
    with suppress(OSError):
        if stat.S_ISDIR(folder.lstat().st_mode):
            shutil.rmtree(folder)


def _lock_in(connection: "DuckDBPyConnection", path: Path) -> None:
    """From now on no query can change what this database reaches. Its work folder is made, empty and private."""
    drop_work_folder(path)
    folder = work_folder(path)
    with suppress(OSError):  # a full disk; without the folder, what does not fit into memory fails
        folder.mkdir(mode=FOLDER_MODE)
        folder.chmod(FOLDER_MODE)
    if os.path.lexists(folder) and not (stat.S_ISDIR(folder.lstat().st_mode) and is_ours(folder.lstat())):
        raise StoreError(f"{folder} is in the way: it is not a folder of yours; remove it")
    connection.execute("SET lock_configuration = true")


def _make(path: Path) -> None:
    """A new store, made whole in a folder that only its owner can enter, then put in its place.

    Nobody ever sees half of it, and nobody else can open it before its rights are set. If another process was quicker,
    its file stays.
    """
    try:
        folder = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: it cannot be made: {error.strerror}") from None
    try:
        fresh = Path(folder) / path.name
        create(fresh)
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            return
        except OSError:
            # A file system without hard links. The moment between looking and renaming is short.
            if not path.exists():
                fresh.rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create(path: Path) -> None:
    """The file of an empty store, in a folder that only its owner can enter: for a moment everybody can read it."""
    with duckdb().connect(str(path), config=SETTINGS) as connection:
        _bring_up(connection, 0)
    close_to_others(path)


def _connect(path: Path) -> "DuckDBPyConnection":
    # From the first query on, this database reaches no file but its own and those in its work folder: the file may be
    # somebody else's work, and a view in it would read what it names.
    reaches = {"temp_directory": str(work_folder(path)), "enable_external_access": False}
    connection: DuckDBPyConnection = duckdb().connect(str(path), config=SETTINGS | reaches)
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # as times are kept, so that a query may compare them with now()
    return connection


def _check_place(path: Path, before: int) -> None:
    """An owner that closes may put a new file in place of the old; what was locked then is the old one, and gone."""
    if not path.exists() or path.stat().st_ino != before:
        raise duckdb().IOException(f"Could not set lock on file {path}: it was replaced")


def _check_log(path: Path) -> None:
    """DuckDB takes a log whose first bytes are damaged for none, and writes over it: what it holds would be lost."""
    with suppress(FileNotFoundError), log_path(path).open("rb") as log:
        head = log.read(len(LOG_HEAD))
        # Zeros are what a power cut leaves of a log that was never synced.
        if any(head) and head != LOG_HEAD[: len(head)]:
            raise StoreError(
                f"{log_path(path)} is damaged, and may hold writes; restore it, or run {generation.RECOVER} to move it "
                "away and go on with what is in the file"
            )


def _version(path: Path, connection: "DuckDBPyConnection") -> int:
    """Which version of a store it is; StoreError for a database that is somebody else's.

    A view could stand for a table of the store, and a macro for a function that its queries use. These queries call
    functions by their whole name, which no macro has.
    """
    tables = _names(connection, "SELECT table_name FROM system.main.duckdb_tables() WHERE NOT internal")
    others = _names(
        connection,
        "SELECT view_name FROM system.main.duckdb_views() WHERE NOT internal "
        "UNION ALL SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal",
    ).difference(*map(OWN_MACRO.findall, schema.MIGRATIONS))
    row = None
    if "meta" in tables:
        if others:
            raise StoreError(
                f"{path}: the file has views or macros ({_listed(others)}); a store of Scalepan's has none: drop them"
            )
        with suppress(duckdb().BinderException):  # a table of that name with other columns
            row = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    if row is None:
        if tables or others:
            found = _listed(tables | others)
            raise StoreError(f"{path}: the file has tables ({found}), and is not a Scalepan store")
        return 0
    if not VERSION_TEXT.fullmatch(str(row[0])):
        raise StoreError(f"{path}: {quoted(row[0])} is not a store version; restore a copy")
    if int(row[0]) > schema.VERSION:
        raise StoreError(
            f"{path} is of version {row[0]}, and this Scalepan knows {schema.VERSION}: upgrade Scalepan to use it"
        )
    return int(row[0])


def _names(connection: "DuckDBPyConnection", query: str) -> set[str]:
    return {name for (name,) in connection.execute(query).fetchall()}


def _listed(names: set[str]) -> str:
    return f"{', '.join(map(shorten, sorted(names)[:3]))}{' …' if len(names) > 3 else ''}"


def _bring_up(connection: "DuckDBPyConnection", found: int) -> Generation:
    for version in range(found, schema.VERSION):
        connection.execute("BEGIN")
        connection.execute(schema.MIGRATIONS[version])
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", [str(version + 1)])
        connection.execute("COMMIT")
    return generation.begin(connection)


def _back_up(path: Path, version: int) -> None:
    target = backup_path(path, version)
    with path.open("rb") as source, open(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
