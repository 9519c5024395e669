"""Which encoder does the policy name, and is it installed?"""

import os
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec

from scalepan.arguments import as_instance
from scalepan.cache import Cache, cache_folder
from scalepan.embed.encoder import DEFAULTS, Encoder
from scalepan.embed.folders import fetched_folder, model_file
from scalepan.embed.prepare import INSTALL, prepare, weights_folder
from scalepan.errors import EncoderError, MissingExtraError
from scalepan.policy.embed import Embed
from scalepan.policy.trust import PATH_STARTS

RUNTIME = ("onnxruntime", "tokenizers")
"""What running an encoder needs."""
BUILDER = ("onnx", "safetensors")
"""What preparing MiniLM needs in addition."""


def find_encoder(
    settings: Embed | str = DEFAULTS, cache: Cache | Literal["default"] | None = "default", *, remember: bool = True
) -> Encoder | None:
    """The encoder that the policy names, ready to be used; None if it names none, or says auto and none is installed.

    `settings` is the policy's section `embed`, or the name of a model. Vectors are cached in `cache`, by default the
    user's own; not at all if it is None or `remember` is false.
    """
    settings = embed_settings("settings", settings)
    if cache is not None and cache != "default":
        as_instance("cache", cache, Cache, "a Cache, 'default' for the user's own, or None for none")
    cache = Cache() if cache == "default" else cache
    match settings.model:
        case "none":
            return None
        case "auto":
            there = not missing_packages(RUNTIME + BUILDER) and weights_folder()
            return _minilm(settings, cache, remember) if there else None
        case "minilm":
            _need(RUNTIME + BUILDER)
            if not weights_folder():
                raise EncoderError(f"MiniLM is not installed: {INSTALL}")
            return _minilm(settings, cache, remember)
        case name:
            folder = named_folder(name)
            model_file(folder)
            _need(RUNTIME)
            return Encoder(folder, settings, cache, remember=remember)


_shared: dict[tuple[Embed, Path], Encoder] = {}
_sharing = threading.Lock()


def _after_fork() -> None:
    global _sharing
    # The parent's lock may be held forever. The encoders rebuild themselves.
    _sharing = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def shared_encoder(settings: Embed | str = DEFAULTS) -> Encoder | None:
    """The same as `find_encoder`, one for the whole process: a loaded model takes a hundred megabytes and a second."""
    settings = embed_settings("settings", settings)
    with _sharing:
        key = settings, cache_folder()
        if key not in _shared:
            found = find_encoder(settings)
            if found is None:
                return None  # looked for again next time: it may have been installed
            _shared[key] = found
        return _shared[key]


def embed_settings(name: str, settings: Embed | str, base: Embed = DEFAULTS) -> Embed:
    """Settings unchanged, or `base` with the model that was named.

    >>> embed_settings("embedder", "minilm").model
    'minilm'
    """
    if isinstance(settings, str) and settings:
        return msgspec.structs.replace(base, model=settings)
    legal = (
        "the embed section of a policy, or a model: auto, none, minilm, a folder with an ONNX encoder, a fetched name"
    )
    return as_instance(name, settings, Embed, legal)


def named_folder(name: str) -> Path:
    """The folder of a model in a policy: a path, or a name that was fetched.

    A name is never looked up in the current folder: a policy that was found, not named, may give a name but no path.
    """
    if name.startswith(PATH_STARTS):
        return Path(name).expanduser()
    if not fetched_folder(name).is_dir():
        path = f"; the folder here is './{name}'" if Path(name).is_dir() else ""
        raise EncoderError(
            f"no encoder '{name}': it was not fetched; 'scalepan doctor --fetch-model {name}' fetches it{path}"
        )
    return fetched_folder(name)


def missing_packages(packages: tuple[str, ...]) -> list[str]:
    """The packages that are not installed. They are located, not imported."""
    return [package for package in packages if find_spec(package) is None]


def _need(packages: tuple[str, ...]) -> None:
    if missing_packages(packages):
        raise MissingExtraError("a text encoder", "embed")


def _minilm(settings: Embed, cache: Cache | None, remember: bool) -> Encoder:
    return Encoder(lambda: prepare(cache), settings, cache, remember=remember)
