"""What is missing in a session, and what was done without it. The one place where a failure becomes a note."""

from collections.abc import Callable
from typing import TypeVar

from scalepan.errors import ScalepanError, StoreError, UnansweredError, named
from scalepan.store.duckdb.generation import LostWritesError

R = TypeVar("R")


class Notes:
    """An agent must not stop because Scalepan lacks something.

    >>> notes = Notes()
    >>> notes.tried("nothing was recalled", lambda: 1 / 0) is None, notes.texts
    (True, ['nothing was recalled: ZeroDivisionError: division by zero'])
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.store_gone = False

    def add(self, text: str) -> None:
        """Something to know, once."""
        if text not in self.texts:
            self.texts.append(text)

    def failed(self, without: str, error: Exception) -> None:
        """Something went wrong, and this is what there is no more."""
        self.add(f"{without}: {error if isinstance(error, ScalepanError) else named(error)}")
        # Of the store itself; most of its children are about one call, and the next may do.
        if type(error) in (StoreError, UnansweredError, LostWritesError):
            self.store_gone = True

    def tried(self, without: str, work: Callable[[], R]) -> R | None:
        """What `work` gives; None and a note where it fails."""
        try:
            return work()
        except Exception as error:
            self.failed(without, error)
            return None

    def from_store(self, without: str, work: Callable[[], R]) -> R | None:
        """The same for what needs the store. One that does not answer is not waited for again."""
        if self.store_gone:
            self.add(f"{without}: the store is out of reach")
            return None
        return self.tried(without, work)
