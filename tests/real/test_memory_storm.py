"""Processes with threads that do everything at once, while the owner is killed or hangs, and stores close and open.

Every thread has claims of its own and knows what it was told. Afterwards the store has that and nothing else: nothing
lost, nothing doubled, nothing that was forgotten. SCALEPAN_STRESS multiplies how often the owner is disturbed.
"""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scalepan.errors import UnansweredError
from scalepan.memory import Memory
from scalepan.memory.requests import Agree
from scalepan.store import Store
from scalepan.store.own import Nothing
from scalepan.store.policies import SetPolicy
from tests.real.hang import hang

spawn = multiprocessing.get_context("spawn")
STRESS = float(os.environ.get("SCALEPAN_STRESS", "1"))
DISTURBED = max(int(4 * STRESS), 2)
PROCESSES, THREADS, PAUSE = 4, 3, 1.0
POLICY = {"embed": {"model": "none"}}
PATIENCE = 3.0
ACTS = ["add", "add", "many", "update", "vote", "vote", "undo", "forget", "search", "activate", "policy", "rescan"]


def surely(call: Callable[[], Any]) -> Any:
    """The answer of a call, however often its owner hangs."""
    while True:
        try:
            return call()
        except UnansweredError as error:
            call = error.retry


class Worker:
    """One thread: does something at random, and writes down what it asked for and what it was told."""

    def __init__(self, memory: Memory, log: Path, name: str, seed: int) -> None:
        self.memory, self.name, self.random = memory, name, Random(seed)
        self.out = log.open("w", buffering=1)
        self.mine: list[str] = []
        self.votes: list[str] = []
        self.number = 0

    def step(self) -> None:
        act = self.random.choice(ACTS if self.mine else ["add"])
        if act == "undo" and not self.votes:
            act = "vote"
        self.number += 1
        texts = [f"claim {self.number} {part} of {self.name}" for part in range(3 if act == "many" else 1)]
        target = self.random.choice(self.mine) if self.mine else ""
        self.tell("begun", act, [target], texts)
        ids = getattr(self, act)(target, texts)
        self.tell("done", act, ids, texts)

    def tell(self, state: str, act: str, ids: list[str], texts: list[str]) -> None:
        self.out.write(json.dumps([state, act, ids, texts]) + "\n")

    def add(self, _: str, texts: list[str]) -> list[str]:
        added = surely(lambda: self.memory.add_many(texts))
        ids = [one.id for one in (added if isinstance(added, list) else added.claims)]
        self.mine += ids
        return ids

    many = add

    def update(self, target: str, texts: list[str]) -> list[str]:
        surely(lambda: self.memory.update(target, text=texts[0]))
        return [target]

    def vote(self, target: str, _: list[str]) -> list[str]:
        voted = surely(lambda: self.memory.vote(target, "helpful"))
        self.votes.append(voted.id)
        return [target, voted.id]

    def undo(self, _: str, __: list[str]) -> list[str]:
        vote = self.votes.pop()
        return [surely(lambda: self.memory.undo_vote(vote)).claim, vote]

    def forget(self, target: str, _: list[str]) -> list[str]:
        surely(lambda: self.memory.forget(target))
        self.mine.remove(target)
        self.votes.clear()  # some of them are gone too
        return [target]

    def search(self, target: str, texts: list[str]) -> list[str]:
        found = surely(lambda: self.memory.search(f"claim of {self.name}"))
        assert len({one.id for one in found.claims}) == len(found.claims)
        return []

    def activate(self, *_: Any) -> list[str]:
        surely(lambda: self.memory.activate("claim"))
        return []

    def policy(self, *_: Any) -> list[str]:
        yaml = f"retrieval:\n  hybrid:\n    alpha: 0.{self.random.randrange(1, 9)}\n"
        request = SetPolicy(yaml, tenant=self.memory.who.tenant, project=self.name)
        surely(lambda: self.memory.store.call("store.set_policy", request))
        return []

    def rescan(self, *_: Any) -> list[str]:
        with suppress(UnansweredError):  # the next one goes over everything once more
            self.memory.rescan()
        return []


def work(path: Path, folder: Path, seed: int) -> None:
    """Threads on one memory, until told to stop; one of them closes it again and again while the others use it."""
    memory = Memory(Store(path, patience=PATIENCE), policy=POLICY)
    stop = folder / "stop"

    def run(thread: int) -> None:
        worker = Worker(memory, folder / f"{seed}-{thread}.log", f"p{seed}t{thread}", 100 * seed + thread)
        try:
            while not stop.exists():
                worker.step()
                if thread == 0 and worker.number % 25 == 0:
                    memory.close()
        except BaseException as error:
            worker.out.write(json.dumps(["failed", f"{type(error).__name__}: {error}", [], []]) + "\n")

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory.close()


def owner_of(path: Path, pids: set[int]) -> int:
    """Which of these processes has the file."""
    while True:
        with Store(path) as store:
            store.sql("SELECT 1")
            pid = 0 if store.is_owner else int(store.owner.split()[1])
        if pid in pids:
            return pid
        time.sleep(0.05)


class Told:
    """What the threads were told."""

    def __init__(self, logs: list[Path]) -> None:
        self.texts: dict[str, str] = {}
        self.votes: Counter[str] = Counter()
        self.gone: set[str] = set()
        self.gone_texts: set[str] = set()
        self.unsure: set[str] = set()
        self.unsure_texts: set[str] = set()
        self.failed: list[str] = []
        self.acts: Counter[str] = Counter()
        for log in logs:
            self._read(log)

    def _read(self, log: Path) -> None:
        open_: tuple[list[str], list[str]] = ([], [])
        for line in log.read_text().splitlines():
            state, act, ids, texts = json.loads(line)
            if state == "failed":
                self.failed.append(act)
            elif state == "begun":
                open_ = (ids, texts)
            else:
                open_ = ([], [])
                self.acts[act] += 1
                self._count(act, ids, texts)
        self.unsure |= {id_ for id_ in open_[0] if id_}
        self.unsure_texts |= set(open_[1])

    def _count(self, act: str, ids: list[str], texts: list[str]) -> None:
        match act:
            case "add" | "many":
                self.texts |= dict(zip(ids, texts, strict=True))
            case "update":
                self.gone_texts.add(self.texts[ids[0]])
                self.texts[ids[0]] = texts[0]
            case "vote":
                self.votes[ids[0]] += 1
            case "undo":
                self.votes[ids[0]] -= 1
            case "forget":
                self.gone.add(ids[0])
                self.gone_texts.add(self.texts.pop(ids[0]))
                del self.votes[ids[0]]


def test_nothing_lost_nothing_doubled_nothing_undead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.duckdb"
    random = Random(0)
    workers: dict[int, Any] = {}

    def start(seed: int) -> None:
        process = spawn.Process(target=work, args=(path, tmp_path, seed))
        process.start()
        workers[process.pid or 0] = process

    for seed in range(PROCESSES):
        start(seed)
    killed = hung = 0
    for seed in range(PROCESSES, PROCESSES + DISTURBED):
        time.sleep(PAUSE)
        owner = owner_of(path, set(workers))
        if random.random() < 0.5 or not killed:
            os.kill(owner, signal.SIGKILL)
            workers[owner].join()
            killed += 1
            start(seed)
        else:
            hang(owner)
            time.sleep(random.choice([0.5, PATIENCE + 1.0]))
            os.kill(owner, signal.SIGCONT)
            hung += 1
    time.sleep(PAUSE)
    (tmp_path / "stop").touch()
    for process in workers.values():
        process.join(60)
    assert not any(process.is_alive() for process in workers.values())
    told = Told(sorted(tmp_path.glob("*.log")))
    with Memory(path, policy=POLICY) as memory:
        kept = {claim.id: claim.text for claim in memory.list()}
        votes = dict(
            memory.store.sql(
                "SELECT claim_id, count(*) FROM feedbacks WHERE signal = 'helpful' AND undone_at IS NULL GROUP BY 1",
                limit=100_000,
            )
        )
        orphans = memory.store.call("memory.orphans", Nothing()).rows
        astray = memory.store.call("memory.agree", Agree(who=memory.who, overlay=memory.overlay)).problems
    with capsys.disabled():
        print(f"\n{sum(told.acts.values()):,} acts, {killed} killed, {hung} hung, {len(kept):,} claims are there")
    assert told.failed == []
    assert (orphans, astray) == ({}, [])
    sure = {id_: text for id_, text in told.texts.items() if id_ not in told.unsure}
    assert {id_: kept.get(id_) for id_ in sure} == sure  # nothing lost
    assert [text for text, n in Counter(kept.values()).items() if n > 1] == []  # nothing doubled
    assert {id_: n for id_ in sure if (n := votes.get(id_, 0)) != told.votes[id_]} == {}
    assert told.gone & set(kept) == set()  # nothing undead
    others = [text for id_, text in kept.items() if id_ not in told.texts]
    assert set(others) <= told.unsure_texts
    assert told.gone_texts & set(kept.values()) == set()
    assert told.acts["forget"] > 0
    assert killed > 0
