"""How does a model come from the hub? Only when the user names it, and only the files that an encoder needs."""

import os
import shutil
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from scalepan.embed.folders import MODEL_FILES, TOKENIZER_FILE, discard, fetched_folder, model_file, new_folder
from scalepan.errors import EncoderError, MissingExtraError

SMALL_FILES = (
    TOKENIZER_FILE,
    "tokenizer_config.json",
    "config.json",
    "modules.json",
    "sentence_*_config.json",
    "config_sentence_transformers.json",
    "*_Pooling/config.json",
)


def fetch_model(name: str) -> Path:
    """Fetch `org/model`, unless it was fetched before. `embed.model: org/model` then refers to it."""
    target = fetched_folder(name)
    if _is_usable(target):
        return target
    hub = _hub()
    try:
        found = hub.model_info(name)
        files = needed_files(name, [file.rfilename for file in found.siblings or ()])
        discard(target)
        with new_folder(target) as folder:
            for file in files:
                # The commit of the list: if the model changes meanwhile, files of two versions are not mixed.
                hub.hf_hub_download(name, file, revision=found.sha, local_dir=folder)
            shutil.rmtree(folder / ".cache", ignore_errors=True)  # the hub's own notes
    except EncoderError:
        raise
    except Exception as error:  # the hub's exceptions differ from version to version
        raise EncoderError(f"'{name}' was not fetched: {_reason(error)}") from None
    return target


def needed_files(name: str, files: Sequence[str]) -> list[str]:
    """The files that an encoder needs: tokenizer, one graph with its data, and their configuration."""
    graph = next((file for file in MODEL_FILES if file in files), None)
    if graph is None:
        raise EncoderError(f"'{name}' was not fetched: it has neither {' nor '.join(MODEL_FILES)}")
    if TOKENIZER_FILE not in files:
        raise EncoderError(f"'{name}' was not fetched: it has no {TOKENIZER_FILE}")
    return [file for file in files if file.startswith(graph) or any(fnmatch(file, small) for small in SMALL_FILES)]


def _is_usable(folder: Path) -> bool:
    try:
        model_file(folder)
    except EncoderError:
        return False
    return True


def _hub() -> Any:
    # Read when the package is imported: no telemetry, and no progress bars.
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_VERBOSITY", "critical")
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtraError("fetching a model", "embed") from None
    return huggingface_hub


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    if kind == "RepositoryNotFoundError":
        return "the hub has no model of this name, or you have no access to it"
    if kind == "HFValidationError":
        return "this is not a hub name; those look like org/model"
    said = str(error).partition("\n")[0] or kind
    return f"the hub cannot be reached: {said}" if kind.startswith(("Connect", "Offline")) else said
