"""A shard's rows depend on its records, the policy and the encoder alone: files can be cut and sent anywhere."""

import json
import pickle
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.policy import Policy, load_policy
from scalepan.trace.batch import Skipped, TraceItem, read_files
from scalepan.trace.files import InputFile, input_files
from scalepan.trace.rows import RejectedRow, ValueRow
from scalepan.trace.shard import value_shard
from tests.trace.anytrace import logged_traces, traces
from tests.trace.test_value import Letters
from tests.trace.traces import trace_dict


def read(folder: Path, lines: Iterable[object]) -> list[TraceItem | Skipped]:
    file = folder / "t.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return list(read_files(input_files(file), format="native"))


@given(st.lists(traces | logged_traces() | st.just({"id": 5}), max_size=8), st.data())
def test_a_file_can_be_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], data: st.DataObject
) -> None:
    items = read(tmp_path_factory.mktemp("shard"), lines)
    cut = data.draw(st.integers(0, len(items)))
    whole = list(value_shard(items, Policy()))
    assert [*value_shard(items[:cut], Policy()), *value_shard(items[cut:], Policy())] == whole
    assert [isinstance(row, RejectedRow) for row in whole] == [line == {"id": 5} for line in lines]
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_two_calls_share_nothing(tmp_path: Path) -> None:
    items = read(tmp_path, [trace_dict(id=f"kp:trace:{n}") for n in range(3)])
    first = list(value_shard(items, Policy(), Letters()))
    assert [row.novelty_source for row in first if isinstance(row, ValueRow)] == ["default", "measured", "measured"]
    assert list(value_shard(items, Policy(), Letters())) == first


def test_a_reject_says_where_and_why_and_is_redacted(tmp_path: Path) -> None:
    (row,) = value_shard(read(tmp_path, [{**trace_dict(), "metadata": "mail ann@example.com"}]), Policy())
    assert isinstance(row, RejectedRow)
    assert (Path(row.file).name, row.line) == ("t.jsonl", 1)
    assert "metadata" in row.error
    assert "ann@example.com" not in row.error


def work(file: InputFile, policy: Policy) -> list[ValueRow | RejectedRow]:
    return list(value_shard(read_files([file]), policy))


def test_files_valued_in_other_processes_give_the_rows_of_one(tmp_path: Path) -> None:
    for name in "abc":
        lines = [trace_dict(id=f"kp:trace:{name}{n}", confidence=n / 50) for n in range(50)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{}\n")
    policy = load_policy(env={}, overrides={"value": {"gate": 0.6}})
    files = input_files(tmp_path)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        parts = list(pool.map(work, files, [policy] * len(files)))
    assert [row for part in parts for row in part] == list(value_shard(read_files(files), policy))
