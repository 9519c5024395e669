"""A help desk for the tests of the circle: a query, what is known, and a tool that fails before another one helps."""

from collections.abc import Callable

import pytest

from scalepan.loop import Session

WORDS_ONLY = {"embed": {"model": "none"}}
QUERY = "Cancel the annual plan of customer 17"
KNOWN = "An annual plan is cancelled with cancel_order"


def fails(what: str) -> Callable[[], str]:
    def tool() -> str:
        raise LookupError(what)

    return tool


def recover(s: Session, what: str = "the archive has it") -> None:
    """A tool that fails, and one that helps: enough structure for a trace to pass the gate."""
    s.thought("Look where orders are")
    with pytest.raises(LookupError):
        s.call("find_order", fails("no such customer"))
    s.recovered(what)
    s.call("find_archived_order", lambda: "order L-17")
    s.observed("order L-17 is active")
