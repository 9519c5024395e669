"""The session: recall, work, judge confidence by the evidence, ask if needed, and learn from the outcome.

No failure in Scalepan stops the agent: it becomes a note. The agent's own exceptions pass through unchanged.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import msgspec

from scalepan.arguments import as_callable, as_instance
from scalepan.confidence import (
    ActionDecision,
    ConfidenceCalculator,
    ConfidenceFactors,
    ConfidenceScore,
    Gate,
    Question,
    Verdict,
)
from scalepan.confidence.gate import ASKING_FAILED, Handler
from scalepan.errors import InputError, ScalepanError, quoted
from scalepan.loop.ending import Ending, trace_of, with_quality
from scalepan.loop.evidence import Answered, agreement_of, factors_so_far, judged
from scalepan.loop.notes import Notes
from scalepan.loop.offers import claims_from_trace
from scalepan.loop.report import Asked, Ballot, Report
from scalepan.loop.steps import Steps
from scalepan.loop.surroundings import Kit, kit_for, policy_of, stored_layers
from scalepan.memory import Claim, Memory, NewClaim, Recalled
from scalepan.memory.claim import Signal
from scalepan.memory.requests import Added
from scalepan.policy import Policy
from scalepan.receipts import keep, value_receipt
from scalepan.redact import Redactor
from scalepan.score import Score, not_measured
from scalepan.store.ids import new_id
from scalepan.trace import ReasoningTrace, TraceValuer
from scalepan.trace.recording.call import ToolCall
from scalepan.trace.recording.texts import error_summary
from scalepan.trace.redaction import redacted_trace

P = ParamSpec("P")
R = TypeVar("R")


class Session:
    """One task of an agent, from recall to what it learned: `with scalepan.session(query) as s:`.

    >>> import tempfile
    >>> with Session("How is a plan cancelled?", tempfile.mkdtemp() + "/notes.duckdb") as s:
    ...     s.thought("Nothing is known yet")
    ...     plan = s.call("find_plan", dict, id=17)
    >>> s.report.ending, [step.type for step in s.trace.steps]
    ('unknown', ['thought', 'tool_call'])
    """

    def __init__(
        self,
        query: str,
        memory: str | os.PathLike[str] | Memory | None = None,
        *,
        policy: str | os.PathLike[str] | Policy | Mapping[str, Any] | None = None,
        domain: str = "general",
        ask: Callable[[Question], Any] | None = None,
        notify: Callable[[Question], object] | None = None,
        keep: bool = False,
    ) -> None:
        """`memory` is a file, or a Memory that states who asks; `policy` is for a file.

        `domain` is the trace's task domain. `ask` and `notify` are the gate's. `keep`: offered claims are stored too.
        """
        if not as_instance("query", query, str, "text").strip():
            raise InputError("the query is empty", path="query")
        if isinstance(memory, Memory) and policy is not None:
            raise InputError("the memory already has a policy; give this one to the Memory", path="policy")
        as_instance("domain", domain, str, "text, such as 'finance'")
        as_callable("ask", ask, "a function that takes a Question")
        as_callable("notify", notify, "a function that takes a Question")
        self.id = new_id("ses")
        self.query = query
        self.domain = domain
        self.recalled: list[Recalled] = []
        self.context: str | None = None
        self.score: ConfidenceScore | None = None
        self.decision: ActionDecision | None = None
        self.trace: ReasoningTrace | None = None
        self.value: Score = not_measured("value", "the session is not over")
        self.value_id: str | None = None
        self.offered: list[NewClaim] = []
        self.kept: list[Added] = []
        self.votes: list[Ballot] = []
        self.asked: list[Asked] = []
        self._owns_memory = not isinstance(memory, Memory)
        self.memory = copy(memory) if isinstance(memory, Memory) else Memory(memory, policy=policy)
        who = self.memory.who
        self.memory.who = msgspec.structs.replace(who, session=who.session or self.id, trace_id=self.trace_id)
        self.policy = policy_of(self.memory)
        self._kit = Kit(None, TraceValuer(self.policy, embedder=None))
        self._keep, self._ask, self._notify = keep, ask, notify
        self._notes = Notes()
        self._redactor = Redactor(self.policy.redact)
        self._steps = Steps(self._redacted)
        self._used: dict[str, str] = {}
        self._answered = Answered()
        self._ending: Ending = "unknown"
        self._why = ""
        self._begun = False

    @property
    def trace_id(self) -> str:
        """The id of the trace, in the store's events too."""
        return f"kp:trace:{self.id}"

    @property
    def notes(self) -> list[str]:
        """What failed or was missing in this session."""
        return list(self._notes.texts)

    def __enter__(self) -> "Session":
        if self._begun:
            raise InputError("this session has already started; make a new one for each task", path="session")
        self._begun = True
        stored = self._notes.from_store("the store's policies are not applied", lambda: stored_layers(self.memory))
        self.policy = policy_of(self.memory, stored or ())
        self._redactor = Redactor(self.policy.redact)
        kit = self._notes.tried("novelty and agreement are not measured", lambda: kit_for(self.policy))
        self._kit = kit or Kit(None, TraceValuer(self.policy, embedder=None))
        found = self._notes.from_store("nothing was recalled", lambda: self.memory.activate(self.query))
        if found is not None:
            self.recalled, self.context = found.claims, found.active_context_id
            for note in found.notes:
                self._notes.add(note)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        # Ctrl-C and the like end a session without a known outcome.
        if self._ending == "unknown" and isinstance(error, Exception):
            self.fail(error_summary(error, self._redacted))
        self._notes.tried("the trace was not valued", self._value)
        if self.trace is not None:
            self._notes.from_store("the value was not stored", partial(self._keep_value, self.trace))
        if self._ending != "unknown":
            for claim in self._used:
                self._notes.from_store(f"{claim} got no vote", partial(self._vote, claim))
        self._notes.tried("no claims were offered", self._offer)
        if self._keep and self.offered:
            self._notes.from_store("the offered claims were not stored", self.keep)
        if self.context is not None:
            self._notes.tried("it is not known whether the store still exists", self._look_for_store)
        if self._owns_memory:
            self._notes.tried("the store was not closed", self.memory.close)

    async def __aenter__(self) -> "Session":
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *error: Any) -> None:
        await asyncio.to_thread(self.__exit__, *error)

    # What the agent does

    def thought(self, text: str) -> None:
        """Something the agent considered."""
        self._steps.add("thought", text)

    def observed(self, text: str) -> None:
        """Something the agent saw; an answer may be based on it."""
        self._steps.add("observation", text, source=True)

    def recovered(self, text: str) -> None:
        """What helped after the last tool call failed."""
        self._steps.add("error_recovery", text)

    def tool(self, name: str, input: Any = None) -> ToolCall:  # noqa: A002 - the trace's word for it
        """A tool of any kind: `with s.tool("orders", {"customer": 17}) as call: call.output = …`."""
        return ToolCall(self._steps, name, input)

    def call(self, name: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """A function as a tool: `rows = s.call("orders", find_orders, customer=17)`."""
        given = {"args": list(args), **kwargs} if args else dict(kwargs)
        with self.tool(name, given) as call:
            call.output = result = function(*args, **kwargs)
        return result

    def use(self, *claims: Recalled | Claim | str) -> None:
        """State which claims the work uses: they are its sources, and the outcome counts for or against them."""
        known = {one.id: one.text for one in self.recalled}
        for claim in claims:
            id_, text = (claim, known.get(claim, "")) if isinstance(claim, str) else (claim.id, claim.text)
            self._used[id_] = text

    # How sure, and who decides

    def answer(self, text: str, *, self_confidence: float | None = None) -> ConfidenceScore:
        """Score an answer; `s.decision` is the resulting decision. A recalled claim whose id it names counts as used.

        `self_confidence` is the agent's own; without it, the language model of the policy judges, or a stand-in.
        """
        if self_confidence is not None and not 0 <= self_confidence <= 1:
            raise InputError(f"{quoted(self_confidence)} is not between 0 and 1", path="self_confidence")
        self.use(*(one for one in self.recalled if one.id in text))
        encoder, sources = self._kit.encoder, [*self._texts(), *self._steps.done().outputs]
        answered = self._notes.tried(
            "the answer was not judged",
            lambda: judged(self.query, text, self_confidence, sources, self.policy, encoder),
        )
        self._answered = answered or Answered(text, self_confidence)
        calculator = ConfidenceCalculator(self.policy)
        self.score = calculator.calculate(self.factors())
        self.decision = calculator.decide_action(self.score)
        return self.score

    def factors(self) -> ConfidenceFactors:
        """What is known so far: recalled claims, tool calls, sources, and the judgement of the answer."""
        if not self._begun:
            raise InputError("this session has not started; use it in a 'with' block", path="session")
        texts = self._texts()
        agreement = agreement_of(texts, self.policy, self._kit.encoder, self._notes)
        return factors_so_far(self.recalled, self._steps.done(), texts, agreement, self._answered)

    def may(self, action: str, /, **args: Any) -> Verdict:
        """Whether an action may be done; a person is asked if needed. `verdict.why` gives the reason.

        `args` are the arguments of the action: `s.may("refund", order=17, amount=250)`.
        """
        factors = self.factors()
        try:
            verdict = self._gate().check(factors, action, args or None)
        except ScalepanError as error:
            self._notes.failed("the decision was not stored", error)
            verdict = self._gate(kept=False).check(factors, action, args or None)
        return self._decided(action, verdict)

    async def amay(self, action: str, /, **args: Any) -> Verdict:
        """The same, awaited: the event loop keeps running while a person thinks."""
        factors = await asyncio.to_thread(self.factors)
        try:
            verdict = await self._gate().acheck(factors, action, args or None)
        except ScalepanError as error:
            self._notes.failed("the decision was not stored", error)
            verdict = await self._gate(kept=False).acheck(factors, action, args or None)
        return self._decided(action, verdict)

    # How it ended

    def succeed(self, summary: str = "") -> None:
        """The task was done: the claims that were used get a `helpful` vote."""
        self._ending, self._why = "succeeded", summary

    def fail(self, why: str = "") -> None:
        """The task was not done: the claims that were used get a `harmful` vote."""
        self._ending, self._why = "failed", why

    def keep(self) -> list[Added]:
        """Store the offered claims, once the session is over and somebody has reviewed `s.offered`."""
        self.kept = list(self.memory.add_many(self.offered))
        if self._owns_memory:
            self.memory.close()
        return self.kept

    @property
    def report(self) -> Report:
        """The result: `print(s.report)`."""
        return Report(
            id=self.id,
            query=self.query,
            store=str(self.memory.store.path),
            trace_id=self.trace_id,
            ending=self._ending,
            why=self._why,
            context=self.context,
            recalled=len(self.recalled),
            used=list(self._used),
            confidence=self.score,
            decision=self.decision,
            asked=list(self.asked),
            value=self.value,
            value_id=self.value_id,
            votes=list(self.votes),
            offered=list(self.offered),
            kept=list(self.kept),
            notes=self.notes,
        )

    def _texts(self) -> list[str]:
        """What an answer is based on besides its tools: the claims in use, else those recalled; and observations."""
        claims = list(filter(None, self._used.values())) or [one.text for one in self.recalled]
        return list(dict.fromkeys([*claims, *self._steps.done().observed]))

    def _redacted(self, text: str) -> str:
        """Text as a step stores it. Text that cannot be redacted is not stored."""
        found = self._notes.tried("a step was stored without its text", lambda: self._redactor.redact(text).text)
        return "(could not be redacted)" if found is None else found

    def _gate(self, *, kept: bool = True) -> Gate:
        store = self.memory.store if kept and not self._notes.store_gone else None
        ask: Handler | None = self._ask
        who = self.memory.who
        return Gate(
            self.policy,
            ask=ask,
            notify=self._notify,
            store=store,
            tenant=who.tenant,
            project=who.project,
            actor=self.id,
        )

    def _decided(self, action: str, verdict: Verdict) -> Verdict:
        self.asked.append(Asked(action, verdict))
        if verdict.why.startswith(ASKING_FAILED):
            self._notes.add(f"nobody was asked whether to {action}: {verdict.why}")
        if not verdict.decision.should_proceed:
            said = "yes" if verdict.allowed else "no"
            self._steps.add("observation", f"Asked whether to {action}: {said}, {verdict.why}")
        return verdict

    def _value(self) -> None:
        steps = self._steps.done().steps
        if not steps:
            self.value = not_measured("value", "no step was recorded")
            return
        scored = self.score.value if self.score is not None else None
        stated = self._answered.stated
        trace = trace_of(
            self.trace_id,
            self.query,
            steps,
            self._ending,
            self._why or self._answered.text,
            domain=self.domain,
            confidence=scored if stated is None else stated,
            actor=self.memory.who.actor,
        )
        self.trace = redacted_trace(trace, self._redactor)
        self.value = self._kit.valuer.evaluate_value(self.trace)
        self.trace = with_quality(self.trace, float(self.value))

    def _keep_value(self, trace: ReasoningTrace) -> None:
        who = self.memory.who
        model = self._kit.encoder.model_id if self._kit.encoder is not None else None
        receipt = value_receipt(trace, self.value, self.policy, model=model, tenant=who.tenant, project=who.project)
        (self.value_id,) = keep(self.memory.store, [receipt], self.policy)

    def _vote(self, claim: str) -> None:
        context = self.context if any(claim == one.id for one in self.recalled) else None
        signal: Signal = "helpful" if self._ending == "succeeded" else "harmful"
        voted = self.memory.vote(claim, signal, context=context, note=f"{self._ending} in {self.id}")
        self.votes.append(Ballot(signal, voted))

    def _look_for_store(self) -> None:
        """If the file is removed while it is open, nothing fails: writes go to a file without a name."""
        path = self.memory.store.path
        if not path.exists():
            self._notes.add(f"what was stored is lost: {path} was removed during the session")

    def _offer(self) -> None:
        """Claims from a trace that passes the gate."""
        if self.trace is None or self.value.value is None or self.value.details.gate.verdict != "share":
            return
        scored = self.score.value if self.score is not None else None
        self.offered = claims_from_trace(
            self.trace,
            [f"{one.action}: {one.verdict.why}" for one in self.asked if one.was_refused],
            confidence=0.5 if scored is None else scored,
            note=f"{self.id}, trace value {self.value.value:.3f}",
            redactor=self._redactor,
        )


session = Session
"""The name to call: `with scalepan.session(query) as s:`."""
