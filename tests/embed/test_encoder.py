"""The encoder as its users see it, on a model that can be computed by hand."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.cache import Cache, content_key
from scalepan.embed import Encoder
from scalepan.policy.embed import Embed
from tests.embed.tiny import MEAN_OF_A_B, NORMALIZE, POOLING, TRANSFORMER, tiny_encoder

PROMPTS = {"config_sentence_transformers.json": {"prompts": {"query": "c ", "passage": "b "}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_encoder(tmp_path / "tiny")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder(tiny_encoder(tmp_path_factory.mktemp("tiny")), Embed(batch_size=3))


class WatchedCache(Cache):
    """A cache that counts what is put into it: what is put was computed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sizes: list[int] = []

    def put(self, items: Mapping[bytes, bytes]) -> None:
        self.sizes += [len(value) for value in items.values()]
        super().put(items)

    def vectors_put(self) -> int:
        """Vectors of two numbers have 8 bytes; hashes of files and widths have not."""
        vectors, self.sizes = self.sizes.count(8), []
        return vectors


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("a b", MEAN_OF_A_B),  # (0+3+0+0)/4, (0+0+3+6)/4
        ("a", (1, 2)),
        ("", (0, 3)),  # [CLS] and [SEP] are there even so
        (" \n ", (0, 3)),
        ("c c", (3, 6)),
        ("a\ud800", (2.25 / 0.75, 5)),  # [UNK]: (0+9+0)/3, (0+9+6)/3
    ],
)
def test_a_text_becomes_the_mean_of_its_tokens(text: str, vector: tuple[float, float], encoder: Encoder) -> None:
    assert encoder.encode([text])[0] == pytest.approx(vector)


def test_no_texts_give_no_rows_of_the_right_width(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 2)
    assert encoder.encode([]).dtype == np.float32


@given(st.lists(st.text(alphabet="abc "), max_size=20))
def test_each_row_is_what_its_text_gives_alone(encoder: Encoder, texts: list[str]) -> None:
    together = encoder.encode(texts)
    assert together.shape == (len(texts), 2)
    for row, text in zip(together, texts, strict=True):
        assert row == pytest.approx(encoder.encode([text])[0], abs=1e-6)


def test_a_query_and_a_passage_get_their_prefixes(tmp_path: Path) -> None:
    plain = Encoder(tiny_encoder(tmp_path / "plain"))
    prompted = Encoder(tiny_encoder(tmp_path / "prompted", PROMPTS))
    assert prompted.encode(["a"], "query").tolist() == plain.encode(["c a"]).tolist()
    assert prompted.encode(["a"]).tolist() == plain.encode(["b a"]).tolist()


def test_vectors_are_normalized_where_the_model_says_so(tmp_path: Path) -> None:
    files = {"modules.json": [TRANSFORMER, POOLING, NORMALIZE]}
    encoder = Encoder(tiny_encoder(tmp_path, files))
    assert np.linalg.norm(encoder.encode(["a b", "", "c"]), axis=1) == pytest.approx(1)


def test_a_zero_vector_is_not_divided_by_its_length(folder: Path) -> None:
    assert Encoder(folder, Embed(pooling="cls", normalize=True)).encode(["a"]).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("settings", "text", "seen", "cut"),
    [
        (Embed(max_tokens=4), "a b", "a b", False),
        (Embed(max_tokens=4), "a b c", "a b", True),
        (Embed(max_chars=3), "a b", "a b", False),
        (Embed(max_chars=3), "a b c", "a b", True),
        (Embed(max_tokens=4, passage_prefix="c "), "a b", "a", True),  # the prefix takes room
    ],
)
def test_text_is_cut_by_characters_and_by_tokens(
    settings: Embed, text: str, seen: str, cut: bool, folder: Path
) -> None:
    encoder = Encoder(folder, settings)
    assert encoder.encode([text]).tolist() == encoder.encode([seen]).tolist()
    assert encoder.is_cut(text) is cut


def test_whether_a_text_is_cut_depends_on_its_kind(tmp_path: Path) -> None:
    encoder = Encoder(tiny_encoder(tmp_path), Embed(max_tokens=4, query_prefix="c "))
    assert encoder.is_cut("a b", "query")
    assert not encoder.is_cut("a b", "passage")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a b", "encode takes a list of texts, not one text"),
        (["a", None], r"texts\[1\]: null is not text"),
        ([b"a"], r"texts\[0\]: b'a' is not text"),
    ],
)
def test_what_is_not_text_is_named(texts: Any, message: str, encoder: Encoder) -> None:
    with pytest.raises(TypeError, match=message):
        encoder.encode(texts)


def test_a_text_is_encoded_once(folder: Path, tmp_path: Path) -> None:
    cache = WatchedCache(tmp_path / "cache.sqlite")
    encoder = Encoder(folder, cache=cache)
    first = encoder.encode(["a", "b", "a", "a"])
    assert cache.vectors_put() == 2
    again = Encoder(folder, cache=cache).encode(["b", "a", "c"])
    assert cache.vectors_put() == 1
    assert again[:2].tolist() == first[[1, 0]].tolist()


def test_without_a_cache_the_vectors_are_the_same(folder: Path, tmp_path: Path) -> None:
    kept = Encoder(folder, cache=Cache(tmp_path / "cache.sqlite"))
    texts = ["a b", "", "c"]
    assert kept.encode(texts).tolist() == Encoder(folder).encode(texts).tolist() == kept.encode(texts).tolist()


def test_kept_bytes_of_the_wrong_size_are_computed_again(folder: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    encoder = Encoder(folder, cache=cache)
    cache.put({content_key(encoder.model_id, "a b"): b"\0" * 12, content_key(encoder.model_id, "c"): b""})
    assert encoder.encode(["a b", "c"]).tolist() == Encoder(folder).encode(["a b", "c"]).tolist()


def test_what_is_all_kept_needs_no_graph(folder: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    expected = Encoder(folder, cache=cache).encode(["a", "b"])
    encoder = Encoder(folder, cache=cache)
    assert encoder.encode(["a", "b"]).tolist() == expected.tolist()
    # If the graph had been read before, deleting it now would not matter.
    (folder / "model.onnx").rename(folder / "gone")
    assert encoder.encode(["b"]).tolist() == expected[1:].tolist()
    with pytest.raises(Exception, match=r"it has neither model\.onnx nor onnx/model\.onnx"):
        encoder.encode(["c"])


class TestModelId:
    """Equal where vectors are equal, and different where they are not."""

    def test_it_names_the_folder_and_is_the_same_in_another_place(self, tmp_path: Path) -> None:
        one, other = (Encoder(tiny_encoder(tmp_path / place / "my-model")).model_id for place in ("here", "there"))
        assert one == other
        assert one.startswith("my-model@")

    @pytest.mark.parametrize(
        "settings",
        [
            Embed(pooling="max"),
            Embed(normalize=True),
            Embed(max_tokens=8),
            Embed(max_chars=8),
            Embed(query_prefix="q"),
            Embed(passage_prefix="p"),
        ],
    )
    def test_what_changes_a_vector_changes_it(self, settings: Embed, folder: Path) -> None:
        assert Encoder(folder, settings).model_id != Encoder(folder).model_id

    @pytest.mark.parametrize("settings", [Embed(threads=1), Embed(batch_size=1), Embed(version="mine")])
    def test_what_changes_no_vector_does_not(self, settings: Embed, folder: Path) -> None:
        assert Encoder(folder, settings).model_id == Encoder(folder).model_id

    @pytest.mark.parametrize("name", ["model.onnx", "model.onnx_data", "tokenizer.json"])
    def test_another_content_changes_it_also_with_a_cache(self, name: str, folder: Path, tmp_path: Path) -> None:
        (folder / "model.onnx_data").write_bytes(b"weights")
        cache = Cache(tmp_path / "cache.sqlite")
        before = Encoder(folder, cache=cache).model_id
        assert Encoder(folder, cache=cache).model_id == before
        (folder / name).write_bytes((folder / name).read_bytes() + b" ")
        assert Encoder(folder, cache=cache).model_id != before


def test_threads_share_an_encoder(folder: Path, tmp_path: Path) -> None:
    encoder = Encoder(folder, cache=Cache(tmp_path / "cache.sqlite"))
    texts = ["a", "b c", "c c c", ""] * 5
    expected = Encoder(folder).encode(texts)
    right: list[bool] = []

    def work() -> None:
        right.extend(np.allclose(encoder.encode(texts), expected) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 160
