"""May a store be here? A path that cannot hold one is refused in one line before anything is opened or made."""

import os
import re
import stat
from pathlib import Path

from scalepan.errors import StoreError, quoted, shorten
from scalepan.files import is_ours, user_name

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
DATA = re.compile(
    r"\.(json|jsonl|ndjson|geojson|csv|tsv|parquet|arrow|feather|avro|xlsx?|ya?ml)(\.(gz|zst|bz2|xz))?",
    re.IGNORECASE,
)
COMPANION = re.compile(r"\.(wal|index|index-new|generation|backup|sock|lost-\d+)", re.IGNORECASE)
"""Names that DuckDB or Scalepan give to files beside a store."""
MAGIC, MAGIC_AT = b"DUCK", 8
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
EXAMPLE = "give a file, such as notes.duckdb"


def checked_path(given: str | os.PathLike[str]) -> Path:
    """A path that somebody named, made absolute; StoreError if its name alone says that it cannot be a store."""
    text = os.fsdecode(given)
    problem = _name_problem(text)
    if problem:
        raise StoreError(f"no store can be there: {problem}; {EXAMPLE}")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise StoreError(f"{shorten(text)}: {error}; {EXAMPLE}") from None


def _name_problem(text: str) -> str:
    address = ADDRESS.match(text)
    if not text:
        return "the path is empty"
    if address:
        # Only the first word is shown: the rest of an address may hold a password.
        return f"'{address[1]}:…' is an address, or needs ./ before it if it is a file's name"
    if text.startswith(":"):
        return f"{quoted(text)} is not a file"
    if text.endswith("/"):
        return f"{quoted(text)} is the name of a folder"
    if "\0" in text or not _is_utf8(text):
        return f"{quoted(text)} has bytes that are not UTF-8, or a NUL"
    for pattern, what in ((DATA, "a file of another format"), (COMPANION, "a file beside a store, not of one")):
        if re.search(pattern.pattern + r"$", text, re.IGNORECASE):
            return f"{quoted(text)} is the name of {what}"
    return ""


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_file(path: Path) -> bool:
    """Whether there is a file; StoreError if what is there is none of this user's databases. It is not changed.

    Nobody in this process may own the file: closing a handle of it would let go of DuckDB's lock.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(
            f"{path} cannot be opened: it is {KINDS.get(stat.S_IFMT(found.st_mode), 'no file')}; {EXAMPLE}"
        )
    if not is_ours(found):
        raise StoreError(
            f"{path} cannot be opened: it belongs to user {user_name(found.st_uid)}, not to you; "
            "run this as that user, or copy the file"
        )
    try:
        with path.open("rb") as file:
            head = file.read(MAGIC_AT + len(MAGIC))
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}") from None
    if head[MAGIC_AT:] != MAGIC:
        what = "it is not a valid DuckDB database file" + ("" if head else " (it is empty)")
        raise StoreError(f"{path} cannot be opened: {what}; {EXAMPLE}")
    return True


def check_companion(path: Path) -> None:
    """A file beside the store, if there is one, must be a plain file of this user's: others may write there too."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or not is_ours(found):
        whose = "" if is_ours(found) else f" of user {user_name(found.st_uid)}"
        kind = "a file" if stat.S_ISREG(found.st_mode) else KINDS.get(stat.S_IFMT(found.st_mode), "a link")
        raise StoreError(f"{path} is in the way: it is {kind}{whose}; remove it, or move the store to another folder")
