"""Where are models stored, and how is a folder created completely or not at all?"""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scalepan.cache import cache_folder
from scalepan.embed.hashes import file_hash
from scalepan.errors import EncoderError
from scalepan.files import make_folder

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
ABANDONED_AFTER_SECONDS = 3600.0


def models_folder() -> Path:
    """Where prepared and fetched models are stored."""
    return cache_folder() / "models"


def fetched_folder(name: str) -> Path:
    """Where the model of this hub name is stored once fetched: `org/model` in `org--model`."""
    return models_folder() / name.replace("/", "--")


def model_file(folder: Path) -> Path:
    """The graph in an encoder's folder. The error names what is missing, the tokenizer too."""
    if not folder.is_dir():
        raise EncoderError(f"no encoder at {folder}: no such folder")
    if not (folder / TOKENIZER_FILE).is_file():
        raise EncoderError(f"no encoder at {folder}: {TOKENIZER_FILE} is missing")
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    raise EncoderError(f"no encoder at {folder}: it has neither {' nor '.join(MODEL_FILES)}")


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `target` in one step if the block succeeds.

    If another process was faster, its `target` is used and this one is dropped.
    """
    make_folder(target.parent)
    _remove_abandoned(target)
    draft = Path(tempfile.mkdtemp(prefix=_draft_prefix(target), dir=target.parent))
    try:
        yield draft
        for path in (*draft.rglob("*"), draft):
            _sync(path)
        try:
            draft.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def discard(folder: Path) -> None:
    """Remove a folder; for others it disappears at once, not file by file."""
    with suppress(FileNotFoundError):
        grave = folder.rename(folder.with_name(f"{_draft_prefix(folder)}{secrets.token_hex(8)}"))
        shutil.rmtree(grave, ignore_errors=True)


def seal(folder: Path, file: str) -> None:
    """List the folder's files with their hashes, as `sha256sum` does, in a file of it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{file_hash(path, None)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    (folder / file).write_text("".join(lines), encoding="utf-8")


def _draft_prefix(target: Path) -> str:
    return f".{target.name}."


def _remove_abandoned(target: Path) -> None:
    """Unfinished folders of killed processes. A recent one may still be in use."""
    for draft in target.parent.glob(f"{_draft_prefix(target)}*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > ABANDONED_AFTER_SECONDS:
                shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    """Flush a file or folder to disk: a name must not survive a crash without its content."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
