"""Which policy files apply here: the user's own configuration, and a file that was named or found."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from scalepan.errors import InputError, PolicyError
from scalepan.policy.trust import Layer, Source, tell
from scalepan.yamlfile import read_yaml

FILE_NAME = "scalepan.yaml"
ENV_FILE = "SCALEPAN_POLICY"
ROOT = 0


def file_layers(path: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> list[Layer]:
    """The user's own configuration, then `path`, else the file that $SCALEPAN_POLICY names, else one found upward."""
    env = os.environ if env is None else env
    layers = []
    if (own := user_file()) is not None:
        layers.append(read_file(own))
    named = path if path is not None else env.get(ENV_FILE)
    if named:
        layers.append(read_file(Path(named)))
    elif (found := found_file()) is not None and found != own:
        layers.append(read_file(found, "found"))
    return layers


def user_file_path() -> Path:
    """Where the user's own configuration would be."""
    from platformdirs import user_config_path

    return user_config_path("scalepan") / FILE_NAME


def user_file() -> Path | None:
    """The user's own configuration, if there is one. It may belong to root, who may manage a user's files."""
    path = user_file_path()
    return path if _is_file(path) and _is_ours(path, also=ROOT) else None


def found_file() -> Path | None:
    """The nearest scalepan.yaml upward from here that this user owns."""
    return next((path for path in _upward() if _is_ours(path)), None)


def read_file(path: Path, source: Source = "named") -> Layer:
    """A YAML file as a layer; an empty file says nothing."""
    try:
        values = read_yaml(path)
    except InputError as error:
        raise PolicyError(error.problem, file=error.file, line=error.line) from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise PolicyError("a policy is a table of sections, such as 'value:'", file=str(path))
    return Layer(str(path), values, source)


def _upward() -> Iterator[Path]:
    try:
        here = Path.cwd()
    except OSError:  # the folder was removed
        return
    yield from (path for folder in (here, *here.parents) if _is_file(path := folder / FILE_NAME))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _is_ours(path: Path, also: int | None = None) -> bool:
    """Whether this user owns a file, and the link to it if there is one; if not, the user is warned."""
    try:
        owners = {path.stat().st_uid, path.lstat().st_uid}
    except OSError:
        return False
    others = owners - {os.geteuid(), also}
    if others:
        tell(
            f"{path}: not used: it belongs to another user ({_user_name(min(others))}); to trust it, "
            f"give --policy {path}"
        )
    return not others


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
