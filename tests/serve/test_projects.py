"""A token for one project learns nothing of another: not what is decided there, nor that anything happens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scalepan.errors import NotFoundError
from scalepan.memory import Memory
from scalepan.policy.boundary import CLASSES
from scalepan.serve import decisions, judging, pages, requests, tokens
from scalepan.serve.envelope import Caller
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import checked, tool
from scalepan.store import Store
from scalepan.store.policies import SetPolicy

DECIDE = {
    "action": "dismiss",
    "args": {"who": "Bo Miller"},
    "factors": {"search_result_count": 1, "search_max_score": 0.5, "source_count": 1},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "notes.duckdb") as opened:
        yield opened


def service(store: Store, project: str) -> Service:
    return Service(Settings(tenant="acme", project=project, classes=CLASSES), store)


def by(project: str | None) -> Caller:
    return Caller("r", "t", f"token {project}", f"token {project}", may_answer=False, project=project)


def test_a_decision_is_its_projects_own(store: Store) -> None:
    made = decisions.decide(service(store, "people"), checked(tool("decide"), DECIDE), by("people"))
    assert made.call == 'dismiss(who="Bo Miller")'
    ((number,),) = store.sql("SELECT score_id FROM decisions")
    shop = service(store, "shop")
    for id_ in (made.decision_id, "dec_none"):
        with pytest.raises(NotFoundError):
            decisions.decided(shop, id_, by("shop"))
        with pytest.raises(NotFoundError):
            decisions.decide(shop, checked(tool("decide"), {"decision": id_}), by("shop"))
        with pytest.raises(NotFoundError):
            decisions.question(shop, id_, by("shop"))
    for id_ in (made.decision_id, number):
        with pytest.raises(NotFoundError):
            judging.explain(shop, requests.ExplainRequest(id=id_), by("shop"))
        assert (
            judging.explain(service(store, "people"), requests.ExplainRequest(id=id_), by("people")).status == "equal"
        )
    assert decisions.decided(service(store, "people"), made.decision_id, by("people")).state == "pending"
    # A token for any project of the tenant sees it from wherever it stands.
    assert decisions.decided(shop, made.decision_id, by(None)).state == "pending"


def test_events_are_their_projects_own(store: Store) -> None:
    """Of every kind that there is: each was made in another project, and once in this one."""
    for project in ("people", "shop"):
        with_token = tokens.create(store, tenant="acme", project=project).token
        store.call("store.set_policy", SetPolicy("value: {gate: 0.5}", "acme", project))
        memory = Memory(store, tenant="acme", project=project)
        first, second = memory.add("the heron lands"), memory.add("the heron flies")
        memory.search("heron")
        memory.activate("heron")
        memory.vote(first, "helpful")
        memory.update(first, text="the heron landed")
        memory.forget(second)
        memory.rescan()
        decisions.decide(service(store, project), checked(tool("decide"), DECIDE), by(project))
        tokens.revoke(store, with_token.id)
    seen = {project: pages.events(service(store, "shop"), by(project)) for project in ("people", "shop", None, "other")}
    assert seen["other"] == []
    assert {one["payload"]["project"] for one in seen["shop"]} == {"shop"}
    topics = {one["topic"] for one in seen["shop"]}
    assert topics >= {"token", "policy", "ingest", "search", "activate", "critic", "decision"}
    assert len(seen[None]) == len(seen["people"]) + len(seen["shop"])
