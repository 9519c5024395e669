"""Which files are read: names, patterns and folders, in a fixed order, each once."""

import glob
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scalepan.arguments import wrong
from scalepan.errors import InputError

STDIN = "-"
ENDINGS = (
    *(".jsonl", ".json", ".ndjson", ".parquet", ".eval", ".traj", ".har", ".pb", ".binpb", ".csv"),
    *(".jsonl.gz", ".json.gz", ".ndjson.gz", ".pb.gz", ".csv.gz"),
    *(".jsonl.zst", ".json.zst", ".ndjson.zst", ".pb.zst", ".csv.zst"),
)
"""Files that are looked at in a folder. A file that is named is looked at whatever its name is."""


class InputFile(NamedTuple):
    """One file to read."""

    name: str
    """As errors and results call it."""
    path: Path | None
    """None for standard input."""
    size: int
    named: bool
    """Whether the user named it, or it was found in a folder, where files that are no traces are normal."""
    problem: str | None = None
    """Why it cannot be opened, if that is known already."""


def input_files(names: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]") -> list[InputFile]:
    """The files behind names, patterns (`logs/**/*.jsonl`) and folders; what does not exist is an InputError."""
    if isinstance(names, (str, os.PathLike)):
        names = [names]
    files: dict[str, InputFile] = {}
    for name in names:
        if not isinstance(name, (str, os.PathLike)):
            raise wrong("files", name, "paths, patterns or folders")
        for file in _behind(os.path.expanduser(os.fspath(name))):
            files.setdefault(os.path.realpath(file.path) if file.path is not None else STDIN, file)
    return list(files.values())


def _behind(name: str) -> Iterator[InputFile]:
    if name == STDIN:
        if sys.stdin is None:
            raise InputError("is closed", file="standard input")
        yield InputFile("stdin", None, 0, named=True)
    elif os.path.isdir(name):
        yield from _in_folder(name)
    elif not os.path.lexists(name) and glob.has_magic(name):
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise InputError("matches no file", file=name)
        for match in found:
            yield from _in_folder(match) if os.path.isdir(match) else [_file(match, named=True)]
    else:
        yield _file(name, named=True)


def _in_folder(folder: str) -> Iterator[InputFile]:
    """The files of a folder that may be logs. What cannot be looked into is one of them, with the reason."""
    missed: list[OSError] = []
    for where, folders, names in os.walk(folder, onerror=missed.append):
        folders.sort()
        for name in sorted(names):
            if name.lower().endswith(ENDINGS) and os.path.isfile(path := os.path.join(where, name)):
                yield _file(path, named=False)
    for error in missed:
        name = os.fsdecode(error.filename)
        yield InputFile(name, Path(name), 0, named=True, problem=f"cannot be read: {error.strerror}")


def _file(path: str, *, named: bool) -> InputFile:
    try:
        size = os.stat(path).st_size
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        if named:
            raise InputError(problem, file=path) from None
        return InputFile(path, Path(path), 0, named, problem)
    return InputFile(path, Path(path), size, named)
