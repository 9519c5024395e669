"""Claims in the store: each write gives them the number of its commit, and what is unique is found."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from scalepan.errors import ConflictError
from scalepan.store import Here, Operation, Store, changes, commits
from scalepan.store.own import Nothing
from scalepan.store.rows import ClaimRow, Content, EntityName

NOW = 1_900_000_000.25


def row(id_: str, **columns: Any) -> ClaimRow:
    return msgspec.structs.replace(
        ClaimRow(
            id=id_,
            tenant="north",
            project="ships",
            session=None,
            text=f"text of {id_}",
            normalized_text=f"text of {id_}",
            kind="fact",
            scope="project",
            boundary_class="internal",
            content_hash=f"hash of {id_}",
            created_at=NOW,
            utility_at=NOW,
            provenance="{}",
        ),
        **columns,
    )


class Ran(msgspec.Struct, frozen=True):
    """What a test's step gave, and the generation that it ran at."""

    result: Any
    generation: int


STEPS: list[Callable[[Here], Any]] = []


def _run(here: Here) -> Ran:
    return Ran(msgspec.to_builtins(STEPS.pop()(here)), here.generation)


@commits(Operation("tests.commit_step", Nothing, Ran))
def commit_step(here: Here, requests: Sequence[Nothing]) -> list[Ran]:
    return [_run(here) for _ in requests]


@changes(Operation("tests.read_step", Nothing, Ran))
def read_step(here: Here, _: Nothing) -> Ran:
    return _run(here)


class Steps:
    """Runs steps in a store, in a commit or beside it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def write(self, step: Callable[[Here], Any]) -> Ran:
        STEPS.append(step)
        ran: Ran = self.store.call("tests.commit_step", Nothing())
        return ran

    def read(self, step: Callable[[Here], Any]) -> Any:
        STEPS.append(step)
        return self.store.call("tests.read_step", Nothing()).result

    def generations(self) -> dict[str, int]:
        return dict(self.store.sql("SELECT id, generation FROM claims"))


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    with Store(tmp_path / "notes.duckdb") as store:
        yield Steps(store)


def test_a_claim_comes_back_as_it_was_added(steps: Steps) -> None:
    added = row("a", updated_at=NOW + 1, quality=0.5, quality_at=NOW, provenance='{"actor":"Ann"}')
    at = steps.write(lambda here: here.claims.add([added])).generation
    found = steps.read(lambda here: here.claims.get("a"))
    assert msgspec.convert(found, ClaimRow) == msgspec.structs.replace(added, generation=at)


WRITES: dict[str, Callable[[Here], Any]] = {
    "columns": lambda here: here.claims.update("a", utility=0.5, utility_at=NOW + 5, updated_at=None),
    "an entity": lambda here: here.entities.link([("a", EntityName("north", "Concept", "Aurora"))]),
    "other entities": lambda here: here.entities.replace("a", []),
    "copied entities": lambda here: here.entities.copy("b", "a"),
    "a vector": lambda here: here.vectors.put(["a"], np.ones((1, 3), dtype=np.float32), "model@1"),
    "no vector": lambda here: here.vectors.clear("a"),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_write_gives_its_claim_and_no_other_the_number_of_its_commit(steps: Steps, what: str) -> None:
    def add(here: Here) -> None:
        here.claims.add([row("a"), row("b")])
        here.entities.link([("b", EntityName("north", "Concept", "Boreas"))])

    first = steps.write(add).generation
    assert steps.generations() == {"a": first, "b": first}
    second = steps.write(WRITES[what]).generation
    assert second > first
    assert steps.generations() == {"a": second, "b": first}
    assert steps.read(lambda here: here.claims.changed_since(first)) == ["a"]
    assert steps.read(lambda here: here.claims.changed_since(second)) == []


def test_an_entity_that_is_known_is_no_change(steps: Steps) -> None:
    aurora = [("a", EntityName("north", "Concept", "Aurora"))]
    steps.write(lambda here: here.claims.add([row("a")]))
    assert steps.write(lambda here: sorted(here.entities.link(aurora))).result == ["a"]
    before = steps.generations()
    assert steps.write(lambda here: sorted(here.entities.link(aurora))).result == []
    assert steps.generations() == before


def test_the_same_content_is_found_and_only_there(steps: Steps) -> None:
    twin = {"content_hash": "same"}
    rows = [
        row("a", **twin),
        row("merged", **twin, merged_into="a"),
        row("other project", **twin, project="planes"),
        row("other tenant", **twin, tenant="south"),
        row("session", **twin, scope="session", session="s1"),
    ]
    steps.write(lambda here: here.claims.add(rows))
    content = Content.of(rows[0])
    assert steps.read(lambda here: [one.id for one in here.claims.same_content([content])[content]]) == ["merged", "a"]


def test_a_chain_of_merged_claims_leads_to_its_end(steps: Steps) -> None:
    steps.write(
        lambda here: here.claims.add([row("a", merged_into="b"), row("b", merged_into="c"), row("c"), row("d")])
    )
    ends = steps.read(lambda here: [here.claims.representative(id_) for id_ in ("a", "c", "d", "nobody")])
    assert [one and one["id"] for one in ends] == ["c", "c", "d", None]


def test_vectors_of_two_models_are_refused(steps: Steps) -> None:
    steps.write(lambda here: here.claims.add([row("a"), row("b")]))
    steps.write(lambda here: here.vectors.put(["a"], np.ones((1, 3), dtype=np.float32), "model@1"))
    with pytest.raises(ConflictError, match=r"by model@1, not by model@2"):
        steps.write(lambda here: here.vectors.put(["b"], np.ones((1, 3), dtype=np.float32), "model@2"))


def test_vectors_are_read_with_their_claims(steps: Steps) -> None:
    vectors = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)

    def add(here: Here) -> None:
        here.claims.add([row("a"), row("b"), row("c")])
        here.vectors.put(["a", "b"], vectors, "model@1")

    steps.write(add)
    assert steps.read(lambda here: here.vectors.of(["c", "b"]).ids) == ["b"]
    assert steps.read(lambda here: here.vectors.of(["c", "b"]).vectors.tolist()) == [[4, 5, 6]]
    assert steps.read(lambda here: here.vectors.of(["c"]).ids) == []
    assert steps.read(lambda here: [one.id for one in here.vectors.missing(9)]) == ["c"]
    assert steps.read(lambda here: here.vectors.missing_count()) == 1
    assert steps.read(lambda here: [page.vectors.tolist() for page in here.vectors.all()]) == [vectors.tolist()]
