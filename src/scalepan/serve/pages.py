"""What can be read without asking a question: the policy in force, and what happened last."""

from typing import Any

import msgspec

from scalepan.policy.boundary import CLASSES
from scalepan.serve.envelope import Caller
from scalepan.serve.fence import clean_data, one_line
from scalepan.serve.service import Service

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
    tenant = _quoted(service.settings.tenant)
    within = "" if asked.project is None else f"AND (payload->>'project') = {_quoted(asked.project)} "
    limited = service.settings.classes is not None and set(service.settings.classes) < set(CLASSES)
    topics = f"AND topic NOT IN ({', '.join(map(repr, OF_CLAIMS))}) " if limited else ""
    rows = service.store.sql(
        "SELECT id, ts, topic, payload, request_id, trace_id FROM events "  # noqa: S608 - quotes are doubled
        f"WHERE tenant = {tenant} {within}{topics}ORDER BY ts DESC, rowid DESC LIMIT {RECENT_EVENTS}"
    )
    names = ("id", "at", "topic", "payload", "request_id", "trace_id")
    events = [dict(zip(names, row, strict=True)) for row in rows]
    return [clean_data({**event, "payload": _scalars(msgspec.json.decode(event["payload"]))}) for event in events]


def _quoted(name: str) -> str:
    """A name as SQL writes it."""
    return "'" + name.replace("'", "''") + "'"


def _scalars(payload: Any) -> dict[str, Any]:
    """Numbers and short words of an event; lists of claims and ids of claims stay inside."""
    if not isinstance(payload, dict):
        return {}
    kept = {k: one_line(v) if isinstance(v, str) else v for k, v in payload.items() if not isinstance(v, (dict, list))}
    return {k: v for k, v in kept.items() if not str(v).startswith("clm_")}
