"""A BERT encoder as an ONNX graph, from its weights: token ids and mask in, one vector per token out.

What it computes, layer by layer: `x = norm(x + attention(x))`, then `x = norm(x + feed_forward(x))`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Both are pinned, so that one set of weights gives one file, whatever version of onnx writes it.
OPSET = 20
IR_VERSION = 9


def bert_graph(weights: Mapping[str, "NDArray[np.float32]"], config: Mapping[str, Any]) -> Any:
    """The model for `onnx.save`. Weights and config are as transformers stores them."""
    from onnx import TensorProto, helper

    bert = _Bert(weights, config)
    bert.encode()
    axes = ["batch", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, config["hidden_size"]])
    graph = helper.make_graph(bert.nodes, "bert", inputs, [output], bert.constants)
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, producer_name="scalepan", ir_version=IR_VERSION, opset_imports=[opset])


class _Bert:
    """Collects nodes and constants; a method returns the name of what it computes."""

    def __init__(self, weights: Mapping[str, "NDArray[np.float32]"], config: Mapping[str, Any]) -> None:
        self.weights = weights
        self.config = config
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def encode(self) -> None:
        x = self.embeddings()
        bias = self.mask_bias()
        for index in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{index}"
            attended = self.attention(x, bias, f"{layer}.attention.self")
            attended = self.linear(attended, f"{layer}.attention.output.dense")
            x = self.norm(self.op("Add", x, attended), f"{layer}.attention.output.LayerNorm")
            # Gelu without "approximate" is the exact one, by erf.
            inner = self.op("Gelu", self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(self.op("Add", x, self.linear(inner, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
        self.op("Identity", x, output="last_hidden_state")

    def embeddings(self) -> str:
        words = self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")
        # Scalepan encodes single texts, whose tokens are all of type 0: that row is added to every position.
        types = self.weights["embeddings.token_type_embeddings.weight"]
        positions = self.constant(self.weights["embeddings.position_embeddings.weight"] + types[0])
        length = self.op("Shape", "input_ids", start=1, end=2)
        used = self.op("Slice", positions, self.integers(0), length, self.integers(0))
        return self.norm(self.op("Add", words, used), "embeddings.LayerNorm")

    def mask_bias(self) -> str:
        """0 for a token, and for padding a number so low that its attention is 0."""
        import numpy as np

        wide = self.op("Unsqueeze", "attention_mask", self.integers(1, 2))
        lowest = self.constant(np.array(np.finfo(np.float32).min))
        is_padding = self.op("Equal", wide, self.integers(0))
        return self.op("Where", is_padding, lowest, self.constant(np.array(0, dtype=np.float32)))

    def attention(self, x: str, bias: str, name: str) -> str:
        import numpy as np

        heads = self.config["num_attention_heads"]
        width = self.config["hidden_size"] // heads
        query, key, value = (self.linear(x, f"{name}.{part}") for part in ("query", "key", "value"))
        # batch, tokens, all heads -> batch, head, tokens, width of one; the key is transposed for the product.
        split = [self.op("Reshape", part, self.integers(0, 0, heads, width)) for part in (query, key, value)]
        q = self.op("Transpose", split[0], perm=[0, 2, 1, 3])
        k = self.op("Transpose", split[1], perm=[0, 2, 3, 1])
        v = self.op("Transpose", split[2], perm=[0, 2, 1, 3])
        scale = self.constant(np.array(width**-0.5, dtype=np.float32))
        scores = self.op("Mul", self.op("MatMul", q, k), scale)
        shares = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        joined = self.op("Transpose", self.op("MatMul", shares, v), perm=[0, 2, 1, 3])
        return self.op("Reshape", joined, self.integers(0, 0, heads * width))

    def linear(self, x: str, name: str) -> str:
        # transformers stores (out, in); the product needs (in, out).
        product = self.op("MatMul", x, self.constant(self.weights[f"{name}.weight"].T.copy()))
        return self.op("Add", product, self.weight(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, shift, epsilon=self.config["layer_norm_eps"])

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        from onnx import helper

        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name])

    def integers(self, *values: int) -> str:
        import numpy as np

        return self.constant(np.array(values, dtype=np.int64))

    def constant(self, array: "NDArray[Any]") -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name
