"""Where outputs come from, if not from a file: a Python callable, or a shell command per case."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import msgspec

from karat.errors import InputError, shorten
from karat.evals.cases import Case, Output

_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def as_task(
    task: str | Callable[[Case], Any], *, timeout_s: float = 60.0, retries: int = 0
) -> Callable[[Case], Output]:
    """A function that makes an output of a case. It never raises: what goes wrong is the output's error.

    `task` is a callable, `module:name` of one, or a shell command in which `{id}` stands for the case's id. A command
    gets the case as JSON on standard input and prints the output as JSON; any other text is the output as it is.
    """
    once = (
        _command(task, timeout_s) if isinstance(task, str) and not _CALLABLE.fullmatch(task) else _call(_loaded(task))
    )

    def produce(case: Case) -> Output:
        for attempt in range(retries + 1):
            start = perf_counter()
            output = once(case)
            if output.duration_ms is None:
                output = msgspec.structs.replace(output, duration_ms=(perf_counter() - start) * 1000.0)
            if not output.error or attempt == retries:
                break
        return output

    return produce


def _loaded(task: str | Callable[[Case], Any]) -> Callable[[Case], Any]:
    if not isinstance(task, str):
        return task
    module, _, name = task.partition(":")
    try:
        loaded: Callable[[Case], Any] = getattr(import_module(module), name)
    except Exception as error:
        raise InputError(f"task '{task}' cannot be loaded: {error}") from None
    if not callable(loaded):
        raise InputError(f"task '{task}' is not a function")
    return loaded


def _call(function: Callable[[Case], Any]) -> Callable[[Case], Output]:
    def once(case: Case) -> Output:
        try:
            return as_output(case, function(case))
        except Exception as error:
            return Output(id=case.id, error=f"the task raised {type(error).__name__}: {shorten(str(error), 200)}")

    return once


def as_output(case: Case, made: Any) -> Output:
    """What a task returned: an Output, an object with an Output's keys, or the output itself."""
    if isinstance(made, Output):
        return msgspec.structs.replace(made, id=case.id)
    if isinstance(made, dict) and made.keys() & {"operations", "output", "error"}:
        return msgspec.convert({**made, "id": case.id}, Output)
    return Output(id=case.id, output=made)


def _command(command: str, timeout_s: float) -> Callable[[Case], Output]:
    def once(case: Case) -> Output:
        line = command.replace("{id}", shlex.quote(case.id))
        # A session of its own, so that a time limit ends whatever the command has started.
        process = subprocess.Popen(  # noqa: S602 - the user's own command line
            line,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(msgspec.json.encode(case), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Output(id=case.id, error=f"the task took longer than {timeout_s:g} s")
        if process.returncode:
            said = err.decode(errors="replace").strip().splitlines()
            reason = f": {shorten(said[-1], 200)}" if said else ""
            return Output(id=case.id, error=f"the task ended with code {process.returncode}{reason}")
        return _read(case, out)

    return once


def _read(case: Case, out: bytes) -> Output:
    text = out.decode(errors="replace").strip()
    try:
        made = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        made = text
    try:
        return as_output(case, made)
    except msgspec.ValidationError as error:
        return Output(id=case.id, error=f"the task's output does not fit: {error}")
