"""JSON for programs, on a line that is also safe to show in a terminal."""

import json

import msgspec

from scalepan.text.invisible import ACTING


def json_line(data: object) -> bytes:
    """One line of JSON. Characters that control a terminal are escaped, which is the same text to a program.

    >>> json_line({"id": "a\\x9b31m\\u202eb\\U000e0041"})
    b'{"id":"a\\\\u009b31m\\\\u202eb\\\\udb40\\\\udc41"}\\n'
    """
    line = msgspec.json.encode(data, enc_hook=str)
    if not line.isascii():
        line = ACTING.sub(lambda found: json.dumps(found[0])[1:-1], line.decode()).encode()
    return line.replace(b"\x7f", b"\\u007f") + b"\n"
