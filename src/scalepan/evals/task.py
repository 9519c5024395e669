"""Where outputs come from, if not from a file: a Python callable, an HTTP address, or a shell command per case."""

import inspect
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from time import perf_counter
from typing import IO, Any

import msgspec

from scalepan.errors import InputError, shorten
from scalepan.evals.cases import Case, Output

MOST_PRINTED = 16 * 1024 * 1024
LEFTOVER_SECONDS = 1.0
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def names_code(task: str) -> bool:
    """Whether a task is `module:name`, rather than a command."""
    return _CALLABLE.fullmatch(task) is not None


def is_address(task: str) -> bool:
    """Whether a task is an address, rather than a command or a function."""
    return task.lower().startswith(("http://", "https://"))


def as_task(
    task: str | Callable[[Case], Any], *, timeout_s: float = 60.0, retries: int = 0
) -> Callable[[Case], Output]:
    """A function from a case to its output. It never raises: a failure becomes the output's error.

    `task` is a callable (async too), `module:name` of one, an address that the case is posted to, or a shell command in
    which `{id}` stands for the case's id. A command gets the case as JSON on standard input and prints the output as
    JSON, as an address answers it; any other text is the output itself. None of them sees what is expected.
    """
    if isinstance(task, str) and is_address(task):
        once = _posted(task, timeout_s)
    elif isinstance(task, str) and not names_code(task):
        once = _command(task, timeout_s)
    else:
        once = _call(_loaded(task), timeout_s)

    def produce(case: Case) -> Output:
        case = case.without_answer()
        start = perf_counter()
        output = once(case)
        for _ in range(retries):
            if not output.error:
                break
            start = perf_counter()
            output = once(case)
        if output.duration_ms is None:
            output = msgspec.structs.replace(output, duration_ms=(perf_counter() - start) * 1000.0)
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


def _call(function: Callable[[Case], Any], timeout_s: float) -> Callable[[Case], Output]:
    def once(case: Case) -> Output:
        made: list[Output] = []

        def work() -> None:
            try:
                given = function(case)
                made.append(as_output(case, _awaited(given) if inspect.isawaitable(given) else given))
            except (Exception, SystemExit) as error:
                said = shorten(str(error), 200)
                made.append(Output(id=case.id, error=f"the task raised {type(error).__name__}: {said}"))

        # Python cannot stop a function; one that takes too long keeps running, and nobody waits for it.
        thread = threading.Thread(target=work, name="scalepan-task", daemon=True)
        thread.start()
        thread.join(timeout_s)
        return made[0] if made else _too_long(case, timeout_s)

    return once


def _awaited(given: Awaitable[Any]) -> Any:
    """What an async function gives, in an event loop of its own: every task has its own thread."""
    import asyncio

    async def wait() -> Any:
        return await given

    return asyncio.run(wait())


def _posted(address: str, timeout_s: float) -> Callable[[Case], Output]:
    from scalepan.evals.http_task import HttpTaskError, http_task

    post = http_task(address, timeout_s)

    def ask(case: Case) -> Output:
        try:
            return _read(case, post(_asked(case)))
        except HttpTaskError as error:
            return Output(id=case.id, error=f"the task {error}")

    # Its thread is the limit for the whole answer: a socket's own starts again with every byte.
    return _call(ask, timeout_s)


def _too_long(case: Case, timeout_s: float) -> Output:
    return Output(id=case.id, error=f"the task took longer than {timeout_s:g} s")


def as_output(case: Case, made: Any) -> Output:
    """A task's return value as an Output: an Output, an object with an Output's keys, or the output itself."""
    if isinstance(made, Output):
        return msgspec.structs.replace(made, id=case.id)
    if isinstance(made, dict) and made.keys() & {"operations", "output", "error"}:
        return msgspec.convert({**made, "id": case.id}, Output)
    return Output(id=case.id, output=made)


def _command(command: str, timeout_s: float) -> Callable[[Case], Output]:
    def once(case: Case) -> Output:
        line = command.replace("{id}", shlex.quote(case.id))
        try:
            # Its own session, so that the time limit also ends the processes that the command started.
            process = subprocess.Popen(  # noqa: S602 - the user's own command line
                line,
                shell=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Output(id=case.id, error=f"the task cannot be started: {error}")
        _running.add(process)
        try:
            return _finished(case, process, timeout_s)
        finally:
            _running.discard(process)
            _kill(process)

    return once


def _finished(case: Case, process: "subprocess.Popen[bytes]", timeout_s: float) -> Output:
    """The output of a command that ends in time. Threads read its pipes: a process left behind may hold them open."""
    out, err = _Reader(process.stdout), _Reader(process.stderr)
    feeder = threading.Thread(target=_feed, args=(process.stdin, _asked(case)), daemon=True)
    feeder.start()
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return _too_long(case, timeout_s)
    if out.is_too_much or err.is_too_much:
        return Output(id=case.id, error=f"the task printed more than {MOST_PRINTED:,} bytes")
    if code:
        said = err.text().decode(errors="replace").strip().splitlines()
        reason = f": {shorten(said[-1], 200)}" if said else ""
        return Output(id=case.id, error=f"the task ended with code {code}{reason}")
    return _read(case, out.text())


def _asked(case: Case) -> bytes:
    return msgspec.json.encode({key: value for key, value in msgspec.to_builtins(case).items() if key != "expected"})


class _Reader:
    """Reads a pipe in its own thread and holds the beginning."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._thread = threading.Thread(target=self._work, args=(pipe,), daemon=True)
        self._thread.start()

    def _work(self, pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError), pipe:
            # Read and drop what is beyond the limit, so that the command does not block.
            while piece := os.read(pipe.fileno(), 1 << 16):
                if not self.is_too_much:
                    self._pieces.append(piece)
                self._size += len(piece)

    @property
    def is_too_much(self) -> bool:
        return self._size > MOST_PRINTED

    def text(self) -> bytes:
        # The command has ended. Only a process that it left behind can still hold the pipe.
        self._thread.join(LEFTOVER_SECONDS)
        return b"".join(self._pieces)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError, ValueError), pipe:
        pipe.write(data)


_running: set["subprocess.Popen[bytes]"] = set()


def stop_all() -> None:
    """End every running command: the user pressed Ctrl-C."""
    for process in list(_running):
        _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


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
