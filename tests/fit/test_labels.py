"""Labels from files: what is read, what is refused and why, and which cases belong together."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.fit.labels import MANY_GROUPS, labels_of, read_labels
from scalepan.fit.numbers import value_of
from scalepan.policy import Policy
from scalepan.samples import sample_trace
from scalepan.store.duckdb.parquet import write_parquet


@pytest.mark.parametrize(
    ("label", "right"),
    [(1, True), (0, False), (True, True), (False, False), ("right", True), ("WRONG", False), ("1", True), (1.0, True)],
)
def test_what_a_label_may_be(label: object, right: bool) -> None:
    assert labels_of([(1, {"value": 0.5, "label": label})]).right.tolist() == [right]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"value": 0.5}, "label: is missing; it is one of 0, 1, false, true, wrong, right"),
        ({"value": 0.5, "label": "yes"}, "label: 'yes' is not one of"),
        ({"value": 0.5, "label": 2}, "label: 2 is not one of"),
        ({"value": 0.5, "label": [1]}, "label: "),
        ({"label": 1}, "value: is missing"),
        ({"value": 1.7, "label": 1}, "value: 1.7 is not a number from 0 to 1"),
        ({"value": "0.5", "label": 1}, "value: '0.5' is not a number from 0 to 1"),
        ({"value": True, "label": 1}, "value: true is not a number from 0 to 1"),
        ({"value": float("nan"), "label": 1}, "value: nan is not a number from 0 to 1"),
        ({"value": 0.5, "label": 1, "group": ["a"]}, "group: "),
        ([0.5, 1], "is not an object such as"),
    ],
)
def test_a_bad_row_is_named_and_skipped(row: object, problem: str) -> None:
    labels = labels_of([(7, row), (8, {"value": 0.5, "label": 1})], file="a.jsonl")
    assert len(labels) == 1
    (error,) = labels.bad
    assert str(error).startswith("a.jsonl:7: ")
    assert problem in str(error)
    with pytest.raises(InputError, match=r"a\.jsonl:7"):
        labels_of([(7, row)], file="a.jsonl", strict=True)


def test_json_lines_and_parquet_hold_the_same_labels(tmp_path: Path) -> None:
    rows = [{"value": 0.25, "label": 1, "group": "a"}, {"value": 1.0, "label": 0, "group": None}]
    lines = tmp_path / "labels.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in rows) + "\n\nnot json\n", encoding="utf-8")
    good = tmp_path / "good.jsonl"
    good.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    parquet = tmp_path / "labels.parquet"
    write_parquet(good, parquet, {"value": "DOUBLE", "label": "INTEGER", '"group"': "VARCHAR"})
    one, other = read_labels(lines), read_labels(parquet)
    assert one.values.tolist() == other.values.tolist() == [0.25, 1.0]
    assert one.groups == other.groups == ("a", None)
    assert one.digest == other.digest
    (error,) = one.bad
    assert str(error).startswith(f"{lines}:4: not JSON")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path / "nothing.jsonl")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="as Parquet"):
        read_labels(tmp_path / "broken.parquet")


def test_factors_in_place_of_a_confidence() -> None:
    factors = {"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}
    compute = value_of("confidence", Policy())
    rows = [
        (1, {"factors": factors, "label": 1}),
        (2, {"factors": json.dumps(factors), "label": 1}),  # as a column of text holds them
        (3, {"factors": {"search_max_score": 1.7}, "label": 1}),
        (4, {"factors": [1], "label": 1}),
        (5, {"label": 1}),
    ]
    labels = labels_of(rows, compute)
    # (.6 x .8 + .4 x 1 + .2 x 0) / 1.2 = .733
    assert labels.values.tolist() == [0.733, 0.733]
    assert [str(error) for error in labels.bad] == [
        "line 3: search_max_score: 1.7 is not between 0 and 1",
        "line 4: factors: a list is not an object",
        "line 5: value: is missing, and so is 'factors', from which it could be computed",
    ]


def test_a_trace_in_place_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    from scalepan import TraceValuer

    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    from scalepan.policy import load_policy

    policy = load_policy()
    trace = sample_trace()
    given = json.loads(json.dumps(trace.to_dict()))
    labels = labels_of([(1, {"trace": given, "label": 1}), (2, {"trace": {}, "label": 1})], value_of("value", policy))
    assert labels.values.tolist() == [float(TraceValuer(policy).peek(trace))]
    assert len(labels.bad) == 1


def test_a_score_of_memory_must_be_given() -> None:
    assert value_of("memory", Policy()) is None
    assert value_of("judge", Policy()) is None


def test_few_groups_are_parts_and_many_are_a_sample() -> None:
    few = labels_of((n, {"value": 0.5, "label": 1, "group": "ab"[n % 2]}) for n in range(10))
    assert len(set(few.held_out_units)) == 2
    assert len(set(few.drawn_units)) == 10
    many = labels_of((n, {"value": 0.5, "label": 1, "group": n // 2}) for n in range(2 * MANY_GROUPS))
    assert len(set(many.drawn_units)) == MANY_GROUPS
    none = labels_of((n, {"value": 0.5, "label": 1}) for n in range(5))
    assert (none.groups, len(set(none.held_out_units))) == ((), 5)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from([None, "a", "b"])), max_size=20))
def test_every_good_row_is_there_once_in_order(rows: list[tuple[float, bool, str | None]]) -> None:
    labels = labels_of((n, {"value": v, "label": label, "group": g}) for n, (v, label, g) in enumerate(rows))
    assert labels.values.tolist() == [value for value, _, _ in rows]
    assert labels.right.tolist() == [label for _, label, _ in rows]
    assert not labels.bad
    for name, places in labels.by_group().items():
        assert places == [place for place, (_, _, group) in enumerate(rows) if group == name]
        assert labels.at(places).values.tolist() == [value for value, _, group in rows if group == name]
