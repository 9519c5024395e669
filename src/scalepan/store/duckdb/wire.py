"""What goes over the socket: a greeting, then calls and answers, each a frame of bounded length."""

import os
import socket
import struct
import sys
from pathlib import Path

import msgspec

from scalepan.check import resolved
from scalepan.errors import ScalepanError

PROTOCOL = 1
LARGEST_FRAME = 16 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class GoneError(Exception):
    """The other side is not there, or not any more."""


class FrameTooLargeError(ScalepanError):
    """A call or an answer that must be sent in pages."""


class Hello(msgspec.Struct, frozen=True):
    """Who is speaking: both sides say so first."""

    protocol: int
    schema: int
    pid: int
    program: str
    problem: str = ""


class Call(msgspec.Struct, frozen=True):
    """One operation. A repeated call carries the id of the first, so that it is not applied twice."""

    operation: str
    request: msgspec.Raw
    id: str
    repeated: bool = False


class WireAnswer(msgspec.Struct, frozen=True):
    """What came of a call: a response, or an error with its code."""

    response: msgspec.Raw = msgspec.Raw(b"\xc0")
    code: str = ""
    message: str = ""


resolved(Hello, Call, WireAnswer)


def hello(schema: int, problem: str = "") -> Hello:
    """This process's greeting."""
    return Hello(PROTOCOL, schema, os.getpid(), program_name(), problem)


def program_name() -> str:
    """How a person knows this process: `scalepan mcp`."""
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return " ".join([name, *sys.argv[1:2]])[:60]


def send(channel: socket.socket, message: msgspec.Struct) -> None:
    """Send one frame; GoneError if nobody is there to take it."""
    data = msgspec.msgpack.encode(message)
    if len(data) > LARGEST_FRAME:
        raise FrameTooLargeError(f"{len(data):,} bytes at once are too many; the limit is {LARGEST_FRAME:,}")
    try:
        channel.sendall(_LENGTH.pack(len(data)) + data)
    except TimeoutError:
        raise
    except OSError as error:
        raise GoneError(str(error)) from None


def receive(channel: socket.socket) -> bytes:
    """One frame; GoneError if the other side has gone."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
    if length > LARGEST_FRAME:
        raise GoneError(f"a frame of {length:,} bytes: the other side does not speak this protocol")
    return _exactly(channel, length)


def _exactly(channel: socket.socket, count: int) -> bytes:
    pieces = []
    while count:
        try:
            piece = channel.recv(min(count, 1 << 20))
        except TimeoutError:
            raise
        except OSError as error:
            raise GoneError(str(error)) from None
        if not piece:
            raise GoneError("closed")
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def peer_uid(channel: socket.socket) -> int | None:
    """Whose process is at the other end; None where the system does not tell, which is nobody to trust."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is not None:  # Linux
        _, uid, _ = struct.unpack("iII", channel.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("iII")))
        return int(uid)
    import ctypes

    try:  # macOS and the BSDs
        getpeereid = ctypes.CDLL(None, use_errno=True).getpeereid
    except (OSError, AttributeError):
        return None
    user, group = ctypes.c_uint32(), ctypes.c_uint32()
    failed = getpeereid(channel.fileno(), ctypes.byref(user), ctypes.byref(group))
    return None if failed else int(user.value)
