"""What a session works with: the policy in force, and one encoder and one valuer per policy and process."""

import threading
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from scalepan.embed import Embedder, find_encoder
from scalepan.memory import Memory
from scalepan.policy import Layer, Policy, resolve
from scalepan.store.policies import WhosePolicy, as_layers
from scalepan.store.request import Overlay
from scalepan.trace import TraceValuer


def policy_of(memory: Memory, stored: Iterable[Layer] = ()) -> Policy:
    """The policy that the owner of the store applies to this caller, with `stored` between file and environment."""
    said = msgspec.msgpack.decode(memory.overlay, type=Overlay)
    return resolve([*said.below, *stored, *said.above])


def stored_layers(memory: Memory) -> list[Layer]:
    """The store's own policies for the caller's tenant and project."""
    return as_layers(memory.store.call("store.policy_layers", WhosePolicy(memory.who.tenant, memory.who.project)))


class Kit(NamedTuple):
    """An encoder, and the valuer that compares each trace with earlier ones."""

    encoder: Embedder | None
    valuer: TraceValuer


_lock = threading.Lock()
_encoders: dict[str, Embedder | None] = {}
_valuers: dict[tuple[str, str], TraceValuer] = {}


def kit_for(policy: Policy) -> Kit:
    """Made once per policy, so that later sessions of this process are compared with earlier ones."""
    embed = policy.version("embed")
    key = (policy.version("value"), embed)
    with _lock:
        if embed not in _encoders:
            # It encodes claims, so it caches nothing: their vectors are in the store, where they can be forgotten.
            _encoders[embed] = find_encoder(policy.embed, remember=False)
        if key not in _valuers:
            _valuers[key] = TraceValuer(policy, embedder=_encoders[embed])
        return Kit(_encoders[embed], _valuers[key])
