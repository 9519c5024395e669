"""What should the agent recall now? Claims, ranked by relevance, usefulness, confidence and age."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.memory.awaited import AsyncMemory
    from scalepan.memory.claim import Claim, Entity, NewClaim, Provenance
    from scalepan.memory.memory import Memory
    from scalepan.memory.recall.answers import Features, Recall, Recalled
    from scalepan.store.request import Who

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

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.memory.awaited": ["AsyncMemory"],
        "scalepan.memory.claim": ["Claim", "Entity", "NewClaim", "Provenance"],
        "scalepan.memory.memory": ["Memory"],
        "scalepan.memory.recall.answers": ["Features", "Recall", "Recalled"],
        "scalepan.store.request": ["Who"],
    },
)
