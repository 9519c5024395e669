"""What is left of claims that are gone: doctor finds it, rescan removes it."""

import json
from pathlib import Path

import duckdb
import pytest

from scalepan.memory import Memory
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from scalepan.store.duckdb.store import _owners
from scalepan.store.own import Nothing
from tests.cli.conftest import Run, run  # noqa: F401 - a fixture

WORDLESS = Policy(embed=Embed(model="none"))
GONE = "clm_" + "0" * 20
LEFT = f"""
    INSERT INTO claim_vectors VALUES ('{GONE}', NULL, 'm');
    INSERT INTO entities VALUES ('ent_1', 'default', 'Concept', 'Zanzibar');
    INSERT INTO claim_entities VALUES ('{GONE}', 'ent_1');
    INSERT INTO active_context_items (ac_id, claim_id, rank) VALUES ('ac_1', '{GONE}', 1);
    INSERT INTO feedbacks (id, tenant, claim_id, signal, body) VALUES ('fb_1', 'default', '{GONE}', 'helpful', '{{}}');
    INSERT INTO relations (id, tenant, source_id, target_id) VALUES ('rel_1', 'default', '{GONE}', 'ent_1');
    INSERT INTO scores (id, tenant, name, subject) VALUES ('scr_1', 'default', 'score_final', '{GONE}');
    INSERT INTO labels (id, tenant, target_id) VALUES ('lab_1', 'default', '{GONE}');
    INSERT INTO events (id, tenant, topic, payload) VALUES ('evt_1', 'default', 'search', '{{"claims": ["{GONE}"]}}');
    INSERT INTO requests VALUES ('req_1', 'memory.keep', '{{"claims": ["{GONE}"]}}', now()::TIMESTAMP);
"""
COUNTS = dict.fromkeys(
    (
        "claim_vectors",
        "claim_entities",
        "active_context_items",
        "feedbacks",
        "relations",
        "scores",
        "labels",
        "events",
        "requests",
    ),
    1,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDLESS) as memory:
        one = memory.add("apple pie", entities=["Pie"])
        memory.link(one, memory.add("apple juice"))
        memory.vote(one, "helpful", context=memory.activate("apple").active_context_id)
    with duckdb.connect(str(path)) as connection:
        connection.execute(LEFT)
    return path


def test_they_are_found_and_removed_and_nothing_else_is(path: Path) -> None:
    with Memory(path, policy=WORDLESS) as memory:
        before = memory.stats()
        assert memory.store.call("memory.orphans", Nothing()).rows == COUNTS
        assert memory.sweep() == COUNTS | {"entities": 1}  # its last mention went with the others
        assert memory.store.call("memory.orphans", Nothing()).rows == {}
        assert memory.sweep() == {}
        assert memory.stats() == before
        assert memory.store.sql("SELECT name FROM entities") == [["Pie"]]
        assert len(memory.store.sql("SELECT 1 FROM relations")) == 1
    with duckdb.connect(str(path)) as connection:
        (events,) = connection.execute(
            "SELECT count(*) FROM events WHERE contains(payload::TEXT, 'clm_000')"
        ).fetchone()  # type: ignore[misc]
        assert events == 0


def test_a_row_of_the_index_whose_claim_is_gone(path: Path) -> None:
    with Memory(path, policy=WORDLESS) as memory:
        (id_,) = [one.id for one in memory.search("juice", k=1)]
        index = _owners[path.resolve()]._state["memory"].built()
        index.remove([id_])
        assert memory.store.call("memory.orphans", Nothing()).rows["index"] == 1
        memory.rescan()
        assert memory.store.call("memory.orphans", Nothing()).rows == {}
        assert [one.id for one in memory.search("juice", k=1)] == [id_]


def test_doctor_finds_them_and_rescan_removes_them(path: Path, run: Run) -> None:  # noqa: F811
    found = run("doctor", "--json", "--store", path)
    (store,) = [row for row in map(json.loads, found.out.splitlines()) if row["name"] == "store"]
    assert (found.code, store["state"], store["advice"]) == (1, "broken", "scalepan memory rescan")
    assert "; rows about claims that are gone: claim_vectors 1, claim_entities 1, " in store["found"]
    done = run("memory", "rescan", "--store", path)
    assert "2 looked at, 0 changed, 10 rows about claims that are gone removed" in done.out
    assert run("doctor", "--json", "--store", path).code == 0


def test_a_token_that_does_not_open_everything_may_not_sweep(path: Path) -> None:
    from scalepan.errors import BoundaryError

    with Memory(path, policy=WORDLESS, classes=["public"]) as memory, pytest.raises(BoundaryError):
        memory.sweep()
