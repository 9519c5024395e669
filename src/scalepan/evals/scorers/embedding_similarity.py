"""embedding-similarity: does the output mean what the expected text means?"""

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import failed, ratio
from scalepan.evals.scorers._text import TextOptions, texts
from scalepan.score import Score
from scalepan.stats.products import product

NAME = "embedding-similarity"
Options = TextOptions


class EmbeddingSimilarityDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """The cosine, and the model that it comes from."""

    cosine: float
    model: str


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The cosine of the two texts' vectors, at least 0. Without an encoder the scorer fails."""
    got, wanted = texts(actual, expected, context.options or Options())
    embedder = context.embedder()
    if embedder is None:
        return failed(NAME, "no encoder found; 'scalepan doctor' shows how to add one")
    one, other = embedder.encode([got, wanted])
    length = float((product(one, one) * product(other, other)) ** 0.5)
    cosine = float(product(one, other)) / length if length else 0.0
    value = min(1.0, max(0.0, cosine))
    return ratio(
        NAME, value, f"cosine {cosine:.3f}", EmbeddingSimilarityDetails(cosine=cosine, model=embedder.model_id)
    )
