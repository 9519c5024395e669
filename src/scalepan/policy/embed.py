"""Which encoder turns text into vectors, and how it is run."""

from typing import Annotated, Literal

from scalepan.policy._fields import Section, choice, count

Pooling = Literal["mean", "cls", "max", "last"]


class Embed(Section, frozen=True, kw_only=True):
    """Text to vector."""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    model: Annotated[
        str,
        choice("auto: MiniLM if its package is installed; none; minilm; a folder (./x, /x, ~/x); a fetched name"),
    ] = "auto"
    max_tokens: Annotated[int, count("text is cut here; null: as the model's files say", "tokens", 1)] | None = None
    max_chars: Annotated[int, count("text beyond this length is not even tokenized", "characters", 1)] = 20_000
    pooling: Annotated[Pooling, choice("how token vectors become one; null: as the model's files say")] | None = None
    normalize: Annotated[bool, choice("vectors of length 1; null: as the model's files say")] | None = None
    query_prefix: Annotated[str, choice("put before a query; null: as the model's files say")] | None = None
    passage_prefix: Annotated[str, choice("put before a stored text; null: as the model's files say")] | None = None
    batch_size: Annotated[int, count("texts encoded at once", "texts", 1)] = 32
    threads: Annotated[int, count("cores that the encoder may use; 0: all", "threads")] = 0
