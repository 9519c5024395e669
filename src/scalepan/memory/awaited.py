"""AsyncMemory: the same memory for async programs. The work is done in threads, so the event loop goes on meanwhile."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import signature
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from scalepan.errors import InputError
from scalepan.memory.memory import Memory
from scalepan.store import Store

P = ParamSpec("P")
R = TypeVar("R")
AT_ONCE = 100
"""How many items an iteration fetches in one go: a thread for each would cost more than the item."""


def _awaited(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate["AsyncMemory", P], Coroutine[Any, Any, R]]:
    """A method of Memory, awaited. `progress` is called in the caller's loop."""
    described = signature(method)

    @wraps(method)
    async def call(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    @wraps(method)
    async def call_with_progress(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = described.bind(self.memory, *args, **kwargs)
        progress = given.arguments.get("progress")
        if progress is not None:
            here = asyncio.get_running_loop()
            given.arguments["progress"] = lambda done: here.call_soon_threadsafe(progress, done)
        return await asyncio.to_thread(method, *given.args, **given.kwargs)

    return call_with_progress if "progress" in described.parameters else call


def _iterated(
    method: Callable[Concatenate[Memory, P], Iterator[R]],
) -> Callable[Concatenate["AsyncMemory", P], AsyncIterator[R]]:
    """A method of Memory that yields, for `async for`."""

    @wraps(method)
    async def call(self: "AsyncMemory", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        items = method(self.memory, *args, **kwargs)
        while some := await asyncio.to_thread(lambda: list(islice(items, AT_ONCE))):
            for item in some:
                yield item

    return call


class AsyncMemory:
    """Memory whose methods are awaited: the same names, arguments and answers; `list` and `export` are iterated.

    A call that is cancelled is no longer waited for, and may still be done: what a thread has begun, it ends.

    >>> import tempfile
    >>> async def recall() -> str:
    ...     async with AsyncMemory(tempfile.mkdtemp() + "/notes.duckdb") as memory:
    ...         await memory.add("Plans are cancelled by POST /subscriptions/{id}/cancel")
    ...         return (await memory.search("how is a plan cancelled?"))[0].text
    >>> asyncio.run(recall())
    'Plans are cancelled by POST /subscriptions/{id}/cancel'
    """

    def __init__(self, path: str | os.PathLike[str] | Store | Memory | None = None, **who: Any) -> None:
        """The arguments of Memory, or a Memory."""
        if isinstance(path, Memory) and who:
            raise InputError(f"the memory already states who asks; give the Memory {', '.join(who)}", path="memory")
        self.memory = path if isinstance(path, Memory) else Memory(path, **who)

    def __repr__(self) -> str:
        return f"Async{self.memory!r}"

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    close = _awaited(Memory.close)
    add = _awaited(Memory.add)  # type: ignore[arg-type] # a keyword `self` would fit its **more
    add_many = _awaited(Memory.add_many)
    search = _awaited(Memory.search)
    activate = _awaited(Memory.activate)
    get = _awaited(Memory.get)
    list = _iterated(Memory.list)
    update = _awaited(Memory.update)
    forget = _awaited(Memory.forget)
    vote = _awaited(Memory.vote)
    undo_vote = _awaited(Memory.undo_vote)
    contradictions = _awaited(Memory.contradictions)
    link = _awaited(Memory.link)
    stats = _awaited(Memory.stats)
    export = _iterated(Memory.export)
    import_ = _awaited(Memory.import_)
    rescan = _awaited(Memory.rescan)
    sweep = _awaited(Memory.sweep)
    backfill = _awaited(Memory.backfill)
    candidates = _awaited(Memory.candidates)
    calibrate = _awaited(Memory.calibrate)
