"""What can be read without asking a question: the policy in force, and what happened last."""

from typing import Any

import msgspec

from scalepan.policy.boundary import CLASSES
from scalepan.serve.envelope import Caller
from scalepan.serve.fence import clean_data, one_line
from scalepan.serve.service import Service
from scalepan.store.own import LAST_EVENTS, AskEvents

RECENT_EVENTS = 50
OF_CLAIMS = ("ingest", "search", "activate", "search_fallback", "critic")


def policy_page(service: Service) -> dict[str, Any]:
    """Every constant in force, by section, with the section's version."""
    policy = service.policy()
    sections: dict[str, Any] = clean_data(msgspec.to_builtins(policy))
    return {name: {**section, "version": policy.version(name)} for name, section in sections.items()}


def events(service: Service, asked: Caller) -> list[dict[str, Any]]:
    """What happened last in this tenant, or in the one project of a token: numbers and ids, no text.

    A token that does not open every class is not told what others did with claims: their number is a hint too.
    """
    limited = service.settings.classes is not None and set(service.settings.classes) < set(CLASSES)
    without = list(OF_CLAIMS) if limited else []
    request = AskEvents(service.settings.tenant, asked.project, RECENT_EVENTS, without)
    found = service.store.call(LAST_EVENTS, request).events
    return [clean_data({**msgspec.structs.asdict(event), "payload": _scalars(event.payload)}) for event in found]


def _scalars(payload: Any) -> dict[str, Any]:
    """Numbers and short words of an event; lists of claims and ids of claims stay inside."""
    if not isinstance(payload, dict):
        return {}
    kept = {k: one_line(v) if isinstance(v, str) else v for k, v in payload.items() if not isinstance(v, (dict, list))}
    return {k: v for k, v in kept.items() if not str(v).startswith("clm_")}
