"""scalepan doctor: what is installed, found and missing, and the one command that adds it."""

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from scalepan.cache import Cache
from scalepan.cli._common import json_option, policy_option, show, show_json, store_option
from scalepan.embed import Finding, describe
from scalepan.embed import fetch_model as fetch_from_hub
from scalepan.errors import ScalepanError, printable
from scalepan.policy import Policy, load_policy
from scalepan.policy.load import find_file
from scalepan.store import Store, find_store

BASE_PACKAGES = ("click", "msgspec", "numpy", "platformdirs", "pyyaml", "regex", "rich")
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


@click.command()
@click.option("--fetch-model", metavar="NAME", help="Fetch this encoder from the hub, once. Uses the network.")
@click.option("--judge", "try_judge", is_flag=True, help="Ask the judge one question, and nothing else. Uses the network.")
@json_option
@policy_option
@store_option
def doctor(
    fetch_model: str | None, try_judge: bool, as_json: bool, policy_file: Path | None, store_file: Path | None
) -> None:
    """What is installed, found and missing, and the one command that adds it.

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
        f"{name} is in {folder}\nuse it: put 'embed: {{model: {name}}}' into scalepan.yaml, or SCALEPAN_EMBED__MODEL={name}"
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


def _python() -> Finding:
    where = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "win32":
        return Finding("python", "broken", where, "Scalepan runs on Windows under WSL only")
    return Finding("python", "ok", where)


def _packages() -> list[Finding]:
    findings = []
    for name in BASE_PACKAGES:
        try:
            findings.append(Finding(name, "ok", version(name)))
        except PackageNotFoundError:
            findings.append(Finding(name, "broken", "not installed", "pip install --force-reinstall scalepan"))
    return findings


def _extras() -> list[Finding]:
    return [_extra(name, packages) for name, packages in EXTRAS.items()]


def _extra(name: str, packages: Sequence[str]) -> Finding:
    found, missing = [], []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        return Finding(name, "missing", f"no {', '.join(missing)}", f"pip install 'scalepan[{name}]'")
    return Finding(name, "ok", ", ".join(found))


def _cache() -> Finding:
    cache = Cache()
    probe = {b"scalepan doctor": str(os.getpid()).encode()}
    cache.put(probe)
    if cache.get(probe) != probe:
        return Finding("cache", "missing", f"{cache.path} cannot be written", "set SCALEPAN_CACHE to a folder of your own")
    return Finding("cache", "ok", f"{cache.path}, {cache.path.stat().st_size:,} bytes")


def _policy_and_encoder(policy_file: Path | None) -> list[Finding]:
    try:
        policy = load_policy(policy_file)
    except ScalepanError as error:
        return [Finding("policy", "broken", str(error), "scalepan policy check FILE")]
    return [_policy(policy, policy_file), *describe(policy.embed)]


def _policy(policy: Policy, policy_file: Path | None) -> Finding:
    file = policy_file or find_file(os.environ)
    versions = ", ".join(f"{name} {policy.version(name)}" for name in policy.__struct_fields__)
    return Finding("policy", "ok", f"{file or 'built in'}: {versions}")


def _store(store_file: Path | None) -> Finding:
    """Who owns the store, how large it is, and whether it is sound. One that is not there is not made."""
    from scalepan.store.tables import Nothing

    path = find_store(store_file)
    if not path.exists():
        return Finding("store", "ok", f"{path}: none yet")
    try:
        with Store(path, patience=STORE_SECONDS) as store:
            info = store.call("store.info", Nothing())
            owner = "nobody else" if store.is_owner else store.owner
            store.patience = CHECK_SECONDS
            checked = store.call("store.check", Nothing())
    except ScalepanError as error:
        return Finding("store", "broken", str(error), "stop the process that has it, or restore a backup")
    about = f"{path}: version {info.schema}, DuckDB {info.duckdb}, {info.size:,} bytes, owned by {owner}"
    if checked.problems:
        return Finding("store", "broken", f"{about}; {'; '.join(checked.problems)}", "restore a backup")
    rows = ", ".join(f"{name} {count:,}" for name, count in info.tables.items() if count)
    return Finding("store", "ok", f"{about}; {checked.rows:,} rows read and sound: {rows}")


def _show(findings: list[Finding]) -> None:
    from rich.text import Text

    from scalepan.draw.terminal import table

    show(
        table(
            ["", "what", "found", "what to do"],
            [[Text(*MARKS[f.state]), f.name, printable(f.found), Text(printable(f.advice), "yellow")] for f in findings],
            folding=["found"],
        )
    )
