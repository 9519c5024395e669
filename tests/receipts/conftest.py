"""A store with one number of every kind in it, and ways to look at it and to tamper with it."""

import shutil
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import duckdb
import pytest

from scalepan.confidence import ConfidenceFactors, Gate
from scalepan.evals import CaseResult, ScorerResult
from scalepan.evals.result import case_score
from scalepan.memory import Memory
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from scalepan.policy.retrieval import Retrieval
from scalepan.receipts import Explained, case_receipt, explain, keep, value_receipt
from scalepan.store import Store
from scalepan.trace import ReasoningTrace, TraceValuer

WORDLESS = Policy(embed=Embed(model="none"), retrieval=Retrieval(profile="spec"))
FACTORS = ConfidenceFactors(search_result_count=5, search_max_score=0.8, source_count=2)
TRACE = {
    "@context": "https://openknowledgepulse.org/schema/v1",
    "@type": "ReasoningTrace",
    "id": "kp:trace:rename-1",
    "metadata": {
        "created_at": "2026-01-31T12:00:00Z",
        "task_domain": "letters",
        "success": True,
        "quality_score": 0,
        "visibility": "private",
        "privacy_level": "private",
    },
    "task": {"objective": "Rename a column"},
    "steps": [
        {"step_id": 0, "type": "thought", "content": "Two tables use it"},
        {"step_id": 1, "type": "tool_call", "tool": {"name": "grep"}},
        {"step_id": 2, "type": "observation", "content": "three places"},
        {"step_id": 3, "type": "tool_call", "tool": {"name": "edit"}},
        {"step_id": 4, "type": "thought", "content": "done"},
    ],
    "outcome": {"result_summary": "Renamed", "confidence": 0.9},
}


def result(**scores: float) -> CaseResult:
    """A case by its scorers: the first counts three times, each passes from 0.6."""
    results = tuple(
        ScorerResult(type=name, score=score, threshold=0.6, weight=1.0 if place else 3.0)
        for place, (name, score) in enumerate(scores.items())
    )
    passed = all(one.passed for one in results)
    return CaseResult(id="cart-rename-001", passed=passed, score=case_score(results, "evals-1"), results=results)


class Shop:
    """The store, by the ids of what is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: Store | None = None
        with Memory(path, policy=WORDLESS, session="s1") as memory:
            self.voted = memory.add("The harbor opens at dawn")
            self.plain = memory.add("The harbor closes at night")
            self.vote = memory.vote(self.voted, "helpful").id
            self.context = memory.activate("when does the harbor open at dawn?").active_context_id or ""
            self.decision = Gate(store=memory.store).check(FACTORS, "go").id or ""
            trace = ReasoningTrace.from_dict(TRACE)
            value = TraceValuer(WORDLESS).evaluate_value(trace)
            case = result(accuracy=1.0, quality=0.5)
            self.value, self.case = keep(memory.store, [value_receipt(trace, value, WORDLESS), case_receipt(case)])

    def explain(self, id_: str | None, **who: Any) -> Explained:
        """What `scalepan explain` finds. The file stays open, for the next question."""
        if self.store is None:
            self.store = Store(self.path)
        return explain(Memory(self.store, policy=WORDLESS, **{"session": "s1", **who}), id_)

    def close(self) -> None:
        """Let go of the file."""
        if self.store is not None:
            self.store.close()
            self.store = None

    def alter(self, query: str, *values: object) -> None:
        """Somebody changes the file by hand, while nobody has it open."""
        self.close()
        with duckdb.connect(str(self.path)) as connection:
            connection.execute(query, list(values))

    def ids(self) -> dict[str, str]:
        """An id of every kind."""
        names = ("voted", "vote", "context", "decision", "value", "case")
        return {name: getattr(self, name) for name in names}


@pytest.fixture(scope="session")
def first_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Filled once; every test gets a copy of the file."""
    return Shop(tmp_path_factory.mktemp("shop") / "notes.duckdb")


@pytest.fixture
def shop(first_shop: Shop, tmp_path: Path) -> Iterator[Shop]:
    """A store with one number of every kind."""
    shop = copy(first_shop)
    shop.path = tmp_path / "notes.duckdb"
    shutil.copy(first_shop.path, shop.path)
    yield shop
    shop.close()
