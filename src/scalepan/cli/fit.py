"""scalepan fit: how good a number is on labeled cases, and the thresholds that keep a promise."""

import os
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from scalepan.cli._common import complain, json_option, open_input, policy_option, say, show, show_json
from scalepan.errors import InputError, counted
from scalepan.files import write_text_private

if TYPE_CHECKING:
    from scalepan.fit.fitted import Fit
    from scalepan.fit.labels import LabeledNumbers

SHOWN_BAD_ROWS = 20
TOO_LITTLE = 3
"""Exit code: there is too little evidence for the promise."""
ALARM = 1
"""Exit code: the promise no longer holds."""


class ShareType(click.ParamType[float]):
    """A share between 0 and 1, as `5%` or `0.05`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """`5` alone is refused: it could be either."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            found = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            found = float("nan")
        if not 0.0 < found < 1.0:
            self.fail(f"'{text}' is not a share between 0 and 1, such as 5% or 0.05", param, ctx)
        return found


_OPTIONS: list[Callable[[Any], Any]] = [
    click.argument("labels_file", metavar="LABELS"),
    click.option(
        "--max-error", type=ShareType(), default=0.05, show_default="5%", help="How often it may be wrong at most."
    ),
    click.option("--sure", type=ShareType(), default=0.95, show_default="95%", help="How sure the promise must be."),
    json_option,
    click.option(
        "--svg", "svg_file", type=click.Path(path_type=Path), help="Draw the reliability diagram to this file."
    ),
    click.option(
        "--write", "policy_out", type=click.Path(path_type=Path), help="Write the thresholds to this new policy file."
    ),
    click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it."),
]


def fit_options(command: Any) -> Any:
    """What every fit takes."""
    return reduce(lambda so_far, option: option(so_far), reversed(_OPTIONS), command)


@click.group()
def fit() -> None:
    """How good is a number, and from which threshold on does it keep a promise? Labels in, thresholds out.

    A label says whether what a number was about turned out right: a JSON object per line, or a row of Parquet, such
    as {"value": 0.83, "label": 1, "group": "billing"}. An approval is not a label.

    \b
    Examples:
      scalepan fit confidence labels.jsonl
      scalepan fit confidence labels.jsonl --max-error 1% --sure 99% --write scalepan.yaml
      scalepan fit value labels.parquet --json

    \b
    Exit codes:
      0  the promise is given
      2  bad input: no such file, no good row at all, or a bad row with --strict
      3  too little evidence for the promise: says how many labels are missing
    """


@fit.command()
@fit_options
@click.option(
    "--notify-error", type=ShareType(), help="How often NOTIFY may be wrong. Default: twice as often as SILENT."
)
@click.option("--confirm-error", type=ShareType(), help="How often CONFIRM may be wrong. Default: 50%.")
@policy_option
def confidence(
    labels_file: str, policy_file: Path | None, notify_error: float | None, confirm_error: float | None, **rest: Any
) -> None:
    """From which confidence on may the agent act alone (SILENT), tell (NOTIFY) or ask (CONFIRM)?

    Rows have the confidence as `value`, or `factors` from which it is computed under the policy in force. A group is
    a tool or a kind of action; --write makes rules of the gate for tools that need a higher threshold.

    \b
    Examples:
      scalepan fit confidence labels.jsonl
      scalepan fit confidence labels.jsonl --max-error 2% --svg reliability.svg
      cat labels.jsonl | scalepan fit confidence - --json
    """
    errors = {"notify_error": notify_error, "confirm_error": confirm_error}
    _fit("confidence", labels_file, policy_file, errors, **rest)


@fit.command()
@fit_options
@policy_option
def value(labels_file: str, policy_file: Path | None, **rest: Any) -> None:
    """From which value on is a trace worth sharing?

    Rows have the `value`, or a `trace` that is valued under the policy in force. A group is a task domain.

    \b
    Examples:
      scalepan fit value labels.jsonl --max-error 10%
      scalepan fit value labels.jsonl --write scalepan.yaml
    """
    _fit("value", labels_file, policy_file, {}, **rest)


@fit.command()
@fit_options
def memory(labels_file: str, **rest: Any) -> None:
    """From which score_final on is a recalled claim relevant?

    Rows have the score as `value`; the label says whether the claim was relevant to its query.

    \b
    Examples:
      scalepan fit memory labels.jsonl --max-error 30%
    """
    _fit("memory", labels_file, None, {}, **rest)


@fit.command()
@fit_options
def judge(labels_file: str, **rest: Any) -> None:
    """From which judged score on is an output right, as people see it?

    Rows have the judge's score as `value`; the label is a person's verdict on the same output.

    \b
    Examples:
      scalepan fit judge labels.jsonl --max-error 10%
    """
    _fit("judge", labels_file, None, {}, **rest)


@fit.command()
@click.argument("number", type=click.Choice(["confidence", "value", "memory", "judge"]))
@click.argument("labels_file", metavar="LABELS")
@click.option(
    "--from", "threshold", type=click.FloatRange(0, 1), help="The threshold. Default: the one of the policy in force."
)
@click.option(
    "--max-error", type=ShareType(), default=0.05, show_default="5%", help="How often it may be wrong at most."
)
@json_option
@click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it.")
@policy_option
def watch(
    number: str,
    labels_file: str,
    threshold: float | None,
    max_error: float,
    as_json: bool,
    strict: bool,
    policy_file: Path | None,
) -> None:
    """Does a promise still hold? Labels in the order in which they came; only those from the threshold on count.

    The alarm may be read as often as you like, after every label too: if the promise holds, at most 5 % of all streams
    of labels ever raise it.

    \b
    Examples:
      scalepan fit watch confidence labels.jsonl
      scalepan fit watch confidence labels.jsonl --from 0.93 --max-error 5% --json

    \b
    Exit codes:
      0  no alarm
      1  alarm: the promise no longer holds
      2  bad input: no such file, no good row at all, or a bad row with --strict
    """
    from scalepan.fit.watch import threshold_in_force
    from scalepan.fit.watch import watch as watched
    from scalepan.policy import load_policy

    if threshold is None:
        threshold = threshold_in_force(number, load_policy(policy_file))
    found = watched(_read(number, labels_file, policy_file, strict=strict), threshold, max_error)
    if as_json:
        show_json({**msgspec.to_builtins(found), "text": found.text})
    else:
        say(found.text)
    if found.alarm:
        sys.exit(ALARM)


def _fit(
    number: str,
    labels_file: str,
    policy_file: Path | None,
    errors: dict[str, float | None],
    *,
    max_error: float,
    sure: float,
    as_json: bool,
    svg_file: Path | None,
    policy_out: Path | None,
    strict: bool,
) -> None:
    from scalepan.fit import fit as fitted

    if policy_out is not None and os.path.lexists(policy_out):
        raise InputError("exists already; name a new file and merge the two", file=str(policy_out))
    labels = _read(number, labels_file, policy_file, strict=strict)
    found = fitted(number, labels, max_error=max_error, sure=sure, **errors)
    if as_json:
        show_json(found.to_dict())
    else:
        from scalepan.cli._fit_views import fit_view

        show(*fit_view(found))
    _write(found, svg_file, policy_out, policy_file)
    if not found.given:
        sys.exit(TOO_LITTLE)


def _read(number: str, labels_file: str, policy_file: Path | None, *, strict: bool) -> "LabeledNumbers":
    from scalepan.fit.labels import json_rows, labels_of, read_labels
    from scalepan.fit.numbers import value_of
    from scalepan.policy import load_policy

    compute = value_of(number, load_policy(policy_file))
    if labels_file == "-":
        with open_input("-") as stream:
            labels = labels_of(json_rows(stream), compute, file="stdin", strict=strict)
    else:
        labels = read_labels(labels_file, compute, strict=strict)
    for error in labels.bad[:SHOWN_BAD_ROWS]:
        complain(error)
    if labels.bad:
        complain(f"{counted(len(labels.bad), 'bad row')} skipped")
    if not len(labels):
        raise InputError("no good row in it", file="stdin" if labels_file == "-" else labels_file)
    return labels


def _write(found: "Fit", svg_file: Path | None, policy_out: Path | None, policy_file: Path | None) -> None:
    from scalepan.fit import policy_text
    from scalepan.policy import load_policy

    if svg_file is not None:
        from scalepan.cli._fit_views import fit_svg

        write_text_private(svg_file, fit_svg(found))
        complain(f"picture written to {svg_file}")
    if policy_out is not None and found.given:
        write_text_private(policy_out, policy_text(found, load_policy(policy_file)))
        complain(f"thresholds written to {policy_out}; 'scalepan policy check {policy_out}' checks them")
    elif policy_out is not None:
        complain(f"{policy_out}: not written, for there is no threshold to write")
