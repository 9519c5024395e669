"""Zip archives put together by hand: any compression method, and sizes and places that are lies."""

import struct
import zlib

import zstandard

STORED, DEFLATED, ZSTD = 0, 8, 93


def zipped(members: dict[str, bytes], method: int = ZSTD, *, overlapping: bool = False) -> bytes:
    """An archive. With `overlapping`, all members are the bytes of the first."""
    body, directory = b"", b""
    for number, (name, data) in enumerate(members.items()):
        packed = _packed(data, method)
        # Version 6.3 for zstd; no flags, no date; then the checksum, the two sizes and the lengths that follow.
        fields = struct.pack(
            "<HHHHHIIIHH", 63, 0, method, 0, 33, zlib.crc32(data), len(packed), len(data), len(name.encode()), 0
        )
        offset = 0 if overlapping else len(body)
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + fields + struct.pack("<HHHII", 0, 0, 0, 0, offset)
        directory += name.encode()
        if not (overlapping and number):
            body += b"PK\x03\x04" + fields + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def _packed(data: bytes, method: int) -> bytes:
    if method == ZSTD:
        # Two frames, as a writer makes them of something long.
        half = len(data) // 2
        packer = zstandard.ZstdCompressor()
        return packer.compress(data[:half]) + packer.compress(data[half:])
    if method == DEFLATED:
        return zlib.compress(data)[2:-4]
    return data
