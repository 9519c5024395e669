"""The index as a file beside the store, so that opening need not rebuild it. It is derived: losing it loses nothing.

It holds the claims as they were at one commit. Whoever opens the store takes in what was written since then. The store
says which file is its own: one that was saved beside another copy of the store, or before something was erased, is not.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import uuid4
from zipfile import BadZipFile

import msgspec
import numpy as np

from scalepan.check import resolved
from scalepan.files import is_ours, open_private
from scalepan.memory.recall.candidates.columns import Entry
from scalepan.memory.recall.candidates.vectors import VectorIndex
from scalepan.memory.recall.candidates.words import SavedWords, Words
from scalepan.memory.recall.index import Index, refresh
from scalepan.text import terms_version

if TYPE_CHECKING:
    from scalepan.store import Here

VERSION = 5
WORTH_SAVING = 2_000
"""Number of claims; fewer are reindexed in a fraction of a second."""
LATE = 0.02
"""The share of claims that may have changed before the file is written anew."""
TOO_LATE = 0.25
"""The share from which on indexing anew is as quick."""
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


def load(here: "Here", index: Index) -> bool:
    """Fill an empty index with the saved one, and bring it up to what the tables say; False if there is none of use."""
    saved = here.claims.saved_index()
    if saved is None:
        return False
    generation, name = saved
    try:
        with _open_own(index_path(here.path)) as file, np.load(file, allow_pickle=False) as arrays:
            if bytes(arrays["made_by"]).decode() != _made_by(index, name):
                return False
            changed = here.claims.changed_since(generation)
            entries = _ENTRIES.decode(bytes(arrays["claims"]))
            if len(changed) > TOO_LATE * len(entries):
                return False
            words = SavedWords(_NAMES.decode(bytes(arrays["names"])), *(arrays[name] for name in _WORDS))
            vectors = VectorIndex.restored(arrays["vector_rows"], arrays["vectors"], len(entries))
            index.restore(entries, Words.restored(words), vectors)
    except (OSError, ValueError, KeyError, EOFError, TypeError, BadZipFile, msgspec.MsgspecError):
        return False
    refresh(here, index, changed)
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


def save(here: "Here", index: Index) -> None:
    """Write the file, if there is enough in it that the last one has not. Nobody may be writing to the store."""
    count = len(index.columns.row_of)
    if count < WORTH_SAVING or (index.unsaved <= LATE * count and index_path(here.path).exists()):
        return
    name = uuid4().hex
    rows = sorted(index.columns.row_of.values())
    words = index.words.saved(rows)
    vectors, has_one = index.vectors.unit_vectors(rows)
    arrays: dict[str, Any] = {
        "made_by": _bytes(_made_by(index, name).encode()),
        "claims": _bytes(msgspec.msgpack.encode(index.columns.entries(rows))),
        "names": _bytes(msgspec.msgpack.encode(words.names)),
        "vector_rows": np.flatnonzero(has_one),
        "vectors": vectors[has_one],
        **{name: getattr(words, name) for name in _WORDS},
    }
    fresh = _unfinished(here.path)
    try:
        fresh.unlink(missing_ok=True)  # in a shared folder it may be somebody else's
        with open(open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            np.savez(file, **arrays)
        fresh.replace(index_path(here.path))
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
    here.claims.index_was_saved(name)


_WORDS = SavedWords._fields[1:]


def _made_by(index: Index, name: str) -> str:
    """What an index was made by, and its name; where any of these differs, a saved one is of no use."""
    return f"{VERSION}, {terms_version(index.morphology)}, {index.rules}, {name}"


def _bytes(data: bytes) -> "np.ndarray[Any, Any]":
    return np.frombuffer(data, dtype=np.uint8)
