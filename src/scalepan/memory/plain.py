"""Claims as plain data: what callers give to be remembered, and what leaves for another store."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from scalepan.arguments import as_mapping
from scalepan.errors import InputError
from scalepan.memory.claim import Claim, NewClaim, Provenance
from scalepan.memory.method import converted

IMPORTED = frozenset(NewClaim.__struct_fields__)


def oldest_first(claims: Mapping[str, Claim]) -> Iterator[Claim]:
    """Claims that replace others, each after the one that it replaces."""
    out: set[str] = set()
    for claim in claims.values():
        chain: list[Claim] = []
        one: Claim | None = claim
        while one is not None and one.id not in out:
            out.add(one.id)
            chain.append(one)
            one = claims.get(one.supersedes or "")
        yield from reversed(chain)


def exported(claim: Claim, known: Collection[str] = ()) -> dict[str, Any]:
    """A claim as it leaves for another store. What it replaces is named only if that is `known` there."""
    data: dict[str, Any] = {name: getattr(claim, name) for name in NewClaim.__struct_fields__}
    data["supersedes"] = claim.supersedes if claim.supersedes in known else None
    data["provenance"] = msgspec.to_builtins(claim.provenance)
    data["entities"] = msgspec.to_builtins(claim.entities)
    return {name: value for name, value in data.items() if value not in (None, [], {})}


def new_claim(claim: NewClaim | Mapping[str, Any] | str, number: int) -> NewClaim:
    """Something to remember, checked; InputError names the field. Entities may be plain names."""
    if isinstance(claim, NewClaim):
        claim = msgspec.structs.asdict(claim)
    legal = "a text, a dict or a NewClaim"
    data: Any = {"text": claim} if isinstance(claim, str) else dict(as_mapping(f"claims[{number}]", claim, legal))
    if isinstance(data.get("provenance"), Provenance):
        data["provenance"] = msgspec.to_builtins(data["provenance"])
    if data.get("source") is not None:
        data["provenance"] = _with_source(data)
    data.pop("source", None)
    if isinstance(data.get("entities"), (list, tuple)):
        data["entities"] = [{"name": e} if isinstance(e, str) else msgspec.to_builtins(e) for e in data["entities"]]
    return converted(data, NewClaim, id_=str(data.get("id") or f"number {number + 1}"))


def renamed(claim: NewClaim, kept: Mapping[str, str]) -> NewClaim:
    """A claim that replaces one of an earlier page, whose text was known there under another id."""
    older = kept.get(claim.supersedes or "")
    return claim if older is None else msgspec.structs.replace(claim, supersedes=older)


def _with_source(data: Mapping[str, Any]) -> Any:
    """`source` of a claim is short for that of its provenance."""
    provenance = data.get("provenance") or {}
    if not isinstance(provenance, Mapping):
        return provenance  # told when it is checked
    if provenance.get("source") not in (None, data["source"]):
        raise InputError("is given twice, here and in provenance", path="source")
    return {**provenance, "source": data["source"]}
