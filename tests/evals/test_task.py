"""Tasks: outputs from a callable or a shell command, with time limit and retries."""

import shlex
import sys
import time
from pathlib import Path

import pytest

from scalepan.errors import InputError
from scalepan.evals import Case, Evaluator, Expected, Output, as_task
from scalepan.evals.task import MOST_PRINTED

CASE = Case(id="it's; $(a) case", user_message="say x", expected=Expected(output="x"), scorers=[{"type": "exact"}])


def test_a_callable_may_return_an_output_a_table_or_the_output_itself() -> None:
    for made, expected in [
        (Output(output="x"), Output(id=CASE.id, output="x")),
        ({"output": "x"}, Output(id=CASE.id, output="x")),
        ("x", Output(id=CASE.id, output="x")),
        ({"price": 3}, Output(id=CASE.id, output={"price": 3})),
    ]:

        def task(case: Case, made: object = made) -> object:
            return made

        output = as_task(task)(CASE)
        assert (output.id, output.output, output.error) == (expected.id, expected.output, None)
        assert output.duration_ms is not None


def test_what_a_callable_raises_is_the_outputs_error() -> None:
    def broken(case: Case) -> str:
        raise KeyError("no key")

    assert as_task(broken)(CASE).error == "the task raised KeyError: 'no key'"


def test_a_callable_is_found_by_name_or_refused() -> None:
    assert as_task("operator:attrgetter")(CASE).error is not None  # found, and no task
    with pytest.raises(InputError, match="cannot be loaded"):
        as_task("json:nothing")
    with pytest.raises(InputError, match="cannot be loaded"):
        as_task("no_such_module:f")


def test_a_command_gets_the_case_and_its_id_safely_quoted() -> None:
    assert as_task("printf %s {id}")(CASE).output == CASE.id
    script = "import json,sys; print(json.dumps({'output': json.load(sys.stdin)['userMessage'], 'durationMs': 5}))"
    output = as_task(f'{shlex.quote(sys.executable)} -c "{script}"')(CASE)
    assert (output.output, output.duration_ms) == (CASE.user_message, 5)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("echo oh no >&2; exit 3", "the task ended with code 3: oh no"),
        ("exit 4", "the task ended with code 4"),
        ("""echo '{"operations": 7}'""", "the task's output does not fit"),
        ("sleep 30", "the task took longer than 0.2 s"),
    ],
)
def test_what_goes_wrong_with_a_command_is_the_outputs_error(command: str, error: str) -> None:
    output = as_task(command, timeout_s=0.2)(CASE)
    assert output.error is not None
    assert output.error.startswith(error)


def test_nothing_a_command_leaves_behind_can_hold_the_run() -> None:
    start = time.monotonic()
    assert as_task("setsid sleep 30 & echo done", timeout_s=20)(CASE).output == "done"
    assert as_task("setsid sleep 30 & sleep 30", timeout_s=0.3)(CASE).error == "the task took longer than 0.3 s"
    assert time.monotonic() - start < 15


def test_a_command_that_never_stops_printing_is_stopped() -> None:
    error = as_task("yes", timeout_s=0.5)(CASE).error
    assert error == "the task took longer than 0.5 s"
    assert as_task(f"head -c {MOST_PRINTED + 1} /dev/zero")(CASE).error == "the task printed more than 16,777,216 bytes"


def test_a_callable_has_a_time_limit_too() -> None:
    assert as_task(lambda case: time.sleep(30), timeout_s=0.1)(CASE).error == "the task took longer than 0.1 s"


def test_an_id_that_no_command_line_can_hold_is_the_outputs_error() -> None:
    output = as_task("echo {id}")(Case(id="a\0b", expected=Expected()))
    assert output.error is not None
    assert "cannot be started" in output.error


def test_a_failed_task_is_tried_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = f"echo x >> '{count}'; test $(wc -l < '{count}') -ge 3"
    assert as_task(command, retries=1)(CASE).error is not None
    assert as_task(command, retries=1)(CASE).error is None
    assert len(count.read_text().splitlines()) == 3


def test_several_at_once_keep_the_order_of_the_cases() -> None:
    cases = [Case(id=str(i), expected=Expected(output=str(i))) for i in range(30)]
    evaluator = Evaluator([{"type": "exact"}])
    rows = list(evaluator.run(cases, as_task("echo {id}"), jobs=8))
    assert [(case.id, result.passed) for case, _, result in rows] == [(str(i), True) for i in range(30)]


def test_a_task_does_not_see_what_is_expected() -> None:
    """Contract evals.6: a task is given the case without `expected`. Copying it passed every case."""
    seen: list[Case] = []
    as_task(seen.append)(CASE)
    assert (seen[0].expected, seen[0].scorers, seen[0].user_message) == (Expected(), None, "say x")
    script = "import json,sys; print(' '.join(sorted(json.load(sys.stdin))))"
    assert as_task(f'{shlex.quote(sys.executable)} -c "{script}"')(CASE).output == "id userMessage"
