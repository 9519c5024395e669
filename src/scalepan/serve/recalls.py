"""Memory for programs that are not trusted with text: claims leave fenced, or without their text."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect

from scalepan.doors import shown
from scalepan.memory.claim import Claim, NewClaim, Provenance
from scalepan.memory.method import do
from scalepan.memory.requests import ADD, Add
from scalepan.serve import answers
from scalepan.serve.envelope import Caller
from scalepan.serve.fence import Fence, clean, clean_data, one_line
from scalepan.serve.service import Service
from scalepan.store.operation import Operation

if TYPE_CHECKING:
    from scalepan.memory.recall.answers import Recall

Run = Callable[[Service, Any, Caller], Any]


def recalls(operation: Operation[Any, "Recall"]) -> Run:
    """What a tool does that recalls claims."""

    def run(service: Service, request: Any, asked: Caller) -> answers.RecallAnswer:
        return _recalled(service, service.do(operation, request, asked), breakdown=request.breakdown)

    return run


def does(operation: Operation[Any, Any], answer: type[Any]) -> Run:
    """What a tool does that gives what the operation gives. Claims must be fenced, so there may be none in it."""
    if holds_claim(inspect.type_info(operation.response)):
        raise TypeError(f"{operation.name} answers with a claim, which must be fenced: use `recalls` or `claim`")

    def run(service: Service, request: Any, asked: Caller) -> Any:
        response = service.do(operation, request, asked)
        return answer(**msgspec.structs.asdict(response), **service.envelope(asked, "retrieval"))

    return run


def holds_claim(info: inspect.Type) -> bool:
    """Whether data of a type has a claim in it."""
    if isinstance(info, inspect.StructType):
        return info.cls is Claim or any(holds_claim(field.type) for field in info.fields)
    inner = (getattr(info, name, None) for name in ("type", "item_type", "value_type"))
    several = (*getattr(info, "types", ()), *getattr(info, "item_types", ()))
    return any(holds_claim(one) for one in (*inner, *several) if isinstance(one, inspect.Type))


def adds(answer: type[Any]) -> Run:
    """What a tool does that adds one claim."""

    def run(service: Service, request: Any, asked: Caller) -> Any:
        given = {field.name: getattr(request, field.name) for field in shown("tool", ADD.name, NewClaim)}
        origin = Provenance(source=request.source or None, note=request.note or None)
        (added,) = do(service.memory(asked), ADD, Add([NewClaim(**given, provenance=origin)])).claims
        return answer(**msgspec.structs.asdict(added), **service.envelope(asked, "retrieval"))

    return run


def claim(service: Service, id_: str, asked: Caller) -> dict[str, Any]:
    """One claim, fenced."""
    claim = service.memory(asked).get(id_)
    fence = Fence(_texts(claim))
    said = msgspec.to_builtins(claim) | _shown(service, claim, fence)
    if service.settings.metadata_only:
        del said["content_hash"]  # it would tell whoever guesses the text that the guess is right
    said = {name: value for name, value in said.items() if value is not None}
    shown: dict[str, Any] = clean_data(said)
    return shown | {"fence": fence.code, "notice": fence.notice, **service.envelope(asked, "retrieval")}


def _recalled(service: Service, found: "Recall", *, breakdown: bool) -> answers.RecallAnswer:
    fence = Fence(text for one in found for text in _texts(one.claim))
    claims = []
    for one in found:
        plain = one.to_dict(features=breakdown)
        claims.append(answers.RecalledClaim(**clean_data(plain | _shown(service, one.claim, fence))))
    more: dict[str, Any] = {}
    if breakdown:
        rejected = [
            answers.RejectedClaim(one_line(one.id), one.score_final, clean(one.reason)) for one in found.rejected
        ]
        more = {"alpha": found.alpha, "why_alpha": found.why_alpha, "rejected": rejected}
    return answers.RecallAnswer(
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


def _shown(service: Service, claim: "Claim", fence: Fence) -> dict[str, Any]:
    """What people wrote in a claim, as it may go out."""
    if service.settings.metadata_only:
        at = one_line(claim.provenance.at) if claim.provenance.at else None
        return {"text": None, "provenance": {"at": at}, "entities": [], "speaker": None}
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
        "speaker": one_line(claim.speaker) if claim.speaker else None,
    }


def _texts(claim: "Claim") -> Iterable[str]:
    """Everything in a claim that a person wrote."""
    provenance = claim.provenance
    names = (claim.speaker, *(e.name for e in claim.entities))
    said = (claim.text, provenance.note, provenance.actor, provenance.source, *names)
    return [text for text in said if text]
