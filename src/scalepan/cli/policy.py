"""scalepan policy: every constant, where it comes from, and what it is for."""

import getpass
import os
from pathlib import Path

import click
import msgspec

from scalepan.cli._common import complain, json_option, policy_option, say, show, show_json, store_option
from scalepan.errors import PolicyError, counted, printable, shorten
from scalepan.policy import Policy, resolve
from scalepan.policy import schema as policy_schema
from scalepan.policy.files import read_file
from scalepan.policy.load import all_layers, leaves
from scalepan.policy.reference import constants, origins
from scalepan.store import Store
from scalepan.yamlfile import read_text

FAILED = 1


@click.group()
def policy() -> None:
    """Every constant of every formula: show, check, compare, and store for tenants.

    \b
    Examples:
      scalepan policy show value
      scalepan policy check scalepan.yaml
      scalepan policy set acme.yaml --tenant acme
    """


@policy.command("show")
@click.argument("section", required=False)
@json_option
@policy_option
def show_policy(section: str | None, as_json: bool, policy_file: Path | None) -> None:
    """The constants in force, all or those of a section or path, and who set each.

    \b
    Examples:
      scalepan policy show
      scalepan policy show value.gate
      scalepan policy show value.gate --json
      SCALEPAN_VALUE__GATE=0.6 scalepan policy show value
      scalepan policy show --json
    """
    layers = all_layers(policy_file)
    resolved = resolve(layers)
    if as_json:
        show_json(_at(resolved, section))
        return
    from rich.text import Text

    from scalepan.draw.terminal import table

    said = origins(layers)
    rows = [c for c in constants(resolved) if not section or c.path == section or c.path.startswith(f"{section}.")]
    if not rows:
        raise _unknown(section or "")
    show(
        table(
            ["key", "value", "legal", "set by", "why"],
            [
                [printable(c.path), printable(c.shown), c.legal, _origin(said.get(c.path, "")), Text(c.why, "dim")]
                for c in rows
            ],
            right=["value"],
        )
    )
    for name in {c.path.split(".")[0]: None for c in rows}:
        show(f"{name}: version {resolved.version(name)}")


@policy.command()
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Whether a policy file is sound; every fault is listed.

    \b
    Examples:
      scalepan policy check scalepan.yaml

    \b
    Exit codes:
      0  sound
      2  not sound, or not there
    """
    try:
        resolved = resolve([read_file(file)])
    except PolicyError as error:
        for line in error.lines:
            complain(line)
        raise SystemExit(2) from None
    versions = ", ".join(f"{name} {resolved.version(name)}" for name in resolved.__struct_fields__)
    say(f"{file}: sound; {versions}")


@policy.command()
@click.argument("one", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path), required=False)
@json_option
def diff(one: Path, other: Path | None, as_json: bool) -> None:
    """What differs between two policy files, or between a file and the built-in policy.

    \b
    Examples:
      scalepan policy diff scalepan.yaml
      scalepan policy diff staging.yaml production.yaml

    \b
    Exit codes:
      0  the same
      1  they differ
      2  bad input
    """
    files = [one, other] if other else [None, one]
    left, right = (dict(leaves(msgspec.to_builtins(resolve([read_file(f)] if f else [])))) for f in files)
    changed = {key: (left.get(key), right.get(key)) for key in {**left, **right} if left.get(key) != right.get(key)}
    if as_json:
        show_json({key: {"from": a, "to": b} for key, (a, b) in changed.items()})
    elif changed:
        from scalepan.draw.terminal import table

        names = [str(f) if f else "built in" for f in files]
        show(table(["key", *names], [[printable(key), _shown(a), _shown(b)] for key, (a, b) in changed.items()]))
    else:
        click.echo("no difference")
    raise SystemExit(FAILED if changed else 0)


@policy.command("set")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--tenant", required=True, help="Whose policy this is.")
@click.option("--project", help="One project of the tenant; without it, all of them.")
@store_option
def set_policy(file: Path, tenant: str, project: str | None, store_file: Path | None) -> None:
    """Keep a policy for a tenant or a project in the store, checked and with its history.

    \b
    Examples:
      scalepan policy set acme.yaml --tenant acme
      scalepan policy set search.yaml --tenant acme --project search
    """
    from scalepan.store.policies import SetPolicy

    read_file(file)
    with Store(store_file) as store:
        request = SetPolicy(read_text(file, again=True), tenant, project, actor=getpass.getuser())
        done = store.call("store.set_policy", request)
        say(f"{store.path}: {done.id}; {done.version}")


@policy.command()
@click.option("--tenant", required=True, help="Whose policy.")
@click.option("--project", help="One project of the tenant.")
@json_option
@store_option
def history(tenant: str, project: str | None, as_json: bool, store_file: Path | None) -> None:
    """What a tenant's or a project's policy was, newest first.

    \b
    Examples:
      scalepan policy history --tenant acme
    """
    from scalepan.store.policies import WhosePolicy

    with Store(store_file) as store:
        changes = store.call("store.policy_history", WhosePolicy(tenant, project)).changes
        if as_json:
            for change in changes:
                show_json(change)
            return
        from scalepan.draw.terminal import table

        rows = [[c.at, c.id, c.actor or "", printable(c.version)] for c in changes]
        show(f"{store.path}: {counted(len(changes), 'change')}", table(["at", "id", "by", "versions"], rows))


@policy.command()
def schema() -> None:
    """The JSON Schema of a policy file, for editors.

    \b
    Examples:
      scalepan policy schema > scalepan-policy.schema.json
    """
    click.echo(msgspec.json.format(msgspec.json.encode(policy_schema()), indent=2).decode())


def _at(policy: Policy, path: str | None) -> object:
    """The whole policy as plain data, each section with its version; or what stands at a path."""
    sections = msgspec.to_builtins(policy)
    found: object = {name: {**sections[name], "version": policy.version(name)} for name in sections}
    while path:
        # A key may have dots of its own: the name of a profile, or of a kind of claim.
        keys = [key for key in found if path == key or path.startswith(f"{key}.")] if isinstance(found, dict) else []
        if not keys or not isinstance(found, dict):
            raise _unknown(path)
        key = max(keys, key=len)
        found, path = found[key], path[len(key) + 1 :]
    return found


def _unknown(path: str) -> PolicyError:
    return PolicyError(f"no constant '{shorten(path)}'; 'scalepan policy show' lists them all")


def _origin(origin: str) -> str:
    """Who set a constant; a file by its shortest name."""
    return min(origin, os.path.relpath(origin), key=len) if os.path.isabs(origin) else origin


def _shown(value: object) -> str:
    return "–" if value is None else printable(str(value))
