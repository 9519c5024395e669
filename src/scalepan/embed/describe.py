"""What of the encoders is installed, what is missing, and which one command adds it? For `scalepan doctor`."""

from typing import Literal, NamedTuple

from scalepan.embed.encoder import DEFAULTS
from scalepan.embed.find import BUILDER, RUNTIME, missing_packages, named_folder
from scalepan.embed.folders import model_file, models_folder
from scalepan.embed.prepare import INSTALL, NAME, PACKAGE, weights_folder
from scalepan.errors import EncoderError
from scalepan.policy.embed import Embed

INSTALL_RUNTIME = "pip install 'scalepan[embed]'"


State = Literal["ok", "missing", "broken"]


class Finding(NamedTuple):
    """One thing that was looked at: ok, missing (Scalepan goes on without) or broken; what was found, what to do."""

    name: str
    state: State
    found: str
    advice: str = ""


def describe(settings: Embed = DEFAULTS) -> list[Finding]:
    """What an encoder needs, part by part, and last which one the policy comes to. Nothing is loaded or imported."""
    return [_runtime(), _weights(), _fetched(), _chosen(settings)]


def _runtime() -> Finding:
    missing = missing_packages(RUNTIME + BUILDER)
    if missing:
        return Finding("runtime", "missing", f"missing: {', '.join(missing)}", INSTALL_RUNTIME)
    return Finding("runtime", "ok", ", ".join(f"{package} {_version(package)}" for package in RUNTIME + BUILDER))


def _weights() -> Finding:
    if weights_folder() is None:
        return Finding("MiniLM", "missing", "not installed", INSTALL)
    return Finding("MiniLM", "ok", f"{PACKAGE.replace('_', '-')} {_version(PACKAGE)}")


def _fetched() -> Finding:
    folder = models_folder()
    # Drafts begin with a dot; what Scalepan prepared itself is not the user's to name.
    names = [path.name for path in sorted(folder.iterdir())] if folder.is_dir() else []
    fetched = [name.replace("--", "/") for name in names if not name.startswith((".", NAME))]
    return Finding("fetched models", "ok", ", ".join(fetched) or "none")


def _chosen(settings: Embed) -> Finding:
    """The encoder in force. One that the policy names and that is not there is broken, not missing."""
    model = settings.model
    if model == "none":
        return Finding("encoder", "ok", "none, as embed.model says")
    if model in ("auto", "minilm"):
        advice = _runtime().advice or _weights().advice
        if not advice:
            return Finding("encoder", "ok", NAME)
        return Finding("encoder", "missing" if model == "auto" else "broken", f"none for embed.model '{model}'", advice)
    try:
        folder = named_folder(model)
        model_file(folder)
    except EncoderError as error:
        what, _, advice = str(error).partition("; ")
        return Finding("encoder", "broken", what, advice or "embed.model in the policy names it")
    if missing_packages(RUNTIME):
        return Finding("encoder", "broken", f"{folder}: cannot be run", INSTALL_RUNTIME)
    return Finding("encoder", "ok", str(folder))


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "(version unknown)"
