"""scalepan explain: any number that was kept, made again from what was kept with it."""

from pathlib import Path

import click

from scalepan import receipts
from scalepan.cli._common import complain, json_option, policy_option, show_json, store_option
from scalepan.errors import InputError, NotFoundError, printable
from scalepan.memory import Memory
from scalepan.receipts import Explained, Number
from scalepan.store.request import DEFAULT_PROJECT, DEFAULT_TENANT

EXIT_CODES = {"equal": 0, "changed": 1, "unknown": 3}
NOT_FOUND = 2


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--last", is_flag=True, help="The number that was kept last.")
@json_option
@store_option
@click.option("--tenant", default=DEFAULT_TENANT, envvar="SCALEPAN_TENANT", show_default=True, help="Whose numbers.")
@click.option("--project", default=DEFAULT_PROJECT, envvar="SCALEPAN_PROJECT", show_default=True, help="Which project.")
@click.option("--session", envvar="SCALEPAN_SESSION", help="Which session.")
@policy_option
def explain(
    ids: tuple[str, ...],
    last: bool,
    as_json: bool,
    store_file: Path | None,
    tenant: str,
    project: str,
    session: str | None,
    policy_file: Path | None,
) -> None:
    """Explain a stored number, and recompute it to see whether it is still the same.

    The number is made again from what was kept with it: equal, or what changed. ID is that of a number (scr_…), a
    decision (dec_…), an active context (ac_…), a claim (clm_…), a vote (fb_…), or of the trace or case that
    a number was kept about.

    \b
    Examples:
      scalepan explain dec_1f…
      scalepan explain scr_1f… ac_9x… --json
      scalepan explain kp:trace:42
      scalepan explain --last

    \b
    Exit codes:
      0  equal
      1  something changed
      2  no such number, or bad input
      3  nothing changed, but something cannot be made again; the reason is said
    """
    if bool(ids) == last:
        raise InputError("give the id of a number, or --last")
    codes = []
    with Memory(store_file, tenant=tenant, project=project, session=session, policy=policy_file) as memory:
        for id_ in ids or (None,):
            try:
                found = receipts.explain(memory, id_)
            except NotFoundError as error:
                complain(error)
                codes.append(NOT_FOUND)
                continue
            codes.append(EXIT_CODES[found.status])
            show_json(found) if as_json else click.echo("\n".join(_lines(found)))
    # The gravest counts: no such number, something changed, something cannot be known.
    code = next((code for code in (NOT_FOUND, 1, 3) if code in codes), 0)
    if code:
        raise SystemExit(code)


def _lines(found: Explained) -> list[str]:
    lines: list[str] = []
    if not found.numbers:
        lines.append(f"{found.status}  {printable(found.id)}: there is no number in it")
    for place, number in enumerate(found.numbers):
        lines.append(_headline(number))
        lines += [f"  {printable(str(difference))}" for difference in number.differences]
        if number.reason:
            lines.append(f"  cannot be made again: {printable(number.reason)}")
        following = found.numbers[place + 1 : place + 2]
        if not following or following[0].explanation != number.explanation:
            lines += [f"  {printable(line)}" for line in number.explanation.splitlines()]
    return lines


def _headline(number: Number) -> str:
    about = f", about {number.about}" if number.about else ""
    return f"{number.status}  {number.name} {_shown(number.value)}  " + printable(
        f"{number.id}, kept at {number.at[:19]}{about}"
    )


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.6g}"
