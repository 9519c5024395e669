"""Which files of a repository an encoder needs. Fetching itself is in tests/real."""

import pytest

from scalepan.embed.fetch import needed_files
from scalepan.errors import EncoderError

USED = [
    "1_Pooling/config.json",
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
]
UNUSED = ["README.md", "model.safetensors", "onnx/model_qint8_avx512.onnx", "onnx/config.json", "openvino/model.bin"]


@pytest.mark.parametrize(
    ("graphs", "needed"),
    [
        (["onnx/model.onnx"], ["onnx/model.onnx"]),
        (["model.onnx", "model.onnx_data"], ["model.onnx", "model.onnx_data"]),
        (["onnx/model.onnx", "onnx/model.onnx.data"], ["onnx/model.onnx", "onnx/model.onnx.data"]),
        (["model.onnx", "onnx/model.onnx"], ["model.onnx"]),
    ],
)
def test_one_graph_with_its_data_and_the_small_files(graphs: list[str], needed: list[str]) -> None:
    assert needed_files("org/model", [*graphs, *USED, *UNUSED]) == [*needed, *USED]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (["tokenizer.json", "model.safetensors"], r"'org/model' .+ it has neither model\.onnx nor onnx/model\.onnx"),
        (["model.onnx"], r"'org/model' .+ it has no tokenizer\.json"),
    ],
)
def test_a_model_that_cannot_be_used_is_not_fetched(files: list[str], reason: str) -> None:
    with pytest.raises(EncoderError, match=reason):
        needed_files("org/model", files)
