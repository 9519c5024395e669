"""Streams: lines are written as they arrive, keys stay together, memory is bounded, bytes pass through."""

import io
import json
from typing import BinaryIO

import pytest

from scalepan.redact import Redactor, stream
from scalepan.redact.stream import redact_stream
from tests.redact.fakes import aws_key, pem


class Drip(io.RawIOBase):
    """A pipe that returns its data in small pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def read(self, size: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def outputs(source: BinaryIO | io.RawIOBase) -> list[str]:
    return [passage.redacted.text for passage in redact_stream(source, Redactor())]  # type: ignore[arg-type]


def test_a_line_is_returned_as_soon_as_it_is_complete() -> None:
    assert outputs(Drip(b"one\ntw", b"o\nthree", b"")) == ["one\n", "two\n", "three"]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_private_key_is_kept_together_however_it_arrives(size: int) -> None:
    text = f"a\n{pem(lines=20)}\nb\n".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(outputs(Drip(*pieces))) == "a\n[secret:private-key]\nb\n"


def test_a_name_waits_for_the_value_on_the_next_line() -> None:
    assert "".join(outputs(Drip(b'"password":\n', b'  "hunter2"\n'))) == '"password":\n  "[secret:password]"\n'


def test_a_key_that_never_ends_is_not_buffered_forever() -> None:
    lines = [b"-----BEGIN PRIVATE KEY-----\n", *[b"words of a story, not of a key\n"] * 3000]
    out = outputs(Drip(*lines))
    assert "".join(out).count("story") == 3000
    assert len(out) > 10


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """A small buffer limit, so that a short line exceeds it."""
    monkeypatch.setattr(stream, "LIMIT", 10_000)
    monkeypatch.setattr(stream, "WHOLE", 0)
    return 10_000


def test_an_endless_line_is_split_at_a_space(small: int) -> None:
    secret = aws_key()
    data = f"{secret} " * (2 * small // 21)
    assert secret not in "".join(outputs(io.BytesIO(data.encode())))


def test_an_endless_word_is_split_between_characters(small: int) -> None:
    data = "あ" * small
    assert "".join(outputs(io.BytesIO(data.encode()))) == data


def test_bytes_that_are_not_text_pass_through() -> None:
    data = bytes(range(256)) * 10 + b"\r\n\r" + b"ann@example.com\xff\n"
    out = "".join(outputs(io.BytesIO(data))).encode("utf-8", "surrogateescape")
    assert out == data.replace(b"ann@example.com", b"[pii:email]")


def test_positions_are_lines_and_columns_of_the_input() -> None:
    drip = Drip(b"one\n  ann@example.com\n", "あ ann@example.com ".encode(), b"8.8.8.8")
    found = [
        (finding.kind, line, column)
        for passage in redact_stream(drip, Redactor())  # type: ignore[arg-type]
        for finding, line, column in passage.found()
    ]
    assert found == [("email", 2, 3), ("email", 3, 3), ("ip-address", 3, 19)]


def test_a_found_value_is_cut_in_the_rest_of_the_input() -> None:
    assert outputs(Drip(b"password=hunter2\n", b"again hunter2\n")) == [
        "password=[secret:password]\n",
        "again [secret:password]\n",
    ]


def test_a_file_is_read_as_a_whole() -> None:
    data = b"first hunter2\n" + b"x y z\n" * 60_000 + b"password=hunter2\n"
    (out,) = outputs(io.BytesIO(data))
    assert out.startswith("first [secret:password]\n")


@pytest.mark.parametrize("size", [3, 20, 1000])
def test_json_that_spans_lines_stays_json_from_a_pipe_too(size: int) -> None:
    text = json.dumps({"a": [1, 2], "password": 12345678, "b": {"token": None}}, indent=2).encode()
    out = "".join(outputs(Drip(*[text[at : at + size] for at in range(0, len(text), size)])))
    assert json.loads(out) == {"a": [1, 2], "password": "[secret:password]", "b": {"token": None}}


def test_lines_of_json_are_returned_as_they_arrive() -> None:
    lines = [b'{"pin": 4821}\n', b'{"x": 1}\n']
    assert outputs(Drip(*lines)) == ['{"pin": "[secret:password]"}\n', '{"x": 1}\n']
