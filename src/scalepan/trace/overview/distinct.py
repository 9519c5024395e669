"""How many different names are there among very many, in constant memory?"""

import heapq
from hashlib import blake2b

HELD = 4096
"""Up to this many the count is exact; beyond, its standard error is 1.6 %."""
_SPACE = 1 << 64


class Distinct:
    """Counts different texts: keeps the smallest hashes, whose spacing tells how many there are.

    >>> names = Distinct()
    >>> for name in ("a", "b", "a"):
    ...     names.add(name)
    >>> names.count, names.exact
    (2, True)
    """

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._largest: list[int] = []
        self.exact = True

    def add(self, text: str) -> None:
        """Count a text, unless it was there before."""
        hashed = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        if hashed in self._held:
            return
        if len(self._held) < HELD:
            self._held.add(hashed)
            heapq.heappush(self._largest, -hashed)
            return
        self.exact = False
        if hashed < -self._largest[0]:
            self._held.remove(-heapq.heapreplace(self._largest, -hashed))
            self._held.add(hashed)

    @property
    def count(self) -> int:
        """How many; an estimate once `exact` is False."""
        if self.exact:
            return len(self._held)
        return round((HELD - 1) * _SPACE / -self._largest[0])
