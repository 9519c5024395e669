"""OTLP as protobuf: one request, or many with their lengths in front, as the collector's file exporter writes them.

The exporter puts four bytes, the length in network order, before each request. It does so for JSON too if it compresses
every request by itself.
"""

import struct
from collections.abc import Iterator
from typing import Any

from scalepan.errors import InputError, MissingExtraError
from scalepan.trace.readers.otlp.records import LOGS, SPANS
from scalepan.trace.readers.packed import HEAD_BYTES
from scalepan.trace.readers.source import MAX_DOCUMENT_BYTES, decode

_ZSTD = b"\x28\xb5\x2f\xfd"
_LENGTH = struct.Struct(">I")
# Tags of fields 1, 2 and 3, all with a length: in a request only the first; in what is inside resource, scope, schema.
_REQUEST = frozenset((0x0A,))
_RESOURCE = frozenset((0x0A, 0x12, 0x1A))


def is_request(start: bytes, whole: int | None = None) -> bool:
    """Whether these bytes begin a request of spans or logs, as far as they go; `whole` is its length."""
    if whole is None:
        whole = len(start) if len(start) < HEAD_BYTES else MAX_DOCUMENT_BYTES
    return _fields(start, whole, _REQUEST, _RESOURCE)


def is_framed(start: bytes) -> bool:
    """Whether these bytes begin with a length and a request of that length."""
    if len(start) <= _LENGTH.size:
        return False
    (length,) = _LENGTH.unpack_from(start)
    body = start[_LENGTH.size : _LENGTH.size + length]
    if not 0 < length <= MAX_DOCUMENT_BYTES:
        return False
    return body.startswith(_ZSTD) or (body.startswith(b"{") and b'"resource' in body[:4096]) or is_request(body, length)


def _fields(data: bytes, whole: int, tags: frozenset[int], inner: frozenset[int] | None) -> bool:
    """Whether data is fields with these tags, and what is inside the first one fields with the inner tags."""
    at, first = 0, True
    while at < len(data):
        if data[at] not in tags:
            return False
        size, begin = _varint(data, at + 1)
        if size is None:
            # The length itself is cut off.
            return begin >= len(data) and not first
        if begin + size > whole:
            return False
        if first and inner is not None and not _fields(data[begin : begin + size], size, inner, None):
            return False
        at, first = begin + size, False
    return not first


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            return None, at
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return None, 0


def frames(data: bytes) -> Iterator[bytes]:
    """The requests of a file with lengths; InputError if the last one is cut off."""
    at = 0
    while at < len(data):
        length = _LENGTH.unpack_from(data, at)[0] if at + _LENGTH.size <= len(data) else len(data)
        body = data[at + _LENGTH.size : at + _LENGTH.size + length]
        if len(body) < length:
            raise InputError(f"is cut off: a request of {length:,} bytes has only {len(body):,}")
        yield body
        at += _LENGTH.size + length


def decoded(body: bytes) -> dict[str, Any]:
    """One request as OTLP JSON has it; InputError if it is none."""
    if body.startswith(_ZSTD):
        body = _unpacked(body)
    if body.startswith(b"{"):
        return decode(body)
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise MissingExtraError("reading OTLP protobuf", "traces") from None
    # The two have the same outer shape; only one of them has its ids at the right place.
    for kind, key in ((ExportTraceServiceRequest, SPANS), (ExportLogsServiceRequest, LOGS)):
        message = kind()
        try:
            message.ParseFromString(body)
            if key == LOGS or _has_ids(message):
                found: dict[str, Any] = MessageToDict(message)
                return found
        except (DecodeError, ValueError, RecursionError):
            continue
    raise InputError("is not an OTLP request in protobuf")


def _has_ids(message: Any) -> bool:
    spans = [span for resource in message.resource_spans for scope in resource.scope_spans for span in scope.spans]
    return all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in spans)


def _unpacked(body: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading zstd", "traces") from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            return reader.read(MAX_DOCUMENT_BYTES)
    except zstandard.ZstdError as error:
        raise InputError(f"cannot be decompressed: {error}") from None
