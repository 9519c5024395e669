"""scalepan doctor: what is installed, found and missing, and the one command that adds it."""

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from scalepan.cache import Cache
from scalepan.cli._common import json_option, policy_option, show, show_json, store_option
from scalepan.embed import SetupFinding, describe
from scalepan.embed import fetch_model as fetch_from_hub
from scalepan.errors import ScalepanError, counted, printable
from scalepan.policy import Layer, Policy, load_policy, resolve
from scalepan.policy.load import all_layers
from scalepan.policy.trust import watched
from scalepan.store import Store, find_store
from scalepan.store.duckdb.schema import log_path

BASE_PACKAGES = (
    *("click", "duckdb", "msgspec", "nanoarrow", "numpy", "platformdirs", "pystemmer", "pyyaml", "regex", "rich"),
)
EXTRAS = {
    "search": ("duckdb-extension-fts", "duckdb-extension-vss"),
    "judge": ("httpx2",),
    "mcp": ("mcp",),
    "serve": ("mcp", "starlette", "uvicorn", "httptools"),
    "ja": ("sudachipy", "sudachidict-core"),
}
"""What else there is to install; encoder and store have more to say, and lines of their own."""
MARKS = {"ok": ("✓", "green"), "missing": ("–", "yellow"), "broken": ("✗", "red")}
BROKEN = 1
STORE_SECONDS = 5.0
CHECK_SECONDS = 600.0
MEMORY_TABLES = (
    "claims",
    "claim_vectors",
    "claim_entities",
    "entities",
    "feedbacks",
    "relations",
    "active_context_items",
)


@click.command()
@click.option("--fetch-model", metavar="NAME", help="Fetch this encoder from the hub, once. Uses the network.")
@click.option(
    "--judge", "try_judge", is_flag=True, help="Ask the judge one question, and nothing else. Uses the network."
)
@json_option
@policy_option
@store_option
def doctor(
    fetch_model: str | None, try_judge: bool, as_json: bool, policy_file: Path | None, store_file: Path | None
) -> None:
    """What is installed, found and missing, and the command that adds it.

    \b
    Examples:
      scalepan doctor
      scalepan doctor --json
      scalepan doctor --fetch-model intfloat/multilingual-e5-small
      scalepan doctor --judge

    \b
    Exit codes:
      0  Scalepan works; what is missing is optional
      1  something is broken, a model could not be fetched, or the judge does not answer
    """
    if fetch_model:
        _fetch(fetch_model)
        return
    if try_judge:
        _try_judge(policy_file, as_json=as_json)
        return
    findings = [_python(), *_packages(), *_extras(), _cache(), *_policy_and_encoder(policy_file), _store(store_file)]
    if as_json:
        for finding in findings:
            show_json(finding._asdict())
    else:
        _show(findings)
    if any(finding.state == "broken" for finding in findings):
        raise SystemExit(BROKEN)


def _fetch(name: str) -> None:
    # The hub's own progress bar, where somebody looks.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "0" if sys.stderr.isatty() else "1")
    try:
        folder = fetch_from_hub(name)
    except ScalepanError as error:
        raise click.ClickException(str(error)) from None
    click.echo(
        f"{name} is in {folder}\n"
        f"use it: put 'embed: {{model: {name}}}' into scalepan.yaml, or SCALEPAN_EMBED__MODEL={name}"
    )


def _try_judge(policy_file: Path | None, *, as_json: bool) -> None:
    """One line: what works, or what to do."""
    from scalepan.judge import probe

    finding = probe(load_policy(policy_file))
    if as_json:
        show_json(finding._asdict())
    else:
        text = f"{finding.name}: {finding.found}"
        click.echo(f"{MARKS[finding.state][0]} {printable(f'{text}; {finding.advice}' if finding.advice else text)}")
    if finding.state != "ok":
        raise SystemExit(BROKEN)


def _python() -> SetupFinding:
    where = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return SetupFinding("python", "broken", where, "Scalepan runs on Windows under WSL only")
    return SetupFinding("python", "ok", where)


def _packages() -> list[SetupFinding]:
    findings = []
    for name in BASE_PACKAGES:
        try:
            findings.append(SetupFinding(name, "ok", version(name)))
        except PackageNotFoundError:
            findings.append(SetupFinding(name, "broken", "not installed", "pip install --force-reinstall scalepan"))
    return findings


def _extras() -> list[SetupFinding]:
    return [_extra(name, packages) for name, packages in EXTRAS.items()]


def _extra(name: str, packages: Sequence[str]) -> SetupFinding:
    found, missing = [], []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        return SetupFinding(name, "missing", f"no {', '.join(missing)}", f"pip install 'scalepan[{name}]'")
    return SetupFinding(name, "ok", ", ".join(found))


def _cache() -> SetupFinding:
    cache = Cache()
    probe = {b"scalepan doctor": str(os.getpid()).encode()}
    cache.put(probe)
    if cache.get(probe) != probe:
        return SetupFinding(
            "cache", "missing", f"{cache.path} cannot be written", "set SCALEPAN_CACHE to a folder of your own"
        )
    return SetupFinding("cache", "ok", f"{cache.path}, {cache.path.stat().st_size:,} bytes")


def _policy_and_encoder(policy_file: Path | None) -> list[SetupFinding]:
    try:
        with watched() as ignored:
            layers = all_layers(policy_file)
            policy = resolve(layers)
    except ScalepanError as error:
        return [SetupFinding("policy", "broken", str(error), "scalepan policy check FILE")]
    return [_policy(policy, layers), *map(_not_used, ignored), *describe(policy.embed)]


def _policy(policy: Policy, layers: Sequence[Layer]) -> SetupFinding:
    """Where the policy comes from, in the order of precedence, and its versions."""
    said = ", ".join(f"{layer.origin}{' (found)' if layer.source == 'found' else ''}" for layer in layers)
    versions = ", ".join(f"{name} {policy.version(name)}" for name in policy.__struct_fields__)
    return SetupFinding("policy", "ok", f"{said or 'built in'}: {versions}")


def _not_used(message: str) -> SetupFinding:
    what, _, advice = message.rpartition("; ")
    return SetupFinding("policy", "missing", what, advice)


def _store(store_file: Path | None) -> SetupFinding:
    """Who owns the store, how large it is, and whether it is sound. One that is not there is not made."""
    from scalepan.store.own import Nothing

    try:
        path = find_store(store_file)
        if not os.path.lexists(path) and not log_path(path).exists():
            return SetupFinding("store", "ok", f"{path}: none yet")
        with Store(path, patience=STORE_SECONDS) as store:
            info = store.call("store.info", Nothing())
            owner = "nobody else" if store.is_owner else store.owner
            store.patience = CHECK_SECONDS
            checked = store.call("store.check", Nothing())
            orphans = _orphans(store, info.tables) if not checked.problems else {}
    except ScalepanError as error:
        return SetupFinding("store", "broken", str(error), "stop the process that has it, or restore a backup")
    about = f"{path}: version {info.schema}, DuckDB {info.duckdb}, {info.size:,} bytes, owned by {owner}"
    if checked.problems:
        return SetupFinding("store", "broken", f"{about}; {'; '.join(checked.problems)}", "restore a backup")
    if orphans:
        left = ", ".join(f"{name} {count:,}" for name, count in orphans.items())
        return SetupFinding(
            "store", "broken", f"{about}; rows about claims that are gone: {left}", "scalepan memory rescan"
        )
    rows = ", ".join(f"{name} {count:,}" for name, count in info.tables.items() if count)
    return SetupFinding("store", "ok", f"{about}; {counted(checked.rows, 'row')} read and sound: {rows}")


def _orphans(store: Store, tables: Mapping[str, int]) -> dict[str, int]:
    """What is left of claims that are gone, by table. A store that never had a claim does not load memory for it."""
    from scalepan.store.own import Nothing

    if not any(tables.get(name) for name in MEMORY_TABLES):
        return {}
    found: dict[str, int] = store.call("memory.orphans", Nothing()).rows
    return found


def _show(findings: list[SetupFinding]) -> None:
    from rich.text import Text

    from scalepan.draw.terminal import table

    show(
        table(
            ["", "what", "found", "what to do"],
            [
                [Text(*MARKS[f.state]), f.name, printable(f.found), Text(printable(f.advice), "yellow")]
                for f in findings
            ],
        )
    )
