"""Where do models lie, and how does a folder come to be there whole or not at all?"""

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
    """Where prepared and fetched models are kept."""
    return cache_folder() / "models"


def fetched_folder(name: str) -> Path:
    """Where the model of this hub name is once it was fetched: `org/model` in `org--model`."""
    return models_folder() / name.replace("/", "--")


def model_file(folder: Path) -> Path:
    """The graph in an encoder's folder. An error names what is missing, the tokenizer too."""
    if not folder.is_dir():
        raise EncoderError(f"no encoder at {folder}: no such folder")
    if not (folder / TOKENIZER_FILE).is_file():
        raise EncoderError(f"no encoder at {folder}: {TOKENIZER_FILE} is missing")
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    raise EncoderError(f"no encoder at {folder}: neither {' nor '.join(MODEL_FILES)} is there")


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `target` in one step when the block ends well.

    Who comes second finds `target` there and drops his own; both have then what they wanted.
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
    """Remove a folder; it is gone for others at once, not file by file."""
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
    """Drafts of processes that were killed. A young one may be somebody's work."""
    for draft in target.parent.glob(f"{_draft_prefix(target)}*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > ABANDONED_AFTER_SECONDS:
                shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    """Put a file or folder on the disk: a name must not outlive a crash that its content did not."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
