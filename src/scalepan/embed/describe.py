"""Which parts of the encoders are installed, which are missing, and which command adds them? For `scalepan doctor`."""

from typing import Literal, NamedTuple

from scalepan.embed.encoder import DEFAULTS
from scalepan.embed.find import BUILDER, RUNTIME, missing_packages, named_folder
from scalepan.embed.folders import model_file, models_folder
from scalepan.embed.prepare import INSTALL, NAME, PACKAGE, weights_folder
from scalepan.errors import EncoderError
from scalepan.policy.embed import Embed

INSTALL_RUNTIME = "pip install 'scalepan[embed]'"


State = Literal["ok", "missing", "broken"]


class SetupFinding(NamedTuple):
    """One finding: ok, missing (Scalepan works without it) or broken; what was found, and what to do."""

    name: str
    state: State
    found: str
    advice: str = ""


def describe(settings: Embed = DEFAULTS) -> list[SetupFinding]:
    """What an encoder needs, part by part, and last the encoder of the policy. Nothing is loaded or imported."""
    return [_runtime(), _weights(), _fetched(), _chosen(settings)]


def _runtime() -> SetupFinding:
    missing = missing_packages(RUNTIME + BUILDER)
    if missing:
        return SetupFinding("runtime", "missing", f"missing: {', '.join(missing)}", INSTALL_RUNTIME)
    return SetupFinding("runtime", "ok", ", ".join(f"{package} {_version(package)}" for package in RUNTIME + BUILDER))


def _weights() -> SetupFinding:
    if weights_folder() is None:
        return SetupFinding("MiniLM", "missing", "not installed", INSTALL)
    return SetupFinding("MiniLM", "ok", f"{PACKAGE.replace('_', '-')} {_version(PACKAGE)}")


def _fetched() -> SetupFinding:
    folder = models_folder()
    # Unfinished folders begin with a dot; those that Scalepan prepared are not for the user to name.
    names = [path.name for path in sorted(folder.iterdir())] if folder.is_dir() else []
    fetched = [name.replace("--", "/") for name in names if not name.startswith((".", NAME))]
    return SetupFinding("fetched models", "ok", ", ".join(fetched) or "none")


def _chosen(settings: Embed) -> SetupFinding:
    """The encoder in force. One that the policy names and that does not exist is broken, not missing."""
    model = settings.model
    if model == "none":
        return SetupFinding("encoder", "ok", "none, as embed.model says")
    if model in ("auto", "minilm"):
        advice = _runtime().advice or _weights().advice
        if not advice:
            return SetupFinding("encoder", "ok", NAME)
        return SetupFinding(
            "encoder", "missing" if model == "auto" else "broken", f"none for embed.model '{model}'", advice
        )
    try:
        folder = named_folder(model)
        model_file(folder)
    except EncoderError as error:
        what, _, advice = str(error).partition("; ")
        return SetupFinding("encoder", "broken", what, advice or "check embed.model in the policy")
    if missing_packages(RUNTIME):
        return SetupFinding("encoder", "broken", f"{folder}: cannot be run", INSTALL_RUNTIME)
    return SetupFinding("encoder", "ok", str(folder))


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "(version unknown)"
