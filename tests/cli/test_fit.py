"""scalepan fit: labels in, a promise out, and exit codes that a pipeline can rely on."""

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scalepan.cli._common import console
from tests.cli.conftest import Run
from tests.fit import populations


@pytest.fixture(autouse=True)
def on_a_small_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    monkeypatch.setenv("COLUMNS", "80")
    console.cache_clear()
    yield
    console.cache_clear()


def lines(count: int, seed: int = 0, group: str | None = None) -> bytes:
    """Labels of a number that is 99 % right from 0.5 on."""
    labels = populations.sharp(count, seed)
    rows = [
        {"value": value, "label": right, **({"group": group} if group else {})}
        for value, right in zip(labels.values.tolist(), labels.right.tolist(), strict=True)
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_a_promise_for_people_within_80_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_bytes(lines(1000, group="billing") + lines(40, 1, "search"))
    done = run("fit", "confidence", "labels.jsonl")
    assert done.code == 0
    assert max(len(line.rstrip()) for line in done.out.splitlines()) <= 80
    said = " ".join(done.out.split())
    assert "confidence: 1,040 labels" in said
    assert "SILENT from 0.476: at most 5 % wrong" in said
    assert "95 % sure, acts alone on 55 %" in said
    assert "NOTIFY from" in said
    assert "its own; acts alone on" in said
    assert "that of all cases, not for it alone" in said
    assert "○ said ● was right" in said


def test_json_for_programs(run: Run) -> None:
    done = run("fit", "value", "-", "--json", stdin=lines(1000))
    found = json.loads(done.out)
    assert (done.code, found["number"], found["labels"], found["given"]) == (0, "value", 1000, True)
    (promise,) = found["promises"]
    assert promise["text"].startswith("SHARE from 0.")
    assert promise["coverage"] == pytest.approx(0.5, abs=0.1)
    assert found["assessment"]["auroc"]["low"] < found["assessment"]["auroc"]["value"]


def test_too_little_evidence_is_exit_code_3_and_says_what_is_missing(run: Run, tmp_path: Path) -> None:
    done = run("fit", "confidence", "-", "--write", "new.yaml", stdin=lines(40))
    assert done.code == 3
    assert "it takes at least 59 labels, and there are 40" in " ".join(done.out.split())
    assert "more are needed" in " ".join(done.out.split())
    assert "new.yaml: not written" in done.err
    assert not (tmp_path / "new.yaml").exists()


def test_bad_rows_are_named_and_skipped(run: Run, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_bytes(b'{"value": 2, "label": 1}\nno json\n' + lines(1000))
    done = run("fit", "judge", "labels.jsonl")
    assert done.code == 0
    assert "labels.jsonl:1: value: 2 is not a number from 0 to 1" in done.err
    assert "labels.jsonl:2: not JSON" in done.err
    assert "2 bad rows skipped" in done.err
    assert run("fit", "judge", "labels.jsonl", "--strict").code == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("confidence", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
        (("confidence", "-"), "stdin: no good row in it"),
        (("luck", "-"), "No such command 'luck'"),
        (("value", "-", "--max-error", "5"), "'5' is not a share between 0 and 1, such as 5% or 0.05"),
        (("value", "-", "--sure", "surely"), "'surely' is not a share"),
        (("confidence", "-", "--max-error", "20%", "--notify-error", "10%"), "no good row"),
        (("memory", "-", "--write", "there.yaml"), "there.yaml: exists already"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    (tmp_path / "there.yaml").write_text("value: {gate: 0.5}\n")
    done = run("fit", *args)
    assert done.code == 2
    assert said in done.err
    assert (tmp_path / "there.yaml").read_text() == "value: {gate: 0.5}\n"


def test_what_is_written_is_a_policy_in_force(run: Run, tmp_path: Path) -> None:
    done = run("fit", "confidence", "-", "--write", "fitted.yaml", "--svg", "r.svg", stdin=lines(1000))
    assert done.code == 0
    assert "thresholds written to fitted.yaml" in done.err
    assert run("policy", "check", "fitted.yaml").code == 0
    ElementTree.parse(tmp_path / "r.svg")
    factors = b'{"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}\n'
    # 0.733: NOTIFY by the built-in 0.9, SILENT by a threshold that the labels allow
    row = json.loads(run("confidence", "--json", "--policy", "fitted.yaml", "-", stdin=factors).out)
    assert (row["value"], row["level"]) == (0.733, "SILENT")


def test_factors_in_place_of_values(run: Run) -> None:
    rows = [{"factors": {"tool_success_rate": 1.0, "source_count": 1}, "label": n % 50 != 0} for n in range(600)]
    done = run("fit", "confidence", "-", "--json", stdin=b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    assert json.loads(done.out)["promises"][0]["threshold"] == 1.0


def test_an_alarm_is_exit_code_1(run: Run) -> None:
    rows = [{"value": 0.95, "label": int(n < 300 or n % 3 > 0)} for n in range(600)]
    stdin = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    done = run("fit", "watch", "confidence", "-", stdin=stdin)
    assert done.code == 1
    assert done.out.startswith("ALARM at label 3")
    held = run("fit", "watch", "confidence", "-", "--max-error", "40%", "--json", stdin=stdin)
    assert held.code == 0
    found = json.loads(held.out)
    assert (found["alarm"], found["threshold"], found["let_through"]) == (False, 0.9, 600)
    assert run("fit", "watch", "confidence", "-", "--from", "0.96", stdin=stdin).code == 0
    assert run("fit", "watch", "confidence", "-", stdin=b"").code == 2
