"""Two runs compared: verdicts on hand-made runs, what was not measured, repeats and groups."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.errors import InputError
from scalepan.evals.compare import PASSED, Comparison, RunVerdict, compare, read_run

Row = dict[str, Any]


def row(id_: str, passed: bool, value: float | None = None, **more: Any) -> Row:
    """A result with one scorer; without a value the scorer failed."""
    value = float(passed) if value is None else value
    return {
        "id": id_,
        "passed": passed,
        "scores": {"exact": {"value": value, "status": "ok", "passed": passed}},
        **more,
    }


def failed(id_: str) -> Row:
    return {"id": id_, "passed": False, "scores": {"judge": {"value": None, "status": "failed", "passed": False}}}


def compared(tmp_path: Path, before: list[Row], after: list[Row], margin: float = 0.05) -> Comparison:
    runs = []
    for name, rows in (("before", before), ("after", after)):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in rows))
        runs.append(read_run(file))
    return compare(*runs, margin=margin)


def run_of(passes: str) -> list[Row]:
    """A run from a string: a case for each character, + passed, - failed."""
    return [row(f"case-{number}", sign == "+") for number, sign in enumerate(passes)]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("+" * 100, "+" * 100, RunVerdict.SAME),
        ("+" * 10, "+" * 10, RunVerdict.NOT_ENOUGH_DATA),  # ten that agree may hide a difference of 26 %
        ("+" * 40, "-" * 20 + "+" * 20, RunVerdict.WORSE),
        ("-" * 20 + "+" * 20, "+" * 40, RunVerdict.BETTER),
        ("+" * 20, "-" * 3 + "+" * 17, RunVerdict.NOT_ENOUGH_DATA),  # 3 of 3 flips: p = 1/4
    ],
)
def test_verdict(tmp_path: Path, before: str, after: str, verdict: RunVerdict) -> None:
    assert compared(tmp_path, run_of(before), run_of(after)).verdict is verdict


def test_numbers_by_hand(tmp_path: Path) -> None:
    found = compared(tmp_path, run_of("++++++++--"), run_of("+++----++-"))
    passed = found.metrics[0]
    assert (passed.name, passed.pairs, passed.before, passed.after) == (PASSED, 10, 0.8, 0.5)
    assert passed.difference == pytest.approx(-0.3)
    assert [flip.id for flip in found.lost] == ["case-3", "case-4", "case-5", "case-6"]
    assert [flip.id for flip in found.gained] == ["case-8"]
    # Four lost, one gained: 2 x (1 + 5) / 2^5 = 0.375, times two because the scorer is asked about as well.
    assert passed.p == pytest.approx(0.75)


def test_without_enough_data_it_says_how_many_more_would_settle_it(tmp_path: Path) -> None:
    """Four of five gain 0.1, one loses 0.1: the mean is 0.06, the spread 0.08."""
    after = [row(f"case-{number}", True, 0.5 + (0.1 if number % 5 else -0.1)) for number in range(5)]
    before = [row(f"case-{number}", True, 0.5) for number in range(5)]
    found = compared(tmp_path, before, after, margin=0.01)
    exact = next(metric for metric in found.metrics if metric.name == "exact")
    # z = 1.96 + 0.8416; spread with n - 1 is 0.0894; (2.8016 x 0.0894 / 0.06)^2 = 17.4
    assert (exact.verdict, exact.more_cases) == (RunVerdict.NOT_ENOUGH_DATA, 18 - 5)


def test_what_was_not_measured_is_not_a_failure(tmp_path: Path) -> None:
    before = [*run_of("+" * 100), row("case-x", True)]
    found = compared(tmp_path, before, [*run_of("+" * 100), failed("case-x")])
    assert found.unmeasured == ("case-x",)
    assert found.lost == ()
    assert (found.metrics[0].pairs, found.metrics[0].unmeasured) == (100, 1)


def test_a_case_that_another_scorer_found_wrong_has_failed(tmp_path: Path) -> None:
    wrong = failed("case-0")
    wrong["scores"]["exact"] = {"value": 0.0, "status": "ok", "passed": False}
    found = compared(tmp_path, run_of("+"), [wrong])
    assert [flip.id for flip in found.lost] == ["case-0"]
    assert found.unmeasured == ()


def test_repeats_are_averaged_by_case(tmp_path: Path) -> None:
    found = compared(tmp_path, run_of("++"), [row("case-0", True), row("case-0", False), row("case-1", True)])
    assert [(flip.id, flip.before, flip.after) for flip in found.lost] == [("case-0", 1.0, 0.5)]
    assert found.metrics[0].after == 0.75


def test_cases_of_one_group_are_one_observation(tmp_path: Path) -> None:
    """Twenty flips in one document are one piece of bad luck."""
    before = [row(f"case-{number}", True, group="manual" if number < 20 else f"page-{number}") for number in range(40)]
    after = [{**one, "passed": False, "scores": run_of("-")[0]["scores"]} for one in before[:20]] + before[20:]
    assert compared(tmp_path, before, after).verdict is RunVerdict.NOT_ENOUGH_DATA
    before, after = ([{**one, "group": None} for one in run] for run in (before, after))
    assert compared(tmp_path, before, after).verdict is RunVerdict.WORSE


def test_more_cases_means_more_groups(tmp_path: Path) -> None:
    """Ten groups of four that all agree: 59 are needed for a margin of 5 %, so 49 more with four cases each."""
    rows = [row(f"case-{number}", True, group=f"page-{number // 4}") for number in range(40)]
    found = compared(tmp_path, rows, rows)
    assert (found.verdict, found.metrics[0].more_cases) == (RunVerdict.NOT_ENOUGH_DATA, 49 * 4)


def test_cases_of_one_run_alone_are_named_and_left_out(tmp_path: Path) -> None:
    found = compared(tmp_path, [*run_of("+"), row("old", True)], [*run_of("+"), row("new", False)])
    assert (found.only_before, found.only_after, found.metrics[0].pairs) == (("old",), ("new",), 1)


def test_two_runs_of_one_system_are_seldom_said_to_differ() -> None:
    """300 comparisons of 60 cases that pass by chance: at most 5 % are BETTER or WORSE."""
    from scalepan.evals.compare import CaseTries, RunRow, RunScore

    random = np.random.default_rng(0)
    chances = random.random(60)

    def run() -> dict[str, CaseTries]:
        cases = {}
        for number, chance in enumerate(chances):
            tries = cases[str(number)] = CaseTries()
            passed = bool(random.random() < chance)
            score = RunScore(value=float(np.clip(random.normal(chance, 0.2), 0, 1)), passed=True)
            tries.add(RunRow(str(number), passed, {"closeness": score}))
        return cases

    verdicts = [compare(run(), run()).verdict for _ in range(300)]
    assert sum(verdict in (RunVerdict.BETTER, RunVerdict.WORSE) for verdict in verdicts) <= 15


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no result in it; 'scalepan eval run ... --out FILE' writes one"),
        ('{"id": "a"}\n', ":1: is not a result of a run: Object missing required field `passed`"),
        ("PK\x03\x04", ":1: is not a result of a run"),
    ],
)
def test_what_is_no_run(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_run(file)
    assert problem in str(error.value)


def test_half_a_last_line_is_a_run_that_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps(row("a", True)) + '\n{"id": "b", "pas')
    assert list(read_run(file)) == ["a"]


def test_runs_of_other_cases_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the two runs have no case in common"):
        compared(tmp_path, [row("a", True)], [row("b", True)])
