"""Prompts that a person picks from a menu: recall something, and record a decision."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from scalepan.errors import InputError, NotFoundError, did_you_mean
from scalepan.memory.requests import SEARCH
from scalepan.serve.envelope import Caller
from scalepan.serve.fence import clean
from scalepan.serve.recalls import recalls
from scalepan.serve.service import Service
from scalepan.serve.tools import checked, tool


class MenuPrompt(NamedTuple):
    """One prompt: what it is called, what it takes, and what it says."""

    name: str
    title: str
    description: str
    arguments: dict[str, str]
    required: tuple[str, ...]
    text: Callable[[Service, Mapping[str, str], Caller], str]


def _recall(service: Service, said: Mapping[str, str], asked: Caller) -> str:
    request = checked(tool("pce_memory_search"), {"query": said["query"]})
    found = recalls(SEARCH)(service, request, asked)
    lines = [
        f"- {one.id} ({one.kind}, score {one.score_final:.2f}): {one.text or 'text not shown here'}"
        for one in found.claims
        if not one.below_threshold
    ]
    return "\n".join(
        [
            f"What do we know about this: {clean(said['query'])}",
            "",
            found.notice if lines else "Nothing is remembered about it.",
            *lines,
            "",
            "Answer from these claims, name the id of each that you use, and say what they leave open.",
        ]
    )


def _record(_: Service, said: Mapping[str, str], __: Caller) -> str:
    reason = f"\nBecause: {clean(said['reason'])}" if said.get("reason") else ""
    return (
        f"We decided: {clean(said['decision'])}{reason}\n\n"
        "Search memory for claims that this contradicts or repeats. Then record it with memory_add as one statement "
        "that makes sense on its own, with kind 'policy_hint' if it is a rule to follow, else 'fact', and the reason "
        "as its note. Vote 'outdated' on what it replaces. Leave out names and secrets."
    )


PROMPTS = (
    MenuPrompt(
        "recall",
        "Recall",
        "What is remembered about something.",
        {"query": "What it is about."},
        ("query",),
        _recall,
    ),
    MenuPrompt(
        "record_decision",
        "Record a decision",
        "Remember what was decided, and why.",
        {"decision": "What was decided.", "reason": "Why."},
        ("decision",),
        _record,
    ),
)


def prompt(name: str, said: Mapping[str, str]) -> MenuPrompt:
    """The prompt of that name, if what it needs was said."""
    found = next((one for one in PROMPTS if one.name == name), None)
    if found is None:
        raise NotFoundError(f"no prompt '{name}'{did_you_mean(name, [one.name for one in PROMPTS])}")
    for needed in found.required:
        if not said.get(needed):
            raise InputError("is missing", path=needed)
    return found
