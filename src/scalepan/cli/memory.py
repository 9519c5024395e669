"""scalepan memory: remember, recall, and see why."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from scalepan.cli._common import json_option, say, show, show_json
from scalepan.cli._memory import Asker, as_text, opened, purposes_option
from scalepan.cli._options import given, options_of
from scalepan.cli.memory_admin import calibrate, contradictions, rescan, sql, stats
from scalepan.cli.memory_bench import bench
from scalepan.cli.memory_file import add, export, import_
from scalepan.errors import InputError, counted, printable, shorten
from scalepan.memory.requests import ACTIVATE, FORGET, GET, LIST, SEARCH, UPDATE, VOTE, Ask
from scalepan.store.operation import Operation

if TYPE_CHECKING:
    from scalepan.memory import Recall

SHOWN_TEXT = 90


@click.group(cls=Asker)
def memory() -> None:
    """What should the agent recall now? Claims, ranked by relevance, usefulness, confidence and age.

    \b
    Examples:
      scalepan memory add "Plans are cancelled by POST /subscriptions/{id}/cancel" --kind fact
      scalepan memory search "how is a plan cancelled?"
      scalepan memory search "cancel plan" --explain
      scalepan memory vote clm_1f… helpful
    """


for command in (add, bench, calibrate, contradictions, export, import_, rescan, sql, stats):
    memory.add_command(command)


def _recall_options(command: Any) -> Any:
    explain = click.option("--explain", is_flag=True, help="The waterfall of each score.")
    return purposes_option(explain(json_option(command)))


@memory.command()
@options_of(SEARCH)
@_recall_options
def search(**options: Any) -> None:
    """The best claims for QUERY, best first, with the reason for each.

    \b
    Examples:
      scalepan memory search "how is a plan cancelled?"
      scalepan memory search "解約" -k 3 --explain
      scalepan memory search "cancel plan" --why clm_9f2c…
      scalepan memory search "who to call?" --for tool:contact-lookup --json
    """
    _recall(SEARCH, options)


@memory.command()
@options_of(ACTIVATE)
@_recall_options
def activate(**options: Any) -> None:
    """The same, kept as an active context: only claims that reach the threshold, for a day.

    \b
    Examples:
      scalepan memory activate "prepare the release of billing" --max-tokens 1000 --json
    """
    _recall(ACTIVATE, options)


def _recall(operation: "Operation[Ask, Recall]", options: dict[str, Any]) -> None:
    asked = given(operation, options)
    with opened(options, options["purposes"]) as opened_memory:
        found = (opened_memory.activate if operation is ACTIVATE else opened_memory.search)(**asked)
    if options["as_json"]:
        show_json(found.to_dict())
        return
    show(*recall_view(found, explain=options["explain"]))
    if found.why:
        say(f"{asked['why']}: {found.why}")


def _replaced(claim: Any) -> str:
    return f"; superseded by {claim.superseded_by}" if claim.superseded_by else ""


def recall_view(found: Any, *, explain: bool = False) -> list[Any]:
    """A recall for people: the claims, and what the recall itself was like."""
    from rich.text import Text

    from scalepan.draw.terminal import score_table, table, value_style

    lines: list[Any] = []
    if explain:
        for one in found:
            lines += [
                Text.assemble((f"{one.rank}. ", "bold"), printable(one.text)),
                Text(
                    f"   {one.id}  {one.claim.kind}, {one.claim.scope}, {one.claim.boundary_class}  {one.reason}"
                    f"{_replaced(one.claim)}",
                    "dim",
                ),
                score_table(one.score_final),
                "",
            ]
    elif len(found):
        lines.append(
            table(
                ["", "score", "claim", "text", "why"],
                [
                    [
                        str(one.rank),
                        Text(
                            f"{float(one.score_final):.3f}",
                            "yellow" if one.below_threshold else value_style(float(one.score_final)),
                        ),
                        one.id,
                        shorten(one.text, SHOWN_TEXT),
                        Text(f"{one.reason}{_replaced(one.claim)}", "dim"),
                    ]
                    for one in found
                ],
                right=["", "score"],
            )
        )
    if not len(found):
        lines.append("nothing recalled")
    levels = f"words by {found.text_level or 'nothing'}, meaning by {found.vector_level or 'nothing'}"
    candidates = counted(found.candidates, "candidate")
    lines.append(
        Text(
            f"{len(found)} of {candidates}, alpha {found.alpha:g} ({found.why_alpha}), {levels}, "
            f"{found.took_ms:.1f} ms, policy {found.policy_version}",
            "dim",
        )
    )
    if found.active_context_id:
        lines.append(f"active context {found.active_context_id}, until {found.expires_at}")
    lines += [Text(note, "yellow") for note in found.notes]
    return lines


@memory.command()
@options_of(GET)
@purposes_option
@json_option
def get(claim: str, purposes: tuple[str, ...], as_json: bool, **who: Any) -> None:
    """One claim in full.

    \b
    Examples:
      scalepan memory get clm_9f2c…
    """
    with opened(who, purposes) as opened_memory:
        found = opened_memory.get(claim)
    if as_json:
        show_json(found)
        return
    from scalepan.draw.terminal import table

    show(table(["", ""], [[name, printable(as_text(value))] for name, value in msgspec.to_builtins(found).items()]))


@memory.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many claims at most.")
@options_of(LIST, without=("limit",))
@purposes_option
@json_option
def list_(limit: int, purposes: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Claims, last changed first.

    \b
    Examples:
      scalepan memory list --kind preference
      scalepan memory list --limit 1000 --json
    """
    from scalepan.draw.terminal import table

    asked = given(LIST, options)
    with opened(options, purposes) as opened_memory:
        found = list(opened_memory.list(limit=limit, **asked))
    if as_json:
        for claim in found:
            show_json(claim)
        return
    rows = [
        [
            c.id,
            c.kind,
            c.scope,
            c.boundary_class,
            f"{c.utility:+.2f}",
            f"{c.confidence:.2f}",
            shorten(c.text, SHOWN_TEXT),
        ]
        for c in found
    ]
    show(table(["claim", "kind", "scope", "class", "use", "conf", "text"], rows, right=["use", "conf"]))


@memory.command()
@options_of(UPDATE, without=("provenance", "entities"))
@json_option
def update(as_json: bool, **options: Any) -> None:
    """Change a claim: what is given is new, the rest stays. --clear takes something away.

    \b
    Examples:
      scalepan memory update clm_9f2c… --text "The staging database is reset every Tuesday"
      scalepan memory update clm_9f2c… --valid-until 2026-06-30
      scalepan memory update clm_9f2c… --clear supersedes
    """
    asked = given(UPDATE, options)
    with opened(options) as opened_memory:
        changed = opened_memory.update(**asked)
    show_json(changed) if as_json else say(f"{changed.id}  {shorten(changed.text, SHOWN_TEXT)}")


@memory.command()
@options_of(FORGET)
@json_option
def forget(claims: tuple[str, ...], as_json: bool, **who: Any) -> None:
    """Forget claims, and everything derived from them. It cannot be undone.

    \b
    Examples:
      scalepan memory forget clm_9f2c… clm_77aa…
    """
    with opened(who) as opened_memory:
        count = opened_memory.forget(*claims)
    show_json({"forgotten": count}) if as_json else click.echo(f"{count} forgotten")


@memory.command()
@options_of(VOTE, optional=("signal",))
@click.option("--undo", is_flag=True, help="CLAIM is the id of a vote (fb_…) that is taken back.")
@json_option
def vote(undo: bool, as_json: bool, **options: Any) -> None:
    """Say what a claim was worth: helpful, harmful, outdated, or a duplicate of another.

    \b
    Examples:
      scalepan memory vote clm_9f2c… helpful
      scalepan memory vote clm_9f2c… duplicate --of clm_77aa…
      scalepan memory vote --undo fb_12ab…
    """
    asked = given(VOTE, options)
    if undo == ("signal" in asked):
        raise InputError("give a SIGNAL, or --undo with the id of a vote")
    with opened(options) as opened_memory:
        voted = opened_memory.undo_vote(asked["claim"]) if undo else opened_memory.vote(**asked)
    if as_json:
        show_json(voted)
    else:
        merged = f", merged into {voted.merged_into}" if voted.merged_into else ""
        say(f"{voted.id}  {voted.claim}: utility {voted.utility:+.3f}, confidence {voted.confidence:.3f}{merged}")
