"""The graph of a BERT encoder, against the same thing written out in numpy."""

from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from scalepan.embed.bert import bert_graph
from scalepan.embed.graph import onnxruntime

Array = NDArray[np.float64]
CONFIG = {"hidden_size": 6, "num_attention_heads": 2, "num_hidden_layers": 2, "layer_norm_eps": 1e-12}
INNER, VOCABULARY, POSITIONS = 10, 11, 8


@pytest.fixture(scope="module")
def weights() -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(7)
    width = CONFIG["hidden_size"]
    shapes: dict[str, tuple[Any, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, width),
        "embeddings.position_embeddings.weight": (POSITIONS, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{layer}.attention.{part}.weight"] = (width, width)
            shapes[f"{layer}.attention.{part}.bias"] = (width,)
        shapes |= {f"{layer}.intermediate.dense.weight": (INNER, width), f"{layer}.intermediate.dense.bias": (INNER,)}
        shapes |= {f"{layer}.output.dense.weight": (width, INNER), f"{layer}.output.dense.bias": (width,)}
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{norm}.weight": (width,), f"{layer}.{norm}.bias": (width,)}
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def reference(weights: dict[str, NDArray[np.float32]], ids: list[int]) -> Array:
    """One text without padding, step by step."""

    def linear(x: Array, name: str) -> Array:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        centered = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centered**2).mean(axis=1, keepdims=True))
        normed: Array = centered / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]
        return normed

    def attention(x: Array, name: str) -> Array:
        query, key, value = (linear(x, f"{name}.{part}") for part in ("query", "key", "value"))
        heads = []
        for head in (slice(0, 3), slice(3, 6)):
            scores = np.exp(query[:, head] @ key[:, head].T / np.sqrt(3))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, head])
        return np.concatenate(heads, axis=1)

    x = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x += weights["embeddings.position_embeddings.weight"][: len(ids)]
    x += weights["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        attended = linear(attention(x, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
        x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x


def test_it_computes_what_the_layers_written_out_compute(weights: dict[str, Any], tmp_path: Path) -> None:
    model = bert_graph(weights, CONFIG)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, tmp_path / "model.onnx")
    session = onnxruntime().InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    ids = np.array([[1, 5, 9, 10, 2], [1, 7, 2, 0, 0]])
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    (out,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
    assert out[0] == pytest.approx(reference(weights, [1, 5, 9, 10, 2]), abs=1e-5)
    assert out[1, :3] == pytest.approx(reference(weights, [1, 7, 2]), abs=1e-5), "padding must not count"


def test_the_same_weights_give_the_same_bytes(weights: dict[str, Any]) -> None:
    one, other = (bert_graph(weights, CONFIG).SerializeToString() for _ in range(2))
    assert one == other
