"""Has something changed? A short digest of a value or a file, in letters only: digits may look like a phone number."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from scalepan.errors import InputError
from scalepan.files import open_source

LENGTH = 16
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


def digest(value: Any) -> str:
    """16 letters for any value that JSON can hold; the order of keys does not matter.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    plain = msgspec.json.encode(value, enc_hook=str, order="sorted")
    return sha256(plain).hexdigest()[:LENGTH].translate(_LETTERS)


def file_digest(path: Path) -> str:
    """16 letters for the content of a file."""
    found = sha256()
    try:
        with open_source(path, again=True) as file:
            while piece := file.read(1 << 20):
                found.update(piece)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    return found.hexdigest()[:LENGTH].translate(_LETTERS)
