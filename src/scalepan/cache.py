"""Key to bytes in one SQLite file that processes share. Deleting it costs speed and nothing else.

So every error of the file is handled by doing without: a cache that cannot be read finds nothing, one that cannot be
written stores nothing, and a damaged one is replaced.
"""

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from scalepan.files import make_file, make_folder
from scalepan.forks import after_fork

ENV_FOLDER = "SCALEPAN_CACHE"
BUSY_SECONDS = 5.0
KEYS_A_QUERY = 500  # SQLite's oldest limit on bound values is 999
_leaked: list[sqlite3.Connection | None] = []
"""Connections of a parent process, referenced so that they are never closed here."""


def cache_folder() -> Path:
    """Where Scalepan stores what it can recompute: $SCALEPAN_CACHE, else the user's cache folder."""
    if os.environ.get(ENV_FOLDER):
        return Path(os.environ[ENV_FOLDER])
    from platformdirs import user_cache_path

    return user_cache_path("scalepan")


def content_key(*parts: str) -> bytes:
    """A key from everything that the value depends on; the same parts give the same key on every machine.

    >>> content_key("model", "text") == content_key("model", "text")
    True
    >>> content_key("ab", "c") == content_key("a", "bc")
    False
    """
    digest = sha256()
    for part in parts:
        # Lone surrogates are not UTF-8, but a text that has one needs a key too.
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


class Cache:
    """A shared dictionary of bytes.

    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()) / "cache.sqlite")
    >>> cache.put({b"key": b"value"})
    >>> cache.get([b"key", b"other"])
    {b'key': b'value'}
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else cache_folder() / "cache.sqlite"
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closer: weakref.finalize[..., Cache] | None = None
        after_fork(self._after_fork)

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of these keys; missing ones are left out."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}

        def look(connection: sqlite3.Connection) -> None:
            for start in range(0, len(wanted), KEYS_A_QUERY):
                some = wanted[start : start + KEYS_A_QUERY]
                marks = ",".join("?" * len(some))
                found.update(connection.execute(f"SELECT key, value FROM kept WHERE key IN ({marks})", some))  # noqa: S608

        self._try(look)
        return found

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Store these; existing values are replaced."""

        def keep(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", items.items())

        if items:
            self._try(keep)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._drop()

    def _try(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Work on the file, one caller at a time; an error of the file ends it quietly."""
        with self._lock:
            try:
                work(self._connect())
            except sqlite3.DatabaseError as error:
                self._drop()
                # Nothing in a damaged file can be trusted, so it is recreated at the next use.
                if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    for suffix in ("", "-wal", "-shm"):
                        with suppress(OSError):
                            Path(f"{self.path}{suffix}").unlink()
            except OSError:
                self._drop()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            make_folder(self.path.parent)
            # SQLite gives its log and index the permissions of the file.
            make_file(self.path)
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, check_same_thread=False)
            self._connection = connection
            # Since 3.13 a connection that is collected without having been closed is a warning.
            self._closer = weakref.finalize(self, connection.close)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")  # a lost entry is recomputed
            connection.execute(
                "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
            )
        return self._connection

    def _drop(self) -> None:
        if self._closer is not None:
            with suppress(sqlite3.Error):
                self._closer()
        self._connection = self._closer = None

    def _after_fork(self) -> None:
        # A connection must not cross a fork, and a lock that another thread held would never be released. The parent's
        # connection is leaked on purpose: closing it here would drop the parent's file locks.
        self._lock = threading.Lock()
        if self._closer is not None:
            self._closer.detach()
            _leaked.append(self._connection)
        self._connection = self._closer = None
