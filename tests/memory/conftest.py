"""What the tests of memory stand on: an encoder that costs nothing, a clock that stands still, a memory to fill."""

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from scalepan.embed import Kind
from scalepan.memory import Memory
from scalepan.policy.embed import Embed
from scalepan.store import Store
from scalepan.text import terms

DAY = 86400.0
START = 1_900_000_000.0
"""When the clock of these tests stands, unless it is moved."""

Open = Callable[..., Memory]


class StandIn:
    """An encoder by hashing: texts that share words have a high cosine. What is taught is taken as it is."""

    width = 64

    def __init__(self) -> None:
        self.taught: dict[str, Sequence[float]] = {}

    @property
    def model_id(self) -> str:
        return "stand-in@1"

    @property
    def dimensions(self) -> int:
        return self.width

    def load(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.width), np.float32)

    def is_cut(self, text: str, kind: Kind = "passage") -> bool:
        return False

    def cosine(self, text: str, sim: float) -> None:
        """Teach that this text has this cosine to every text that is taught as 1.0."""
        self.taught[text] = [sim, sqrt(1 - sim * sim)]

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.width, dtype=np.float32)
        if text in self.taught:
            vector[: len(self.taught[text])] = self.taught[text]
        else:
            # The last number keeps a text without words from having no direction.
            vector[-1] = 0.25
            for term in terms(text, "off"):
                code = crc32(term.encode("utf-8", "surrogatepass"))
                vector[code % (self.width - 1)] += 1.0 if code & 0x10000 else -1.0
        unit: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


class Clock:
    """What memory takes for now."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def pass_days(self, days: float) -> None:
        """Let time go by."""
        self.now += days * DAY


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    """In place of MiniLM; `embed.model: none` still means none."""
    stand_in = StandIn()

    def found(settings: Embed, **_: Any) -> StandIn | None:
        return None if settings.model == "none" else stand_in

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scalepan.memory.state.find_encoder", found)
        yield stand_in


@pytest.fixture
def encoder(stand_in: StandIn) -> StandIn:
    """The same, knowing nothing yet."""
    stand_in.taught.clear()
    return stand_in


@pytest.fixture(autouse=True)
def profile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the contract's formula, `test_spec_*` and those that say so by SPEC = True, ask by profile spec."""
    if request.module.__name__.rpartition(".")[2].startswith("test_spec_") or getattr(request.module, "SPEC", False):
        monkeypatch.setenv("SCALEPAN_RETRIEVAL__PROFILE", "spec")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """In place of the time of day, in all of memory."""
    clock = Clock()
    monkeypatch.setattr("scalepan.clock.time", clock)
    return clock


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, stand_in: StandIn) -> Iterator[Store]:
    """One file for all tests of a module: opening one takes longer than most of them."""
    with Store(tmp_path_factory.mktemp("memory") / "notes.duckdb") as store:
        yield store


@pytest.fixture
def open_memory(store: Store, encoder: StandIn, clock: Clock) -> Open:
    """A memory on that file, for whoever the arguments say. Each test has tenants of its own."""
    test = uuid4().hex[:8]

    def open_(**who: Any) -> Memory:
        named = who.get("tenant", "default")
        # A tenant of no name, or of one too long, is left as it is, to be refused.
        tenant = f"{named} {test}" if 0 < len(named) < 100 else named
        return Memory(store, **{**who, "tenant": tenant})  # a Store is taken too

    return open_


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    """The same for the default caller."""
    return open_memory()
