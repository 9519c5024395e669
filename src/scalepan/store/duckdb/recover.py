"""Going on after a loss: what is left of a store is accepted, and nothing that may still hold writes is deleted."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from scalepan.errors import StoreError
from scalepan.files import open_private
from scalepan.store.duckdb.generation import Generation, LostWritesError, Note, checkpoint, noted
from scalepan.store.duckdb.opening import check_companions, drop_work_folder, open_database
from scalepan.store.duckdb.place import check_file
from scalepan.store.duckdb.schema import duckdb, log_path, reason
from scalepan.store.duckdb.store import open_here


class Recovered(NamedTuple):
    """What was found and done."""

    there: int
    """The last commit that is there."""
    acknowledged: int | None
    """The last one that was acknowledged, if that is known."""
    kept: Path | None
    """Where the log that did not fit is kept."""

    @property
    def lost(self) -> int:
        """Commits that are missing."""
        return max((self.acknowledged or 0) - self.there, 0)


def recover(path: Path) -> Recovered:
    """Accept what is left. Nobody may have the store open; StoreError if it is sound, or cannot be opened at all."""
    if open_here(path) is not None:
        raise StoreError(f"{path} is open in this process; close it first")
    told = noted(path)
    try:
        check_companions(path)
    except LostWritesError:  # a log without its file
        return Recovered(0, told.number if told else None, _keep(path, move=True))
    if not check_file(path):
        raise StoreError(f"{path} does not exist: there is nothing to recover")
    kept = None
    try:
        at = _accept(path, refuse_sound=True)
    except LostWritesError as error:
        kept = _keep(path, move=not error.log_fits)
        at = _accept(path)
    except (StoreError, duckdb().Error) as error:
        if "WAL" not in str(error) and log_path(path).name not in str(error):
            raise _as_store_error(path, error) from None
        kept = _keep(path, move=True)
        at = _accept(path)
    return Recovered(at.number, told.number if told and told.store == at.store else None, kept)


def _accept(path: Path, *, refuse_sound: bool = False) -> Generation:
    try:
        connection, at = open_database(path, accept_loss=not refuse_sound)
    except duckdb().Error as error:
        if refuse_sound:
            raise
        raise _as_store_error(path, error) from None
    try:
        if refuse_sound:
            raise StoreError(f"{path} is sound: it has every commit up to {at.number:,}; there is nothing to recover")
        note = Note(path, at)
        checkpoint(connection, note)
        note.close()
    finally:
        drop_work_folder(path)
        connection.close()
    return at


def _as_store_error(path: Path, error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    if "Could not set lock" in str(error):
        return StoreError(f"{path} is in use: {reason(error)}; stop that process first")
    return StoreError(f"{path} cannot be recovered: {reason(error)}; restore a backup")


def _keep(path: Path, *, move: bool) -> Path | None:
    """Put the log aside under a name that is free: moved, or copied where a part of it is still of use."""
    log = log_path(path)
    if not log.exists() or not log.stat().st_size:
        return None
    number = 1
    while (target := path.with_name(f"{log.name}.lost-{number}")).exists():
        number += 1
    if move:
        log.rename(target)
        return target
    with log.open("rb") as source, open(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
    return target
