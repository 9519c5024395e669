"""scalepan value, as people and programs use it."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.trace.traces import trace_dict


def write(folder: Path, *rows: object) -> Path:
    file = folder / "t.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return file


def test_json_is_one_line_a_trace_in_input_order_with_the_agreed_keys(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path, trace_dict(id="kp:trace:b"), trace_dict(id="kp:trace:a", domain="code"))
    done = run("value", file, "--json", "--embedder", "none")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0
    assert [row["id"] for row in rows] == ["kp:trace:b", "kp:trace:a"]
    # C = 3/4 x .5 + 3/20 x .2 = .405, N = .5, D = min(1, 1/3 x 3) = 1, O = .9; one tool costs .1
    # .405 x .25 + .5 x .35 + 1 x .15 + .9 x .25 - .1 = .55125
    assert rows[0]["value"] == pytest.approx(0.55125)
    assert rows[0] == {
        "id": "kp:trace:b",
        "value": rows[0]["value"],
        "parts": {
            "complexity": pytest.approx(0.405),
            "novelty": 0.5,
            "tool_diversity": 1.0,
            "outcome_confidence": 0.9,
        },
        "weights": {"complexity": 0.25, "novelty": 0.35, "tool_diversity": 0.15, "outcome_confidence": 0.25},
        "rules": [
            {
                "name": "zero_diversity_penalty",
                "before": pytest.approx(0.65125),
                "after": rows[0]["value"],
                "note": "1 tool in 3 steps",
            }
        ],
        "status": "ok",
        "gate": {
            "verdict": "keep",
            "threshold": 0.75,
            "short_by": pytest.approx(0.19875),
            # .19875 more is needed: novelty by .19875 / .35 = .568 to 1.068, complexity by .795 to 1.2: both over 1
            "would_pass": [],
        },
    }


def test_details_say_where_each_part_comes_from(run: Run, tmp_path: Path) -> None:
    row = json.loads(run("value", write(tmp_path, trace_dict()), "--json", "--details", "--embedder", "none").out)
    assert row["sources"]["novelty"] == {"source": "default", "note": "no encoder"}
    assert row["details"]["profile"] == "default"
    assert row["policy"]


def test_standard_input_is_read_where_no_file_is_named(run: Run) -> None:
    data = json.dumps(trace_dict()).encode()
    for args in ([], ["-"]):
        assert json.loads(run("value", "--json", "--embedder", "none", *args, stdin=data).out)["id"] == "kp:trace:1"


def test_bad_rows_are_reported_with_line_and_reason_and_skipped(run: Run, samples: Path) -> None:
    done = run("value", samples, "--json", "--embedder", "none")
    assert done.code == 0
    assert len(done.out.splitlines()) == 30
    assert f"scalepan: {samples}:14: trace kp:trace:data-analysis-ja-0001: outcome.confidence: 1.7 is not" in done.err
    assert done.err.splitlines()[-1] == "scalepan: 4 bad rows of 34 skipped"


def test_strict_stops_at_the_first_bad_row(run: Run, samples: Path) -> None:
    done = run("value", samples, "--json", "--embedder", "none", "--strict")
    assert done.code == 2
    assert len(done.out.splitlines()) == 5
    assert ":6: trace kp:trace:customer_service-0001: steps[1].type: 'toolcall' is not one of" in done.err


def test_many_bad_rows_are_counted_not_all_shown(run: Run, tmp_path: Path) -> None:
    done = run("value", write(tmp_path, trace_dict(), *["?"] * 500), "--embedder", "none", "--json")
    assert len(done.err.splitlines()) == 21
    assert "500 bad rows of 501 skipped, the first 20 shown" in done.err


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["none.jsonl"], "none.jsonl: cannot be read: No such file or directory"),
        (["none/*.jsonl"], "none/*.jsonl: matches no file"),
        (["empty.jsonl"], "empty.jsonl: no trace in it"),
        (["binary.jsonl"], "binary.jsonl: is in no format that can be read"),
        (["good.jsonl", "--explain", "kp:trace:zzz"], "no trace 'kp:trace:zzz' in the input"),
        (["good.jsonl", "--embedder", "nothing/such"], "no encoder 'nothing/such'"),
        (["good.jsonl", "--policy", "none.yaml"], "none.yaml: cannot be read"),
        (["good.jsonl", "--html", "no/such/folder.html"], "no/such/folder.html: No such file or directory"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, tmp_path: Path, args: list[str], error: str) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    (tmp_path / "binary.jsonl").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "good.jsonl").write_text(json.dumps(trace_dict()))
    extra = [] if "--embedder" in args else ["--embedder", "none"]
    done = run("value", *args, *extra)
    assert done.code == 2
    assert error in done.err


def test_explain_takes_the_whole_id_or_the_short_one(run: Run, samples: Path) -> None:
    for wanted in ("kp:trace:code-0003", "code-0003"):
        done = run("value", samples, "--embedder", "none", "--explain", wanted)
        assert done.code == 0
        assert "single_step_penalty" in done.out
        assert "no single part can lift it that far" in done.out


def test_explain_takes_the_beginning_of_an_id_as_tables_show_it(run: Run, tmp_path: Path) -> None:
    first, second = (f"claude-code:1fe4b11c-f3cc-477b-8f1c-b36{end}" for end in ("a", "b"))
    file = write(tmp_path, trace_dict(id=f"kp:trace:{first}"), trace_dict(id="kp:trace:other"))
    assert "claude-code:1fe4b11c-f3…" in run("value", file, "--embedder", "none").out
    for wanted in ("claude-code:1fe4b11c-f3…", "claude", first):
        assert f"kp:trace:{first}" in run("value", file, "--embedder", "none", "--explain", wanted).out
    both = write(tmp_path, trace_dict(id=f"kp:trace:{second}"), trace_dict(id=f"kp:trace:{first}"))
    done = run("value", both, "--embedder", "none", "--explain", "claude")
    assert done.code == 2
    assert f"'claude' is the beginning of more than one id: {second}, {first}" in done.err
    assert f"kp:trace:{first}" in run("value", both, "--embedder", "none", "--explain", first).out


def test_domains_prints_one_trace_under_all_profiles(run: Run, tmp_path: Path) -> None:
    # the structure of value-2's example: C .425, N .5, D 1, O .92
    types = ("thought", "tool_call", "observation", "tool_call", "observation")
    file = write(tmp_path, trace_dict(types, ("a", "b"), confidence=0.92))
    lines = run("value", file, "--embedder", "none", "--domains").out.splitlines()
    assert lines[:6] == [
        "kp:trace:1",
        "  default:          0.661",
        "  finance:          0.724",
        "  code:             0.719",
        "  medical:          0.770",
        "  customer_service: 0.711",
    ]
    row = json.loads(run("value", file, "--embedder", "none", "--domains", "--json").out)
    assert row["domains"]["medical"] == pytest.approx(0.76975)


def test_people_see_a_table_a_histogram_and_what_is_not_measured(run: Run, samples: Path) -> None:
    out = run("value", samples, "--embedder", "none").out
    for expected in (
        "finance-ja-0001",
        "0.50*",
        "how the values are spread",
        "█",
        "30 traces, 2026-10-02 to 2026-10-12",
        "median value 0.72; 13 to share, 17 to keep (gate 0.75); 24 of 30 succeeded",
        "rejected: 4 records",
        "* not measured, a default stands in",
        "no encoder is in use, so novelty counts 0.5 for every trace",
    ):
        assert expected in out


def test_markup_and_escapes_in_the_data_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    rude = trace_dict(id="kp:trace:[/red][bold]x\x1b[31m", objective="[/] [link=x]y", domain="[red]")
    file = write(tmp_path, rude)
    for args in (["--explain", rude["id"]], [], ["--domains"]):
        done = run("value", file, "--embedder", "none", *args)
        assert done.code == 0
        assert "[/red][bold]x" in done.out
        assert "\x1b" not in done.out


def test_the_report_is_one_page_with_pictures(run: Run, samples: Path, tmp_path: Path) -> None:
    done = run("value", samples, "--embedder", "none", "--html", "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert done.code == 0
    # how values are spread, week by week, and a waterfall per trace
    assert page.count("<svg") == 32
    assert "kp:trace:finance-ja-0001" in page
    assert "novelty counts 0.5 for every trace" in page


def test_a_policy_file_changes_the_gate(run: Run, tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text("value: {gate: 0.1}")
    file = write(tmp_path, trace_dict())
    row = json.loads(run("value", file, "--json", "--embedder", "none", "--policy", "strict.yaml").out)
    assert row["gate"]["verdict"] == "share"


def test_one_is_not_plural(run: Run, samples: Path) -> None:
    trace = json.loads(samples.read_text(encoding="utf-8").splitlines()[0])
    trace["steps"] = [{"step_id": 0, "type": "tool_call", "tool": {"name": "sql"}}]
    Path("one.jsonl").write_text(json.dumps(trace) + "\n{}\n")
    done = run("value", "one.jsonl", "--explain", trace["id"])
    assert "1 tool, 1 step" in done.out
    assert "1 step type, 1 step" in done.out
    whole = run("value", "one.jsonl")
    assert "1 trace, " in whole.out
    assert whole.err.splitlines()[-1] == "scalepan: 1 bad row of 2 skipped"
