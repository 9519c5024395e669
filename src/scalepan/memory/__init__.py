"""What should it recall now? Claims, found by words and meaning, weighed by use, certainty and age."""

from scalepan.memory.awaited import AsyncMemory
from scalepan.memory.claim import Claim, Entity, NewClaim, Provenance, Who
from scalepan.memory.memory import Memory
from scalepan.memory.recall.answers import Features, Recall, Recalled

__all__ = [
    "AsyncMemory",
    "Claim",
    "Entity",
    "Features",
    "Memory",
    "NewClaim",
    "Provenance",
    "Recall",
    "Recalled",
    "Who",
]
