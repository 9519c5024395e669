"""scalepan memory: remember, recall, and see why."""

from typing import Any

import click
import msgspec

from scalepan.cli._common import json_option, say, show, show_json
from scalepan.cli._memory import Asker, as_text, opened, purposes_option
from scalepan.cli.memory_admin import calibrate, rescan, sql, stats
from scalepan.cli.memory_bench import bench
from scalepan.cli.memory_file import add, export, import_
from scalepan.errors import InputError, counted, printable, shorten
from scalepan.memory.claim import SIGNALS
from scalepan.policy.boundary import SCOPES

SHOWN_TEXT = 90


@click.group(cls=Asker)
def memory() -> None:
    """What should it recall now? Claims, found by words and meaning, weighed by use, certainty and age.

    \b
    Examples:
      scalepan memory add "Plans are cancelled by POST /subscriptions/{id}/cancel" --kind fact
      scalepan memory search "how is a plan cancelled?"
      scalepan memory search "cancel plan" --explain
      scalepan memory vote clm_1f… helpful
    """


for command in (add, bench, calibrate, export, import_, rescan, sql, stats):
    memory.add_command(command)


def _recall_options(command: Any) -> Any:
    for option in reversed(
        [
            click.option(
                "-k", type=click.IntRange(1, 1000), help="How many claims. Default: retrieval.hybrid.k_final."
            ),
            click.option(
                "--alpha", type=click.FloatRange(0, 1), help="0: words only counts; 1: meaning only. Default: by query."
            ),
            click.option(
                "--max-tokens", type=click.IntRange(1), help="Stop when the texts would have more tokens than this."
            ),
            click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="Only these scopes."),
            click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only these kinds."),
            purposes_option,
            click.option("--explain", is_flag=True, help="The waterfall of each score."),
            click.option("--why", metavar="CLAIM", help="Say what became of this claim: why it was not recalled."),
            json_option,
        ]
    ):
        command = option(command)
    return command


@memory.command()
@click.argument("query")
@_recall_options
@click.option("--diverse", is_flag=True, help="Spread the answer out as an active context is: MMR, few an entity.")
def search(query: str, **options: Any) -> None:
    """The best claims for QUERY, best first, with the reason for each.

    \b
    Examples:
      scalepan memory search "how is a plan cancelled?"
      scalepan memory search "解約" -k 3 --explain
      scalepan memory search "cancel plan" --why clm_9f2c…
      scalepan memory search "who to call?" --for tool:contact-lookup --json
    """
    _recall("search", query, **options)


@memory.command()
@click.argument("query")
@_recall_options
def activate(query: str, **options: Any) -> None:
    """The same, kept as an active context: only claims that reach the threshold, for a day.

    \b
    Examples:
      scalepan memory activate "prepare the release of billing" --max-tokens 1000 --json
    """
    _recall("activate", query, **options)


def _recall(
    action: str,
    query: str,
    k: int | None,
    alpha: float | None,
    max_tokens: int | None,
    scopes: tuple[str, ...],
    kinds: tuple[str, ...],
    purposes: tuple[str, ...],
    explain: bool,
    why: str | None,
    as_json: bool,
    diverse: bool = False,
    **who: Any,
) -> None:
    with opened(who, purposes) as opened_memory:
        ask: Any = opened_memory.activate if action == "activate" else opened_memory.search
        more = {"diverse": True} if diverse else {}
        found = ask(
            query, k, alpha=alpha, max_tokens=max_tokens, scopes=scopes or None, kinds=kinds or None, why=why, **more
        )
    if as_json:
        show_json(found.to_dict())
        return
    show(*recall_view(found, explain=explain))
    if why:
        say(f"{why}: {found.why}")


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
                    f"   {one.id}  {one.claim.kind}, {one.claim.scope}, {one.claim.boundary_class}  {one.reason}", "dim"
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
                        Text(one.reason, "dim"),
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
@click.argument("claim")
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
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="Only these scopes.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only these kinds.")
@purposes_option
@json_option
def list_(
    limit: int, scopes: tuple[str, ...], kinds: tuple[str, ...], purposes: tuple[str, ...], as_json: bool, **who: Any
) -> None:
    """Claims, last changed first.

    \b
    Examples:
      scalepan memory list --kind preference
      scalepan memory list --limit 1000 --json
    """
    from scalepan.draw.terminal import table

    with opened(who, purposes) as opened_memory:
        found = list(opened_memory.list(scopes=scopes or None, kinds=kinds or None, limit=limit))
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
@click.argument("claims", nargs=-1, required=True)
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
@click.argument("claim")
@click.argument("signal", type=click.Choice(SIGNALS), required=False)
@click.option("--of", metavar="CLAIM", help="For duplicate: the claim that it repeats.")
@click.option("--context", help="The active context that it was recalled in; calibration learns from it.")
@click.option("--note", help="Why.")
@click.option("--undo", is_flag=True, help="CLAIM is the id of a vote (fb_…) that is taken back.")
@json_option
def vote(
    claim: str,
    signal: str | None,
    of: str | None,
    context: str | None,
    note: str | None,
    undo: bool,
    as_json: bool,
    **who: Any,
) -> None:
    """Say what a claim was worth: helpful, harmful, outdated, or a duplicate of another.

    \b
    Examples:
      scalepan memory vote clm_9f2c… helpful
      scalepan memory vote clm_9f2c… duplicate --of clm_77aa…
      scalepan memory vote --undo fb_12ab…
    """
    if undo == (signal is not None):
        raise InputError("give a SIGNAL, or --undo with the id of a vote")
    with opened(who) as opened_memory:
        voted = (
            opened_memory.undo_vote(claim)
            if undo
            else opened_memory.vote(claim, signal, of=of, context=context, note=note)  # type: ignore[arg-type]
        )
    if as_json:
        show_json(voted)
    else:
        merged = f", merged into {voted.merged_into}" if voted.merged_into else ""
        say(f"{voted.id}  {voted.claim}: utility {voted.utility:+.3f}, confidence {voted.confidence:.3f}{merged}")
