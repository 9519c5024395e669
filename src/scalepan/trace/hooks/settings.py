"""Hooks in the settings of Claude Code: added beside whatever is there, never in its place.

`{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "...", "timeout": 30}]}]}}`
"""

import json
import os
import re
import tempfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from scalepan.errors import InputError


class CommandHook(NamedTuple):
    """A command that Claude Code runs on an event."""

    event: str
    command: str
    ours: str
    """The part of the command by which an earlier version of it is found again."""
    timeout: int | None = None
    """Seconds."""
    matcher: str | None = None
    """Which tools, for events about tools."""

    @property
    def entry(self) -> dict[str, Any]:
        """The hook as the settings have it."""
        timed = {"timeout": self.timeout} if self.timeout is not None else {}
        return {"type": "command", "command": self.command, **timed}


def read_settings(file: Path) -> dict[str, Any]:
    """The settings; empty if there are none. Anything but a JSON object is an InputError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except UnicodeError:
        raise InputError("is not UTF-8 text; nothing was written", file=str(file)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; nothing was written", file=str(file)) from None
    if not text.strip():
        return {}
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON ({error}); nothing was written, mend it first", file=str(file)) from None
    if not isinstance(found, dict):
        raise InputError("is not a JSON object; nothing was written, mend it first", file=str(file))
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless a key is there twice: one of the two would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(name for name in names if names.count(name) > 1)}' is there twice")
    return found


def with_hooks(settings: dict[str, Any], hooks: Sequence[CommandHook], file: Path) -> dict[str, Any]:
    """The same settings with these hooks, each once. What does not look like hooks is an InputError."""
    changed = deepcopy(settings)
    events = _part(changed, "hooks", dict, "an object", file)
    for hook in hooks:
        groups = _part(events, hook.event, list, "a list", file, under="hooks.")
        if not _replaced(groups, hook):
            matched = {"matcher": hook.matcher} if hook.matcher is not None else {}
            groups.append({**matched, "hooks": [hook.entry]})
    return changed


def _part(parent: dict[str, Any], key: str, kind: type, legal: str, file: Path, under: str = "") -> Any:
    found = parent.setdefault(key, kind())
    if not isinstance(found, kind):
        raise InputError(f"is not {legal}; nothing was written, mend it first", file=str(file), path=f"{under}{key}")
    return found


def _replaced(groups: list[Any], hook: CommandHook) -> bool:
    """Whether the hook was there already. It gets the new command, unless somebody added options to it."""
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list):
            continue
        for place, entry in enumerate(entries):
            command = entry.get("command") if isinstance(entry, dict) else None
            if isinstance(command, str) and hook.ours in command:
                if command.endswith(hook.ours):
                    entries[place] = {**hook.entry, **entry, "command": hook.command}
                return True
    return False


def as_text(settings: dict[str, Any], like: str = "") -> str:
    """The settings as a file has them, indented `like` the text that was there."""
    first = re.search(r"^([ \t]+)\S", like, re.MULTILINE)
    return json.dumps(settings, indent=first.group(1) if first else 2, ensure_ascii=False) + "\n"


def write_settings(file: Path, settings: dict[str, Any]) -> None:
    """Replace the file in one step, with the permissions that it had. Where it is a link, what it leads to."""
    target = Path(os.path.realpath(file))
    draft: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        like, mode = (target.read_text("utf-8-sig"), target.stat().st_mode & 0o777) if target.exists() else ("", 0o644)
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with open(handle, "w", encoding="utf-8") as out:
            out.write(as_text(settings, like))
            out.flush()
            os.fsync(out.fileno())
        os.chmod(draft, mode)
        os.replace(draft, target)
    except OSError as error:
        if draft is not None:
            Path(draft).unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
