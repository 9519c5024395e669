"""The SHA-256 of a file, cached as long as its size and modification time stay the same."""

from hashlib import file_digest
from pathlib import Path

from scalepan.cache import Cache, content_key


def file_hash(path: Path, cache: Cache | None) -> str:
    """The hash in hex. Models are large: with a cache, each is read once, not at every start."""
    state = path.stat()
    key = content_key("file", str(path.resolve()), str(state.st_size), str(state.st_mtime_ns))
    kept = cache.get([key]).get(key) if cache else None
    if kept:
        return kept.hex()
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").digest()
    if cache:
        cache.put({key: digest})
    return digest.hex()
