"""Graphs of every make: what they are fed and which of their outputs counts."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx import TensorProto

from scalepan.embed import Encoder
from scalepan.embed.graph import INPUTS
from scalepan.errors import EncoderError
from scalepan.policy.embed import Embed
from tests.embed.tiny import DENSE, MEAN_OF_A_B, POOLING, TRANSFORMER, tiny_encoder


@pytest.mark.parametrize("integer", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("inputs", [INPUTS[:1], INPUTS[:2], INPUTS[:3]])
def test_a_graph_gets_the_inputs_that_it_has(inputs: Sequence[str], integer: int, tmp_path: Path) -> None:
    encoder = Encoder(tiny_encoder(tmp_path, inputs=inputs, integer=integer))
    assert encoder.encode(["a b", "a"])[0] == pytest.approx(MEAN_OF_A_B)


def test_positions_count_from_0(tmp_path: Path) -> None:
    encoder = Encoder(tiny_encoder(tmp_path, inputs=INPUTS))
    # The mean of the positions 0 1 2 3 is 1.5, on top of the mean of the words.
    assert encoder.encode(["a b"])[0] == pytest.approx((2.25, 3.75))


def test_an_input_that_nobody_can_feed_is_an_error(tmp_path: Path) -> None:
    encoder = Encoder(tiny_encoder(tmp_path, inputs=("input_ids", "past_key_values")))
    with pytest.raises(EncoderError, match="the graph needs past_key_values; known: input_ids, attention_mask"):
        encoder.load()


@pytest.mark.parametrize(
    ("outputs", "settings", "vector"),
    [
        (["last_hidden_state", "pooler_output"], Embed(), MEAN_OF_A_B),
        (["token_embeddings"], Embed(), MEAN_OF_A_B),
        (["token_embeddings", "sentence_embedding"], Embed(), (1, 1)),  # the model's own: [CLS] + (1, 1)
        (["token_embeddings", "sentence_embedding"], Embed(pooling="last"), (0, 6)),  # the policy's
        (["sentence_embedding"], Embed(pooling="last"), (1, 1)),  # there is nothing left to pool
        (["pooled"], Embed(), (1, 1)),
        (["pooled"], Embed(normalize=True), (0.5**0.5, 0.5**0.5)),
    ],
)
def test_the_output_that_counts(
    outputs: list[str], settings: Embed, vector: tuple[float, float], tmp_path: Path
) -> None:
    encoder = Encoder(tiny_encoder(tmp_path, outputs=outputs), settings)
    assert encoder.encode(["a b"])[0] == pytest.approx(vector)
    assert encoder.dimensions == 2


def test_a_model_with_a_layer_that_its_graph_lacks_is_refused(tmp_path: Path) -> None:
    files = {"modules.json": [TRANSFORMER, POOLING, DENSE]}
    with pytest.raises(EncoderError, match="applies Dense after pooling, which its graph does not do"):
        Encoder(tiny_encoder(tmp_path / "without", files)).load()
    Encoder(tiny_encoder(tmp_path / "with", files, outputs=["sentence_embedding"])).load()


def test_a_damaged_graph_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tiny_encoder(tmp_path) / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(EncoderError, match=r"^\S+model.onnx: not a graph that onnxruntime can run: .+$"):
        Encoder(tmp_path).load()


def test_a_tokenizer_of_another_model_is_an_error_of_one_line(tmp_path: Path) -> None:
    tokenizer = tiny_encoder(tmp_path) / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text(encoding="utf-8").replace('"c": 6', '"c": 6000'), encoding="utf-8")
    with pytest.raises(EncoderError, match=r"model\.onnx: the graph failed: .+"):
        Encoder(tmp_path).encode(["c"])


def test_the_runtime_has_no_thread_that_sends_usage_data(tmp_path: Path) -> None:
    script = f"""
import os
from scalepan.embed import Encoder
from scalepan.policy.embed import Embed
import numpy, tokenizers
before = len(os.listdir("/proc/self/task"))
Encoder({str(tiny_encoder(tmp_path))!r}, Embed(threads=1)).load()
print(len(os.listdir("/proc/self/task")) - before, os.environ["ORT_DISABLE_TELEMETRY"])
"""
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted in /proc")
    # This process has switched it off for itself and its children already.
    fresh = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=fresh)
    assert out.stdout.split() == ["0", "1"]
    assert out.stderr == ""
