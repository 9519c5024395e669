"""What redaction tells: what was where, and a hash to tell equal ones apart. Never the value."""

import secrets
from hashlib import blake2b

import msgspec

from scalepan.policy.redact import Category

HASH_BYTES = 6
_OF_THIS_PROCESS = secrets.token_bytes(32)


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One thing that was found, with its place in the original text, end exclusive."""

    kind: str
    category: Category
    start: int
    end: int
    hash: str
    """The same for the same value under the same key."""

    @property
    def mark(self) -> str:
        """What stands in its place."""
        return mark(self.kind, self.category)


def mark(kind: str, category: Category) -> str:
    """What stands in place of something of this kind."""
    return f"[{category}:{kind}]"


class Redacted(msgspec.Struct, frozen=True):
    """A text without its secrets, and what they were."""

    text: str
    findings: tuple[Finding, ...] = ()


class Hashes(dict[str, str]):
    """The short keyed hash of each value that it is asked for. It remembers values, so it must not outlive a search.

    There are so few phone numbers and cards that a plain hash is read back in seconds by trying them all. So the hash
    has a key: the caller's, to compare over time, else one that lives and dies with this process.

    >>> Hashes(b"k")["4111"] == Hashes(b"k")["4111"], Hashes(b"k")["4111"] == Hashes(b"other")["4111"]
    (True, False)
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._keyed = blake2b(key=_OF_THIS_PROCESS if key is None else key, digest_size=HASH_BYTES)

    def __missing__(self, value: str) -> str:
        one = self._keyed.copy()
        one.update(value.encode("utf-8", "surrogatepass"))
        return self.setdefault(value, one.hexdigest())
