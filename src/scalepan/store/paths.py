"""Which file is the store, and where does its owner listen?"""

import os
import stat
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from scalepan.errors import StoreError, printable
from scalepan.files import is_ours, user_name
from scalepan.store.duckdb.place import checked_path

FILE_NAME = "scalepan.duckdb"
ENV_STORE = "SCALEPAN_STORE"
LONGEST_SOCKET_PATH = 100  # the system's limit is 104 or 108 bytes
_told: set[Path] = set()


def find_store(path: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> Path:
    """`path`, else $SCALEPAN_STORE, else the nearest scalepan.duckdb upward from here, else the user's data folder.

    One that is found upward and belongs to somebody else is passed by: whoever can write to a folder above this one
    must not decide what is remembered here.
    """
    env = os.environ if env is None else env
    if path is not None or env.get(ENV_STORE):
        return checked_path(path if path is not None else env[ENV_STORE])
    here = Path.cwd()
    for folder in (here, *here.parents):
        if _is_usable(folder / FILE_NAME):
            return folder / FILE_NAME
    from platformdirs import user_data_path

    return user_data_path("scalepan") / FILE_NAME


def _is_usable(path: Path) -> bool:
    """Whether there is a store of this user's; one of another user is said to be passed by, once."""
    try:
        # A link must be ours as much as what it leads to.
        found = [path.lstat(), path.stat()]
    except OSError:
        return False
    if not stat.S_ISREG(found[1].st_mode):
        return False
    others = [one.st_uid for one in found if not is_ours(one)]
    if others and path not in _told:
        _told.add(path)
        line = f"{path} belongs to user {user_name(others[0])}, not to you, and is not used"
        print(f"scalepan: {printable(line)}", file=sys.stderr)
    return not others


def socket_path(store: Path) -> Path:
    """Beside the file; in a private folder, named by the file's hash, where that path would be too long."""
    real = Path(os.path.realpath(store))
    beside = real.with_name(f".{real.name}.sock")
    if len(os.fsencode(beside)) <= LONGEST_SOCKET_PATH:
        return beside
    return _private_folder() / f"{sha256(os.fsencode(real)).hexdigest()[:24]}.sock"


def _private_folder() -> Path:
    """A folder that is ours alone. It must be the same for every process, so no variable moves it."""
    folder = Path("/tmp") / f"scalepan-{os.geteuid()}"  # noqa: S108 - checked below
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}; give the store a shorter path") from None
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or not is_ours(found) or stat.S_IMODE(found.st_mode) & 0o077:
        raise StoreError(f"{folder} is not a private folder of yours; remove it, or give the store a shorter path")
    return folder
