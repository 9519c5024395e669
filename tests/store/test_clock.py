"""The clock as the store sees it: UTC everywhere, now, and not to be trusted."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scalepan.store import Store
from scalepan.store.own import AddEvent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.duckdb"


def test_a_clock_that_is_put_right_by_years_has_no_write_applied_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are kept for a day. The latest are kept longer: the clock may have been wrong when they were written."""
    request = AddEvent(topic="ingest", trace_id="once")
    with Store(path) as store, monkeypatch.context() as patch:
        patch.setattr("scalepan.clock.time", lambda: 0.0)
        store.call("store.add_event", request, id="request-1")
    with Store(path) as store:  # opening forgets old answers
        store.call("store.add_event", request, id="request-1")
        assert store.sql("SELECT count(*) FROM events WHERE trace_id = 'once'") == [[1]]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
def test_now_is_the_same_in_every_zone(path: Path, zone: str) -> None:
    """Times are kept in UTC, so that is what a query compares them with."""
    code = (
        "import sys; from scalepan.store import Store; from scalepan.store.own import AddEvent\n"
        "with Store(sys.argv[1]) as store:\n"
        "    store.call('store.add_event', AddEvent(topic='ingest'))\n"
        '    print(store.sql("SELECT abs(epoch(now()::TIMESTAMP) - epoch(ts)) < 60, "\n'
        "        \"recency_decay(ts - INTERVAL 30 DAY, 30) FROM events WHERE topic = 'ingest'\"))\n"
    )
    env = {**os.environ, "TZ": zone}
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, env=env)
    ((same, half),) = json.loads(done.stdout.replace("True", "true"))
    assert same
    assert half == pytest.approx(0.5, abs=1e-3)


def test_a_macro_that_says_now_means_now_and_not_when_the_store_was_made(path: Path) -> None:
    """Contract memory.37: recency_decay takes a time and a half-life, and the default moment is now."""
    with Store(path) as store:
        query = "SELECT recency_decay(now()::TIMESTAMP - INTERVAL 1 SECOND, 0.00001)"  # a half-life of 0.864 s
        store.sql("SELECT 1")  # it is made
        time.sleep(0.5)
        assert store.sql(query)[0][0] == pytest.approx(0.5 ** (1 / 0.864), abs=0.01)
