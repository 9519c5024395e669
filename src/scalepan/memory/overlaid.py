"""How would this memory answer under other settings? The same memory, with a layer above its policy."""

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.policy import Layer
from scalepan.store.request import Overlay

if TYPE_CHECKING:
    from scalepan.memory.memory import Memory


def overlaid(memory: "Memory", retrieval: Mapping[str, Any], name: str = "bench") -> "Memory":
    """The same memory, where `retrieval` has these settings whatever its policy says. Nothing is stored."""
    said = msgspec.msgpack.decode(memory.overlay, type=Overlay)
    other = copy(memory)
    layer = Layer(name, {"retrieval": retrieval})
    other.overlay = msgspec.msgpack.encode(Overlay(said.below, [*said.above, layer]))
    return other
