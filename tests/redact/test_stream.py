"""Streams: lines go out as they come in, keys stay together, memory has a limit, bytes come through."""

import io
import json
from typing import BinaryIO

import pytest

from scalepan.redact import Redactor, stream
from scalepan.redact.stream import redact_stream
from tests.redact.fakes import aws_key, pem


class Drip(io.RawIOBase):
    """A pipe that hands out what it has bit by bit."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def read(self, size: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def outputs(source: BinaryIO | io.RawIOBase) -> list[str]:
    return [passage.redacted.text for passage in redact_stream(source, Redactor())]  # type: ignore[arg-type]


def test_a_line_goes_out_as_soon_as_it_is_whole() -> None:
    assert outputs(Drip(b"one\ntw", b"o\nthree", b"")) == ["one\n", "two\n", "three"]


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_private_key_is_kept_together_however_it_arrives(size: int) -> None:
    text = f"a\n{pem(lines=20)}\nb\n".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(outputs(Drip(*pieces))) == "a\n[secret:private-key]\nb\n"


def test_a_name_waits_for_the_value_on_the_next_line() -> None:
    assert "".join(outputs(Drip(b'"password":\n', b'  "hunter2"\n'))) == '"password":\n  "[secret:password]"\n'


def test_a_key_that_never_ends_is_let_go() -> None:
    lines = [b"-----BEGIN PRIVATE KEY-----\n", *[b"words of a story, not of a key\n"] * 3000]
    out = outputs(Drip(*lines))
    assert "".join(out).count("story") == 3000
    assert len(out) > 10


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """What is held back, made small, so that a line too long for it is quickly made."""
    monkeypatch.setattr(stream, "LIMIT", 10_000)
    monkeypatch.setattr(stream, "WHOLE", 0)
    return 10_000


def test_a_line_without_end_is_parted_at_a_space(small: int) -> None:
    secret = aws_key()
    data = f"{secret} " * (2 * small // 21)
    assert secret not in "".join(outputs(io.BytesIO(data.encode())))


def test_a_word_without_end_is_parted_between_letters(small: int) -> None:
    data = "あ" * small
    assert "".join(outputs(io.BytesIO(data.encode()))) == data


def test_bytes_that_are_no_text_come_out_as_they_went_in() -> None:
    data = bytes(range(256)) * 10 + b"\r\n\r" + b"ann@example.com\xff\n"
    out = "".join(outputs(io.BytesIO(data))).encode("utf-8", "surrogateescape")
    assert out == data.replace(b"ann@example.com", b"[pii:email]")


def test_places_are_lines_and_columns_of_the_input() -> None:
    drip = Drip(b"one\n  ann@example.com\n", "あ ann@example.com ".encode(), b"8.8.8.8")
    found = [
        (finding.kind, line, column)
        for passage in redact_stream(drip, Redactor())  # type: ignore[arg-type]
        for finding, line, column in passage.found()
    ]
    assert found == [("email", 2, 3), ("email", 3, 3), ("ip-address", 3, 19)]


def test_what_was_found_is_cut_in_all_that_follows() -> None:
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


def test_lines_of_json_go_out_as_they_come() -> None:
    lines = [b'{"pin": 4821}\n', b'{"x": 1}\n']
    assert outputs(Drip(*lines)) == ['{"pin": "[secret:password]"}\n', '{"x": 1}\n']
