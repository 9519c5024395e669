"""scalepan memory bench: how good recall is, and how fast, on a data set or on what is remembered."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scalepan.cli._common import Progress, complain, json_option, open_input, show, show_json
from scalepan.cli._memory import json_rows, opened
from scalepan.errors import InputError, counted
from scalepan.files import write_text_private

if TYPE_CHECKING:
    from scalepan.memory.bench.result import Bench

MISSED = 1


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("-k", type=click.IntRange(1, 1000), default=12, show_default=True, help="How many claims a query gets.")
@click.option(
    "--group", metavar="FIELD", help="With DIR: a field of documents and queries; each query stays within its group."
)
@click.option("--labels", metavar="FILE", help="Queries with their relevant claims instead of pieces of claims.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only N of the queries, the same each time.")
@click.option(
    "--svg", "picture", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw the figures."
)
@click.option("--check", is_flag=True, help="Exit with 1 if a pass line is missed.")
@json_option
def bench(
    folder: Path | None,
    k: int,
    group: str | None,
    labels: str | None,
    limit: int | None,
    picture: Path | None,
    check: bool,
    as_json: bool,
    **who: Any,
) -> None:
    """How good is recall, and how fast? Levels L0 to L3 and the whole hybrid, beside the pass lines.

    With DIR: a data set of JSON lines, corpus*.jsonl (id, title, text), queries*.jsonl (id, text) and qrels*.jsonl
    (qid, doc_id, rel). It is loaded into a store of its own, which is thrown away.

    Without: on the claims of the project, split 8:1:1 by hash. Queries are pieces of the test part's claims; each
    should find its claim and what relations link to it. --labels has JSON lines such as {"query": "...", "relevant":
    ["clm_..."]}. The searches leave events, some activations leave contexts, and the figures are kept as an event.

    \b
    Examples:
      scalepan memory bench
      scalepan memory bench --labels queries.jsonl --check
      scalepan memory bench data/scifact --svg scifact.svg
      scalepan memory bench data/locomo --group conv --limit 200 --json
    """
    from scalepan.memory.bench.run import bench_folder, bench_store

    if folder is None and group is not None:
        raise InputError("--group needs DIR: claims have their project already")
    if folder is not None and labels is not None:
        raise InputError("--labels is for the store's own claims: DIR has its qrels")
    if picture is not None and not picture.absolute().parent.is_dir():
        raise InputError("its folder is not there", file=str(picture))
    stages = _Stages()
    try:
        if folder is not None:
            done = bench_folder(folder, k=k, group=group, limit=limit, policy=who["policy_file"], tell=stages.tell)
        else:
            done = _own(bench_store, k, labels, limit, stages, who)
    finally:
        stages.close()
    if picture is not None:
        write_text_private(picture, drawn(done))
    if as_json:
        show_json(done)
    else:
        show(*view(done))
    if check and done.missed:
        complain(f"missed: {', '.join(line.name for line in done.missed)}")
        sys.exit(MISSED)


def _own(bench_store: Any, k: int, labels: str | None, limit: int | None, stages: "_Stages", who: Any) -> "Bench":
    from scalepan.memory.calibrate import read_labelled

    labelled = None
    if labels is not None:
        rows = []
        with open_input(labels) as stream:
            for number, row, error in json_rows(stream, labels):
                if error is not None:
                    raise error
                rows.append((number, row))
        labelled = read_labelled(rows, labels)
    with opened(who) as memory:
        done: Bench = bench_store(memory, k=k, labelled=labelled, limit=limit, tell=stages.tell)
    return done


class _Stages:
    """A bar for each stage that takes longer than two seconds."""

    def __init__(self) -> None:
        self._stage = ""
        self._bar: Progress | None = None

    def tell(self, stage: str, done: int, total: int) -> None:
        if self._bar is None or stage != self._stage:
            self.close()
            self._stage, self._bar = stage, Progress(stage, total)
        self._bar.at(done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def view(done: "Bench") -> list[Any]:
    """A bench for people: levels, pass lines, and what to know about them."""
    from rich.text import Text

    from scalepan.draw.terminal import table, value_style

    rows: list[list[Any]] = []
    for level in done.levels:
        if level.recall is None or level.ndcg is None or level.p50_ms is None or level.p90_ms is None:
            rows.append([level.level, "", "", "", "", Text(f"not measured: {level.reason}", "yellow")])
            continue
        shares = [Text(f"{share:.3f}", value_style(share)) for share in (level.recall, level.ndcg)]
        rows.append([level.level, *shares, f"{level.p50_ms:.1f}", f"{level.p90_ms:.1f}", Text(level.what, "dim")])
    numbers = [f"Recall@{done.k}", f"nDCG@{done.k}", "p50 ms", "p90 ms"]
    said = {True: ("passed", "green"), False: ("missed", "red"), None: ("not measured", "yellow")}
    lines: list[list[Any]] = [[line.name, line.limit, line.shown, Text(*said[line.passed])] for line in done.lines]
    at_twelve = "" if done.k == 12 else f" The pass lines are for 12, these figures are for {done.k}."
    return [
        f"{done.source}: {counted(done.claims, 'claim')}, {counted(done.queries, 'query', 'queries')}",
        table(["level", *numbers, ""], rows, right=numbers),
        "",
        table(["pass line", "", "measured", ""], lines),
        Text(f"encoder {done.model or 'none'}, policy {done.policy_version}.{at_twelve}", "dim"),
        *(Text(note, "dim") for note in done.notes),
    ]


def drawn(done: "Bench") -> str:
    """The same as a picture."""
    from scalepan.draw.bars import Group, Series, bars_svg
    from scalepan.memory.bench.result import LEAST_NDCG, LEAST_RECALL

    series = [Series(f"Recall@{done.k}", LEAST_RECALL), Series(f"nDCG@{done.k}", LEAST_NDCG)]
    groups = [
        Group(level.level, note=level.reason or "")
        if level.recall is None or level.ndcg is None
        else Group(level.level, (level.recall, level.ndcg))
        for level in done.levels
    ]
    return (
        bars_svg(
            series,
            groups,
            title=f"{Path(done.source).name}: recall by level, {counted(done.queries, 'query', 'queries')}",
        )
        + "\n"
    )
