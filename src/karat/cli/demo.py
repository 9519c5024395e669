"""karat demo: Karat at work on sample traces."""

from time import perf_counter

import click

from karat.cli._common import complain, show
from karat.cli.value import explanation, summary_view
from karat.embed import find_encoder
from karat.policy import load_policy
from karat.samples import TRACES
from karat.trace.batch import Summary, value_stream
from karat.trace.readers import BadRow
from karat.trace.value import TraceValuer

EXPLAINED = "kp:trace:customer_service-0003"


@click.command()
def demo() -> None:
    """Values sample traces (English and Japanese, ten domains, some bad), and explains one.

    \b
    Examples:
      karat demo
    """
    from rich.rule import Rule
    from rich.text import Text

    start = perf_counter()
    policy = load_policy()
    encoder = find_encoder(policy.embed)
    valuer = TraceValuer(policy, embedder=encoder)
    show(Rule("What is each trace worth keeping for?"))
    summary = Summary()
    explained = None
    with TRACES.open("rb") as stream:
        for row in value_stream(stream, TRACES.name, valuer):
            summary.add(row)
            if isinstance(row, BadRow):
                complain(row.error)
            elif row.trace.id == EXPLAINED:
                explained = row
    show(*summary_view(summary))
    show(f"{summary.bad} bad rows were reported and skipped", "")
    if explained is not None:
        show(Rule("And why? One of them in full"), *explanation(explained), "")
    name = encoder.model_id if encoder else "none ('karat doctor' shows how to add one)"
    show(Text(f"done in {perf_counter() - start:.1f} s, encoder: {name}", "dim"))
