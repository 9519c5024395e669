"""A stream without its compression, and its first bytes: gzip and zstd, found by content.

What a damaged file has before its damage is read; then an error says what is wrong.
"""

import gzip
import io
import os
import zlib
from typing import Any, BinaryIO

from scalepan.errors import InputError, MissingExtraError

HEAD_BYTES = 256 * 1024
"""How much of a file is looked at to find its format."""
BROKEN = (OSError, EOFError, zlib.error, RuntimeError)
"""What reading a damaged file raises."""
# A block of zstd is at least 3 bytes and unpacks to 128 KB at most, so this much packed takes at most 44 MB.
_ZSTD_PIECE = 1024
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def unpacked(stream: BinaryIO, name: str) -> tuple[BinaryIO, bytes]:
    """The stream, decompressed and at its beginning, and its first bytes."""
    live = not _seekable(stream)
    start, broken = _read_some(stream, live=live)
    if broken is not None:
        raise InputError(f"cannot be read: {getattr(broken, 'strerror', None) or broken}", file=name)
    again = _rewound(stream, start)
    if start.startswith(_GZIP):
        again = gzip.GzipFile(fileobj=again, mode="rb")  # type: ignore[assignment]
    elif start.startswith(_ZSTD):
        again = io.BufferedReader(_Zstd(again), 1 << 16)
    else:
        return again, start
    start, broken = _read_some(again, live=live)
    if broken is not None and not start:
        raise InputError(f"cannot be decompressed: {broken}", file=name)
    return io.BufferedReader(_Joined(start, again, broken), 1 << 16), start


class _Zstd(io.RawIOBase):
    """What zstd unpacks. Damage, also a file that was cut off, is an error as with gzip."""

    def __init__(self, stream: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("reading zstd", "traces") from None
        self._stream = stream
        self._frame: Any = None
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._damage = zstandard.ZstdError
        self._left = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._more():
            pass
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _more(self) -> bool:
        """Unpacks a piece; False at the end."""
        packed = self._left or self._stream.read(_ZSTD_PIECE)
        self._left = b""
        if not packed:
            if self._frame is not None:
                raise EOFError("Compressed file ended before the end of its last frame")
            return False
        self._frame = self._frame or self._new_frame()
        try:
            self._ready = memoryview(self._frame.decompress(packed))
        except self._damage as error:
            raise OSError(str(error)) from None
        if self._frame.eof:
            self._left, self._frame = self._frame.unused_data, None
        return True


def _read_some(stream: BinaryIO, *, live: bool) -> tuple[bytes, Exception | None]:
    """`HEAD_BYTES` bytes, or all there are, and what ended them early. Of a pipe, what it gives first: whoever writes
    it may take their time.
    """
    read = getattr(stream, "read1", stream.read)
    pieces: list[bytes] = []
    missing = HEAD_BYTES
    try:
        while missing and (piece := read(missing)):
            pieces.append(piece)
            missing -= len(piece)
            if live and b"\n" in piece:
                break
    except BROKEN as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def _seekable(stream: BinaryIO) -> bool:
    seekable = getattr(stream, "seekable", None)
    return seekable is not None and bool(seekable())


def _rewound(stream: BinaryIO, start: bytes) -> BinaryIO:
    try:
        stream.seek(-len(start), os.SEEK_CUR)
    except (OSError, ValueError):
        return io.BufferedReader(_Joined(start, stream), 1 << 16)
    return stream


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of their stream, or what is wrong with it."""

    def __init__(self, start: bytes, rest: BinaryIO, broken: Exception | None = None) -> None:
        self._start, self._broken = memoryview(start), broken
        # What there is, without waiting for more: a pipe may be slow, and what stands before damage in a file counts.
        self._read = getattr(rest, "read1", rest.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._start:
            count = min(len(buffer), len(self._start))
            buffer[:count], self._start = self._start[:count], self._start[count:]
            return count
        if self._broken is not None:
            raise self._broken
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
