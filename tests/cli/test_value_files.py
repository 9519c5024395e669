"""scalepan value over many files: rows on disk, rejects, continuing a run that was stopped, traces worth sharing."""

import json
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest

from scalepan.cli._value_outputs import outputs
from scalepan.policy import load_policy
from scalepan.trace import TraceLine, TraceValuer
from scalepan.trace.batch import TraceItem, value_items
from tests.cli.conftest import Run
from tests.trace.test_value import Letters
from tests.trace.traces import trace, trace_dict


def write(file: Path, *ids: str, bad: bool = False) -> Path:
    rows = [json.dumps(trace_dict(id=f"kp:trace:{id_}")) for id_ in ids]
    file.write_text("\n".join([*rows, "{}"] if bad else rows) + "\n", encoding="utf-8")
    return file


def written(file: Path) -> list[tuple[str, str, int]]:
    """Id, file and number of each row."""
    if file.suffix == ".parquet":
        with duckdb.connect() as connection:
            found = connection.execute("SELECT id, file, number FROM read_parquet($1)", [str(file)]).fetchall()
        return [(id_, Path(name).name, number) for id_, name, number in found]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [(row["id"], Path(row["file"]).name, row["number"]) for row in rows]


@pytest.mark.parametrize("name", ["values.jsonl", "values.parquet"])
def test_rows_are_written_in_order_and_a_stopped_run_continues(run: Run, tmp_path: Path, name: str) -> None:
    logs, out = tmp_path / "logs", tmp_path / name
    logs.mkdir()
    write(logs / "a.jsonl", "1", "2")
    assert run("value", logs, "--embedder", "none", "--out", out).code == 0
    assert written(out) == [("kp:trace:1", "a.jsonl", 1), ("kp:trace:2", "a.jsonl", 2)]
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [name]

    write(logs / "a.jsonl", "1", "2", "3")
    write(logs / "b.jsonl", "4")
    done = run("value", logs, "--embedder", "none", "--out", out, "--resume")
    assert done.code == 0
    assert written(out) == [
        ("kp:trace:1", "a.jsonl", 1),
        ("kp:trace:2", "a.jsonl", 2),
        ("kp:trace:3", "a.jsonl", 3),
        ("kp:trace:4", "b.jsonl", 1),
    ]


def test_half_a_row_of_a_killed_run_is_written_again(run: Run, tmp_path: Path) -> None:
    logs, out = write(tmp_path / "a.jsonl", "1", "2"), tmp_path / "values.jsonl"
    run("value", logs, "--embedder", "none", "--out", out)
    whole = out.read_bytes()
    out.write_bytes(whole[:-20])
    assert run("value", logs, "--embedder", "none", "--out", out, "--resume").code == 0
    assert out.read_bytes() == whole


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        (["1", "2", "3"], None),  # it has grown
        (["1", "2"], None),
        (["1", "other", "3"], "has changed since its rows were written"),
        (["0", "1", "2"], "has changed since its rows were written"),
        (["1"], "has changed since its rows were written"),
        ([], "has changed since its rows were written"),
    ],
)
def test_a_file_that_has_changed_is_not_continued(
    run: Run, tmp_path: Path, now: list[str], problem: str | None
) -> None:
    logs, out = write(tmp_path / "a.jsonl", "1", "2"), tmp_path / "values.jsonl"
    run("value", logs, "--embedder", "none", "--out", out)
    write(logs, *now)
    done = run("value", logs, "--embedder", "none", "--out", out, "--resume")
    assert (done.code, problem or "" in done.err) == (2 if problem else 0, problem or True)
    assert "goes on" not in done.err
    assert [id_ for id_, _, _ in written(out)] == [f"kp:trace:{id_}" for id_ in (["1", "2"] if problem else now)]


def test_rows_under_another_policy_are_not_continued(run: Run, tmp_path: Path) -> None:
    logs, out = write(tmp_path / "a.jsonl", "1"), tmp_path / "values.jsonl"
    run("value", logs, "--embedder", "none", "--out", out)
    (tmp_path / "scalepan.yaml").write_text("value: {gate: 0.5}\n")
    done = run("value", logs, "--embedder", "none", "--out", out, "--resume")
    assert done.code == 2
    assert "values.jsonl:1: has a value under policy" in done.err


def test_rows_that_are_not_in_their_order_are_not_continued(run: Run, tmp_path: Path) -> None:
    logs, out = write(tmp_path / "a.jsonl", "1", "2"), tmp_path / "values.jsonl"
    run("value", logs, "--embedder", "none", "--out", out)
    out.write_text("".join(reversed(out.read_text().splitlines(keepends=True))))
    done = run("value", logs, "--embedder", "none", "--out", out, "--resume")
    assert done.code == 2
    assert "values.jsonl:2: is a row of" in done.err


def test_continuing_keeps_and_rejects_all_that_one_run_would(run: Run, tmp_path: Path) -> None:
    (tmp_path / "scalepan.yaml").write_text("value: {gate: 0.0}\n")
    logs, out = write(tmp_path / "a.jsonl", "1", "2", bad=True), tmp_path / "values.jsonl"
    more = ("--kept", tmp_path / "kept.jsonl", "--rejects", tmp_path / "bad.jsonl")
    run("value", logs, "--embedder", "none", "--out", out, *more)
    first, *_ = out.read_text().splitlines(keepends=True)
    out.write_text(first)
    done = run("value", logs, "--embedder", "none", "--out", out, "--resume", *more)
    assert "1 bad row of 3 skipped" in done.err
    kept = [json.loads(line)["id"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert kept == ["kp:trace:1", "kp:trace:2"]
    assert [json.loads(line)["line"] for line in (tmp_path / "bad.jsonl").read_text().splitlines()] == [3]


@pytest.mark.parametrize("before", [0, 1, 4, 5, 6, 40, 69, 70])
def test_with_an_encoder_a_continued_run_compares_with_the_same_traces(tmp_path: Path, before: int) -> None:
    policy = load_policy(env={}, overrides={"value": {"novelty": {"max_elements": 5}}})
    words = ["cab", "bad", "deaf", "fee", "gag", "had", "bee"]
    traces = [trace(id=f"kp:trace:{n}", objective=f"{words[n % 7]} {words[n // 7 % 7]}") for n in range(70)]
    items = [TraceItem("a.jsonl", n, TraceLine(n, one)) for n, one in enumerate(traces, 1)]

    def value_all(out: Path, some: list[TraceItem], *, resume: bool = False) -> bytes:
        with ExitStack() as stack:
            made = outputs(stack, policy, out=out, resume=resume, rejects=None, kept=None, events=None, to=None)
            valuer = TraceValuer(policy, embedder=Letters())
            for item in value_items(made.unwritten(some, valuer), valuer):
                assert isinstance(item, TraceItem)
                assert item.valued is not None
                if not made.has(item):
                    made.add(item, item.valued)
            made.finish(["a.jsonl"])
        return out.read_bytes()

    whole = value_all(tmp_path / "whole.jsonl", items)
    out = tmp_path / "values.jsonl"
    value_all(out, items[:before])
    assert value_all(out, items, resume=True) == whole


def test_an_output_that_exists_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    logs, out = write(tmp_path / "a.jsonl", "1"), tmp_path / "values.jsonl"
    out.write_text("mine")
    done = run("value", logs, "--embedder", "none", "--out", out)
    assert (done.code, out.read_text()) == (2, "mine")
    assert "exists already; --resume continues it" in done.err
    other = run("value", logs, "--embedder", "none", "--out", out, "--resume")
    assert (other.code, out.read_text()) == (2, "mine")
    assert "is not a row of 'scalepan value'" in other.err


def test_numbers_in_rows_are_those_of_json(run: Run, tmp_path: Path, samples: Path) -> None:
    out = tmp_path / "values.jsonl"
    run("value", samples, "--embedder", "none", "--out", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    shown = [json.loads(line) for line in run("value", samples, "--embedder", "none", "--json").out.splitlines()]
    assert [(row["id"], row["value"], row["complexity"], row["verdict"]) for row in rows] == [
        (row["id"], row["value"], row["parts"]["complexity"], row["gate"]["verdict"]) for row in shown
    ]


def test_rejects_have_file_line_and_a_redacted_reason(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", "1")
    secret = {**trace_dict(), "metadata": "mail ann@example.com"}
    file.write_text(f"{file.read_text()}{json.dumps(secret)}\n")
    rejects = tmp_path / "bad.jsonl"
    assert run("value", file, "--embedder", "none", "--rejects", rejects).code == 0
    (row,) = map(json.loads, rejects.read_text().splitlines())
    assert (Path(row["file"]).name, row["line"]) == ("a.jsonl", 2)
    assert "metadata" in row["error"]
    assert "ann@example.com" not in rejects.read_text()


def test_kept_traces_pass_the_gate_are_redacted_and_can_be_read_again(run: Run, tmp_path: Path, samples: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    run("value", samples, "--embedder", "none", "--kept", kept)
    shared = [
        row["id"]
        for row in map(json.loads, run("value", samples, "--embedder", "none", "--json").out.splitlines())
        if row["gate"]["verdict"] == "share"
    ]
    again = run("value", kept, "--embedder", "none", "--json")
    assert [json.loads(line)["id"] for line in again.out.splitlines()] == shared
    assert shared


def test_a_trace_without_a_gate_to_pass_is_not_kept(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    run("value", write(tmp_path / "a.jsonl", "1"), "--embedder", "none", "--kept", kept)
    assert kept.read_bytes() == b""
