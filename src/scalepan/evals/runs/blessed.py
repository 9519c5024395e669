"""Which run does CI compare with? A small file beside the runs names it, with a digest of what was blessed."""

from pathlib import Path

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.evals.runs.digest import file_digest
from scalepan.evals.runs.file import run_rows
from scalepan.files import write_text_private

NAME = "blessed.json"
MOST_BYTES = 10_000


class Blessed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run that others are compared with."""

    run: str
    """The name of its file, in the same folder."""
    data: str
    """A digest of that file."""


resolved(Blessed)


def bless(run: Path) -> Path:
    """Pin a run; returns the file that says so. The run must be readable, and have a result."""
    if not any(True for _ in run_rows(run)):
        raise InputError("has no result in it, so nothing can be compared with it", file=str(run))
    file = run.parent / NAME
    told = msgspec.json.format(msgspec.json.encode(Blessed(run.name, file_digest(run))), indent=2)
    try:
        write_text_private(file, told.decode() + "\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    return file


def blessed_run(folder: Path) -> Path:
    """The run that was blessed in this folder; an error if there is none, or if it changed since."""
    file = folder / NAME
    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputError("is too large to name a blessed run", file=str(file))
        found = msgspec.json.decode(file.read_bytes(), type=Blessed)
    except OSError:
        raise InputError(
            "has no blessed run to compare with; 'scalepan eval bless RUN' pins one", file=str(folder)
        ) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"does not name a blessed run: {error}", file=str(file)) from None
    if found.run != Path(found.run).name:
        raise InputError(f"'{found.run}' is not a file of this folder", file=str(file), path="run")
    run = folder / found.run
    if not run.exists():
        raise InputError(f"the blessed run {found.run} is missing; bless another, or bring it back", file=str(file))
    if file_digest(run) != found.data:
        raise InputError(f"{found.run} has changed since it was blessed; bless it again", file=str(file))
    return run
