"""Which encoder does the policy mean, and is it there?"""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from scalepan.cache import Cache
from scalepan.embed.encoder import DEFAULTS, Encoder
from scalepan.embed.folders import fetched_folder, model_file
from scalepan.embed.prepare import INSTALL, prepare, weights_folder
from scalepan.errors import EncoderError, MissingExtraError
from scalepan.policy.embed import Embed

RUNTIME = ("onnxruntime", "tokenizers")
"""What running an encoder needs."""
BUILDER = ("onnx", "safetensors")
"""What preparing MiniLM needs besides."""


def find_encoder(
    settings: Embed = DEFAULTS, cache: Cache | Literal["default"] | None = "default", *, remember: bool = True
) -> Encoder | None:
    """The encoder that the policy names, ready to be used; None where it names none, or says auto and none is there.

    Vectors are kept in `cache`, the user's own unless another is given; nowhere if it is None or `remember` is false.
    """
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


def named_folder(name: str) -> Path:
    """The folder that a policy means by this: a path, or a name that was fetched."""
    folder = Path(name).expanduser()
    if folder.is_dir() or name.startswith(("/", "./", "../", "~")):
        return folder
    if not fetched_folder(name).is_dir():
        raise EncoderError(
            f"no encoder '{name}': not a folder, and not fetched; 'scalepan doctor --fetch-model {name}' fetches it"
        )
    return fetched_folder(name)


def missing_packages(packages: tuple[str, ...]) -> list[str]:
    """Those that are not installed. They are looked for, not imported."""
    return [package for package in packages if find_spec(package) is None]


def _need(packages: tuple[str, ...]) -> None:
    if missing_packages(packages):
        raise MissingExtraError("a text encoder", "embed")


def _minilm(settings: Embed, cache: Cache | None, remember: bool) -> Encoder:
    return Encoder(lambda: prepare(cache), settings, cache, remember=remember)
