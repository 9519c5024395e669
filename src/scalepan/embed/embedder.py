"""What may other packages rely on in an object that turns text into vectors?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["passage", "query"]
"""A stored text, or a query. Some models encode them differently."""


class Embedder(Protocol):
    """Text to vector. Safe to share between threads, and usable after a fork."""

    @property
    def model_id(self) -> str:
        """Two vectors may be compared if and only if they were made under the same value of this."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def load(self) -> None:
        """Load now, so that the first text does not wait for it."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> "NDArray[np.float32]":
        """One row per text, in the order of the texts."""

    def is_cut(self, text: str, kind: Kind = "passage") -> bool:
        """Whether the text is longer than the part that the encoder sees."""
