"""scalepan confidence: how sure the agent may be, what to do about it, and the questions that wait for a person."""

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from scalepan.check import read_json
from scalepan.cli._common import complain, json_option, open_input, policy_option, show, show_json, store_option
from scalepan.confidence import (
    ConfidenceAggregator,
    ConfidenceCalculator,
    ConfidenceFactors,
    ConfidenceScore,
    judge_answer,
)
from scalepan.confidence.aggregate import METHODS
from scalepan.confidence.question import question_text
from scalepan.confidence.requests import AnswerQuestion, AskDecision, AskDecisions, Decided, LabelDecision, Labelled
from scalepan.errors import BoundaryError, InputError, counted, printable
from scalepan.files import write_text_private
from scalepan.inforce import as_sent
from scalepan.names import check_id, check_label
from scalepan.policy import Policy, load_policy
from scalepan.score import Score
from scalepan.store import Store

SHOWN_BAD_ROWS = 20


class Commands(click.Group):
    """A group whose first word may also be a file of factors: `scalepan confidence factors.jsonl`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Anything that is not a command is the input of `score`."""
        if args and args[0] not in self.commands:
            args = ["score", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options without a command are those of `score`."""
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h"):
            args = ["score", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands)
def confidence() -> None:
    """How sure may the agent be, and must a person step in?

    \b
    Examples:
      scalepan confidence factors.jsonl
      echo '{"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}' | scalepan confidence -
      scalepan confidence --query "2 + 2?" --answer 4 --source notes.md
      scalepan confidence pending
    """


@confidence.command()
@click.argument("files", nargs=-1, metavar="[FACTORS.jsonl | -]")
@json_option
@click.option(
    "--aggregate", "method", type=click.Choice(METHODS), help="One number for all rows, as steps of one plan."
)
@click.option("--query", help="With --answer: build the factors from a question and an answer.")
@click.option("--answer", "answer_text", help="The answer to judge.")
@click.option(
    "--source", "sources", multiple=True, type=click.Path(path_type=Path), help="A source of it; more than one is fine."
)
@click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path), help="Draw the score against each factor to this SVG file."
)
@click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it.")
@policy_option
def score(
    files: tuple[str, ...],
    as_json: bool,
    method: str | None,
    query: str | None,
    answer_text: str | None,
    sources: tuple[Path, ...],
    plot_file: Path | None,
    strict: bool,
    policy_file: Path | None,
) -> None:
    """The confidence of each row of factors, the decision, and why.

    Rows are JSON objects with the fields of ConfidenceFactors; what is not given has its default. With --query
    and --answer the factors are judged: by the language model that the policy names, else by stand-ins, which is said.

    \b
    Examples:
      scalepan confidence score factors.jsonl
      scalepan confidence factors.jsonl --json > scores.jsonl
      scalepan confidence steps.jsonl --aggregate weighted
      scalepan confidence --query "Who approves refunds?" --answer "Finance does." --source refunds.md
      scalepan confidence factors.jsonl --plot factors.svg

    \b
    Exit codes:
      0  done; bad rows, if any, were reported on stderr and skipped
      2  bad input: no such file, no good row at all, or a bad row with --strict
    """
    policy = load_policy(policy_file)
    calculator = ConfidenceCalculator(policy)
    if (query is None) != (answer_text is None):
        raise InputError("--query and --answer go together")
    if query is not None and answer_text is not None:
        rows: Iterator[ConfidenceFactors] = iter([_judged(query, answer_text, sources, policy)])
    else:
        rows = _rows(files or ("-",), strict=strict)
    scores: list[Score] = []
    last: ConfidenceFactors | None = None
    for last in rows:
        found = calculator.calculate(last)
        if method is not None:
            scores.append(found)
        elif as_json:
            show_json(json_row(found, calculator))
        else:
            show(*explanation(found, calculator), "")
    if last is None:
        raise InputError("no good row in it", file=", ".join(files) or "stdin")
    if method is not None:
        _show_aggregate(ConfidenceAggregator(policy).aggregate(scores, method), calculator, as_json=as_json)
    if plot_file is not None:
        from scalepan.confidence.plot import factors_svg

        write_text_private(plot_file, factors_svg(last, policy.confidence))
        complain(f"picture written to {plot_file}")


def json_row(found: ConfidenceScore, calculator: ConfidenceCalculator) -> dict[str, Any]:
    """A score and its decision, as `--json` prints them."""
    decision = calculator.decide_action(found)
    return {
        "value": found.value,
        "level": decision.level.name,
        "action": decision.suggested_action,
        "breakdown": found.breakdown,
        "penalties": found.penalties,
        "parts": found.parts,
        "rules": found.rules,
    }


def explanation(found: Score, calculator: ConfidenceCalculator) -> list[Any]:
    """A score for people: the waterfall, the decision, and whether the thresholds behind it keep a promise."""
    from rich.text import Text

    from scalepan.draw.terminal import score_table

    decision = calculator.decide_action(found)
    style = {"silent": "green", "notify": "cyan", "confirm": "yellow", "escalate": "red"}[decision.level]
    line = Text.assemble(
        (decision.level.name, f"bold {style}"), f"  {decision.suggested_action}: {printable(decision.reason)}"
    )
    return [score_table(found), line, Text(calculator.policy.calibration.note, "dim")]


def _show_aggregate(found: Score, calculator: ConfidenceCalculator, *, as_json: bool) -> None:
    if as_json:
        decision = calculator.decide_action(found)
        bounds = {"bounds": found.details} if found.details is not None else {}
        show_json(
            {
                "value": found.value,
                "level": decision.level.name,
                "action": decision.suggested_action,
                "steps": len(found.parts),
                **bounds,
            }
        )
        return
    show(*explanation(found, calculator))
    if found.details is not None:
        bounds = found.details
        unmeasured = counted(bounds.unmeasured, "step")
        show(f"{unmeasured} without a value; with one it would be {bounds.worst:.3f} to {bounds.best:.3f}")


def _rows(files: tuple[str, ...], *, strict: bool) -> Iterator[ConfidenceFactors]:
    bad = 0
    for file in files:
        name = "stdin" if file == "-" else file
        with open_input(file) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    row = ConfidenceFactors.from_dict(read_json(line))
                except InputError as error:
                    if strict:
                        raise error.at(file=name, line=number) from None
                    bad += 1
                    if bad <= SHOWN_BAD_ROWS:
                        complain(error.at(file=name, line=number))
                    continue
                yield row
    if bad:
        complain(f"{counted(bad, 'bad row')} skipped")


def _judged(query: str, answer: str, sources: tuple[Path, ...], policy: Policy) -> ConfidenceFactors:
    """Factors of an answer, judged; who judged is told on stderr."""
    texts = []
    for source in sources:
        with open_input(str(source)) as stream:
            texts.append(stream.read().decode("utf-8", "replace"))
    judged = judge_answer(query, answer, texts, policy)
    complain(f"judged by {judged.by}: {_said(judged.self_evaluation)}; {_said(judged.coverage)}")
    return ConfidenceFactors(
        source_count=len(texts),
        llm_self_confidence=_or(judged.self_evaluation, policy.confidence.failed_self_eval),
        query_coverage=_or(judged.coverage, 0.0),
    )


def _or(found: Score, default: float) -> float:
    return default if found.value is None else found.value


def _said(found: Score) -> str:
    return f"{found.name} {'not measured: ' + found.reason if found.value is None else f'{found.value:.3f}'}"


_tenant = click.option("--tenant", default="default", show_default=True, help="Whose decisions.")


@confidence.command()
@click.option("--all", "everything", is_flag=True, help="Also decided ones.")
@_tenant
@store_option
@json_option
def pending(everything: bool, tenant: str, store_file: Path | None, as_json: bool) -> None:
    """Questions that are waiting for a person.

    \b
    Examples:
      scalepan confidence pending
      scalepan confidence pending --all --json
    """
    from scalepan.draw.terminal import table

    wanted = AskDecisions(check_label(tenant, "--tenant"), not everything)
    with Store(store_file) as store:
        found: list[Decided] = store.call("confidence.decisions", wanted).decisions
    if as_json:
        for one in found:
            show_json(one)
        return
    if not found:
        click.echo("nothing waits for an answer" if not everything else "nothing was decided yet")
        return
    rows = [
        [
            *(d.id, d.at[:19], d.level, d.state, printable(d.decided_by or ""), d.label or ""),
            question_text(d.call or d.action, d.because),
        ]
        for d in found
    ]
    show(table(["id", "asked", "level", "state", "by", "label", "what"], rows))


@confidence.command()
@click.argument("id_", metavar="ID")
@click.argument("said", type=click.Choice(["yes", "no"]))
@click.option("--why", help="Why; stored with the decision.")
@click.option("--actor", help="Who answers. Default: your user name.")
@_tenant
@store_option
@json_option
def answer(
    id_: str, said: str, why: str | None, actor: str | None, tenant: str, store_file: Path | None, as_json: bool
) -> None:
    """Answer a pending question. Whoever asked cannot; `label` records later whether it was right.

    \b
    Examples:
      scalepan confidence answer dec_1f… yes
      scalepan confidence answer dec_1f… no --why "wrong customer"
    """
    who = check_label(actor or getpass.getuser(), "--actor")
    request = AnswerQuestion(check_id(id_), said == "yes", check_label(tenant, "--tenant"), who, why, redact=as_sent())
    with Store(store_file) as store:
        _refuse_own_question(store.call("confidence.decision", AskDecision(request.id, request.tenant)))
        decided: Decided = store.call("confidence.answer", request)
    if as_json:
        show_json(decided)
    else:
        click.echo(f"{decided.id}  {decided.state} by {printable(decided.decided_by or 'a person')}")


@confidence.command()
@click.argument("id_", metavar="ID")
@click.argument("said", type=click.Choice(["right", "wrong"]))
@click.option("--why", help="Why; stored with the label.")
@click.option("--actor", help="Who says so. Default: your user name.")
@_tenant
@store_option
@json_option
def label(
    id_: str, said: str, why: str | None, actor: str | None, tenant: str, store_file: Path | None, as_json: bool
) -> None:
    """Record whether a decision turned out to be right. An approval alone is not a label.

    \b
    Examples:
      scalepan confidence label dec_1f… right
      scalepan confidence label dec_1f… wrong --why "the order was paid back twice"
    """
    who = check_label(actor or getpass.getuser(), "--actor")
    request = LabelDecision(check_id(id_), said == "right", check_label(tenant, "--tenant"), who, why, redact=as_sent())
    with Store(store_file) as store:
        _refuse_own_question(store.call("confidence.decision", AskDecision(request.id, request.tenant)))
        labelled: Labelled = store.call("confidence.label", request)
    show_json(labelled) if as_json else click.echo(f"{labelled.decision}  {labelled.label}")


def _refuse_own_question(found: Decided) -> None:
    """An agent that runs this command is the process above it; a person's shell is not."""
    if found.process is not None and found.process in _processes_above():
        raise BoundaryError(f"'{found.id}' was asked by {found.asked_by}, which runs this command and cannot answer it")


def _processes_above() -> set[int]:
    """The processes that this one was started by, as far as the system shows them."""
    found: set[int] = set()
    at = os.getppid()
    while at > 1 and at not in found:
        found.add(at)
        try:
            # The name, in parentheses, may hold anything; state and parent come behind it.
            at = int(
                Path(f"/proc/{at}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            )
        except (OSError, ValueError, IndexError):
            break
    return found
