"""The index as a file beside the store, so that opening does not make it anew. It is derived: losing it loses nothing.

Each claim is saved with a fingerprint of what the tables say of it. Whoever opens the store compares all fingerprints,
which takes DuckDB a moment, and brings the claims that differ up to date; so a file that is late is only slower.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile

import msgspec
import numpy as np

from scalepan.check import resolved
from scalepan.files import is_ours, open_private
from scalepan.memory.recall.candidates.columns import Entry
from scalepan.memory.recall.candidates.vectors import Vectors
from scalepan.memory.recall.candidates.words import SavedWords, Words
from scalepan.memory.recall.index import Index, refresh
from scalepan.store.duckdb.schema import duckdb
from scalepan.text import terms_version

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VERSION = 1
WORTH_SAVING = 2_000
"""Claims; fewer are indexed anew in a fraction of a second."""
LATE = 0.02
"""The share of claims that may have changed before the file is written anew."""
TOO_LATE = 0.25
"""The share from which on indexing anew is as quick."""
_FINGERPRINTS = """
    SELECT c.id, hash(
        c.text, c.tenant, c.project, c.session, c.kind, c.scope, c.boundary_class, c.content_hash, c.utility,
        c.utility_at, c.confidence, c.quality, c.quality_at, c.created_at, c.updated_at, c.provenance::TEXT,
        e.all_, v.model
    ) AS fingerprint
    FROM claims c
    LEFT JOIN (SELECT claim_id, bit_xor(hash(entity_id)) AS all_ FROM claim_entities GROUP BY 1) e ON e.claim_id = c.id
    LEFT JOIN (SELECT claim_id, max(model) AS model FROM claim_vectors GROUP BY 1) v ON v.claim_id = c.id
    WHERE c.merged_into IS NULL
"""
resolved(list[Entry])
_ENTRIES = msgspec.msgpack.Decoder(list[Entry])
_NAMES = msgspec.msgpack.Decoder(list[str])


def index_path(store: Path) -> Path:
    """Where the index of a store is saved."""
    return store.with_name(f"{store.name}.index")


def _unfinished(store: Path) -> Path:
    return index_path(store).with_suffix(".index-new")


def drop(store: Path) -> None:
    """Delete the saved index, and one that a killed process left half written: they hold texts that are to be gone."""
    for file in (index_path(store), _unfinished(store)):
        file.unlink(missing_ok=True)


def load(cursor: "DuckDBPyConnection", store: Path, index: Index) -> bool:
    """Fill an empty index with the saved one, and bring it up to what the tables say; False if there is none of use."""
    try:
        with _open_own(index_path(store)) as file, np.load(file, allow_pickle=False) as arrays:
            if bytes(arrays["made_by"]).decode() != _made_by(index):
                return False
            there = dict(zip(*_fingerprints(cursor), strict=True))
            entries = _ENTRIES.decode(bytes(arrays["claims"]))
            ids = [entry.claim.id for entry in entries]
            saved = dict(zip(ids, arrays["fingerprints"].tolist(), strict=True))
            # In one of the two only, or in both with another fingerprint.
            changed = sorted({id_ for id_, _ in there.items() ^ saved.items()})
            if len(changed) > TOO_LATE * len(there):
                return False
            words = SavedWords(_NAMES.decode(bytes(arrays["names"])), *(arrays[name] for name in _WORDS))
            vectors = Vectors.restored(arrays["vector_rows"], arrays["vectors"], len(entries))
            index.restore(entries, Words.restored(words), vectors)
    except (OSError, ValueError, KeyError, EOFError, TypeError, BadZipFile, msgspec.MsgspecError):
        return False
    refresh(cursor, index, changed)
    index.unsaved = len(changed)
    return True


def _open_own(path: Path) -> BinaryIO:
    """The file, if it is a plain one of this user's: in a shared folder somebody else may have put another there."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or not is_ours(found):
        os.close(handle)
        raise PermissionError(f"{path} is not a file of this user's")
    return open(handle, "rb")


def save(cursor: "DuckDBPyConnection", store: Path, index: Index) -> None:
    """Write the file, if there is enough in it that the last one has not. Nobody may be writing to the store."""
    count = len(index.shelf.row_of)
    if count < WORTH_SAVING or (index.unsaved <= LATE * count and index_path(store).exists()):
        return
    fingerprint = dict(zip(*_fingerprints(cursor), strict=True))
    rows = sorted(index.shelf.row_of.values())
    entries = index.shelf.entries(rows)
    words = index.words.saved(rows)
    vectors, has_one = index.vectors.unit_vectors(rows)
    arrays: dict[str, Any] = {
        "made_by": _bytes(_made_by(index).encode()),
        "claims": _bytes(msgspec.msgpack.encode(entries)),
        "fingerprints": np.array([fingerprint[entry.claim.id] for entry in entries], dtype=np.uint64),
        "names": _bytes(msgspec.msgpack.encode(words.names)),
        "vector_rows": np.flatnonzero(has_one),
        "vectors": vectors[has_one],
        **{name: getattr(words, name) for name in _WORDS},
    }
    fresh = _unfinished(store)
    try:
        fresh.unlink(missing_ok=True)  # in a shared folder it may be somebody else's
        with open(open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            np.savez(file, **arrays)
        fresh.replace(index_path(store))
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


_WORDS = SavedWords._fields[1:]


def _fingerprints(cursor: "DuckDBPyConnection") -> tuple[list[str], list[int]]:
    found = cursor.execute(_FINGERPRINTS).fetchnumpy()
    return found["id"].tolist(), found["fingerprint"].tolist()


def _made_by(index: Index) -> str:
    """What an index was made by; another one of any of these, and a saved one is of no use."""
    return f"{VERSION}, {terms_version(index.morphology)}, {index.rules}, DuckDB {duckdb().__version__}"


def _bytes(data: bytes) -> "np.ndarray[Any, Any]":
    return np.frombuffer(data, dtype=np.uint8)
