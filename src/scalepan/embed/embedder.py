"""What may other packages rely on when they are handed something that turns text into vectors?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["passage", "query"]
"""A text that is kept and found, or one that looks for others. Some models want to know."""


class Embedder(Protocol):
    """Text to vector. Safe to share between threads, and usable after a fork."""

    @property
    def model_id(self) -> str:
        """Two vectors may be compared if, and only if, this was the same when they were made."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def load(self) -> None:
        """Get ready now, so that the first text does not wait for it."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> "NDArray[np.float32]":
        """One row per text, in the order of the texts."""

    def is_cut(self, text: str, kind: Kind = "passage") -> bool:
        """Whether the text is longer than what the encoder sees of it."""
