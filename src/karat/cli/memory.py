"""karat memory: remember, recall, and see why."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec

from karat.cli._common import complain, json_option, open_input, policy_option, progress, show, show_json, store_option
from karat.cli.memory_bench import bench
from karat.errors import InputError, printable, shorten
from karat.memory import Memory
from karat.memory.model import DEFAULT_PROJECT, DEFAULT_PURPOSE, DEFAULT_TENANT, KINDS, SIGNALS
from karat.policy.boundary import CLASSES, SCOPES

SHOWN_TEXT = 90
SHOWN_BAD_ROWS = 20
ADDED_AT_ONCE = 500


class Asker(click.Group):
    """Every command below says who asks; the options stand once, here."""

    def add_command(self, command: click.Command, name: str | None = None) -> None:
        """Register a command with the options that all of them have."""
        for option in reversed(WHO_OPTIONS):
            option(command)
        super().add_command(command, name)


WHO_OPTIONS = [
    store_option,
    click.option("--tenant", default=DEFAULT_TENANT, envvar="KARAT_TENANT", show_default=True, help="Whose memory."),
    click.option(
        "--project", default=DEFAULT_PROJECT, envvar="KARAT_PROJECT", show_default=True, help="Which project."
    ),
    click.option("--session", envvar="KARAT_SESSION", help="Which session; without one, session claims are not seen."),
    click.option("--actor", help="Who does this; goes into provenance and votes."),
    policy_option,
]
purposes_option = click.option(
    "--for",
    "purposes",
    multiple=True,
    default=(DEFAULT_PURPOSE,),
    show_default=True,
    metavar="PURPOSE",
    help="What the answer is for; decides which classes are open. May be given more than once.",
)


def opened(who: dict[str, Any], purposes: tuple[str, ...] = (DEFAULT_PURPOSE,)) -> Memory:
    """The memory that the options mean."""
    return Memory(
        who["store_file"],
        tenant=who["tenant"],
        project=who["project"],
        session=who["session"],
        actor=who["actor"],
        purposes=purposes,
        policy=who["policy_file"],
    )


@click.group(cls=Asker)
def memory() -> None:
    """What should it recall now? Claims, found by words and meaning, weighed by use, certainty and age.

    \b
    Examples:
      karat memory add "Plans are cancelled by POST /subscriptions/{id}/cancel" --kind fact
      karat memory search "how is a plan cancelled?"
      karat memory search "cancel plan" --explain
      karat memory vote clm_1f… helpful
    """


@memory.command()
@click.argument("text", required=False)
@click.option("--file", "file", metavar="FILE", help="Many claims: JSON lines with a 'text' each, or - for stdin.")
@click.option("--kind", type=click.Choice(KINDS), default="fact", show_default=True)
@click.option("--scope", type=click.Choice(SCOPES), default="project", show_default=True)
@click.option("--class", "boundary_class", type=click.Choice(CLASSES), default="internal", show_default=True)
@click.option(
    "--entity", "entities", multiple=True, metavar="[TYPE:]NAME", help="What it is about: Artifact:billing-api."
)
@click.option("--source", help="Where it comes from: a URL or a file.")
@click.option("--confidence", type=float, help="How certain it is, 0 to 1.")
@click.option("--strict", is_flag=True, help="With --file: stop at the first bad row instead of skipping it.")
@json_option
def add(
    text: str | None,
    file: str | None,
    kind: str,
    scope: str,
    boundary_class: str,
    entities: tuple[str, ...],
    source: str | None,
    confidence: float | None,
    strict: bool,
    as_json: bool,
    **who: Any,
) -> None:
    """Remember TEXT, or the claims of a file. Secrets and personal data are cut first; what is known is not kept twice.

    \b
    Examples:
      karat memory add "The staging database is reset every Monday"
      karat memory add "Aoi prefers short answers" --kind preference --scope principle --entity Actor:Aoi
      karat memory add --file notes.jsonl
      some-program | karat memory add --file -
    """
    if (text is None) == (file is None):
        raise InputError("give either TEXT or --file")
    with opened(who) as opened_memory:
        if text is not None:
            claim: dict[str, Any] = {"text": text, "kind": kind, "scope": scope, "boundary_class": boundary_class}
            claim["entities"] = [_entity(entity) for entity in entities]
            claim |= {"provenance": {"source": source}} if source else {}
            claim |= {"confidence": confidence} if confidence is not None else {}
            (added,) = opened_memory.add_many([claim])
            _show_added(added, as_json)
        else:
            _add_file(
                opened_memory,
                file or "-",
                {"kind": kind, "scope": scope, "boundary_class": boundary_class},
                strict,
                as_json,
            )


def _entity(said: str) -> dict[str, str]:
    type_, colon, name = said.partition(":")
    return {"type": type_, "name": name} if colon else {"name": said}


def _show_added(added: Any, as_json: bool) -> None:
    if as_json:
        show_json(added)
    else:
        cut = "".join(f", {count} {kind} cut" for kind, count in added.redacted.items())
        click.echo(f"{added.id}  {'kept' if added.created else 'known already'}, class {added.boundary_class}{cut}")


def _add_file(memory: Memory, file: str, defaults: dict[str, str], strict: bool, as_json: bool) -> None:
    """Remember the claims of a file, a page at a time; bad rows are told and skipped."""
    counts = {True: 0, False: 0}
    size = Path(file).stat().st_size if Path(file).is_file() else None
    with open_input(file) as stream, progress("adding", size) as bar:
        rows = _good_rows(memory, stream, file, defaults, strict)
        while page := list(islice(rows, ADDED_AT_ONCE)):
            for added in memory.add_many(page):
                counts[added.created] += 1
                if as_json:
                    show_json(added)
            if size is not None:
                bar.at(stream.tell())
    if not as_json:
        click.echo(f"{counts[True]:,} kept, {counts[False]:,} known already")
    if not any(counts.values()):
        raise InputError("no good claim in it", file=file)


def _good_rows(
    memory: Memory, stream: Any, file: str, defaults: dict[str, str], strict: bool
) -> Iterator[dict[str, Any]]:
    bad = 0
    for number, row, error in json_rows(stream, "stdin" if file == "-" else file):
        if error is None:
            error = _fault(memory, {**defaults, **row}, file, number)
        if error is None:
            yield {**defaults, **row}
            continue
        if strict:
            raise error
        bad += 1
        if bad <= SHOWN_BAD_ROWS:
            complain(error)
    if bad:
        complain(f"{bad:,} bad rows skipped")


def _fault(memory: Memory, row: dict[str, Any], file: str, number: int) -> InputError | None:
    from karat.memory.memory import new_claim

    try:
        claim = new_claim(row, number - 1)
        if claim.scope == "session" and memory.who.session is None:
            raise InputError("a session claim needs --session", path="scope")
    except InputError as error:
        return error.at(file="stdin" if file == "-" else file, line=number)
    return None


def json_rows(stream: Any, name: str) -> Iterator[tuple[int, Any, InputError | None]]:
    """Lines of JSON objects with their numbers; a line that is none comes with its error."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield number, None, InputError(f"not JSON: {error}", file=name, line=number)
            continue
        if isinstance(row, dict):
            yield number, row, None
        else:
            yield number, None, InputError("expected an object", file=name, line=number)


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
            click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds."),
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
def search(query: str, **options: Any) -> None:
    """The best claims for QUERY, best first, with the reason for each.

    \b
    Examples:
      karat memory search "how is a plan cancelled?"
      karat memory search "解約" -k 3 --explain
      karat memory search "cancel plan" --why clm_9f2c…
      karat memory search "who to call?" --for tool:contact-lookup --json
    """
    _recall("search", query, **options)


@memory.command()
@click.argument("query")
@_recall_options
def activate(query: str, **options: Any) -> None:
    """The same, kept as an active context: only claims that reach the threshold, for a day.

    \b
    Examples:
      karat memory activate "prepare the release of billing" --max-tokens 1000 --json
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
    **who: Any,
) -> None:
    with opened(who, purposes) as opened_memory:
        ask = opened_memory.activate if action == "activate" else opened_memory.search
        found = ask(query, k, alpha=alpha, max_tokens=max_tokens, scopes=scopes or None, kinds=kinds or None, why=why)
    if as_json:
        show_json(found.to_dict())
        return
    show(*recall_view(found, explain=explain))
    if why:
        click.echo(f"{why}: {found.why}")


def recall_view(found: Any, *, explain: bool = False) -> list[Any]:
    """A recall for people: the claims, and what the recall itself was like."""
    from rich.text import Text

    from karat.draw.terminal import score_table, table, value_style

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
    lines.append(
        Text(
            f"{len(found)} of {found.candidates} candidates, alpha {found.alpha:g} ({found.why_alpha}), {levels}, "
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
      karat memory get clm_9f2c…
    """
    with opened(who, purposes) as opened_memory:
        found = opened_memory.get(claim)
    if as_json:
        show_json(found)
        return
    from karat.draw.terminal import table

    show(table(["", ""], [[name, printable(_shown(value))] for name, value in msgspec.to_builtins(found).items()]))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@memory.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="Only these scopes.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds.")
@purposes_option
@json_option
def list_(
    limit: int, scopes: tuple[str, ...], kinds: tuple[str, ...], purposes: tuple[str, ...], as_json: bool, **who: Any
) -> None:
    """Claims, last changed first.

    \b
    Examples:
      karat memory list --kind preference
      karat memory list --limit 1000 --json
    """
    from karat.draw.terminal import table

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
      karat memory forget clm_9f2c… clm_77aa…
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
      karat memory vote clm_9f2c… helpful
      karat memory vote clm_9f2c… duplicate --of clm_77aa…
      karat memory vote --undo fb_12ab…
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
        click.echo(
            f"{voted.id}  {voted.claim}: utility {voted.utility:+.3f}, confidence {voted.confidence:.3f}{merged}"
        )


@memory.command("export")
@click.argument("file", default="-", type=click.Path(allow_dash=True))
def export(file: str, **who: Any) -> None:
    """Write every claim of the project as JSON lines, to FILE or standard output.

    \b
    Examples:
      karat memory export notes.jsonl
    """
    count = 0
    with opened(who) as opened_memory, click.open_file(file, "wb") as out:
        for claim in opened_memory.export():
            out.write(msgspec.json.encode(claim) + b"\n")
            count += 1
    complain(f"{count:,} claims written{'' if file == '-' else f' to {file}'}")


@memory.command("import")
@click.argument("file")
@click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it.")
@json_option
def import_(file: str, strict: bool, as_json: bool, **who: Any) -> None:
    """Take in claims that were exported, ids and times included.

    \b
    Examples:
      karat memory import notes.jsonl --project other
    """
    with opened(who) as opened_memory:
        _add_file(opened_memory, file, {}, strict, as_json)


@memory.command()
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
      karat memory calibrate queries.jsonl
      karat memory calibrate --method platt --dry-run
    """
    from karat.draw.terminal import table
    from karat.memory.calibrate import FEWEST, read_labelled

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
        "not kept" if dry_run else "kept in the project's policy: 'karat policy history' shows it",
    )


def _raised(error: InputError | None) -> bool:
    if error is not None:
        raise error
    return False


@memory.command()
@click.option(
    "--embed", is_flag=True, help="Also embed what has no vector, or everything if the encoder is another one."
)
@json_option
def rescan(embed: bool, as_json: bool, **who: Any) -> None:
    """Redact everything once more, after a rule changed.

    \b
    Examples:
      karat memory rescan
      karat memory rescan --embed
    """
    embedded = 0
    with opened(who) as opened_memory:
        total = opened_memory.stats().claims
        with progress("rescanning", total) as bar:
            looked_at, changed = opened_memory.rescan(bar.at)
        if embed:
            with progress("embedding", total) as bar:
                embedded = opened_memory.backfill(anew=True, progress=bar.at)
    if as_json:
        show_json({"looked_at": looked_at, "changed": changed, "embedded": embedded})
    else:
        click.echo(f"{looked_at:,} looked at, {changed:,} changed{f', {embedded:,} embedded' if embed else ''}")


@memory.command()
@json_option
def stats(as_json: bool, **who: Any) -> None:
    """What the project's memory is like: counts by kind, scope and class, votes, fallbacks.

    \b
    Examples:
      karat memory stats
    """
    from karat.draw.terminal import table

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


@memory.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True)
@json_option
def sql(query: str, limit: int, as_json: bool, **who: Any) -> None:
    """Ask the store anything with a SELECT, while others use it. It sees every tenant, and can change nothing.

    \b
    Examples:
      karat memory sql "SELECT kind, count(*) FROM claims GROUP BY kind"
      karat memory sql "SELECT ts, topic, payload FROM events ORDER BY ts DESC LIMIT 5" --json
    """
    from karat.draw.terminal import table
    from karat.store.tables import Query

    with opened(who) as opened_memory:
        found = opened_memory.store.call("store.sql", Query(query, limit))
    if as_json:
        for row in found.rows:
            show_json(dict(zip(found.columns, row, strict=True)))
        return
    show(table(found.columns, [[printable(_shown(value)) for value in row] for row in found.rows]))
    if found.more:
        complain(f"the first {limit:,} rows; --limit shows more")


memory.add_command(bench)
