"""Notes of a session: what failed or was missing. The one place where a failure becomes a note."""

from collections.abc import Callable
from typing import TypeVar

from scalepan.errors import ScalepanError, StoreError, UnansweredError, named
from scalepan.store.duckdb.generation import LostWritesError

R = TypeVar("R")


class Notes:
    """Failures of Scalepan must not stop the agent: they become notes.

    >>> notes = Notes()
    >>> notes.tried("nothing was recalled", lambda: 1 / 0) is None, notes.texts
    (True, ['nothing was recalled: ZeroDivisionError: division by zero'])
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.store_gone = False

    def add(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.texts:
            self.texts.append(text)

    def failed(self, without: str, error: Exception) -> None:
        """Something failed; `without` says what is missing because of it."""
        self.add(f"{without}: {error if isinstance(error, ScalepanError) else named(error)}")
        # The store itself failed; most subclasses are about one call, and the next may succeed.
        if type(error) in (StoreError, UnansweredError, LostWritesError):
            self.store_gone = True

    def tried(self, without: str, work: Callable[[], R]) -> R | None:
        """The result of `work`; None and a note if it fails."""
        try:
            return work()
        except Exception as error:
            self.failed(without, error)
            return None

    def from_store(self, without: str, work: Callable[[], R]) -> R | None:
        """The same for work that needs the store. A store that did not answer is not tried again."""
        if self.store_gone:
            self.add(f"{without}: the store cannot be reached")
            return None
        return self.tried(without, work)
