"""scalepan value: what each trace is worth."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from scalepan.cli._common import (
    complain,
    json_option,
    open_input,
    policy_option,
    progress,
    show,
    show_json,
    store_option,
)
from scalepan.cli._keep import keep_option, kept
from scalepan.embed import find_encoder
from scalepan.errors import InputError, counted, printable, shorten
from scalepan.files import write_text_private
from scalepan.policy import Policy, load_policy
from scalepan.score import Score
from scalepan.trace.batch import Summary, Valued, value_stream
from scalepan.trace.readers import BadRow
from scalepan.trace.value import TraceValuer

SHOWN_BAD_ROWS = 20
SHOWN_ID = 40


@click.command()
@click.argument("files", nargs=-1, metavar="[FILES... | -]")
@json_option
@click.option("--details", is_flag=True, help="With --json: add where each part's value comes from, and the evidence.")
@click.option(
    "--embedder", metavar="NAME", help="none, minilm, or a folder with an ONNX encoder. Default: the policy's."
)
@click.option("--domains", is_flag=True, help="Each trace under all weight profiles.")
@click.option("--explain", "explain_id", metavar="ID", help="One trace in full: what was weighed, what changed it.")
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a report with pictures to this file.")
@click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it.")
@keep_option
@store_option
@policy_option
def value(
    files: tuple[str, ...],
    as_json: bool,
    details: bool,
    embedder: str | None,
    domains: bool,
    explain_id: str | None,
    html_file: Path | None,
    strict: bool,
    keep: bool,
    store_file: Path | None,
    policy_file: Path | None,
) -> None:
    """How valuable each trace is, from 0 to 1, and why.

    Reads traces as JSON lines from FILES, or from standard input. Each is compared with the ones before it.

    \b
    Examples:
      scalepan value traces.jsonl
      cat traces.jsonl | scalepan value --json - > values.jsonl
      scalepan value traces.jsonl --explain kp:trace:42
      scalepan value traces.jsonl --embedder none --domains
      scalepan value traces.jsonl --html report.html
      scalepan value traces.jsonl --keep && scalepan explain kp:trace:42

    \b
    Exit codes:
      0  done; bad rows, if any, were reported on stderr and skipped
      2  bad input: no such file, no good row at all, or a bad row with --strict
    """
    overrides = {"embed": {"model": embedder}} if embedder else {}
    policy = load_policy(policy_file, overrides=overrides)
    encoder = find_encoder(policy.embed)
    valuer = TraceValuer(policy, embedder=encoder)
    rows = _good_rows(files or ("-",), valuer, strict=strict)
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
        _show_summary(rows, html_file, policy)


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


def _good_rows(files: tuple[str, ...], valuer: TraceValuer, *, strict: bool) -> Iterator[Valued]:
    """The rows of all files; bad ones are told and skipped. No good row at all is an error."""
    good = bad = 0
    for row in _all_rows(files, valuer, strict=strict):
        if isinstance(row, BadRow):
            bad += 1
            if bad <= SHOWN_BAD_ROWS:
                complain(row.error)
        else:
            good += 1
            yield row
    if bad:
        hidden = f", the first {SHOWN_BAD_ROWS} shown" if bad > SHOWN_BAD_ROWS else ""
        complain(f"{counted(bad, 'bad row')} of {good + bad:,} skipped{hidden}")
    if not good:
        raise InputError("no good trace in it" if bad else "no trace in it", file=", ".join(files))


def _all_rows(files: tuple[str, ...], valuer: TraceValuer, *, strict: bool) -> Iterator[Valued | BadRow]:
    sizes = {name: os.path.getsize(name) if os.path.isfile(name) else 0 for name in files}
    before = 0
    with progress("valuing", sum(sizes.values())) as bar:
        for name in files:
            with open_input(name) as stream:
                for row in value_stream(stream, "stdin" if name == "-" else name, valuer, strict=strict):
                    yield row
                    if sizes[name]:
                        bar.at(before + stream.tell())
            before += sizes[name]


def short_id(id_: str) -> str:
    """A trace's id as tables show it; `--explain` takes it in either form."""
    return id_.removeprefix("kp:trace:")


def _explain(rows: Iterator[Valued], wanted: str, *, as_json: bool) -> None:
    found = next((row for row in rows if short_id(row.trace.id) == short_id(wanted)), None)
    if found is None:
        raise InputError(f"no trace '{wanted}' in the input")
    if as_json:
        show_json(json_row(found, details=True))
    else:
        show(*explanation(found))


def explanation(row: Valued) -> list[Any]:
    """One trace for people: what it was about, the table, the gate and the evidence."""
    from rich.text import Text

    from scalepan.draw.terminal import score_table

    details = row.score.details
    lines: list[Any] = [
        Text.assemble((printable(row.trace.id), "bold"), f"  {printable(row.trace.task.objective)}"),
        Text(f"domain {printable(details.domain)}, weights of '{details.profile}'", "dim"),
        score_table(row.score),
        Text.assemble("gate   ", str(details.gate)),
    ]
    if details.range:
        lines.append(Text(f"range  {details.range[0]:.3f} to {details.range[1]:.3f}, as not everything is stated"))
    if details.text_length is not None:
        cut = ", of which the encoder saw the beginning" if details.text_cut else ""
        lines.append(Text(f"text   {counted(details.text_length, 'character')}{cut}", "dim"))
    lines.append(Text(f"time   {details.took_ms:.3f} ms", "dim"))
    return lines


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


def _show_summary(rows: Iterator[Valued], html_file: Path | None, policy: Policy) -> None:
    summary = Summary()
    for row in rows:
        summary.add(row)
    show(*summary_view(summary))
    if html_file is not None:
        from scalepan.redact import Redactor
        from scalepan.trace.report import report_page

        write_text_private(html_file, report_page(summary, Redactor(policy.redact)))
        complain(f"report written to {html_file}")


def summary_view(summary: Summary) -> list[Any]:
    """A run for people: the rows (all if few, else the best), how values are spread, how many pass the gate."""
    from rich.text import Text

    from scalepan.draw.terminal import histogram, table, value_style

    whole = summary.count <= len(summary.first)
    rows = summary.first if whole else summary.top
    drawn = table(
        ["trace", "value", "C", "N", "D", "O", "gate", "rules"],
        [
            [
                shorten(short_id(row.trace.id), SHOWN_ID),
                Text(f"{row.value:.3f}", value_style(row.value)),
                *(
                    f"{p.value:.2f}" if p.source == "measured" else Text(f"{p.value:.2f}*", "yellow")
                    for p in row.score.parts
                ),
                row.score.details.gate.verdict,
                ", ".join(rule.name for rule in row.score.rules),
            ]
            for row in rows
        ],
        right=["value", "C", "N", "D", "O"],
    )
    title = "" if whole else f"the best {len(rows)} of {summary.count:,}"
    lines: list[Any] = [Text(title, "bold"), drawn] if title else [drawn]
    lines += ["", Text("how the values are spread", "bold"), histogram(summary.bins)]
    lines.append(
        f"\n{counted(summary.count, 'trace')}, {summary.shared:,} to share, {summary.count - summary.shared:,} to keep"
    )
    if summary.unmeasured:
        counts = ", ".join(f"{name} of {count:,}" for name, count in summary.unmeasured.items())
        lines.append(Text(f"* not measured, a default stands in: {counts}", "yellow"))
    return lines
