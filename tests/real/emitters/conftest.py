"""For tests with real emitters: a place for each, and stand-ins that end with the test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real.emitters.agents import READY, Place
from tests.real.emitters.standin import StandIn
from tests.real.emitters.turns import Turn

Script = Callable[[list[Turn]], StandIn]


@pytest.fixture(autouse=True)
def installed() -> None:
    """Nothing here runs without them."""
    if not READY:
        pytest.skip("the emitters are not installed: 'make emitters' sets them up")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a folder to work in."""
    return Place(tmp_path)


@pytest.fixture
def stand_in() -> Iterator[Script]:
    """`stand_in(turns)` is a model that plays them."""
    with ExitStack() as stack:
        yield lambda turns: stack.enter_context(StandIn(turns))
