"""scalepan value: how valuable each trace is."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from scalepan.cli._common import (
    BAD_INPUT,
    complain,
    json_option,
    policy_option,
    progress,
    show,
    show_json,
    store_option,
)
from scalepan.cli._hooks import HOOKS, run_hook
from scalepan.cli._keep import keep_option, kept
from scalepan.cli._value_outputs import FORMATS, Outputs, outputs
from scalepan.cli._value_views import explanation, short_id, summary_view
from scalepan.embed import find_encoder
from scalepan.errors import InputError, counted, printable
from scalepan.files import write_text_private
from scalepan.policy import Policy, load_policy
from scalepan.score import Score
from scalepan.trace.batch import Skipped, TraceItem, read_files, value_items
from scalepan.trace.files import InputFile, input_files
from scalepan.trace.overview.listing import FOR_PAGE, FOR_SCREEN
from scalepan.trace.readers import BadRow
from scalepan.trace.summary import Summary
from scalepan.trace.value import TraceValuer
from scalepan.trace.valued import Valued

SHOWN_BAD_ROWS = 20
STDIN = "-"


@click.command()
@click.argument("files", nargs=-1, metavar="[FILES... | FOLDERS... | -]")
@json_option
@click.option("--details", is_flag=True, help="With --json: add where each part's value comes from, and the evidence.")
@click.option(
    "--format", "format_", metavar="NAME", help="Format of the files, where it is not to be found by their content."
)
@click.option(
    "--embedder", metavar="NAME", help="none, minilm, or a folder with an ONNX encoder. Default: the policy's."
)
@click.option("--domains", is_flag=True, help="Each trace under all weight profiles.")
@click.option("--explain", "explain_id", metavar="ID", help="One trace in full: what was weighed, what changed it.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a report with pictures to this file.")
@click.option(
    "--summary", "summary_file", type=click.Path(path_type=Path), help="Write the summary as JSON to this file."
)
@click.option("--out", type=click.Path(path_type=Path), help="Write a row per trace to this file: .jsonl or .parquet.")
@click.option("--resume", is_flag=True, help="With --out: continue a run that was stopped.")
@click.option("--rejects", type=click.Path(path_type=Path), help="Write the bad records and the reasons to this file.")
@click.option("--kept", "kept_file", type=click.Path(path_type=Path), help="Write the traces that pass the gate here.")
@click.option(
    "--events", metavar="FILE|URL", help="Write OpenTelemetry events to this file, or send them to this OTLP address."
)
@click.option("--to", "to", type=click.Choice(FORMATS), help="Print the traces in another format, or write to --out.")
@click.option(
    "--hook", type=click.Choice(HOOKS), help="Value the session that an agent's hook names on standard input."
)
@click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it.")
@keep_option
@store_option
@policy_option
def value(
    files: tuple[str, ...],
    as_json: bool,
    details: bool,
    format_: str | None,
    embedder: str | None,
    domains: bool,
    explain_id: str | None,
    html_file: Path | None,
    summary_file: Path | None,
    out: Path | None,
    resume: bool,
    rejects: Path | None,
    kept_file: Path | None,
    events: str | None,
    to: str | None,
    hook: str | None,
    strict: bool,
    keep: bool,
    store_file: Path | None,
    policy_file: Path | None,
) -> None:
    """How valuable each trace is, from 0 to 1, and why.

    Reads traces and logs of other tools from FILES, folders or standard input, plain or compressed; the format is found
    by content. Each trace is compared with the ones before it.

    \b
    Examples:
      scalepan value ~/.claude/projects
      scalepan value traces.jsonl --explain kp:trace:42
      scalepan value 'logs/**/*.jsonl.gz' --out values.parquet --rejects bad.jsonl
      cat traces.jsonl | scalepan value --json - > values.jsonl
      scalepan value ~/.claude/projects --html report.html --summary summary.json
      scalepan value ~/.codex/sessions --to atif --out trajectories/
      scalepan value traces.jsonl --kept shared.jsonl
      scalepan value traces.jsonl --events http://127.0.0.1:4318
      scalepan value traces.jsonl --keep && scalepan explain kp:trace:42

    \b
    Exit codes:
      0  done; bad rows, if any, were reported on stderr and skipped
      1  done, but not all events of --events were delivered
      2  bad input: no such file, no good row at all, or a bad row with --strict
      130  stopped; what was written is complete up to there
    """
    if hook is not None:
        run_hook(hook, out=out, keep=keep, store_file=store_file, policy_file=policy_file)
        return
    overrides = {"embed": {"model": embedder}} if embedder else {}
    policy = load_policy(policy_file, overrides=overrides)
    found = _input_files(files or (STDIN,))
    encoder = find_encoder(policy.embed) if to is None else None
    valuer = TraceValuer(policy, embedder=encoder)
    with ExitStack() as stack:
        written = outputs(stack, policy, out=out, resume=resume, rejects=rejects, kept=kept_file, events=events, to=to)
        if keep and resume:
            raise click.UsageError("--keep and --resume do not go together: kept numbers are not looked up again")
        screen = explain_id is None and not domains and not as_json and not (to is not None and out is None)
        summary = None
        if screen or html_file is not None or summary_file is not None:
            sizes = FOR_PAGE if html_file is not None else FOR_SCREEN
            summary = Summary(policy.value, encoder=encoder is not None, sizes=sizes)
        rows = _good_rows(found, valuer, format_, written, summary, strict=strict)
        if keep:
            from scalepan.receipts import value_receipt

            model = encoder.model_id if encoder is not None else None
            rows = kept(rows, lambda row: value_receipt(row.trace, row.score, policy, model=model), store_file)
        if explain_id is not None:
            _explain(rows, explain_id, as_json=as_json)
        elif domains:
            _show_domains(rows, valuer, as_json=as_json)
        elif as_json:
            for row in rows:
                show_json(json_row(row, details=details))
        else:
            for _ in rows:
                pass
        if summary is not None:
            if written.before:
                complain(f"{counted(written.before, 'row')} of an earlier run are not in the summary")
            _show_summary(summary, policy, html_file, summary_file, screen=screen)


def json_row(row: Valued, *, details: bool = False) -> dict[str, Any]:
    """A valued trace as `--json` prints it."""
    score = row.score
    data = {
        "id": row.trace.id,
        "value": score.value,
        "parts": {part.name: part.value for part in score.parts},
        "weights": {part.name: part.weight for part in score.parts},
        "rules": score.rules,
        "status": score.status,
        "gate": score.details.gate,
    }
    if details:
        data["sources"] = {part.name: {"source": part.source, "note": part.note} for part in score.parts}
        data["details"] = score.details
        data["policy"] = score.policy
    return data


def _good_rows(
    files: list[InputFile],
    valuer: TraceValuer,
    format_: str | None,
    written: Outputs,
    summary: Summary | None,
    *,
    strict: bool,
) -> Iterator[Valued]:
    """The traces of all files, each written where the user wants it; bad ones are reported and skipped."""
    good = bad = skipped = 0
    for item in _items(files, valuer, format_, written, strict=strict):
        if isinstance(item, Skipped):
            skipped += 1
            continue
        row = item.valued
        if row is not None:
            good += 1
            written.add(item, row)
            if summary is not None:
                summary.add(row, item.file, item.row.line)
            yield row
        elif isinstance(item.row, BadRow):
            bad += 1
            written.reject(item)
            if summary is not None:
                summary.add(item.row)
            if bad <= SHOWN_BAD_ROWS:
                complain(item.row.error)
    written.finish(file.name for file in files)
    if summary is not None:
        summary.skipped = skipped
    _conclude(files, good, bad, skipped, written.before)


def _input_files(names: tuple[str, ...]) -> list[InputFile]:
    found = input_files(names)
    if not found:
        raise InputError("has no file that could be a log", file=", ".join(names[:3]))
    return found


def _conclude(files: list[InputFile], good: int, bad: int, skipped: int, before: int) -> None:
    """What was left out. No good row at all is an error."""
    if skipped:
        complain(f"{counted(skipped, 'file')} in folders skipped: no format that can be read")
    nothing = not good and not before
    if nothing and bad == 1:
        raise SystemExit(BAD_INPUT)  # the one line about it says all
    if bad:
        hidden = f", the first {SHOWN_BAD_ROWS} shown" if bad > SHOWN_BAD_ROWS else ""
        complain(f"{counted(bad, 'bad row')} of {before + good + bad:,} skipped{hidden}")
    if nothing:
        problem = "no good trace in it" if bad else "no trace in it"
        raise InputError(problem, file=", ".join(file.name for file in files[:3]) or None)


def _items(
    files: list[InputFile], valuer: TraceValuer, format_: str | None, written: Outputs, *, strict: bool
) -> Iterator[TraceItem | Skipped]:
    """Every item with its value, except those that an earlier run has written."""
    with progress("valuing", sum(file.size for file in files), "traces") as bar:
        items = read_files(files, format=format_, position=bar.at if bar.wanted else None)
        for item in value_items(written.unwritten(items, valuer), valuer, strict=strict):
            if not (isinstance(item, TraceItem) and written.has(item)):
                yield item
            bar.count()


def _explain(rows: Iterator[Valued], wanted: str, *, as_json: bool) -> None:
    found = _wanted(rows, short_id(wanted).removesuffix("…"))
    if found is None:
        raise InputError(f"no trace '{wanted}' in the input")
    if as_json:
        show_json(json_row(found, details=True))
    else:
        show(*explanation(found))


def _wanted(rows: Iterator[Valued], wanted: str) -> Valued | None:
    """The trace with this id; else the only one whose id begins so."""
    beginning: list[Valued] = []
    for row in rows:
        id_ = short_id(row.trace.id)
        if id_ == wanted:
            return row
        if id_.startswith(wanted) and len(beginning) < 2:
            beginning.append(row)
    if len(beginning) > 1:
        first, second = (printable(short_id(row.trace.id)) for row in beginning)
        raise InputError(f"'{wanted}' is the beginning of more than one id: {first}, {second}")
    return beginning[0] if beginning else None


def _show_domains(rows: Iterator[Valued], valuer: TraceValuer, *, as_json: bool) -> None:
    for row in rows:
        scores = valuer.by_profile(row.trace, row.score)
        if as_json:
            show_json({"id": row.trace.id, "domains": {name: score.value for name, score in scores.items()}})
        else:
            click.echo("\n".join([printable(row.trace.id), *_domain_lines(scores), ""]))


def _domain_lines(scores: dict[str, Score]) -> list[str]:
    width = max(map(len, scores)) + 1
    return [f"  {printable(name) + ':':<{width}} {float(score):.3f}" for name, score in scores.items()]


def _show_summary(
    summary: Summary, policy: Policy, html_file: Path | None, summary_file: Path | None, *, screen: bool
) -> None:
    from scalepan.redact import Redactor
    from scalepan.trace.overview.made import overview_of

    redactor = Redactor(policy.redact)
    overview = overview_of(summary, redactor)
    if screen:
        few = summary.count <= FOR_SCREEN.whole
        show(*summary_view(overview, summary.listing.rows if few else []))
    if summary_file is not None:
        import msgspec

        write_text_private(summary_file, msgspec.json.format(msgspec.json.encode(overview)).decode() + "\n")
        complain(f"summary written to {summary_file}")
    if html_file is not None:
        from scalepan.trace.report import report_page

        write_text_private(html_file, report_page(overview, summary, redactor))
        complain(f"report written to {html_file}")
