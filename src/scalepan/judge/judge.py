"""Judge: text to judged number. Redact, ask, parse, cache; a failure is a Judgement that says so."""

import asyncio
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from time import perf_counter
from typing import Self

import msgspec

from scalepan.cache import Cache
from scalepan.errors import ScalepanError
from scalepan.judge import loop
from scalepan.judge.cached import CachedJudgement, find, keep, key_for
from scalepan.judge.endpoint import CallError, Endpoint, ModelReply
from scalepan.judge.judgement import Judgement, failed
from scalepan.judge.key import key_of
from scalepan.judge.parse import UnreadableError, parse
from scalepan.judge.prompt import Prompt, messages, prompt_of
from scalepan.policy import Policy, load_policy
from scalepan.redact import Redactor

LONGEST_RAW = 4_000
Progress = Callable[[int], None]
"""Called with the number of prompts done."""


class Judge:
    """Asks the language model that the policy names. One per policy is enough: threads and loops may share it.

    >>> Judge(Policy()).ask(Prompt(text="Is this polite? {answer}", values={"answer": "Hi!"})).reason
    'no judge is set: set judge.base_url and judge.model, or SCALEPAN_JUDGE__BASE_URL, SCALEPAN_JUDGE__MODEL'
    """

    def __init__(self, policy: Policy | None = None, *, cache: Cache | None = None) -> None:
        """`cache` says where judgements are cached, if the policy caches them; default: the user's cache."""
        self.policy = policy if policy is not None else load_policy()
        self._judge = self.policy.judge
        self._redactor = Redactor(self.policy.redact)
        self._own_cache = Cache() if self._judge.cache and cache is None else None
        self._cache = (self._own_cache or cache) if self._judge.cache else None
        self.endpoint = Endpoint(self._judge)
        # Nothing to do at exit: the loop closes its connections itself.
        weakref.finalize(self, _let_go, self.endpoint, self._own_cache).atexit = False

    def __repr__(self) -> str:
        return f"Judge({self._judge.model!r} at {self._judge.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def missing(self) -> str:
        """Why no judge can be asked, in one line; empty if one can. Nothing is sent to find out."""
        if not self._judge.base_url or not self._judge.model:
            return (
                "no judge is set: set judge.base_url and judge.model,"
                " or SCALEPAN_JUDGE__BASE_URL, SCALEPAN_JUDGE__MODEL"
            )
        return ""

    def prompt(self, name: str, values: Mapping[str, str | Iterable[str]]) -> Prompt:
        """A prompt of the policy: `evaluate`, `coverage`, `both` or `rubric`, with its values.

        >>> judge = Judge(Policy())
        >>> judge.prompt("both", {"query": "2 + 2?", "answer": "4", "sources": []}).fields
        ('evaluation', 'coverage')
        """
        return prompt_of(self._judge.prompts, name, values)

    def ask(self, prompt: Prompt) -> Judgement:
        """One judgement. Works in a running event loop too, but blocks it; `aask` does not."""
        return loop.wait(self._ask(prompt))

    async def aask(self, prompt: Prompt) -> Judgement:
        """One judgement, awaited."""
        return await loop.await_(self._ask(prompt))

    def ask_many(self, prompts: Iterable[Prompt], progress: Progress | None = None) -> list[Judgement]:
        """Judgements in the order of the prompts. `progress` is called here, in the caller's thread."""
        if progress is None:
            return loop.wait(self._ask_many(list(prompts), _ignore))
        told: SimpleQueue[int | None] = SimpleQueue()
        future = loop.LOOP.submit(self._ask_many(list(prompts), told.put))
        future.add_done_callback(lambda _: told.put(None))
        try:
            while (done := told.get()) is not None:
                progress(done)
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def aask_many(self, prompts: Iterable[Prompt], progress: Progress | None = None) -> list[Judgement]:
        """The same, awaited. `progress` is called in the caller's loop."""
        here = asyncio.get_running_loop()

        def tell(done: int) -> None:
            if progress is not None:
                here.call_soon_threadsafe(progress, done)

        return await loop.await_(self._ask_many(list(prompts), tell))

    def close(self) -> None:
        """Close the connections and the cache's file; the next question opens them again."""
        if self.endpoint.is_open:
            loop.wait(self.endpoint.close())
        if self._own_cache is not None:
            self._own_cache.close()

    async def _ask_many(self, prompts: Sequence[Prompt], tell: Progress) -> list[Judgement]:
        batch = _Batch(prompts)
        workers = min(self._judge.concurrency, len(prompts))
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work(batch, tell))
        return [judgement for judgement in batch.results if judgement is not None]

    async def _work(self, batch: "_Batch", tell: Progress) -> None:
        for index, prompt in batch.waiting:
            batch.results[index] = await self._ask(prompt, batch)
            batch.done += 1
            tell(batch.done)
            await asyncio.sleep(0)  # cached answers must not starve calls that wait

    async def _ask(self, prompt: Prompt, batch: "_Batch | None" = None) -> Judgement:
        started = perf_counter()
        judgement = await self._judged(prompt, batch)
        took = 1000 * (perf_counter() - started)
        return msgspec.structs.replace(judgement, model=self._judge.model, prompt=prompt.version, took_ms=took)

    async def _judged(self, prompt: Prompt, batch: "_Batch | None") -> Judgement:
        if self.missing:
            return failed(self.missing)
        try:
            said = messages(prompt, self._judge.prompts.system, self._outgoing)
        except ScalepanError as error:
            return failed(f"the text could not be redacted, so nothing was sent: {error}")
        if self._cache is None:
            return await self._called(prompt, said, batch)
        key = key_for(prompt, said, self._judge)
        kept = find(self._cache, key)
        if kept is not None and tuple(kept.values) == prompt.fields:
            return _from_cache(kept, prompt)
        if batch is None:
            return await self._asked(prompt, said, key, None)
        # The same question twice in a batch is one call, though neither is in the cache yet.
        if key in batch.under_way:
            judgement = await asyncio.shield(batch.under_way[key])
            return msgspec.structs.replace(judgement, cached=judgement.status == "ok", calls=0)
        batch.under_way[key] = answered = asyncio.get_running_loop().create_future()
        try:
            judgement = await self._asked(prompt, said, key, batch)
        except BaseException:
            answered.cancel()
            raise
        answered.set_result(judgement)
        return judgement

    async def _asked(self, prompt: Prompt, said: list[dict[str, str]], key: bytes, batch: "_Batch | None") -> Judgement:
        judgement = await self._called(prompt, said, batch)
        if self._cache is not None and judgement.status == "ok":
            keep(self._cache, key, judgement)
        return judgement

    async def _called(self, prompt: Prompt, said: list[dict[str, str]], batch: "_Batch | None") -> Judgement:
        if batch is not None and batch.hopeless:
            return failed(f"not asked, because of an earlier call: {batch.hopeless}")
        try:
            answer = await self.endpoint.ask(said, prompt.fields)
        except CallError as error:
            reason = self._clean(error.reason)
            if batch is not None and error.hopeless:
                batch.hopeless = reason
            judgement = failed(reason, self._raw(error.raw))
            return msgspec.structs.replace(judgement, tokens=error.tokens, calls=error.calls)
        return self._read(answer, prompt)

    def _read(self, answer: ModelReply, prompt: Prompt) -> Judgement:
        raw, told = self._raw(answer.text), tuple(map(self._clean, answer.notes))
        try:
            values, notes = parse(answer.text, prompt.fields, self._judge.parse)
        except UnreadableError as error:
            judgement = failed(self._clean(str(error)), raw)
            return msgspec.structs.replace(
                judgement, tokens=answer.tokens, calls=answer.calls, notes=tuple(map(self._clean, answer.notes))
            )
        return Judgement(
            value=values[prompt.fields[0]],
            values=values,
            raw=raw,
            notes=(*told, *map(self._clean, notes)),
            tokens=answer.tokens,
            calls=answer.calls,
        )

    def _outgoing(self, text: str) -> str:
        """Text as it may leave the machine. A lone surrogate is not a character, and servers refuse it."""
        text = key_of(self._judge).scrub(text).encode("utf-8", "replace").decode()
        return self._redactor.redact(text).text if self._judge.redact else text

    def _clean(self, text: str) -> str:
        """Text from outside as it may be shown and stored: redacted, whatever was sent."""
        text = key_of(self._judge).scrub(text)
        with suppress(ScalepanError):
            return self._redactor.redact(text).text
        return "(could not be redacted)"

    def _raw(self, text: str) -> str:
        cleaned = self._clean(text)
        return cleaned if len(cleaned) <= LONGEST_RAW else cleaned[: LONGEST_RAW - 1] + "…"


class _Batch:
    """What the workers of one `ask_many` share. They are all in one thread."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self.waiting: Iterator[tuple[int, Prompt]] = iter(enumerate(prompts))
        self.results: list[Judgement | None] = [None] * len(prompts)
        self.under_way: dict[bytes, asyncio.Future[Judgement]] = {}
        self.done = 0
        self.hopeless = ""
        """Why the rest need not be tried."""


def _from_cache(kept: CachedJudgement, prompt: Prompt) -> Judgement:
    return Judgement(
        value=kept.values[prompt.fields[0]],
        values=kept.values,
        raw=kept.raw,
        notes=kept.notes,
        tokens=kept.tokens,
        cached=True,
    )


def _let_go(endpoint: Endpoint, cache: Cache | None) -> None:
    endpoint.let_go()
    if cache is not None:
        cache.close()


def _ignore(done: int) -> None:
    """No progress was asked for."""
