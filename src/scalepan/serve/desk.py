"""The desk behind the doors: a checked request in, the operation done, a typed answer out. It knows no protocol."""

import threading
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan.errors import BoundaryError, InputError
from scalepan.evals import Case, Evaluator, Output, diagnose
from scalepan.evals.load import case_faults
from scalepan.inforce import as_sent
from scalepan.names import check_id, check_label
from scalepan.policy import Policy, load_policy
from scalepan.policy.boundary import CLASSES, BoundaryClass
from scalepan.serve import answers, requests
from scalepan.serve.envelope import Caller
from scalepan.serve.fence import Fence, clean, one_line
from scalepan.store import Store
from scalepan.store.own import LAST_EVENTS, AskEvents

if TYPE_CHECKING:
    from scalepan.confidence import ConfidenceFactors
    from scalepan.confidence.gate import Opened
    from scalepan.memory import Claim, Memory
    from scalepan.memory.recall.answers import Recall
    from scalepan.trace import TraceValuer

RECENT_EVENTS = 50
OF_CLAIMS = ("ingest", "search", "activate", "search_fallback", "critic")
POLICY_SECONDS = 1.0
"""How late a change of the policy may be seen: looking costs more than most answers."""


class Said(NamedTuple):
    """What a person said to a question, or that nobody did in time."""

    approve: bool
    why: str | None = None
    expire: bool = False


class Settings(msgspec.Struct, frozen=True):
    """For whom a door is open, and how much goes through it."""

    store: Path | None = None
    tenant: str = "default"
    project: str | None = "default"
    session: str | None = None
    policy: Path | None = None
    metadata_only: bool = False
    classes: tuple[BoundaryClass, ...] | None = None
    """The boundary classes that may be reached at most; None: what policy opens."""

    def __post_init__(self) -> None:
        # Every door comes by here: options, headers, tokens.
        for name in ("tenant", "project", "session"):
            if (given := getattr(self, name)) is not None:
                check_label(given, name)


class Desk:
    """One store, one tenant, project and session. Thread-safe. A store that is given is shared, and stays open.

    Memory, confidence and arrays are imported by the methods that need them, so that a door is open before that.
    """

    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        self.settings = settings
        self.store = Store(settings.store) if store is None else store
        self._lock = threading.Lock()
        self._policy: tuple[float, Policy | None] = (0.0, None)
        self._valuers: dict[tuple[str, str], TraceValuer] = {}

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def warm(self) -> None:
        """Load what the first call would otherwise wait for."""
        import scalepan.confidence
        import scalepan.memory.operations  # noqa: F401

        self.policy()

    def policy(self) -> Policy:
        """The policy in force: the file's, then what the store has for tenant and project, then the environment's."""
        from scalepan.store.policies import WhosePolicy, as_layers

        policy = self.fresh_policy()
        if policy is not None:
            return policy
        settings = self.settings
        stored = self.store.call("store.policy_layers", WhosePolicy(settings.tenant, settings.project))
        policy = load_policy(settings.policy, layers=as_layers(stored))
        with self._lock:
            self._policy = (monotonic(), policy)
        return policy

    def fresh_policy(self) -> Policy | None:
        """The policy, if it was looked up just now: for who may not wait."""
        with self._lock:
            looked_at, policy = self._policy
        return policy if monotonic() - looked_at < POLICY_SECONDS else None

    # Memory

    def search(self, request: requests.Recall, asked: Caller) -> answers.Recall:
        """The best claims."""
        return self._recalled(self._memory(asked).search(**_plain(request, without="breakdown")), request)

    def activate(self, request: requests.Recall, asked: Caller) -> answers.Recall:
        """The same as an active context."""
        return self._recalled(self._memory(asked).activate(**_plain(request, without="breakdown")), request)

    def add(self, request: requests.Add, asked: Caller) -> answers.Added:
        """Remember one thing."""
        claim = _plain(request, without="source note")
        claim["provenance"] = {
            name: value for name, value in (("source", request.source), ("note", request.note)) if value
        }
        (added,) = self._memory(asked).add_many([claim])
        return answers.Added(**msgspec.structs.asdict(added), **self._envelope(asked, "retrieval"))

    def vote(self, request: requests.Vote, asked: Caller) -> answers.Voted:
        """Count a vote."""
        voted = self._memory(asked).vote(**_plain(request))
        return answers.Voted(**msgspec.structs.asdict(voted), **self._envelope(asked, "retrieval"))

    def forget(self, request: requests.Forget, asked: Caller) -> answers.Forgotten:
        """Forget claims."""
        count = self._memory(asked).forget(*request.claims)
        return answers.Forgotten(count=count, **self._envelope(asked, "retrieval"))

    def claim(self, id_: str, asked: Caller) -> dict[str, Any]:
        """One claim, fenced."""
        claim = self._memory(asked).get(id_)
        fence = Fence(_texts(claim))
        said = msgspec.to_builtins(claim) | self._shown(claim, fence)
        if self.settings.metadata_only:
            del said["content_hash"]  # it would tell whoever guesses the text that the guess is right
        said = {name: value for name, value in said.items() if value is not None}
        shown: dict[str, Any] = _safe(said)
        return shown | {"fence": fence.code, "notice": fence.notice, **self._envelope(asked, "retrieval")}

    # The other three questions

    def trace_value(self, request: requests.TraceValue, asked: Caller) -> answers.Valued:
        """What a trace is worth."""
        from scalepan.trace import ReasoningTrace

        trace = ReasoningTrace.from_dict(request.trace)
        valuer = self._valuer()
        score = valuer.evaluate_value(trace) if request.remember else valuer.peek(trace)
        gate = score.details.gate
        return answers.Valued(
            id=one_line(trace.id),
            value=float(score),
            verdict=gate.verdict,
            why=str(gate),
            breakdown=_safe(score.to_dict()) if request.breakdown else None,
            **_ids(asked, score.policy),
        )

    def output_score(self, request: requests.OutputScore, asked: Caller) -> answers.Judged:
        """Whether an output is right."""
        case = _converted(request.case, Case, "case")
        output = _converted(request.output, Output, "output")
        policy = self.policy()
        for fault in case_faults(case, policy.evals):
            raise InputError(fault.message, path=f"case.{fault.path}")
        result = Evaluator(request.preset, policy).evaluate(case, output)
        diagnosis = None if result.passed else diagnose(case, output, result, policy.evals).to_dict()
        scores = msgspec.to_builtins(result.to_dict()["scores"], enc_hook=str)
        if not request.breakdown:
            scores = {name: {k: v for k, v in one.items() if k != "details"} for name, one in scores.items()}
        return answers.Judged(
            id=one_line(case.id),
            passed=result.passed,
            weighted_average=result.weighted_average,
            scores=_safe(scores),
            diagnosis=_safe(diagnosis),
            breakdown=_safe(result.score.to_dict()) if request.breakdown else None,
            **_ids(asked, policy.version("evals")),
        )

    def confidence_score(self, request: requests.Confidence, asked: Caller) -> answers.Confidence:
        """How sure to be."""
        from scalepan.confidence import ConfidenceCalculator

        calculator = ConfidenceCalculator(self.policy())
        score = calculator.calculate(_factors(request.factors))
        decision = calculator.decide_action(score)
        return answers.Confidence(
            confidence=score.value,
            level=decision.level.value,
            suggested_action=decision.suggested_action,
            why=decision.reason,
            breakdown=score.to_dict() if request.breakdown else None,
            **_ids(asked, score.policy),
        )

    def decide(self, request: requests.Decide, asked: Caller) -> answers.Decision:
        """Decide, where nobody can be asked from here: what needs a person waits in the store."""
        if request.decision is not None and request.action is None and request.factors is None:
            return self.decided(request.decision, asked)
        return self.decided(self.open_decision(request, asked).id, asked)

    def open_decision(self, request: requests.Decide, asked: Caller) -> "Opened":
        """Decide about an action: at once, or as a question in the store for a person."""
        from scalepan.confidence import Gate

        if request.action is None or request.factors is None or request.decision is not None:
            raise InputError("give 'action' and 'factors', or 'decision' alone", path="action")
        settings = self.settings
        actor = asked.identity or (f"MCP client {asked.client}" if asked.client else "a client without a token")
        gate = Gate(self.policy(), store=self.store, tenant=settings.tenant, project=settings.project, actor=actor)
        return gate.open(_factors(request.factors), clean(request.action), request.args or None)

    def question(self, id_: str, asked: Caller) -> str | None:
        """What to ask a person about a decision; None where it does not wait any more."""
        from scalepan.confidence.requests import PENDING
        from scalepan.serve.question import look_up, question_text

        found = look_up(self.store, self.settings.tenant, id_, asked.project)
        return question_text(found) if found.state == PENDING else None

    def answer(self, id_: str, said: Said, asked: Caller) -> None:
        """Keep what a person said to a question in a form of the client that asked."""
        from scalepan.confidence.requests import AnswerQuestion
        from scalepan.serve.question import close

        who = f"a person at {asked.client or 'an MCP client'}"
        redact = as_sent(self.policy())
        close(
            self.store,
            AnswerQuestion(id_, said.approve, self.settings.tenant, who, said.why, said.expire, redact=redact),
        )

    def answer_decision(self, id_: str, request: requests.Answer, asked: Caller) -> answers.Decision:
        """Answer a question by its id, with a token that may. Not one that it asked itself."""
        from scalepan.confidence.requests import AnswerQuestion

        _check_may_answer(asked)
        self.store.call(
            "confidence.answer",
            AnswerQuestion(
                check_id(id_),
                request.approve,
                self.settings.tenant,
                request.actor,
                request.why,
                identity=asked.identity,
                project=asked.project,
                redact=as_sent(self.policy()),
            ),
        )
        return self.decided(id_, asked)

    def waiting(self, asked: Caller) -> list[answers.Waiting]:
        """The questions that a token that may answer can answer."""
        from scalepan.confidence.requests import AskDecisions
        from scalepan.serve.question import question_text

        _check_may_answer(asked)
        wanted = AskDecisions(self.settings.tenant, project=asked.project)
        return [
            answers.Waiting(
                decision_id=found.id,
                question=question_text(found),
                level=found.level,
                confidence=found.confidence,
                asked_by=one_line(found.asked_by) if found.asked_by else None,
                asked_at=found.at,
            )
            for found in self.store.call("confidence.decisions", wanted).decisions
        ]

    def decided(self, id_: str, asked: Caller) -> answers.Decision:
        """A decision as it stands."""
        from scalepan.serve.question import as_answer, how_to_answer, look_up

        found = look_up(self.store, self.settings.tenant, check_id(id_), asked.project)
        how = how_to_answer(found.id, self.store, self.settings.tenant, remote=asked.identity is not None)
        return as_answer(found, how, **self._envelope(asked, "confidence"))

    def explain(self, request: requests.Explain, asked: Caller) -> answers.Explained:
        """A number that was kept, made again."""
        from scalepan import receipts
        from scalepan.serve.explained import as_answer

        found = receipts.explain(self._memory(asked), request.id)
        return as_answer(found, breakdown=request.breakdown, **self._envelope(asked, "retrieval"))

    # What can be read

    def policy_page(self) -> dict[str, Any]:
        """Every constant in force, by section, with the section's version."""
        policy = self.policy()
        sections: dict[str, Any] = _safe(msgspec.to_builtins(policy))
        return {name: {**section, "version": policy.version(name)} for name, section in sections.items()}

    def events(self, asked: Caller) -> list[dict[str, Any]]:
        """What happened last in this tenant, or in the one project of a token: numbers and ids, no text.

        A token that does not open every class is not told what others did with claims: their number is a hint too.
        """
        limited = self.settings.classes is not None and set(self.settings.classes) < set(CLASSES)
        without = list(OF_CLAIMS) if limited else []
        request = AskEvents(self.settings.tenant, asked.project, RECENT_EVENTS, without)
        events = self.store.call(LAST_EVENTS, request).events
        return [_safe({**msgspec.structs.asdict(event), "payload": _scalars(event.payload)}) for event in events]

    @cached_property
    def _memory_for_all(self) -> "Memory":
        from scalepan.memory import Memory

        s = self.settings
        return Memory(
            self.store, tenant=s.tenant, project=s.project, session=s.session, policy=s.policy, classes=s.classes
        )

    def _memory(self, asked: Caller) -> "Memory":
        """The memory, as this request's caller."""
        with self._lock:
            memory = copy(self._memory_for_all)
        memory.who = msgspec.structs.replace(memory.who, trace_id=asked.trace_id, actor=asked.client)
        return memory

    def _valuer(self) -> "TraceValuer":
        """Made once for a policy: it remembers the traces of this session."""
        from scalepan.embed import find_encoder
        from scalepan.trace import TraceValuer

        policy = self.policy()
        key = (policy.version("value"), policy.version("embed"))
        with self._lock:
            if key not in self._valuers:
                self._valuers = {key: TraceValuer(policy, embedder=find_encoder(policy.embed))}
            return self._valuers[key]

    def _envelope(self, asked: Caller, section: str) -> dict[str, Any]:
        return _ids(asked, self.policy().version(section))

    def _recalled(self, found: "Recall", request: requests.Recall) -> answers.Recall:
        fence = Fence(text for one in found for text in _texts(one.claim))
        claims = []
        for one in found:
            plain = one.to_dict(features=request.breakdown)
            claims.append(answers.Recalled(**_safe(plain | self._shown(one.claim, fence))))
        more: dict[str, Any] = {}
        if request.breakdown:
            rejected = [
                answers.Rejected(one_line(one.id), one.score_final, clean(one.reason)) for one in found.rejected
            ]
            more = {"alpha": found.alpha, "why_alpha": found.why_alpha, "rejected": rejected}
        return answers.Recall(
            claims=claims,
            notice=fence.notice,
            fence=fence.code,
            active_context_id=found.active_context_id,
            expires_at=found.expires_at,
            notes=[clean(note) for note in found.notes],
            policy_version=found.policy_version,
            request_id=found.request_id,
            trace_id=found.trace_id or "",
            **more,
        )

    def _shown(self, claim: "Claim", fence: Fence) -> dict[str, Any]:
        """What people wrote in a claim, as it may go out."""
        if self.settings.metadata_only:
            at = one_line(claim.provenance.at) if claim.provenance.at else None
            return {"text": None, "provenance": {"at": at}, "entities": []}
        provenance = claim.provenance
        origin = {
            "at": one_line(provenance.at) if provenance.at else None,
            "actor": one_line(provenance.actor) if provenance.actor else None,
            "source": one_line(provenance.source) if provenance.source else None,
            "note": fence.around(provenance.note) if provenance.note else None,
        }
        return {
            "text": fence.around(claim.text),
            "provenance": {name: value for name, value in origin.items() if value is not None},
            "entities": [{"name": one_line(entity.name), "type": entity.type} for entity in claim.entities],
        }


def _check_may_answer(asked: Caller) -> None:
    if not asked.may_answer:
        raise BoundaryError("answering needs a token that may: scalepan serve token create --may-answer")


def _ids(asked: Caller, version: str) -> dict[str, Any]:
    return {"policy_version": version, "request_id": asked.request_id, "trace_id": asked.trace_id}


def _plain(request: msgspec.Struct, without: str = "") -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(request)
    return {name: value for name, value in data.items() if name not in without.split()}


def _texts(claim: "Claim") -> Iterable[str]:
    """Everything in a claim that a person wrote."""
    provenance = claim.provenance
    said = (claim.text, provenance.note, provenance.actor, provenance.source, *(e.name for e in claim.entities))
    return [text for text in said if text]


def _factors(factors: requests.Factors) -> "ConfidenceFactors":
    from scalepan.confidence import ConfidenceFactors

    return ConfidenceFactors(**msgspec.structs.asdict(factors))


def _converted(data: Mapping[str, Any], type_: type[Any], name: str) -> Any:
    from scalepan.check import problems

    faults = problems(data, type_)
    if faults:
        path = f"{name}.{faults[0].path}" if faults[0].path else name
        raise InputError(faults[0].message, path=path, more=[f"{name}.{fault}" for fault in faults[1:]])
    return msgspec.convert(data, type_)


def _safe(value: Any) -> Any:
    """The same data with every text clean: parts of traces and outputs come back in reasons and details."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _safe(item) for key, item in value.items()}
    return [_safe(item) for item in value] if isinstance(value, (list, tuple)) else value


def _scalars(payload: Any) -> dict[str, Any]:
    """Numbers and short words of an event; lists of claims and ids of claims stay inside."""
    if not isinstance(payload, dict):
        return {}
    kept = {k: one_line(v) if isinstance(v, str) else v for k, v in payload.items() if not isinstance(v, (dict, list))}
    return {k: v for k, v in kept.items() if not str(v).startswith("clm_")}
