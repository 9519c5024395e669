"""scalepan memory calibrate, contradictions, rescan, stats, sql: looking after what is remembered."""

from typing import Any

import click
import msgspec

from scalepan.cli._common import complain, json_option, open_input, progress, show, show_json
from scalepan.cli._memory import as_text, json_rows, opened, purposes_option
from scalepan.cli._options import given, options_of
from scalepan.errors import InputError, counted, printable, shorten
from scalepan.memory.requests import CONTRADICTIONS


@click.command()
@click.argument("queries", required=False)
@click.option("--method", type=click.Choice(["isotonic", "platt", "quantile"]), default="isotonic", show_default=True)
@click.option("--dry-run", is_flag=True, help="Fit and show, keep nothing.")
@json_option
def calibrate(queries: str | None, method: str, dry_run: bool, as_json: bool, **who: Any) -> None:
    """Fit raw scores to labels: those of QUERIES, or of votes that were given in an active context.

    QUERIES has JSON lines such as {"query": "...", "relevant": ["clm_..."]}. Half of them are fitted; on the others the
    log loss is shown before and after. The curves are kept in the project's policy, with its history.

    \b
    Examples:
      scalepan memory calibrate queries.jsonl
      scalepan memory calibrate --method platt --dry-run
    """
    from scalepan.draw.terminal import table
    from scalepan.memory.calibrate import FEWEST, read_labelled

    labelled = None
    if queries is not None:
        with open_input(queries) as stream:
            rows = [(number, row) for number, row, error in json_rows(stream, queries) if not _raised(error)]
        labelled = read_labelled(rows, queries)
    with opened(who) as opened_memory:
        fitted = opened_memory.calibrate(labelled, method, save=not dry_run)  # type: ignore[arg-type]
    if not fitted:
        raise InputError(
            f"too few labels: at least {FEWEST} candidates to fit and {FEWEST} to test are needed, some relevant"
        )
    if as_json:
        show_json({name: one._asdict() for name, one in fitted.items()})
        return
    show(
        table(
            ["side", "method", "fitted on", "tested on", "log loss before", "after"],
            [
                [
                    name,
                    one.curve.method,
                    f"{one.fitted_on:,}",
                    f"{one.tested_on:,}",
                    f"{one.before:.4f}",
                    f"{one.after:.4f}",
                ]
                for name, one in fitted.items()
            ],
            right=["fitted on", "tested on", "log loss before", "after"],
        ),
        "not kept" if dry_run else "kept in the project's policy: 'scalepan policy history' shows it",
    )


def _raised(error: InputError | None) -> bool:
    if error is not None:
        raise error
    return False


@click.command()
@options_of(CONTRADICTIONS)
@purposes_option
@json_option
def contradictions(purposes: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Pairs of claims that may contradict each other: near texts in which one value differs. Nothing is changed.

    Where the newer one is right, 'scalepan memory update NEWER --supersedes OLDER' says so.

    \b
    Examples:
      scalepan memory contradictions
      scalepan memory contradictions --claim clm_9f2c… --json
    """
    asked = given(CONTRADICTIONS, options)
    with opened(options, purposes) as opened_memory:
        found = opened_memory.contradictions(**asked)
    if as_json:
        show_json(found)
        return
    for pair in found.pairs:
        show(
            f"{pair.newer.id}  {shorten(printable(pair.newer.text), 90)}",
            f"{pair.older.id}  {shorten(printable(pair.older.text), 90)}",
            f"  {printable(pair.evidence)}",
        )
    show(f"{counted(len(found.pairs), 'pair')}; {counted(found.looked_at, 'claim')} looked at")


@click.command()
@click.option(
    "--embed", is_flag=True, help="Also embed what has no vector, or everything if the encoder is another one."
)
@json_option
def rescan(embed: bool, as_json: bool, **who: Any) -> None:
    """Redact everything once more, after a rule changed, and remove what is left of claims that are gone.

    \b
    Examples:
      scalepan memory rescan
      scalepan memory rescan --embed
    """
    embedded = 0
    with opened(who) as opened_memory:
        total = opened_memory.stats().claims
        orphans = sum(opened_memory.sweep().values())
        with progress("rescanning", total) as bar:
            looked_at, changed = opened_memory.rescan(bar.at)
        if embed:
            with progress("embedding", total) as bar:
                embedded = opened_memory.backfill(anew=True, progress=bar.at)
    if as_json:
        show_json({"looked_at": looked_at, "changed": changed, "embedded": embedded, "orphans": orphans})
    else:
        gone = f", {orphans:,} rows about claims that are gone removed" if orphans else ""
        click.echo(f"{looked_at:,} looked at, {changed:,} changed{f', {embedded:,} embedded' if embed else ''}{gone}")


@click.command()
@json_option
def stats(as_json: bool, **who: Any) -> None:
    """What the project's memory is like: counts by kind, scope and class, votes, fallbacks.

    \b
    Examples:
      scalepan memory stats
    """
    from scalepan.draw.terminal import table

    with opened(who) as opened_memory:
        figures = opened_memory.stats()
        place = opened_memory.store.path
    if as_json:
        show_json({"store": str(place), **msgspec.to_builtins(figures)})
        return
    rows = [["store", str(place)]]
    for name, value in msgspec.to_builtins(figures).items():
        shown = ", ".join(f"{key} {count:,}" for key, count in value.items()) if isinstance(value, dict) else value
        rows.append([name.replace("_", " "), "none yet" if shown in (None, "") else str(shown)])
    show(table(["", ""], rows))


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True)
@json_option
def sql(query: str, limit: int, as_json: bool, **who: Any) -> None:
    """Ask the store anything with a SELECT, while others use it. It sees every tenant's tables, and nothing else.

    \b
    Examples:
      scalepan memory sql "SELECT kind, count(*) FROM claims GROUP BY kind"
      scalepan memory sql "SELECT ts, topic, payload FROM events ORDER BY ts DESC LIMIT 5" --json
    """
    from scalepan.draw.terminal import table
    from scalepan.store.own import Query

    with opened(who) as opened_memory:
        found = opened_memory.store.call("store.sql", Query(query, limit))
    if as_json:
        for row in found.rows:
            show_json(dict(zip(found.columns, row, strict=True)))
        return
    show(table(found.columns, [[printable(as_text(value)) for value in row] for row in found.rows]))
    if found.more:
        complain(f"the first {counted(limit, 'row')}; --limit shows more")
