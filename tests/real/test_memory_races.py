"""Many threads on one memory: no acknowledged change is lost, nothing forgotten comes back, no search is wrong.

A real store and its real writer; only the encoder is a stand-in, so that vectors cost nothing. SCALEPAN_STRESS
multiplies every count: 1 takes some seconds, and 50 is 100,000 searches.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scalepan.errors import ConflictError, NotFoundError
from scalepan.memory import Memory
from scalepan.memory.requests import Agree
from scalepan.store import Store
from tests.memory.conftest import StandIn
from tests.real.stress import rounds

ROUNDS = rounds(40)
SEARCHES = rounds(2_000)
TENANTS = ("north", "south", "east")
WORDS = ("apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with an encoder, and threads that take turns as often as they can."""
    stand_in = StandIn()
    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: stand_in)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with Store(tmp_path / "notes.duckdb") as store:
            yield store
    finally:
        sys.setswitchinterval(before)


def at_once(*acts: Callable[[], Any]) -> None:
    """Run acts at the same moment, each in a thread of its own; what one raises is raised here."""
    gate = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> None:
        gate.wait()
        act()

    with ThreadPoolExecutor(len(acts)) as pool:
        for done in [pool.submit(run, act) for act in acts]:
            done.result()


def rows(store: Store, sql: str) -> list[Any]:
    return list(store.sql(sql, limit=100_000))


LEFT_BY = {
    "claim_vectors": "SELECT claim_id FROM claim_vectors",
    "claim_entities": "SELECT claim_id FROM claim_entities",
    "active_context_items": "SELECT claim_id FROM active_context_items",
    "feedbacks": "SELECT claim_id FROM feedbacks",
    "relations": "SELECT source_id FROM relations UNION ALL SELECT target_id FROM relations",
    "scores": "SELECT subject FROM scores WHERE name = 'score_final'",
    "entities": "SELECT name FROM entities WHERE id NOT IN (SELECT entity_id FROM claim_entities)",
    "events": "SELECT unnest(regexp_extract_all(payload::TEXT, 'clm_[0-9a-f]+')) FROM events",
    "requests": "SELECT unnest(regexp_extract_all(response, 'clm_[0-9a-f]+')) FROM requests",
}


def leftovers(store: Store) -> dict[str, int]:
    """By table, how many rows are about a claim that is not there."""
    there = {id_ for (id_,) in rows(store, "SELECT id FROM claims")}
    found = {table: sum(row[0] not in there for row in rows(store, sql)) for table, sql in LEFT_BY.items()}
    return {table: count for table, count in found.items() if count}


def test_a_change_of_class_never_writes_an_old_text_over_a_new_one(store: Store) -> None:
    memory = Memory(store)
    lost = []
    for number in range(ROUNDS):
        id_ = memory.add(f"old text {number} " + "of some length " * 40)
        at_once(
            lambda id_=id_, number=number: memory.update(id_, text=f"new text {number}"),  # type: ignore[misc]
            lambda id_=id_: memory.update(id_, boundary_class="public"),  # type: ignore[misc]
        )
        claim = memory.get(id_)
        if (claim.text, claim.boundary_class) != (f"new text {number}", "public"):
            lost.append(claim)
    assert len(lost) == 0, f"{len(lost)} of {ROUNDS} lost: {lost[0]}"
    assert agreement(memory) == []


def test_nothing_stays_of_a_claim_that_is_forgotten_beside_everything_else(store: Store) -> None:
    memory = Memory(store)
    other = memory.add("a claim that stays", entities=["Staying"])
    for number in range(ROUNDS):
        id_ = memory.add(f"going {number} " + "of some length " * 40, entities=[f"Going {number}"])
        beside: Sequence[Callable[[], Any]] = [
            lambda id_=id_, number=number: memory.update(
                id_, text=f"gone {number}", entities=[{"name": f"Gone {number}"}]
            ),  # type: ignore[misc]
            lambda id_=id_: memory.vote(id_, "helpful"),  # type: ignore[misc]
            lambda id_=id_: memory.link(id_, other),  # type: ignore[misc]
            lambda id_=id_, number=number: memory.add(f"gone {number}", entities=[f"Again {number}"]),  # type: ignore[misc]
            lambda number=number: memory.activate(f"going {number}"),  # type: ignore[misc]
            lambda number=number: memory.search(f"going {number}"),  # type: ignore[misc]
            memory.rescan,
        ]

        def unless_gone(act: Callable[[], Any]) -> Callable[[], None]:
            def run() -> None:
                with suppress(NotFoundError, ConflictError):
                    act()

            return run

        at_once(lambda id_=id_: memory.forget(id_), *map(unless_gone, Random(number).sample(beside, 3)))  # type: ignore[misc]
    found = leftovers(store)
    assert found == {}, f"after {ROUNDS} rounds: {found}"
    assert agreement(memory) == []


def agreement(memory: Memory) -> list[str]:
    found: list[str] = memory.store.call("memory.agree", Agree(who=memory.who, overlay=memory.overlay)).problems
    return found


class Checked:
    """Searches beside adds, changes and forgets in several tenants, and what was wrong with their answers."""

    def __init__(self, store: Store, searches: int) -> None:
        self.memories = {tenant: Memory(store, tenant=tenant) for tenant in TENANTS}
        self.public = {tenant: Memory(store, tenant=tenant, classes=["public"]) for tenant in TENANTS}
        self.lasting = {}
        for tenant, memory in self.memories.items():
            said = [
                {"text": f"{tenant} lasting {word} note{n}x", "boundary_class": "public"}
                for n in range(4)
                for word in WORDS
            ]
            self.lasting[tenant] = {one.id for one in memory.add_many(said)}
        self.left = searches
        self.done = 0
        self.wrong: Counter[str] = Counter()
        self.examples: list[str] = []
        self._lock = threading.Lock()
        self.over = threading.Event()

    def fault(self, kind: str, what: object) -> None:
        with self._lock:
            self.wrong[kind] += 1
            self.examples.append(f"{kind}: {what!r}")

    def write(self, seed: int) -> None:
        """Add, change, raise in class and forget claims of all tenants, until the searches are over."""
        random = Random(seed)
        mine: dict[str, list[str]] = {tenant: [] for tenant in TENANTS}
        number = 0
        while not self.over.is_set():
            number += 1
            tenant = random.choice(TENANTS)
            memory, ids = self.memories[tenant], mine[tenant]
            word = random.choice(WORDS)
            try:
                match random.choice(["add", "many", "update", "class", "forget", "vote"] if len(ids) > 20 else ["add"]):
                    case "add":
                        ids.append(memory.add(f"{tenant} internal {word} {seed} {number}"))
                    case "many":
                        said = [f"{tenant} internal {word} {seed} {number} {n}" for n in range(30)]
                        ids += [one.id for one in memory.add_many(said)]
                    case "update":
                        memory.update(random.choice(ids), text=f"{tenant} internal {word} changed {seed} {number}")
                    case "class":
                        # What is public says so; a reader of public claims must never see one that says otherwise.
                        id_ = memory.add(f"{tenant} public {word} {seed} {number}", boundary_class="public")
                        memory.update(id_, boundary_class="internal", text=f"{tenant} internal {word} {seed} {number}")
                        memory.forget(id_)
                    case "vote":
                        memory.vote(random.choice(ids), "helpful")
                    case "forget":
                        memory.forget(*(ids.pop() for _ in range(random.randint(1, 10))))
            except Exception as error:
                self.fault(f"write: {type(error).__name__}", error)

    def search(self, seed: int) -> None:
        """Search all tenants; every answer is compared with what must be in it, and what must not."""
        random = Random(seed)
        while self._next():
            tenant, word = random.choice(TENANTS), random.choice(WORDS)
            only_public = random.random() < 0.5
            memory = (self.public if only_public else self.memories)[tenant]
            try:
                found = memory.search(f"lasting {word} note1x", k=5)
            except Exception as error:
                self.fault(f"search: {type(error).__name__}", error)
                continue
            if found.notes and any("does not work" in note for note in found.notes):
                self.fault("fell back", found.notes)
            for one in found:
                if one.claim.tenant != tenant or not one.text.startswith(tenant):
                    self.fault("another tenant's", one.text)
                if only_public and ("internal" in one.text or one.claim.boundary_class != "public"):
                    self.fault("another class's", one.text)
                if word not in one.text and one.features.bm25 is not None and "lasting" not in one.text:
                    self.fault("not what was found", one.text)
            if f"{tenant} lasting {word} note1x" != found[0].text or found[0].id not in self.lasting[tenant]:
                self.fault("missed", [one.text for one in found])

    def _next(self) -> bool:
        with self._lock:
            self.left -= 1
            self.done += self.left >= 0
            return self.left >= 0

    def run(self) -> None:
        """Four threads that search and four that write."""
        with ThreadPoolExecutor(8) as pool:
            writers = [pool.submit(self.write, seed) for seed in range(4)]
            searchers = [pool.submit(self.search, seed) for seed in range(4, 8)]
            try:
                for searcher in searchers:
                    searcher.result()
            finally:
                self.over.set()
            for writer in writers:
                writer.result()


def test_no_search_beside_writes_is_wrong(store: Store) -> None:
    checked = Checked(store, SEARCHES)
    checked.run()
    assert checked.done == SEARCHES
    assert sum(checked.wrong.values()) == 0, f"{dict(checked.wrong)} in {SEARCHES:,}; {checked.examples[:3]}"
    assert agreement(checked.memories[TENANTS[0]]) == []
