"""The gate: a decision becomes going on, telling, asking or stopping; and somebody can see later who decided what.

SILENT records. NOTIFY records and tells. CONFIRM and ESCALATE ask a person, and without a yes in time the action is not
done. The question is in the store before anybody is asked, so a process that dies while asking leaves it there.
"""

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from time import monotonic, sleep, time
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from scalepan.arguments import as_callable, as_instance, as_path, as_seconds
from scalepan.confidence.calculator import ConfidenceCalculator, Config, config_given, evidence_given
from scalepan.confidence.decide import ActionDecision
from scalepan.confidence.evidence import rule_on
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.question import LONGEST, Question, call_text
from scalepan.confidence.receipt import constants_of
from scalepan.confidence.requests import (
    APPROVED,
    DENIED,
    EXPIRED,
    PENDING,
    AnswerQuestion,
    AskDecision,
    AskDecisions,
    Decided,
    LabelDecision,
    Labelled,
    Record,
    folded,
)
from scalepan.errors import BoundaryError, ConflictError, InputError, StoreError, named, quoted, shorten
from scalepan.inforce import as_sent
from scalepan.names import check_id, check_label
from scalepan.policy import Policy, load_policy
from scalepan.redact import Redactor
from scalepan.score import Score
from scalepan.store import Store
from scalepan.store.ids import new_id

P = ParamSpec("P")
R = TypeVar("R")
POLL_SECONDS = 0.2
ASKING_FAILED = "asking failed: "
"""How the reason begins where `ask` broke."""


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

    def __str__(self) -> str:
        """One line: yes or no, who decided, why, and the confidence."""
        allowed = "allowed" if self.allowed else "not allowed"
        return f"{allowed} by {shorten(self.decided_by)}: {shorten(self.why, 120)} ({self.score})"

    def _repr_html_(self) -> str:
        """The same with the waterfall of its score, for notebooks."""
        from scalepan.draw.notebook import sentence_html

        return sentence_html(str(self), self.score)


class Opened(NamedTuple):
    """A decision in the store: made, or waiting for a person."""

    id: str
    waits: bool
    timeout_seconds: float


class NotAllowedError(BoundaryError):
    """The action is not allowed: a person said no, nobody answered in time, or nobody could be asked."""


Reply = Answer | bool | None
Handler = Callable[[Question], Awaitable[Reply] | Reply]
"""Asks a person. None is no, and so is an error or anything else; the verdict says so."""


Evidence = Score | ConfidenceFactors
Arguments = Mapping[str, Any] | None


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
        store: Store | str | os.PathLike[str] | None = None,
        tenant: str = "default",
        project: str | None = None,
        actor: str | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        """`ask` is who asks a person; with a store and without `ask`, `scalepan confidence answer` does.

        `actor` names the agent that asks, by default this process; whoever asks cannot answer. Without `config`, the
        policy in force.
        """
        config = config_given(config)
        policy = config if isinstance(config, Policy) else load_policy()
        self.calculator = ConfidenceCalculator(policy if config is None else config)
        legal = "a Store, a store file, or None"
        self.store = store if store is None or isinstance(store, Store) else Store(as_path("store", store, legal))
        self.tenant = check_label(as_instance("tenant", tenant, str, "text"), "tenant")
        self.project = project if project is None else check_label(project, "project")
        self.actor = actor or f"process {os.getpid()}"
        self._process = None if actor is not None else os.getpid()
        self._ask = as_callable("ask", ask, "a function that takes a Question and gives true, false or an Answer")
        self._notify = as_callable("notify", notify, "a function that takes a Question")
        limit = self.calculator.policy.gate.timeout_seconds
        self.timeout_seconds = as_seconds("timeout_seconds", timeout_seconds, lambda: limit)
        self._redactor = Redactor(policy.redact)
        self._redact = as_sent(policy)

    def check(self, evidence: Evidence, action: str, args: Arguments = None) -> Verdict:
        """Decide about an action, and ask if it must be. Waits for the answer, at most until the time is up.

        `args` are the arguments of the action: the policy's rules see them, and so does, redacted, whoever is asked.
        """
        asked = self._asked(evidence, action, args)
        if asked.question.decision.should_proceed:
            return self._go_on(asked)
        question = asked.question._replace(id=self._open(asked))
        return self._close(question, self._answer(question))

    async def acheck(self, evidence: Evidence, action: str, args: Arguments = None) -> Verdict:
        """The same, awaited: the loop goes on while a person thinks."""
        asked = self._asked(evidence, action, args)
        if asked.question.decision.should_proceed:
            return await asyncio.to_thread(self._go_on, asked)
        question = asked.question._replace(id=await asyncio.to_thread(self._open, asked))
        answer = await self._aanswer(question)
        return await asyncio.to_thread(self._close, question, answer)

    def open(self, evidence: Evidence, action: str, args: Arguments = None) -> Opened:
        """Decide, and where a person must, leave the question in the store: for who cannot wait for the answer."""
        asked = self._asked(evidence, action, args)
        if asked.question.decision.should_proceed:
            return Opened(self._go_on(asked).id or "", False, 0.0)
        return Opened(self._open(asked), True, asked.question.timeout_seconds)

    @contextmanager
    def allowed(self, evidence: Evidence, action: str, args: Arguments = None) -> Iterator[Verdict]:
        """`with gate.allowed(factors, "refund order 17"):` runs its body if the gate opens, else NotAllowedError."""
        yield self._must(self.check(evidence, action, args), action)

    def guard(
        self, evidence: Callable[..., Evidence], action: str | None = None
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Put the gate around a function, plain or async. `evidence` gets the call's arguments, and so do the rules."""
        as_callable("evidence", evidence, "a function that takes the call's arguments and gives factors or a Score")

        def around(function: Callable[P, R]) -> Callable[P, R]:
            as_callable("function", function, "a function to put the gate around")
            name = action or function.__name__
            signature = inspect.signature(function)

            @wraps(function)
            def plain(*args: P.args, **kwargs: P.kwargs) -> R:
                given = arguments_of(signature, args, kwargs)
                self._must(self.check(evidence(*args, **kwargs), name, given), name)
                return function(*args, **kwargs)

            @wraps(function)
            async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
                given = arguments_of(signature, args, kwargs)
                self._must(await self.acheck(evidence(*args, **kwargs), name, given), name)
                return await function(*args, **kwargs)  # type: ignore[misc]

            return awaited if inspect.iscoroutinefunction(function) else plain  # type: ignore[return-value]

        return around

    # For whoever answers

    def pending(self) -> list[Decided]:
        """The questions that wait in the store, newest first."""
        found: list[Decided] = self._kept().call("confidence.decisions", AskDecisions(self.tenant)).decisions
        return found

    def answer(self, id_: str, approve: bool, *, actor: str, why: str | None = None) -> Decided:
        """Answer a question that waits in the store. `actor` is the person who decides, never the agent that asked.

        An answer is not a label: `label` says later whether the action was right.
        """
        who = check_label(actor, "actor")
        request = AnswerQuestion(check_id(id_), approve, self.tenant, who, why, redact=self._redact)
        decided: Decided = self._kept().call("confidence.answer", request)
        return decided

    def label(self, id_: str, right: bool, *, actor: str, why: str | None = None) -> Labelled:
        """Say whether what was decided turned out to be right."""
        who = check_label(actor, "actor")
        request = LabelDecision(check_id(id_), right, self.tenant, who, why, redact=self._redact)
        labelled: Labelled = self._kept().call("confidence.label", request)
        return labelled

    def _kept(self) -> Store:
        if self.store is None:
            raise StoreError("this gate has no store")
        return self.store

    def _must(self, verdict: Verdict, action: str) -> Verdict:
        if not verdict.allowed:
            raise NotAllowedError(f"{shorten(action)} was not done: {verdict.why}")
        return verdict

    def _asked(self, evidence: Evidence, action: str, args: Arguments) -> "_Asked":
        """The contract's decision, made stricter by the policy's rules and by missing evidence."""
        evidence = evidence_given(evidence)
        as_instance("action", action, str, "text that says what is to be done")
        factors = evidence if isinstance(evidence, ConfidenceFactors) else None
        score = self.calculator.calculate(evidence) if isinstance(evidence, ConfidenceFactors) else evidence
        contract = self.calculator.decide_action(score)
        ruling = rule_on(contract, score, action, args or {}, self.calculator.policy)
        shown = self._redactor.redact(action[:LONGEST]).text
        call = call_text(action, args, lambda text: self._redactor.redact(text).text)
        question = Question("", shown, score, ruling.decision, self.timeout_seconds, call, ruling.because)
        return _Asked(question, factors, ruling.raised_to)

    def _go_on(self, asked: "_Asked") -> Verdict:
        question = asked.question
        id_ = self._record(asked, APPROVED, "scalepan", question.decision.reason)
        question = question._replace(id=id_ or new_id("dec"))
        if question.decision.level == "notify" and self._notify is not None:
            self._notify(question)
        return Verdict(True, question.decision, question.score, "scalepan", question.decision.reason, id_)

    def _open(self, asked: "_Asked") -> str:
        """Put the question in the store, before anybody is asked; its id, by which it is answered."""
        expires_at = time() + asked.question.timeout_seconds
        return self._record(asked, PENDING, None, None, expires_at=expires_at) or new_id("dec")

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
        if isinstance(answer, Answer) and answer.actor is not None and folded(answer.actor) == folded(self.actor):
            answer = Unanswered(f"{self.actor} asked, and cannot answer")
        by, why = None, answer.why
        if isinstance(answer, Unanswered):
            state = EXPIRED
        else:
            state, by = APPROVED if answer.approve else DENIED, answer.actor
        if self.store is not None:
            try:
                request = AnswerQuestion(
                    *(question.id, state == APPROVED, self.tenant, by, why),
                    expire=state == EXPIRED,
                    redact=self._redact,
                )
                kept: Decided = self.store.call("confidence.answer", request)
            except ConflictError:
                kept = self._decision(question.id)
            state, by, why = kept.state, kept.decided_by, kept.why
        reasons = {EXPIRED: "nobody answered in time", DENIED: "a person said no", APPROVED: "a person said yes"}
        nobody = self._ask is None and self.store is None
        said = why or ("nobody can be asked" if nobody else reasons.get(state, state))
        return Verdict(
            state == APPROVED,
            question.decision,
            question.score,
            by or ("nobody" if state == EXPIRED else "a person"),
            said,
            question.id if self.store is not None else None,
        )

    def _record(
        self, asked: "_Asked", state: str, by: str | None, why: str | None, expires_at: float | None = None
    ) -> str | None:
        if self.store is None:
            return None
        question, policy = asked.question, self.calculator.policy
        request = Record(
            level=question.decision.level,
            action=question.action,
            reason=question.decision.reason,
            state=state,
            confidence=question.score.value,
            tenant=self.tenant,
            factors=msgspec.to_builtins(asked.factors),
            score=msgspec.to_builtins(question.score, enc_hook=str),
            policy_version=question.score.policy,
            decided_by=by,
            why=why,
            expires_at=expires_at,
            constants=constants_of(policy),
            gate={"evidence": policy.gate.evidence, "raised_to": asked.raised_to},
            call=question.call,
            because=question.because,
            asked_by=self.actor,
            process=self._process,
            project=self.project,
            redact=self._redact,
        )
        recorded: str = self.store.call("confidence.record", request).id
        return recorded

    def _decision(self, id_: str) -> Decided:
        found: Decided = self._kept().call("confidence.decision", AskDecision(id_, self.tenant))
        return found


class _Asked(NamedTuple):
    """A question, and what it is recorded with."""

    question: Question
    factors: ConfidenceFactors | None
    raised_to: str | None


def arguments_of(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names, defaults included; without the object of a method.

    >>> arguments_of(inspect.signature(lambda order, amount=250, **more: None), (17,), {"note": "x"})
    {'order': 17, 'amount': 250, 'note': 'x'}
    """
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for place, (name, value) in enumerate(bound.arguments.items()):
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif not (place == 0 and name in ("self", "cls")):
            found[name] = value
    return found


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
        case Answer(approve=bool()):
            return answer
        case None:
            return Unanswered()
    raise InputError(f"{quoted(answer)} is not an answer; give true, false, an Answer or None", path="ask")


def _failed(error: Exception) -> Unanswered:
    return Unanswered(f"{ASKING_FAILED}{error if isinstance(error, InputError) else named(error)}")
