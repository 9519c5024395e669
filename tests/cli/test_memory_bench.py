"""scalepan memory bench: table, JSON, picture, exit codes, and what it refuses."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run
from tests.memory.test_bench import TINY, write


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No encoder and no extension."""
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    monkeypatch.setattr("scalepan.store.duckdb.extensions.find_spec", lambda _: None)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny", **TINY)


def test_a_folder_for_people(run: Run, tiny: Path) -> None:
    done = run("memory", "bench", tiny, "--check")
    assert (done.code, done.err) == (0, "")
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert lines[0] == f"{tiny}: 3 claims, 2 queries"
    assert lines[1].split() == ["level", "Recall@12", "nDCG@12", "p50", "ms", "p90", "ms"]
    # (1/2 + 1) / 2 and (.631 / 1.631 + 1) / 2: see tests/memory/test_bench.py
    assert lines[2].split()[:3] == ["L0", "0.750", "0.693"]
    assert "not measured: no encoder found" in lines[3]
    assert "Recall@12, hybrid                   >= 0.70      0.750         passed" in lines
    assert "activate p90, L2+L1                 <= 1,500 ms  not measured  not measured" in lines
    assert not list(Path.cwd().glob("*.duckdb"))


def test_json_and_a_picture_and_a_line_that_is_missed(run: Run, tiny: Path) -> None:
    write(tiny, qrels=[{"qid": "1", "doc_id": "sky"}, {"qid": "2", "doc_id": "juice"}])
    done = run("memory", "bench", tiny, "--json", "--svg", "tiny.svg", "-k", 1, "--limit", 1, "--check")
    assert done.code == 1
    assert done.err == "scalepan: missed: Recall@1, hybrid, nDCG@1, hybrid\n"
    (line,) = done.out.splitlines()
    report = json.loads(line)
    assert (report["k"], report["queries"], report["claims"]) == (1, 1, 3)
    assert report["levels"][1]["recall"] is None
    assert report["levels"][1]["reason"].startswith("no encoder found")
    assert "1 of 2 queries, the same each time (--limit)" in report["notes"]
    picture = "".join(ElementTree.parse("tiny.svg").getroot().itertext())
    assert "not measured: no encoder found" in picture
    assert "Recall@1, line at 0.7" in picture


def test_the_store_itself(run: Run) -> None:
    claims = "".join(json.dumps({"text": f"part {n} lies in box {n * 7}"}) + "\n" for n in range(40))
    run("memory", "add", "--store", "own.duckdb", "--file", "-", stdin=claims.encode())
    listed = run("memory", "list", "--store", "own.duckdb", "--limit", 1, "--json")
    claim = json.loads(listed.out)
    Path("labels.jsonl").write_text(json.dumps({"query": claim["text"], "relevant": [claim["id"]]}) + "\n")
    done = run("memory", "bench", "--store", "own.duckdb", "--labels", "labels.jsonl")
    assert done.code == 0
    assert "own.duckdb: 40 claims, 1 query" in done.out
    assert "1 labelled queries" in done.out
    events = run("memory", "sql", "--store", "own.duckdb", "SELECT topic FROM events WHERE topic = 'benchmark'")
    assert events.out.split() == ["topic", "benchmark"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["--group", "conv"], "--group needs DIR"),
        (["tiny", "--labels", "x.jsonl"], "--labels is for the store's own claims"),
        (["tiny", "--group", "conv"], "tiny/corpus.jsonl:1: conv: is missing"),
        (["--labels", "bad.jsonl"], 'bad.jsonl:1: expected {"query"'),
        (["--labels", "worse.jsonl"], "worse.jsonl:1: not JSON"),
        (["--store", "empty.duckdb"], "0 claims here, and none falls into the test part"),
        (["tiny", "--svg", "no/such/folder.svg"], "no/such/folder.svg: its folder is not there"),
    ],
)
def test_bad_input_is_exit_code_2(run: Run, tiny: Path, args: list[str], message: str) -> None:
    Path("bad.jsonl").write_text('{"query": 1}\n')
    Path("worse.jsonl").write_text("{\n")
    done = run("memory", "bench", *args)
    assert done.code == 2
    assert message in done.err
