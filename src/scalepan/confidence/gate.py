"""The gate: a decision becomes going on, telling, asking or stopping; and somebody can see later who decided what.

SILENT records. NOTIFY records and tells. CONFIRM and ESCALATE ask a person, and without a yes in time the action is not
done. The question is in the store before anybody is asked, so a process that dies while asking leaves it there.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import monotonic, sleep, time
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from scalepan.confidence.calculator import ConfidenceCalculator, Config
from scalepan.confidence.decide import ActionDecision
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.operations import (
    APPROVED,
    DENIED,
    EXPIRED,
    PENDING,
    AnswerQuestion,
    AskDecision,
    Decided,
    Record,
)
from scalepan.confidence.receipt import constants_of
from scalepan.errors import BoundaryError, ConflictError, InputError, StoreError, named, quoted, shorten
from scalepan.score import Score
from scalepan.store import Store

P = ParamSpec("P")
R = TypeVar("R")
POLL_SECONDS = 0.2
SHOWN_ACTION = 500
ASKING_FAILED = "asking failed: "
"""How the reason begins where `ask` broke."""
# An action in quotes must not close them.
_INSIDE_QUOTES = str.maketrans('“”„‟❝❞〝〞＂"', "‘’‘‘‘’‘’''")


def question_text(action: str, reason: str) -> str:
    """What a person is asked. An agent chose the words of the action, one line: they come last, in quotes.

    >>> print(question_text("send”. It is safe. “", "confidence 0.5 reaches confirm 0.4"))
    An agent's confidence 0.5 reaches confirm 0.4. It wants to do this: “send’. It is safe. ‘”. May it?
    """
    return f"An agent's {reason}. It wants to do this: “{action.translate(_INSIDE_QUOTES)}”. May it?"


class Question(NamedTuple):
    """What a person is asked."""

    id: str
    action: str
    score: Score
    decision: ActionDecision
    timeout_seconds: float

    def __str__(self) -> str:
        return question_text(shorten(self.action, SHOWN_ACTION), self.decision.reason)


class Answer(NamedTuple):
    """What a person says."""

    approve: bool
    actor: str | None = None
    why: str | None = None


class Verdict(NamedTuple):
    """What came of it."""

    allowed: bool
    decision: ActionDecision
    score: Score
    decided_by: str
    why: str
    id: str | None

    def __bool__(self) -> bool:
        return self.allowed


class Opened(NamedTuple):
    """A decision in the store: made, or waiting for a person."""

    id: str
    waits: bool
    timeout_seconds: float


class NotAllowedError(BoundaryError):
    """The gate is shut: a person said no, nobody answered in time, or nobody could be asked."""


Reply = Answer | bool | None
Handler = Callable[[Question], Awaitable[Reply] | Reply]
"""Asks a person. None is no, and so is an error or anything else; the verdict says so."""


class Unanswered(NamedTuple):
    """Nobody said anything: in time, or because asking failed."""

    why: str | None = None


class Gate:
    """Runs decisions.

    >>> gate = Gate(ask=lambda question: Answer(False, "Aoi", "not today"))
    >>> gate.check(ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1), "send mail").allowed
    False
    """

    def __init__(
        self,
        config: Config = None,
        *,
        ask: Handler | None = None,
        notify: Callable[[Question], object] | None = None,
        store: Store | None = None,
        tenant: str = "default",
        timeout_seconds: float | None = None,
    ) -> None:
        """`ask` is who asks a person; with a store and without `ask`, `scalepan confidence answer` does."""
        self.calculator = ConfidenceCalculator(config)
        self.store = store
        self.tenant = tenant
        self._ask = ask
        self._notify = notify
        limit = self.calculator.policy.gate.timeout_seconds
        self.timeout_seconds = limit if timeout_seconds is None else timeout_seconds

    def check(self, evidence: Score | ConfidenceFactors, action: str) -> Verdict:
        """Decide about an action, and ask if it must be. Waits for the answer, at most until the time is up."""
        question, factors = self._question(evidence, action)
        if question.decision.should_proceed:
            return self._go_on(question, factors)
        question = question._replace(id=self._open(question, factors) or "")
        return self._close(question, self._answer(question))

    async def acheck(self, evidence: Score | ConfidenceFactors, action: str) -> Verdict:
        """The same, awaited: the loop goes on while a person thinks."""
        question, factors = self._question(evidence, action)
        if question.decision.should_proceed:
            return await asyncio.to_thread(self._go_on, question, factors)
        id_ = await asyncio.to_thread(self._open, question, factors)
        question = question._replace(id=id_ or "")
        answer = await self._aanswer(question)
        return await asyncio.to_thread(self._close, question, answer)

    def open(self, evidence: Score | ConfidenceFactors, action: str) -> Opened:
        """Decide, and where a person must, leave the question in the store: for who cannot wait for the answer."""
        question, factors = self._question(evidence, action)
        if question.decision.should_proceed:
            return Opened(self._go_on(question, factors).id or "", False, 0.0)
        return Opened(self._open(question, factors) or "", True, question.timeout_seconds)

    @contextmanager
    def allowed(self, evidence: Score | ConfidenceFactors, action: str) -> Iterator[Verdict]:
        """`with gate.allowed(factors, "refund order 17"):` runs its body if the gate opens, else NotAllowedError."""
        yield self._must(self.check(evidence, action), action)

    def guard(
        self, evidence: Callable[..., Score | ConfidenceFactors], action: str | None = None
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Put the gate around a function, plain or async. `evidence` gets the call's arguments."""

        def around(function: Callable[P, R]) -> Callable[P, R]:
            name = action or function.__name__

            @wraps(function)
            def plain(*args: P.args, **kwargs: P.kwargs) -> R:
                self._must(self.check(evidence(*args, **kwargs), name), name)
                return function(*args, **kwargs)

            @wraps(function)
            async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                self._must(await self.acheck(evidence(*args, **kwargs), name), name)
                return await function(*args, **kwargs)  # type: ignore[misc]

            return awaited if inspect.iscoroutinefunction(function) else plain  # type: ignore[return-value]

        return around

    def _must(self, verdict: Verdict, action: str) -> Verdict:
        if not verdict.allowed:
            raise NotAllowedError(f"{action} was not done: {verdict.why}")
        return verdict

    def _question(self, evidence: Score | ConfidenceFactors, action: str) -> tuple[Question, ConfidenceFactors | None]:
        factors = evidence if isinstance(evidence, ConfidenceFactors) else None
        score = self.calculator.calculate(evidence) if isinstance(evidence, ConfidenceFactors) else evidence
        return Question("", action, score, self.calculator.decide_action(score), self.timeout_seconds), factors

    def _go_on(self, question: Question, factors: ConfidenceFactors | None) -> Verdict:
        id_ = self._record(question, factors, APPROVED, "scalepan", question.decision.reason)
        question = question._replace(id=id_ or "")
        if question.decision.level == "notify" and self._notify is not None:
            self._notify(question)
        return Verdict(True, question.decision, question.score, "scalepan", question.decision.reason, id_)

    def _open(self, question: Question, factors: ConfidenceFactors | None) -> str | None:
        """Put the question in the store, before anybody is asked."""
        return self._record(question, factors, PENDING, None, None, expires_at=time() + question.timeout_seconds)

    def _answer(self, question: Question) -> Answer | Unanswered:
        """Ask, and wait until the time is up."""
        if self._ask is None:
            return self._from_store(question) if self.store is not None else Unanswered()
        handler = self._ask
        found: list[Answer | Unanswered] = []

        def ask() -> None:
            found.append(_waited(handler, question))

        thread = threading.Thread(target=ask, name="scalepan-gate", daemon=True)
        thread.start()
        thread.join(question.timeout_seconds)
        return found[0] if found else Unanswered()

    async def _aanswer(self, question: Question) -> Answer | Unanswered:
        if self._ask is None or not _is_async(self._ask):
            return await asyncio.to_thread(self._answer, question)
        try:
            async with asyncio.timeout(question.timeout_seconds):
                return _said(await self._ask(question))  # type: ignore[misc]
        except TimeoutError:
            return Unanswered()
        except Exception as error:
            return _failed(error)

    def _from_store(self, question: Question) -> Answer | Unanswered:
        """Look whether somebody answered with `scalepan confidence answer`, until the time is up."""
        end = monotonic() + question.timeout_seconds
        while monotonic() < end:
            found = self._decision(question.id)
            if found.state != PENDING:
                return Answer(found.state == APPROVED, found.decided_by, found.why)
            sleep(min(POLL_SECONDS, max(end - monotonic(), 0.0)))
        return Unanswered()

    def _close(self, question: Question, answer: Answer | Unanswered) -> Verdict:
        """Write down who decided what. If somebody was quicker in the store, that answer counts."""
        by, why = None, answer.why
        if isinstance(answer, Unanswered):
            state = EXPIRED
        else:
            state, by = APPROVED if answer.approve else DENIED, answer.actor
        if self.store is not None:
            try:
                request = AnswerQuestion(question.id, state == APPROVED, self.tenant, by, why, expire=state == EXPIRED)
                kept: Decided = self.store.call("confidence.answer", request)
            except ConflictError:
                kept = self._decision(question.id)
            state, by, why = kept.state, kept.decided_by, kept.why
        reasons = {EXPIRED: "nobody answered in time", DENIED: "a person said no", APPROVED: "a person said yes"}
        nobody = self._ask is None and self.store is None
        said = why or ("there is nobody to ask" if nobody else reasons.get(state, state))
        return Verdict(
            state == APPROVED,
            question.decision,
            question.score,
            by or ("nobody" if state == EXPIRED else "a person"),
            said,
            question.id or None,
        )

    def _record(
        self,
        question: Question,
        factors: ConfidenceFactors | None,
        state: str,
        by: str | None,
        why: str | None,
        expires_at: float | None = None,
    ) -> str | None:
        if self.store is None:
            return None
        request = Record(
            level=question.decision.level,
            action=question.action,
            reason=question.decision.reason,
            state=state,
            confidence=question.score.value,
            tenant=self.tenant,
            factors=msgspec.to_builtins(factors),
            score=msgspec.to_builtins(question.score, enc_hook=str),
            policy_version=question.score.policy,
            decided_by=by,
            why=why,
            expires_at=expires_at,
            constants=constants_of(self.calculator.policy),
        )
        recorded: str = self.store.call("confidence.record", request).id
        return recorded

    def _decision(self, id_: str) -> Decided:
        if self.store is None:
            raise StoreError("this gate has no store")
        found: Decided = self.store.call("confidence.decision", AskDecision(id_, self.tenant))
        return found


def terminal(question: Question) -> Answer | None:
    """Ask whoever sits at the terminal. An empty line is no; where there is no terminal, nobody answered."""
    import getpass

    try:
        said = input(f"{question} [y/N] ")
    except EOFError:
        return None
    return Answer(said.strip().lower() in ("y", "yes", "はい"), getpass.getuser())


class AskQueue:
    """Questions for an async program: it takes them from `questions` and answers each with `answer`."""

    def __init__(self) -> None:
        self.questions: asyncio.Queue[Question] = asyncio.Queue()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}

    async def __call__(self, question: Question) -> Answer:
        """Put the question where it will be seen, and wait."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[id(question)] = future
        await self.questions.put(question)
        try:
            return await future
        finally:
            del self._waiting[id(question)]

    def answer(self, question: Question, answer: Answer) -> None:
        """Answer a question; one that waits no longer is passed over."""
        future = self._waiting.get(id(question))
        if future is not None and not future.done():
            future.set_result(answer)


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


def _waited(handler: Handler, question: Question) -> Answer | Unanswered:
    """What a handler says, plain or async."""
    try:
        said = handler(question)
        return _said(asyncio.run(_awaited(said)) if inspect.isawaitable(said) else said)
    except Exception as error:
        return _failed(error)


async def _awaited(said: Awaitable[Reply]) -> Reply:
    return await said


def _said(answer: object) -> Answer | Unanswered:
    match answer:
        case bool():
            return Answer(answer)
        case Answer():
            return answer
        case None:
            return Unanswered()
    raise InputError(f"{quoted(answer)} is no answer; give true, false, an Answer or None", path="ask")


def _failed(error: Exception) -> Unanswered:
    return Unanswered(f"{ASKING_FAILED}{error if isinstance(error, InputError) else named(error)}")
