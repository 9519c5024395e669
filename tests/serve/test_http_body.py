"""Bodies: cut anywhere on the way, the same lines come out; too long and too slow is told."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette")

from scalepan.serve.http.body import BodyLine, lines, media_type, whole
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.refused import GoneAwayError, RefusedError
from scalepan.serve.http.request import HttpRequest

LIMITS = Limits(body=8, body_seconds=0.05)


class Client:
    """Sends parts of a body; then it is silent, or goes."""

    def __init__(self, parts: Sequence[bytes], *, ends: bool = True, goes: bool = False) -> None:
        self._parts = list(parts)
        self._ends, self._goes = ends, goes

    async def __call__(self) -> Any:
        if self._parts:
            part = self._parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts) or not self._ends}
        if not self._goes:
            await asyncio.sleep(60)
        return {"type": "http.disconnect"}


def read_lines(client: Client) -> list[BodyLine]:
    async def read() -> list[BodyLine]:
        return [line async for part in lines(client, HttpRequest({}), LIMITS) for line in part]

    return asyncio.run(read())


def read_whole(client: Client, **headers: bytes) -> bytes:
    given_headers = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return asyncio.run(whole(client, HttpRequest(given_headers), LIMITS))


@given(st.lists(st.text("ab\n ", max_size=12).map(str.encode), min_size=1, max_size=8))
def test_lines_are_the_same_wherever_the_body_is_cut(parts: list[bytes]) -> None:
    expected = [
        BodyLine(number, text if len(text) <= LIMITS.body else None)
        for number, text in enumerate(b"".join(parts).split(b"\n"), 1)
        if text.strip() or len(text) > LIMITS.body
    ]
    assert read_lines(Client(parts)) == expected
    assert read_lines(Client([*parts, b""])) == expected


def test_a_long_line_in_small_parts_is_not_copied_each_time() -> None:
    parts = [b"x" * 400] * 20_000

    async def read() -> list[BodyLine]:
        return [line async for part in lines(Client(parts), HttpRequest({}), Limits()) for line in part]

    started = time.process_time()
    assert asyncio.run(read()) == [BodyLine(1, b"".join(parts))]
    assert time.process_time() - started < 20  # copied each time it would be minutes


def test_a_body_is_taken_whole() -> None:
    assert read_whole(Client([b"abc", b"", b"def"])) == b"abcdef"
    assert read_whole(Client([b""])) == b""


@pytest.mark.parametrize(
    ("client", "headers", "status"),
    [
        (Client([], ends=False), {"content_length": b"9"}, 413),  # not one byte of it was read
        (Client([b"12345", b"6789"]), {}, 413),
        (Client([b"12"], ends=False), {}, 408),
    ],
)
def test_what_is_too_long_or_too_slow_is_refused(client: Client, headers: dict[str, bytes], status: int) -> None:
    with pytest.raises(RefusedError) as caught:
        read_whole(client, **headers)
    assert caught.value.status == status


def test_a_line_that_does_not_end_is_not_waited_for() -> None:
    with pytest.raises(RefusedError) as caught:
        read_lines(Client([b"ab\ncd"], ends=False))
    assert caught.value.status == 408


def test_a_client_that_goes_is_no_error() -> None:
    with pytest.raises(GoneAwayError):
        read_whole(Client([b"ab"], ends=False, goes=True))


@pytest.mark.parametrize("good", [b"application/json", b"Application/JSON; charset=UTF-8", b"application/x-ndjson"])
def test_media_types(good: bytes) -> None:
    assert media_type(HttpRequest({b"content-type": good})) in (b"application/json", b"application/x-ndjson")


@pytest.mark.parametrize("bad", [b"", b"text/plain", b"application/json-patch+json", b"application/json; charset=sjis"])
def test_other_media_types(bad: bytes) -> None:
    with pytest.raises(RefusedError, match="application/json"):
        media_type(HttpRequest({b"content-type": bad}))
