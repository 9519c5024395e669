"""scalepan demo: Scalepan at work on samples."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import click
import msgspec

from scalepan.cli._common import complain, show
from scalepan.cli._value_views import explanation, summary_view
from scalepan.embed import find_encoder
from scalepan.errors import counted
from scalepan.evals import CaseFile, Evaluator, OutputFile, diagnose
from scalepan.evals.summary import RunSummary
from scalepan.policy import Policy, load_policy
from scalepan.redact import Redactor
from scalepan.samples import CASES, CLAIMS, OUTPUTS, TRACES
from scalepan.trace.batch import Skipped, read_files, value_items
from scalepan.trace.files import input_files
from scalepan.trace.overview.made import overview_of
from scalepan.trace.readers import BadRow
from scalepan.trace.summary import Summary
from scalepan.trace.value import TraceValuer

EXPLAINED = "kp:trace:customer_service-0003"
EXPLAINED_CASE = "minutes-delete-001"
QUESTION = "how do I cancel a subscription?"
QUESTION_JA = "返金は誰が承認する？"


@click.command()
def demo() -> None:
    """Shows all four questions and the gate on samples in English and Japanese; explains one number of each.

    \b
    Examples:
      scalepan demo
    """
    from rich.rule import Rule
    from rich.text import Text

    start = perf_counter()
    policy = load_policy()
    encoder = find_encoder(policy.embed)
    valuer = TraceValuer(policy, embedder=encoder)
    show(Rule("How valuable is each trace?"))
    summary = Summary(policy.value, encoder=encoder is not None)
    explained = None
    for item in value_items(read_files(input_files(TRACES)), valuer):
        if isinstance(item, Skipped):
            continue
        row = item.valued
        if row is None and isinstance(item.row, BadRow):
            summary.add(item.row)
            complain(item.row.error)
        elif row is not None:
            summary.add(row)
            if row.trace.id == EXPLAINED:
                explained = row
    show(*summary_view(overview_of(summary, Redactor(policy.redact)), summary.listing.rows))
    show(f"{counted(summary.rejects.count, 'bad row')} reported and skipped", "")
    if explained is not None:
        show(Rule("And why? One of them in full"), *explanation(explained), "")
    show(Rule("Is the output right? Golden cases against outputs"))
    _judge_outputs(policy)
    show(Rule("What should it recall now? A few claims, one question"))
    _recall(policy)
    show(Rule("How sure may it be: go on, or ask a person?"))
    _decide(policy)
    name = encoder.model_id if encoder else "none ('scalepan doctor' shows how to add one)"
    show(Text(f"done in {perf_counter() - start:.1f} s, encoder: {name}", "dim"))


def _recall(policy: Policy) -> None:
    from scalepan.cli.memory import recall_view
    from scalepan.memory import Memory

    with TemporaryDirectory() as folder, Memory(Path(folder) / "demo.duckdb", policy=policy) as memory:
        with CLAIMS.open("rb") as file:
            added = memory.import_(map(msgspec.json.decode, file))
        cut = sum(sum(one.redacted.values()) for one in added)
        show(f"{counted(len(added), 'claim')} remembered; {counted(cut, 'piece')} of personal data removed before", "")
        found = memory.search(QUESTION, k=4)
        show(f"scalepan memory search {QUESTION!r}", *recall_view(found), "")
        show(*recall_view(memory.search(QUESTION_JA, k=1), explain=True), "")


def _decide(policy: Policy) -> None:
    """Two actions at the gate: one that the evidence carries, and one about which a person is asked."""
    from scalepan.confidence import ConfidenceCalculator, ConfidenceFactors, Gate, Question
    from scalepan.draw.terminal import score_table

    def say_no(question: Question) -> bool:
        show(f"the gate asks:  {question} [y/N] n")
        return False

    gate = Gate(policy, ask=say_no)
    sure = ConfidenceFactors.from_steps([0.95, 0.91], [True, True], ["billing.md", "terms.md"])
    unsure = ConfidenceFactors.from_steps([0.55], [True, {"error": "timeout"}], ["billing.md"])
    show(score_table(ConfidenceCalculator(policy).calculate(unsure)), "")
    for factors, action, args in (
        (sure, "send_receipt", {"order": 17}),
        (unsure, "refund", {"order": 17, "amount": 250}),
        (ConfidenceFactors(llm_self_confidence=0.99, source_count=0), "refund", {"order": 18, "amount": 9999}),
    ):
        show(f"{action}: {gate.check(factors, action, args)}")
    show("")


def _judge_outputs(policy: Policy) -> None:
    from scalepan.cli import _eval_views as views

    evaluator = Evaluator("strict", policy)
    summary = RunSummary()
    lines: list[Any] = []
    with closing(OutputFile(OUTPUTS)) as outputs:
        for case, output, result in evaluator.run(CaseFile(CASES, policy.evals), outputs.get):
            diagnosis = None if result.passed else diagnose(case, output, result, policy.evals)
            summary.add(result, diagnosis)
            if case.id == EXPLAINED_CASE and diagnosis is not None:
                lines = views.explanation(case, output, result, diagnosis)
    show(*views.summary_view(summary), "", *lines, "")
