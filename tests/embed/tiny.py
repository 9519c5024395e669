"""An encoder small enough to compute by hand: each word has a vector of two numbers, and nothing else happens.

    [PAD] 100 100    [UNK] 9 9    [CLS] 0 0    [SEP] 0 6    a 3 0    b 0 3    c 6 9

`a b` is read as [CLS] a b [SEP], so its token vectors are (0,0) (3,0) (0,3) (0,6). [PAD] is far off: if padding ever
counts, it shows.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = {"[PAD]": (100, 100), "[UNK]": (9, 9), "[CLS]": (0, 0), "[SEP]": (0, 6), "a": (3, 0), "b": (0, 3), "c": (6, 9)}
MEAN_OF_A_B = (0.75, 2.25)

MEAN_POOLING = {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}
TRANSFORMER = {"path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
NORMALIZE = {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
DENSE = {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}


def tiny_encoder(
    folder: Path,
    files: dict[str, Any] | None = None,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    outputs: Sequence[str] = ("last_hidden_state",),
    integer: int = TensorProto.INT64,
    graph_file: str = "model.onnx",
) -> Path:
    """Write graph, tokenizer and the given JSON files into a folder."""
    (folder / graph_file).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(tiny_graph(inputs, outputs, integer), folder / graph_file)
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def tiny_tokenizer() -> Tokenizer:
    """Splits at white space. Like many a file in the wild, it comes with padding and truncation switched on."""
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    tokenizer.enable_padding(length=7)
    tokenizer.enable_truncation(3)
    return tokenizer


def tiny_graph(inputs: Sequence[str], outputs: Sequence[str], integer: int) -> onnx.ModelProto:
    """Looks words up. A graph with position_ids adds each token's position to both numbers.

    `last_hidden_state` and `token_embeddings` are the tokens' vectors; any other output has one vector per text, the
    sum of its first token and (1, 1), so that it cannot be taken for a pooled one.
    """
    table = numpy_helper.from_array(np.array(list(WORDS.values()), dtype=np.float32), "table")
    one = numpy_helper.from_array(np.ones(2, dtype=np.float32), "one")
    first = numpy_helper.from_array(np.array(0, dtype=np.int64), "first")
    last_axis = numpy_helper.from_array(np.array([-1], dtype=np.int64), "last_axis")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"])]
    tokens = "words"
    if "position_ids" in inputs:
        nodes.append(helper.make_node("Cast", ["position_ids"], ["floats"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Unsqueeze", ["floats", "last_axis"], ["positions"]))
        nodes.append(helper.make_node("Add", ["words", "positions"], ["placed"]))
        tokens = "placed"
    described = []
    for name in outputs:
        if name in ("last_hidden_state", "token_embeddings"):
            nodes.append(helper.make_node("Identity", [tokens], [name]))
            described.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "t", 2]))
        else:
            nodes.append(helper.make_node("Gather", [tokens, "first"], [f"{name}_first"], axis=1))
            nodes.append(helper.make_node("Add", [f"{name}_first", "one"], [name]))
            described.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "width"]))
    given = [helper.make_tensor_value_info(name, integer, ["n", "t"]) for name in inputs]
    graph = helper.make_graph(nodes, "tiny", given, described, [table, one, first, last_axis])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)])
