"""Files and folders that only their owner can read, whatever the umask says; and reading other users' files safely."""

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_OTHERS = 0o077
READ_BYTES = 1 << 18
"""How much of a file is read at once: its lines are often some kB."""
ROOT = 0
"""The owner of system links, such as /dev/stdout."""


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, each readable by its owner only. Existing ones stay unchanged."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            folder.chmod(FOLDER_MODE)  # the umask may have removed the owner's own permissions
    if not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(path))


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """`os.open` for a file of ours: created or found, afterwards only its owner can read it.

    PermissionError for another user's file or link: in a shared folder they may have put it there, to read what is
    written or to have something else overwritten. The file is truncated only after that check.
    """
    _refuse_link_of_others(path)
    handle = os.open(path, flags & ~os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    try:
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode):
            if not is_ours(found):
                raise PermissionError(errno.EPERM, f"belongs to user {user_name(found.st_uid)}, not to you", str(path))
            if flags & os.O_TRUNC:
                os.ftruncate(handle, 0)
        _close_to_others(handle, found)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _refuse_link_of_others(path: str | os.PathLike[str]) -> None:
    try:
        found = os.lstat(path)
    except OSError:  # opening says what is wrong
        return
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (os.geteuid(), ROOT):
        raise PermissionError(errno.EPERM, f"is a link of user {user_name(found.st_uid)}", str(path))


def write_private(path: Path) -> BinaryIO:
    """A file to write from the start. Anything but a regular file, such as /dev/stdout, keeps its permissions."""
    return open(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")


def write_text_private(path: Path, text: str) -> None:
    """Write a whole text file, such as a report: it may quote what is in the store."""
    with write_private(path) as file:
        file.write(text.encode())


def append_line(path: Path, line: bytes) -> None:
    """Add a line to a file that several processes may add to. Half a line at its end, of one that died, is ended."""
    import fcntl

    with open(open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            line = line if file.read(1) == b"\n" else b"\n" + line
        remaining = memoryview(line + b"\n")
        while remaining:
            remaining = remaining[file.write(remaining) :]


def make_file(path: Path) -> None:
    """Create an empty file, unless there is one; afterwards only its owner can read it.

    No handle of it is ever closed here: that would release every lock that this process has on the file.
    """
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(draft, path)
        finally:
            Path(draft).unlink(missing_ok=True)
    close_to_others(path)


def close_to_others(path: Path) -> None:
    """Remove everybody else's permissions from a file of ours, without opening it."""
    try:
        _close_to_others(path, path.lstat())
    except FileNotFoundError:
        return


def open_source(path: str | os.PathLike[str], *, again: bool = False) -> BinaryIO:
    """A file of the user's to read. A device that never ends, such as /dev/zero, is an OSError.

    So is a pipe that must be read `again`: the second time it is empty, or its writer is gone.
    """
    kind = os.stat(path).st_mode
    if again and stat.S_ISFIFO(kind):
        raise OSError(errno.ESPIPE, "it is a pipe, and must be read more than once; give a file", os.fspath(path))
    file = open(path, "rb", READ_BYTES)  # noqa: SIM115 - the caller's
    if stat.S_ISBLK(kind) or (stat.S_ISCHR(kind) and not file.isatty() and not _is_null(file)):
        file.close()
        raise OSError(errno.EINVAL, "it is a device; give a file", os.fspath(path))
    return file


def _is_null(file: BinaryIO) -> bool:
    return os.fstat(file.fileno()).st_rdev == os.stat(os.devnull).st_rdev


def is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to the user that runs this process."""
    return found.st_uid == os.geteuid()


def user_name(uid: int) -> str:
    """A user's name: `'alice'`, or `number 1001` if the system has no name for it."""
    import pwd

    try:
        return f"'{pwd.getpwuid(uid).pw_name}'"
    except KeyError:
        return f"number {uid}"


def _close_to_others(what: int | Path, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode) and is_ours(found) and stat.S_IMODE(found.st_mode) != FILE_MODE:
        os.chmod(what, FILE_MODE)
