"""How alike are texts by an encoder, from 0 to 1? Unknown where there is none, it fails, or it would take too long."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalepan.embed import Embedder
from scalepan.policy.stand_ins import StandIns
from scalepan.stats.products import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Likeness:
    """The vectors of some texts, made in one go."""

    def __init__(self, texts: Sequence[str], encoder: Embedder | None, policy: StandIns) -> None:
        self._policy = policy
        self._encoded = encoder is not None
        self._vectors: NDArray[np.float64] | None = None
        self._note = "words alone, no encoder"
        unique = sorted(set(texts))
        if encoder is None or not unique:
            return
        try:
            vectors = np.asarray(encoder.encode(unique), dtype=float)
        except Exception as error:
            # Support by words is worth more than no support.
            self._note = f"words alone: the encoder failed ({type(error).__name__})"
            return
        if vectors.shape[:1] != (len(unique),) or not np.isfinite(vectors).all():
            self._note = "words alone: the encoder gave no usable vectors"
            return
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._vectors = vectors / np.where(lengths > 0, lengths, 1.0)
        self._row = {text: at for at, text in enumerate(unique)}
        self._note = f"words and {encoder.model_id}"

    def note(self, count: int) -> str:
        """What a comparison of so many texts rests on, and why not on an encoder."""
        if self._encoded and count > self._policy.max_embedded:
            return f"words alone: {count:,} sentences are more than {self._policy.max_embedded:,}"
        return self._note

    def between(self, left: Sequence[str], right: Sequence[str]) -> "Floats | None":
        """One row a text of `left`, one column a text of `right`; None where the texts have no vectors."""
        if self._vectors is None or len(left) + len(right) > self._policy.max_embedded:
            return None
        rows, columns = ([self._row[text] for text in texts] for texts in (left, right))
        cosine = product(self._vectors[rows], self._vectors[columns].T)
        none, full = self._policy.cosine_none, self._policy.cosine_full
        scaled: Floats = np.clip((cosine - none) / (full - none), 0.0, 1.0)
        return scaled
