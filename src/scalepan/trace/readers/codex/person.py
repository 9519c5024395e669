"""Which messages of the role `user` a person wrote: Codex sends its own context in the same role."""

import re
from typing import Any

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import items, mapping, text

# Blocks that Codex puts into the conversation. Newer versions state who wrote a part; older ones have only this form.
_TAGS = (
    "agent_message_board_notification",
    "apps_instructions",
    "collaboration_mode",
    "current_time_reminder",
    "environment_context",
    "goal_context",
    "heartbeat",
    "hook_prompt",
    "image_resize_notice",
    "INSTRUCTIONS",
    "model_switch",
    "permissions instructions",
    "personality_spec",
    "plugins_instructions",
    "realtime_conversation",
    "recommended_plugins",
    "skill",
    "skills_instructions",
    "subagent_notification",
    "turn_aborted",
    "user_instructions",
    "user_shell_command",
)
_INJECTED = re.compile(rf"\s*(?:# AGENTS\.md instructions|<(?:{'|'.join(_TAGS)})[\s>])")
_IMAGE_MARK = re.compile(r"\s*</?image(?:\s[^>]*)?>\s*")
# An editor writes what is open in it above the request.
_REQUEST = "## My request for Codex:"


def asked(item: dict[str, Any], entries: list[LogEntry]) -> list[LogEntry]:
    """The same entries; a request that no person wrote is skipped."""
    if not entries or entries[0].kind != "request" or item.get("type") == "agent_message":
        return entries
    said = [part for part, owner in _parts(item) if owner == "user" or (owner is None and not _INJECTED.match(part))]
    if not said:
        return [LogEntry("skip", "injected context")]
    whole = "\n".join(said)
    return [entries[0]._replace(text=whole.split(_REQUEST, 1)[-1].strip() or whole)]


def _parts(item: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The text of every part and who wrote it, if the log says."""
    content = item.get("content")
    if isinstance(content, str):
        return [(content, None)]
    stated = mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_metadata")
    owners = [text(mapping(mapping(one).get("provenance")).get("type")) for one in items(stated)]
    parts = items(content)
    owners += [None] * (len(parts) - len(owners))
    shown = [(_shown(part), owner) for part, owner in zip(parts, owners, strict=False)]
    return [(said, owner) for said, owner in shown if said]


def _shown(part: Any) -> str | None:
    if not isinstance(part, dict):
        return text(part)
    if part.get("type") == "input_image":
        return "[image]"
    said = text(part.get("text"))
    # An image stands between two parts of text that only mark it.
    return None if said is None or _IMAGE_MARK.fullmatch(said) else said
