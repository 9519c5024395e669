"""Policies in the store: checked, versioned, with a history, each change an event."""

from pathlib import Path

import pytest

from scalepan.errors import ConflictError, PolicyError
from scalepan.policy import load_policy
from scalepan.store import Store
from scalepan.store.policies import PolicySet, SetPolicy, WhosePolicy, as_layers


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "notes.duckdb")


def put(store: Store, yaml: str, tenant: str = "acme", project: str | None = None) -> PolicySet:
    done: PolicySet = store.call("store.set_policy", SetPolicy(yaml, tenant, project, actor="ann"))
    return done


def gate(store: Store, tenant: str, project: str | None = None) -> float:
    layers = as_layers(store.call("store.policy_layers", WhosePolicy(tenant, project)))
    return load_policy(layers=layers, env={}).value.gate


def test_a_projects_policy_beats_its_tenants_and_the_newest_beats_the_older(store: Store) -> None:
    put(store, "value: {gate: 0.1}")
    put(store, "value: {gate: 0.2}")
    put(store, "value: {gate: 0.3}", project="search")
    assert [gate(store, "acme"), gate(store, "acme", "search"), gate(store, "acme", "other")] == [0.2, 0.3, 0.2]
    assert gate(store, "somebody") == 0.75
    store.close()


def test_every_change_is_in_the_history_and_an_event(store: Store) -> None:
    first, second = put(store, "value: {gate: 0.1}"), put(store, "")
    changes = store.call("store.policy_history", WhosePolicy("acme")).changes
    assert [(c.id, c.yaml, c.actor) for c in changes] == [
        (second.id, "", "ann"),
        (first.id, "value: {gate: 0.1}", "ann"),
    ]
    assert first.version != second.version
    events = store.sql("SELECT tenant, topic, payload ->> 'id' FROM events ORDER BY ts, rowid")
    assert events == [["acme", "policy", first.id], ["acme", "policy", second.id]]
    store.close()


def test_a_projects_change_is_an_event_that_names_it(store: Store) -> None:
    done = put(store, "value: {gate: 0.1}", project="search")
    events = store.sql("SELECT tenant, payload ->> 'project', payload ->> 'version' FROM events")
    assert events == [["acme", "search", done.version]]
    store.close()


def test_the_version_follows_the_content_and_nothing_else(store: Store) -> None:
    one, same = put(store, "value: {gate: 0.1}"), put(store, "value:\n  gate: 0.10  # a tenth", tenant="other")
    assert one.version == same.version
    assert one.id != same.id
    assert put(store, "value: {gate: 0.2}").version != one.version
    store.close()


@pytest.mark.parametrize(
    ("yaml", "error"),
    [
        ("value: {gaet: 0.1}", "tenant acme: value.gaet: unknown key; did you mean 'gate'?"),
        ("value: [", "tenant acme: not YAML"),
        ("- a", "a policy is a table of sections"),
        ("value: {gate: 7}", "tenant acme: value.gate: 7 is not between 0 and 1"),
    ],
)
def test_what_is_no_policy_is_refused_and_not_kept(store: Store, yaml: str, error: str) -> None:
    with pytest.raises(PolicyError, match=error):
        put(store, yaml)
    assert store.sql("SELECT (SELECT count(*) FROM policies), (SELECT count(*) FROM events)") == [[0, 0]]
    store.close()


def test_a_clock_that_goes_back_brings_no_old_policy_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "value: {gate: 0.1}")
    monkeypatch.setattr("scalepan.clock.time", lambda: 1e9)
    put(store, "value: {gate: 0.2}")
    assert gate(store, "acme") == 0.2
    assert store.call("store.policy_history", WhosePolicy("acme")).changes[0].yaml == "value: {gate: 0.2}"
    store.close()


def test_a_policy_made_from_one_that_was_replaced_meanwhile_is_refused(store: Store) -> None:
    first = put(store, "value: {gate: 0.1}")
    put(store, "value: {gate: 0.2}")
    for replaces in (first.id, ""):
        with pytest.raises(ConflictError, match="the policy of tenant acme was changed meanwhile; read it again"):
            store.call("store.set_policy", SetPolicy("value: {gate: 0.3}", "acme", None, "ann", replaces))
    assert gate(store, "acme") == 0.2
    store.call("store.set_policy", SetPolicy("value: {gate: 0.4}", "other", None, "ann", ""))
    assert gate(store, "other") == 0.4
    store.close()
