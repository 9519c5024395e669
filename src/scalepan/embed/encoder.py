"""Texts to vectors, by the encoder in a folder: cut, prefix, look up, batch, pool, cache."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scalepan.cache import Cache, content_key
from scalepan.embed.batches import batches
from scalepan.embed.embedder import Kind
from scalepan.embed.folders import TOKENIZER_FILE, model_file
from scalepan.embed.graph import Graph
from scalepan.embed.hashes import file_hash
from scalepan.embed.once import Once, numpy_once
from scalepan.embed.pool import normalize, pool
from scalepan.embed.recipe import Recipe, read_recipe
from scalepan.embed.tokens import TextTokenizer, Tokenized, clean
from scalepan.errors import quoted
from scalepan.exits import before_exit
from scalepan.policy.embed import Embed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULTS = Embed()


class Encoder:
    """The encoder in a folder: an ONNX graph, a tokenizer, and the files of sentence-transformers if there are any.

    `folder` may be a function that returns the folder and creates it if need be; it is called at first use.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Callable[[], Path],
        settings: Embed = DEFAULTS,
        cache: Cache | None = None,
        *,
        remember: bool = True,
    ) -> None:
        """`remember=False` caches no vectors, only facts about the model's files."""
        self.settings = settings
        self.cache = cache
        self._vectors = cache if remember else None
        self._locate = folder if callable(folder) else lambda: Path(folder).expanduser()
        self._located: Path | None = None
        self._recipe: Once[Recipe] = Once(lambda: read_recipe(self._folder(), settings))
        self._model_id = Once(self._identify)
        self._tokens = Once(lambda: TextTokenizer(self._folder() / TOKENIZER_FILE, self._recipe()))
        self._graph = Once(lambda: Graph(model_file(self._folder()), self._recipe(), settings.threads))
        self._width = Once(self._measure)
        self._loaded = Once(self._first_run)

    @property
    def model_id(self) -> str:
        """Name, and a hash of everything that affects a vector; the same on every machine."""
        return self._model_id()

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._width()

    def load(self) -> None:
        """Load tokenizer and graph now, and check that they work together: the first run is also the slowest."""
        self._loaded()

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> "NDArray[np.float32]":
        """One row per text, in the order of the texts. A text that was encoded before comes from the cache."""
        with before_exit():
            return self._encode(texts, kind)

    def _encode(self, texts: Sequence[str], kind: Kind) -> "NDArray[np.float32]":
        numpy = numpy_once()
        wanted = self._prepared(texts, kind)
        vectors = self._kept(wanted)
        for some in self._computed([text for text in dict.fromkeys(wanted) if text not in vectors]):
            vectors.update(some)
            # Batch by batch, so that a long job that is stopped keeps what it has done.
            self._keep(some)
        rows = [vectors[text] for text in wanted]
        stacked: NDArray[np.float32] = numpy.stack(rows) if rows else numpy.empty((0, self.dimensions), numpy.float32)
        return stacked

    def is_cut(self, text: str, kind: Kind = "passage") -> bool:
        """Whether the text is longer than the part that the encoder sees."""
        (prepared,) = self._prepared([text], kind)
        with before_exit():
            return len(text) > self.settings.max_chars or self._tokens()(prepared).cut

    def _first_run(self) -> bool:
        with before_exit():
            self._run([self._tokens()("")])
        return True

    def _folder(self) -> Path:
        """Where the files are; resolved again if they are gone, because a cache may be deleted at any time."""
        if self._located is None or not self._located.is_dir():
            self._located = self._locate()
        return self._located

    def _identify(self) -> str:
        graph = model_file(self._folder())
        # Large models keep their weights beside the graph: model.onnx_data, model.onnx.data.
        files = [*sorted(graph.parent.glob(f"{graph.name}*")), self._folder() / TOKENIZER_FILE]
        hashes = [file_hash(file, self.cache) for file in files]
        recipe = msgspec.json.encode(self._recipe(), order="sorted").decode()
        return f"{self._folder().resolve().name}@{content_key(*hashes, recipe).hex()[:12]}"

    def _measure(self) -> int:
        """The width, cached: a call that finds all its vectors in the cache need not load the graph."""
        key = content_key("dimensions", self.model_id)
        kept = self.cache.get([key]).get(key) if self.cache else None
        if kept:
            return int.from_bytes(kept, "big")
        with before_exit():
            width: int = self._run([self._tokens()("")]).shape[1]
        if self.cache:
            self.cache.put({key: width.to_bytes(4, "big")})
        return width

    def _prepared(self, texts: Sequence[str], kind: Kind) -> list[str]:
        if isinstance(texts, str):
            raise TypeError("encode takes a list of texts, not one text")
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"texts[{index}]: {quoted(text)} is not text")
        prefix = self._recipe().prefix(kind)
        return [prefix + clean(text[: self.settings.max_chars]) for text in texts]

    def _computed(self, texts: Sequence[str]) -> Iterator[dict[str, "NDArray[np.float32]"]]:
        """Vectors of texts that are all different, a batch at a time."""
        tokenized = {text: self._tokens()(text) for text in texts}
        lengths = {text: len(tokens.ids) for text, tokens in tokenized.items()}
        for batch in batches(lengths, self.settings.batch_size):
            vectors = self._run([tokenized[text] for text in batch])
            yield dict(zip(batch, vectors, strict=True))

    def _run(self, batch: Sequence[Tokenized]) -> "NDArray[np.float32]":
        recipe = self._recipe()
        output, mask = self._graph().run(batch)
        vectors = pool(output, mask, recipe.pooling) if output.ndim == 3 else output
        return normalize(vectors) if recipe.normalize else vectors

    def _kept(self, texts: Sequence[str]) -> dict[str, "NDArray[np.float32]"]:
        if not self._vectors or not texts:
            return {}
        import numpy as np

        keys = {text: content_key(self.model_id, text) for text in texts}
        found = self._vectors.get(keys.values())
        size = self.dimensions * 4
        return {
            text: np.frombuffer(found[key], dtype="<f4")
            for text, key in keys.items()
            if len(found.get(key, b"")) == size
        }

    def _keep(self, vectors: dict[str, "NDArray[np.float32]"]) -> None:
        if self._vectors:
            self._vectors.put(
                {
                    content_key(self.model_id, text): vector.astype("<f4", copy=False).tobytes()
                    for text, vector in vectors.items()
                }
            )
