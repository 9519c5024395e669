"""Memory between real processes whose owner is killed: nothing acknowledged is lost, and index and tables agree."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

from scalepan.memory import Memory
from scalepan.memory.requests import Agree, Agreement
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from tests.real.stress import rounds

spawn = multiprocessing.get_context("spawn")
WORDLESS = Policy(embed=Embed(model="none"))
PROCESSES, KILLS, ACTS = 6, rounds(3), 100


def work(path: Path, log: Path, seed: int) -> None:
    """Add, change, vote for and forget claims of one's own until told to stop; each is logged before and after."""
    random = Random(seed)
    mine: list[str] = []
    number = 0
    with Memory(path, policy=WORDLESS) as memory, log.open("w", buffering=1) as out:
        while not path.with_name("stop").exists():
            number += 1
            text = f"claim {number} of process {seed}"
            act = random.choice(["add", "add", "update", "vote", "forget"] if mine else ["add"])
            id_ = f"clm_{seed}_{number}" if act == "add" else random.choice(mine)
            out.write(json.dumps([act, id_, text, "begun"]) + "\n")
            started = time.monotonic()
            match act:
                case "add":
                    memory.add(text, id=id_)
                    mine.append(id_)
                case "update":
                    memory.update(id_, text=text)
                case "vote":
                    memory.vote(id_, "helpful")
                case "forget":
                    memory.forget(id_)
                    mine.remove(id_)
            out.write(json.dumps([act, id_, text, time.monotonic() - started]) + "\n")


def replayed(log: Path) -> tuple[dict[str, str], dict[str, int], str, float]:
    """Texts and votes that a process was told are kept; the claim it was at when it was killed; its longest wait."""
    texts: dict[str, str] = {}
    votes: dict[str, int] = {}
    open_, longest = "", 0.0
    for line in log.read_text().splitlines():
        act, id_, text, state = json.loads(line)
        if state == "begun":
            open_ = id_
            continue
        open_, longest = "", max(longest, state)
        if act == "forget":
            del texts[id_]
            votes.pop(id_, None)
        elif act == "vote":
            votes[id_] = votes.get(id_, 0) + 1
        else:
            texts[id_] = text
    return texts, votes, open_, longest


def agreement(path: Path) -> Agreement:
    with Memory(path, policy=WORDLESS) as memory:
        found: Agreement = memory.store.call("memory.agree", Agree(who=memory.who, overlay=memory.overlay))
        return found


def owner_among(path: Path, workers: list[Any]) -> Any:
    """The worker that owns the file; this process asks, and lets go at once if it finds itself the owner."""
    by_pid = {worker.pid: worker for worker in workers}
    while True:
        with Memory(path, policy=WORDLESS) as memory:
            memory.stats()
            pid = 0 if memory.store.is_owner else int(memory.store.owner.split()[1])
        if pid in by_pid:
            return by_pid[pid]
        time.sleep(0.05)


def wait_for_acts(logs: list[Path]) -> None:
    """Until so many more were acknowledged."""

    def acts() -> int:
        return sum(log.read_text().count("\n") for log in logs if log.exists()) // 2

    enough = acts() + ACTS
    while acts() < enough:
        time.sleep(0.02)


def test_nothing_is_lost_and_the_index_agrees_while_owners_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    logs = [tmp_path / f"{seed}.log" for seed in range(PROCESSES + KILLS)]
    workers = []
    for seed in range(PROCESSES):
        workers.append(spawn.Process(target=work, args=(path, logs[seed], seed), daemon=True))
        workers[-1].start()
    for seed in range(PROCESSES, PROCESSES + KILLS):
        wait_for_acts(logs)
        owner = owner_among(path, workers)
        os.kill(owner.pid, signal.SIGKILL)
        assert agreement(path).problems == []
        workers.append(spawn.Process(target=work, args=(path, logs[seed], seed), daemon=True))
        workers[-1].start()
    wait_for_acts(logs)
    path.with_name("stop").touch()
    for worker in workers:
        worker.join()

    assert agreement(path).problems == []
    assert sum(worker.exitcode == -signal.SIGKILL for worker in workers) == KILLS
    with Memory(path, policy=WORDLESS) as memory:
        kept = {claim.id: claim.text for claim in memory.list()}
        counted = dict(memory.store.sql("SELECT claim_id, count(*) FROM feedbacks GROUP BY 1", limit=100_000))
    told = [replayed(log) for log in logs]
    unsure = {open_ for _, _, open_, _ in told if open_}
    texts = {id_: text for texts, *_ in told for id_, text in texts.items()}
    votes = {id_: count for _, votes, *_ in told for id_, count in votes.items()}
    assert {id_: text for id_, text in kept.items() if id_ not in unsure} == {
        id_: text for id_, text in texts.items() if id_ not in unsure
    }
    assert {id_: n for id_, n in counted.items() if id_ not in unsure} == {
        id_: n for id_, n in votes.items() if id_ not in unsure
    }
    assert len(unsure) <= KILLS
    assert len(texts) > PROCESSES * 5
    assert max(longest for *_, longest in told) < 10
