"""A judge that asks a stand-in on this machine, does not wait long, and keeps its judgements to itself."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.cache import Cache
from scalepan.judge import Judge
from scalepan.judge.key import NEXT
from scalepan.policy import Policy
from scalepan.policy.judge import JudgePolicy as JudgeSection
from scalepan.policy.redact import Redact
from tests.modelserver import Behaviour, ModelServer

KEY = "gateway.ann.blue-horse-battery"  # of no known kind: redaction alone would not find it
Meet = Callable[..., tuple[Judge, ModelServer]]


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the tests' own, and no other."""
    monkeypatch.delenv(NEXT, raising=False)
    monkeypatch.setenv("SCALEPAN_JUDGE_KEY", KEY)


@pytest.fixture
def meet(tmp_path: Path) -> Iterator[Meet]:
    """`meet(behaviour, **judge)`: a judge under these settings, and the server that it asks."""
    with ExitStack() as stack:

        def make(
            behaviour: Behaviour, *, redact: dict[str, Any] | None = None, **judge: Any
        ) -> tuple[Judge, ModelServer]:
            server = stack.enter_context(ModelServer(behaviour))
            settings = {"base_url": server.base_url, "model": "stand-in", "backoff_s": 0.001, **judge}
            policy = Policy(judge=msgspec.convert(settings, JudgeSection), redact=msgspec.convert(redact or {}, Redact))
            cache = Cache(tmp_path / "cache.sqlite")
            stack.callback(cache.close)
            return stack.enter_context(Judge(policy, cache=cache)), server

        yield make
