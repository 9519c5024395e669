"""A model's folder is there whole or not at all."""

import os
import time
from pathlib import Path

import pytest

from scalepan.embed.folders import (
    ABANDONED_AFTER_SECONDS,
    discard,
    fetched_folder,
    model_file,
    models_folder,
    new_folder,
)
from scalepan.errors import EncoderError
from tests.embed.tiny import tiny_encoder


def test_a_folder_appears_when_it_is_full(tmp_path: Path) -> None:
    target = tmp_path / "models" / "m"
    with new_folder(target) as draft:
        (draft / "sub").mkdir()
        (draft / "sub" / "file").write_text("content")
        assert not target.exists()
    assert (target / "sub" / "file").read_text() == "content"
    assert [path.name for path in target.parent.iterdir()] == ["m"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "m") as draft:
            (draft / "half").write_text("")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_who_comes_second_leaves_the_first_ones_folder_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "m"
    with new_folder(target) as second:
        (second / "file").write_text("second")
        with new_folder(target) as first:
            (first / "file").write_text("first")
    assert (target / "file").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_what_a_killed_process_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    for name, age in ((".m.old", ABANDONED_AFTER_SECONDS + 60), (".m.young", 60.0), (".other.old", 1e6)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    with new_folder(tmp_path / "m"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".m.young", ".other.old", "m"]


def test_a_discarded_folder_is_gone_and_an_absent_one_is_no_error(tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "m")
    discard(folder)
    discard(folder)
    assert list(tmp_path.iterdir()) == []


def test_models_lie_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path))
    assert models_folder() == tmp_path / "models"
    assert fetched_folder("org/model") == tmp_path / "models" / "org--model"


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_the_graph_may_lie_in_a_folder_of_its_own(name: str, tmp_path: Path) -> None:
    assert model_file(tiny_encoder(tmp_path, graph_file=name)) == tmp_path / name


def test_an_error_names_the_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="nowhere: no such folder"):
        model_file(tmp_path / "nowhere")
    with pytest.raises(EncoderError, match=r"tokenizer\.json is missing"):
        model_file(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"it has neither model\.onnx nor onnx/model\.onnx"):
        model_file(tmp_path)
