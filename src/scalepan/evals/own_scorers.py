"""Custom scorers from a Python file: one that the user names in this call, or the one in the configuration folder.

Golden cases, policies and stores come from anybody, so they can name a scorer but never a module, a file or a
function. Code is run only when the user says which file it is in.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from scalepan.errors import InputError, named
from scalepan.files import open_source

FILE_NAME = "scorers.py"


def run_file(path: Path) -> None:
    """Run a Python file, which registers its scorers. Whatever it raises becomes an InputError."""
    try:
        with open_source(path) as file:
            source = file.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    module = ModuleType(f"scalepan_own_{path.stem}")
    module.__file__ = str(path)
    # Dataclasses and typing look up their module by name.
    sys.modules[module.__name__] = module
    try:
        # Compiled from the source itself: a __pycache__ beside it is not what the user named.
        code = compile(source, str(path), "exec")
        with _imports_from(path.parent):
            exec(code, module.__dict__)  # noqa: S102 - the file that the user named
    except (Exception, SystemExit) as error:
        raise InputError(f"cannot be loaded: {named(error)}", file=str(path)) from None


@contextmanager
def _imports_from(folder: Path) -> Iterator[None]:
    """A file may import its neighbors; last in the path, so that they cannot replace an installed package."""
    entry = str(folder.resolve())
    sys.path.append(entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def users_file() -> Path | None:
    """`scorers.py` in the user's configuration folder, if it exists and nobody else can write to it."""
    from platformdirs import user_config_path

    path = user_config_path("scalepan") / FILE_NAME
    if not path.is_file():
        return None
    for one in (path, path.parent):
        if not _is_theirs_alone(one):
            raise InputError("is not used: another user owns it or may write to it", file=str(one))
    return path


def _is_theirs_alone(path: Path) -> bool:
    state = path.stat()
    return state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
