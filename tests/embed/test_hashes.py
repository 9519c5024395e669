"""What is in a file, read once."""

import os
from hashlib import sha256
from pathlib import Path

from scalepan.cache import Cache
from scalepan.embed.hashes import file_hash


def test_the_hash_is_sha256(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    assert file_hash(file, None) == sha256(b"content").hexdigest()


def test_a_file_is_read_again_when_its_size_or_time_changed(tmp_path: Path) -> None:
    file, cache = tmp_path / "file", Cache(tmp_path / "cache.sqlite")
    file.write_bytes(b"one")
    first = file_hash(file, cache)
    state = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert file_hash(file, cache) == first, "same size and time: it was not read"
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert file_hash(file, cache) == sha256(b"two").hexdigest()
