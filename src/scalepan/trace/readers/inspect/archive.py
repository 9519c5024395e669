"""A zip archive from strangers: members by name, decompressed within limits, zstd included.

Python reads zstd members from 3.14 on. Here the package `zstandard` does it in all versions: the central directory says
where a member is, its local header where its bytes begin.
"""

import io
import struct
import zipfile
import zlib
from typing import BinaryIO

from scalepan.errors import InputError, MissingExtraError, quoted
from scalepan.trace.readers.source import MAX_DOCUMENT_BYTES

ZSTD = 93
SMALL_BYTES = 16 * 1024 * 1024
MOST_EXPANDED = 1000
"""A member may be this many times as large as its compressed bytes; small ones may be anything."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\x03\x04"
_FAULTS = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, struct.error,
    UnicodeError, IndexError, KeyError,
)  # fmt: skip


class Archive:
    """An open archive. The last member of a name is the valid one: a log is appended to."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
            size = file.seek(0, io.SEEK_END)
        except _FAULTS as error:
            raise InputError(f"is not a zip archive: {_line(error)}") from None
        self.members = dict(self._zip.NameToInfo)
        # Members that share their bytes are how a small file becomes endless.
        if sum(member.compress_size for member in self.members.values()) > size:
            raise InputError("has members that overlap")

    def read(self, name: str) -> bytes:
        """A member, decompressed; InputError if it cannot be, or grows beyond the limits."""
        member = self.members[name]
        limit = min(MAX_DOCUMENT_BYTES, max(SMALL_BYTES, MOST_EXPANDED * member.compress_size))
        try:
            data = self._zstd(member, limit) if member.compress_type == ZSTD else self._plain(member, limit)
        except InputError:
            raise
        except _FAULTS as error:
            raise InputError(f"{quoted(name)} cannot be read: {_line(error)}") from None
        if len(data) > limit:
            raise InputError(f"{quoted(name)} is larger than {limit:,} bytes")
        if zlib.crc32(data) != member.CRC:
            raise InputError(f"{quoted(name)} is damaged")
        return data

    def _plain(self, member: zipfile.ZipInfo, limit: int) -> bytes:
        with self._zip.open(member) as file:
            return file.read(limit + 1)

    def _zstd(self, member: zipfile.ZipInfo, limit: int) -> bytes:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("reading zstd", "traces") from None
        self._file.seek(member.header_offset)
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(self._file.read(_LOCAL_HEADER.size))
        if signature != _SIGNATURE:
            raise InputError(f"{quoted(member.filename)} is not where the archive says")
        self._file.seek(name_length + extra_length, io.SEEK_CUR)
        compressed = io.BytesIO(self._file.read(member.compress_size))
        try:
            with zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True) as reader:
                return reader.read(limit + 1)
        except zstandard.ZstdError as error:
            raise InputError(f"{quoted(member.filename)} cannot be read: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
