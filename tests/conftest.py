"""What all tests stand on: a cache folder of their own, no policy from outside, and traces to work with."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A few examples show most of what a change breaks; `make test` tries the full number.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("unit", settings.get_profile("full"), max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unit"))


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: no collection of garbage needs to look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's cache, policy or environment; the prepared model is shared by the whole run."""
    for name in [name for name in os.environ if name.startswith("SCALEPAN_")]:
        monkeypatch.delenv(name)
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    monkeypatch.setenv("SCALEPAN_CACHE", str(run / "scalepan-cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(run / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(run / "config"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)  # xdist names one, and a pipe would be as narrow


@pytest.fixture
def project_root() -> Path:
    """The folder that holds pyproject.toml."""
    return Path(__file__).parents[1]
