"""At which git revision is a folder? Read from the files of the repository, so that nothing in it can run."""

import re
from pathlib import Path

REVISION = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
MOST_BYTES = 64 * 1024 * 1024


def git_revision(folder: Path) -> str | None:
    """The commit that is checked out; None outside a repository, or before its first commit."""
    try:
        for one in (folder.resolve(), *folder.resolve().parents):
            if (one / ".git").exists():
                return _head(_git_folder(one))
    except (OSError, UnicodeError):
        return None
    return None


def _git_folder(top: Path) -> Path:
    """`.git` itself, or where it points to in a worktree or a submodule."""
    entry = top / ".git"
    if entry.is_dir():
        return entry
    return top / _text(entry).removeprefix("gitdir:").strip()


def _head(git: Path) -> str | None:
    head = _text(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return _revision(head)
    name = head.removeprefix("ref:").strip()
    shared = git / "commondir"
    common = git / _text(shared).strip() if shared.exists() else git
    for place in (git, common):
        if (place / name).is_file():
            return _revision(_text(place / name).strip())
    packed = common / "packed-refs"
    for line in _text(packed).splitlines() if packed.is_file() else []:
        revision, _, ref = line.partition(" ")
        if ref == name:
            return _revision(revision)
    return None


def _revision(text: str) -> str | None:
    return text if REVISION.fullmatch(text) else None


def _text(path: Path) -> str:
    if path.stat().st_size > MOST_BYTES:
        raise OSError("too large to be a file of git")
    return path.read_text(encoding="utf-8")
