"""How is an ONNX graph run on a batch of texts? All use of onnxruntime is here."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalepan.embed.recipe import Recipe
from scalepan.embed.tokens import Tokenized
from scalepan.errors import EncoderError, MissingExtraError
from scalepan.exits import before_exit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
SENTENCE_OUTPUTS = ("sentence_embedding",)
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
LOG_ERRORS, LOG_NOTHING = 3, 4


def onnxruntime() -> Any:
    """The package, with telemetry off. From 1.29 on it sends usage data unless told not to before it is imported."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("a text encoder", "embed") from None
    # It may already have been imported.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


class Graph:
    """A loaded graph. Several threads may run it at once."""

    def __init__(self, path: Path, recipe: Recipe, threads: int) -> None:
        self.path = path
        self._pad_id = recipe.pad_id
        self._session = _open(path, threads)
        self._run_options = onnxruntime().RunOptions
        self._inputs = {node.name: "int32" if "int32" in node.type else "int64" for node in self._session.get_inputs()}
        unknown = self._inputs.keys() - set(INPUTS)
        if unknown:
            raise EncoderError(f"{path}: the graph needs {', '.join(sorted(unknown))}; known: {', '.join(INPUTS)}")
        self._output = _choose_output([node.name for node in self._session.get_outputs()], recipe)
        if recipe.further_modules and self._output not in SENTENCE_OUTPUTS:
            steps = ", ".join(recipe.further_modules)
            raise EncoderError(f"{path}: the model applies {steps} after pooling, which its graph does not do")

    def run(self, batch: Sequence[Tokenized]) -> tuple["NDArray[np.float32]", "NDArray[np.int64]"]:
        """The graph's output for the texts, by text or by token, and the mask of their tokens."""
        import numpy as np

        shape = len(batch), max(len(text.ids) for text in batch)
        ids, types = np.full(shape, self._pad_id), np.zeros(shape, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, text in enumerate(batch):
            length = len(text.ids)
            ids[row, :length], types[row, :length], mask[row, :length] = text.ids, text.types, 1
        positions = np.broadcast_to(np.arange(shape[1]), shape)
        every = dict(zip(INPUTS, (ids, mask, types, positions), strict=True))
        given = {name: every[name].astype(dtype, copy=False) for name, dtype in self._inputs.items()}
        options = self._run_options()
        options.log_severity_level = LOG_ERRORS

        def stop() -> None:
            # It ends at the next node, within milliseconds, with an error that nobody sees.
            options.log_severity_level = LOG_NOTHING
            options.terminate = True

        try:
            with before_exit(stop):
                (output,) = self._session.run([self._output], given, options)
        except Exception as error:  # onnxruntime has no narrower base class
            raise EncoderError(f"{self.path}: the graph failed: {_first_line(error)}") from None
        return output.astype(np.float32, copy=False), mask


def _open(path: Path, threads: int) -> Any:
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = LOG_ERRORS
    # A thread that spins while waiting blocks a core.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no narrower base class
        raise EncoderError(f"{path}: not a graph that onnxruntime can run: {_first_line(error)}") from None


def _choose_output(names: Sequence[str], recipe: Recipe) -> str:
    known = SENTENCE_OUTPUTS + TOKEN_OUTPUTS if recipe.output == "sentence" else TOKEN_OUTPUTS + SENTENCE_OUTPUTS
    return next((name for name in known if name in names), names[0])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
