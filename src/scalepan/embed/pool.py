"""How do the vectors of a text's tokens become one?"""

from typing import TYPE_CHECKING

from scalepan.policy.embed import Pooling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

SMALLEST_NORM = 1e-12


def pool(tokens: "Vectors", mask: "NDArray[np.int64]", pooling: Pooling) -> "Vectors":
    """(texts, tokens, width) to (texts, width); the mask is 1 for a token and 0 for padding."""
    import numpy as np

    pooled: Vectors
    match pooling:
        case "cls":
            pooled = tokens[:, 0]
        case "last":
            pooled = tokens[np.arange(len(tokens)), mask.sum(axis=1) - 1]
        case "max":
            pooled = np.where(mask[:, :, None] == 1, tokens, -np.inf).max(axis=1)
        case "mean":
            # einsum multiplies and adds in one pass, without a masked copy of the whole batch.
            pooled = np.einsum("nth,nt->nh", tokens, mask.astype(np.float32))
            pooled /= mask.sum(axis=1, keepdims=True)
    return pooled


def normalize(vectors: "Vectors") -> "Vectors":
    """Each row at length 1; a row of zeros stays one."""
    import numpy as np

    lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, np.maximum(lengths, SMALLEST_NORM), dtype=np.float32)
    return unit
