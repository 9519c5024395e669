"""The result of redaction: kind, position and a hash to compare values, never the value itself."""

import secrets
from hashlib import blake2b

import msgspec

from scalepan.policy.redact import Category

HASH_BYTES = 6
_OF_THIS_PROCESS = secrets.token_bytes(32)


class Finding(msgspec.Struct, frozen=True, gc=False):
    """A secret or personal datum, with its position in the original text, end exclusive."""

    kind: str
    category: Category
    start: int
    end: int
    hash: str
    """Equal for equal values under the same key."""

    @property
    def placeholder(self) -> str:
        """The text that replaces it."""
        return placeholder(self.kind, self.category)


def placeholder(kind: str, category: Category) -> str:
    """The text that replaces a value of this kind."""
    return f"[{category}:{kind}]"


class Redacted(msgspec.Struct, frozen=True):
    """A redacted text and its findings."""

    text: str
    findings: tuple[Finding, ...] = ()


class Hashes(dict[str, str]):
    """Short keyed hashes of values. It caches the values, so it must not outlive a search.

    There are so few phone numbers and cards that a plain hash is reversed in seconds by trying them all. So the hash
    has a key: the caller's, to compare over time, or one that exists only in this process.

    >>> Hashes(b"k")["4111"] == Hashes(b"k")["4111"], Hashes(b"k")["4111"] == Hashes(b"other")["4111"]
    (True, False)
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._keyed = blake2b(key=_OF_THIS_PROCESS if key is None else key, digest_size=HASH_BYTES)

    def __missing__(self, value: str) -> str:
        one = self._keyed.copy()
        one.update(value.encode("utf-8", "surrogatepass"))
        return self.setdefault(value, one.hexdigest())
