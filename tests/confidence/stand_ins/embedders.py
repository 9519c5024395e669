"""Encoders for the tests: one that counts letters, and others that misbehave."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scalepan.embed import Kind


class Letters:
    """A vector of how often each pair of neighbouring characters stands there, hashed without chance."""

    model_id = "letters"
    dimensions = 64

    def __init__(self) -> None:
        self.calls = 0

    def load(self) -> None:
        """Nothing to get ready."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One row a text."""
        self.calls += 1
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for at, text in enumerate(texts):
            for one, two in zip(text.lower(), text.lower()[1:], strict=False):
                rows[at, (ord(one) * 31 + ord(two)) % self.dimensions] += 1
        return rows

    def is_cut(self, text: str, kind: Kind = "passage") -> bool:
        """It reads everything."""
        return False


class Broken(Letters):
    """Fails whenever it is asked."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """Never an answer."""
        raise OSError("the model is gone")


class Nonsense(Letters):
    """Answers with what is no number."""

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """Rows of NaN."""
        return np.full((len(texts), self.dimensions), np.nan, dtype=np.float32)
