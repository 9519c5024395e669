"""One OpenAI-compatible endpoint: a conversation in, the model's reply out; retries, time limit, concurrency.

Every failure is a CallError with a reason for the user. The server's words in it are not redacted here.
"""

import asyncio
import json
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scalepan.errors import MissingExtraError, counted, shorten
from scalepan.judge.judgement import TokenUsage
from scalepan.judge.key import Key, key_of
from scalepan.judge.prompt import response_format
from scalepan.judge.retry import jitter, pause
from scalepan.policy.judge import JudgePolicy

if TYPE_CHECKING:
    import httpx2

LARGEST_ANSWER = 1_000_000
SHOWN = 200
FORMAT, TEMPERATURE, MAX_TOKENS = "response_format", "temperature", "max_tokens"
# Which words of a refusal mean which parameter. Some models allow one temperature only, or rename max_tokens.
REFUSED_BY = {FORMAT: ("response_format", "json_schema"), TEMPERATURE: ("temperature",), MAX_TOKENS: ("max_tokens",)}


class CallError(Exception):
    """The call failed, and why."""

    def __init__(self, reason: str, *, hopeless: bool = False, raw: str = "", tokens: TokenUsage | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hopeless = hopeless
        """Whether every other call would fail too: the key is refused, the address is wrong."""
        self.raw = raw
        self.tokens = tokens
        self.calls = 0


class ModelReply(NamedTuple):
    """The model's reply, what it cost, and the parameters that the server refused."""

    text: str
    tokens: TokenUsage | None
    calls: int
    notes: tuple[str, ...]


class _Reply(NamedTuple):
    status: int
    headers: "httpx2.Headers"
    data: bytes


class Endpoint:
    """Calls run in the judge's loop. All state belongs to that loop; in another one (after a fork) it is rebuilt."""

    def __init__(self, policy: JudgePolicy) -> None:
        self.policy = policy
        self.refused: frozenset[str] = frozenset()
        """Parameters that the server refuses; found out once."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: httpx2.AsyncClient | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._turns = asyncio.Semaphore(policy.concurrency)
        self._quiet_until = 0.0
        self._unreachable = False
        self._leaked: list[object] = []

    async def ask(self, messages: list[dict[str, str]], fields: tuple[str, ...]) -> ModelReply:
        """One answer, or CallError."""
        self._settle()
        calls = 0
        async with self._turns:
            key = key_of(self.policy)
            if not key.fits_a_header:
                raise CallError(f"the key in {key.variable} has characters that a header cannot hold", hopeless=True)
            refused, repeats = self.refused, 0
            try:
                while True:
                    await self._quiet()
                    calls += 1
                    reply = await self._post(self._body(messages, fields, refused), key, last=repeats >= self._repeats)
                    if reply is not None and reply.status == 200:
                        break
                    if reply is not None and (more := _refusals(reply, refused)):
                        refused |= more
                        continue
                    self._check(reply, key, last=repeats >= self._repeats)
                    await self._back_off(reply, repeats)
                    repeats += 1
                text, tokens = read(reply.data, self.policy.max_tokens)
            except CallError as error:
                error.calls = calls
                raise
        self.refused |= refused  # only now is it certain that this was the cause
        return ModelReply(
            text, tokens, calls, tuple(f"the server does not accept {name}" for name in sorted(self.refused))
        )

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._keeper is not None and self._loop is asyncio.get_running_loop():
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        self._client = self._keeper = None

    def let_go(self) -> None:
        """The same from any thread, without waiting: for a judge that is being collected."""
        if self._keeper is not None and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, and the connections with it
                self._loop.call_soon_threadsafe(self._keeper.cancel)

    @property
    def is_open(self) -> bool:
        """Whether there are open connections."""
        return self._client is not None

    @property
    def _repeats(self) -> int:
        # Ten thousand questions to a server that is down should not each wait for it.
        return 0 if self._unreachable else self.policy.retries

    def _settle(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        # A forked child does not touch its parent's connections: closing them would disturb the parent.
        self._leaked += [self._client, self._keeper]
        self._loop, self._client, self._keeper = loop, None, None
        self._turns = asyncio.Semaphore(self.policy.concurrency)
        self._quiet_until = 0.0

    def _connected(self) -> "httpx2.AsyncClient":
        if self._client is None:
            try:
                import httpx2
            except ImportError:
                raise CallError(str(MissingExtraError("the judge", "judge")), hopeless=True) from None
            most, plain = self.policy.concurrency, urlsplit(self.policy.base_url).scheme == "http"
            self._client = httpx2.AsyncClient(
                timeout=None,  # one limit for the whole call, set around it
                limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most, keepalive_expiry=30.0),
                follow_redirects=False,
                # Certificates are checked. For plain http, loading the system's would cost 50 ms for nothing.
                verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
                # A proxy is for other hosts, not for a server on this machine.
                trust_env=not is_local(self.policy.base_url),
            )
            self._keeper = asyncio.create_task(_keep(self._client))
        return self._client

    async def _post(self, body: bytes, key: Key, *, last: bool) -> _Reply | None:
        """The reply; None if the connection was lost and a retry is left."""
        client = self._connected()
        import httpx2

        url = f"{self.policy.base_url.rstrip('/')}/chat/completions"
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **key.headers()}
        try:
            async with (
                asyncio.timeout(self.policy.timeout_s),
                client.stream("POST", url, content=body, headers=headers) as response,
            ):
                data = bytearray()
                async for chunk in response.aiter_bytes():
                    data += chunk
                    if len(data) > LARGEST_ANSWER:
                        raise CallError(f"the endpoint's reply is longer than {LARGEST_ANSWER:,} bytes")
                self._unreachable = False
                return _Reply(response.status_code, response.headers, bytes(data))
        except TimeoutError:
            raise CallError(f"no answer within {self.policy.timeout_s:g} s (judge.timeout_s)") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            if not last:
                return None
            unreachable = isinstance(error, httpx2.ConnectError)
            self._unreachable |= unreachable
            what = "cannot be reached" if unreachable else "drops the connection"
            said = shorten(str(error), SHOWN) or type(error).__name__
            raise CallError(f"{self.policy.base_url} {what}: {said}") from None

    def _body(self, messages: list[dict[str, str]], fields: tuple[str, ...], refused: frozenset[str]) -> bytes:
        body: dict[str, Any] = {"model": self.policy.model, "messages": messages, "stream": False}
        body["max_completion_tokens" if MAX_TOKENS in refused else "max_tokens"] = self.policy.max_tokens
        if self.policy.temperature is not None and TEMPERATURE not in refused:
            body["temperature"] = self.policy.temperature
        if FORMAT not in refused:
            body[FORMAT] = response_format(fields)
        return json.dumps(body).encode()

    def _check(self, reply: _Reply | None, key: Key, *, last: bool) -> None:
        """CallError for replies that are not worth a retry."""
        if reply is None:
            return
        status, said = reply.status, _said(reply.data)
        more = f": {shorten(said, SHOWN)}" if said else ""
        if status in (401, 403):
            todo = f"refuses the key in {key.variable}" if key else f"requires a key; set {key.variable}"
            raise CallError(f"the endpoint {todo} ({status}){more}", hopeless=True)
        if status == 404:
            raise CallError(
                f"no such address or model (404){more}; check judge.base_url and judge.model", hopeless=True
            )
        if 300 <= status < 400:
            to = urlsplit(reply.headers.get("location", ""))
            where = shorten(f"{to.scheme}://{to.hostname}{to.path}" if to.hostname else to.path, SHOWN)
            raise CallError(
                f"the endpoint redirects to {where}, which is not followed; see judge.base_url", hopeless=True
            )
        if status != 429 and status < 500:
            raise CallError(f"the endpoint answered {status}{more}")
        if last:
            raise CallError(f"the endpoint answered {status} {counted(self._repeats + 1, 'time')}{more}")

    async def _back_off(self, reply: _Reply | None, repeats: int) -> None:
        """Wait before the next try. An overloaded server gets a pause from every caller."""
        headers = reply.headers if reply is not None else {}
        seconds = pause(repeats, headers.get("retry-after"), headers.get("date"), self.policy)
        if reply is not None and (reply.status == 429 or "retry-after" in headers):
            self._quiet_until = max(self._quiet_until, asyncio.get_running_loop().time() + seconds)
        else:
            await asyncio.sleep(seconds)

    async def _quiet(self) -> None:
        now = asyncio.get_running_loop().time
        while (left := self._quiet_until - now()) > 0:
            # Callers that waited together must not retry together.
            await asyncio.sleep(left + self.policy.backoff_s * jitter())


async def _keep(client: "httpx2.AsyncClient") -> None:
    """Hold a client until its judge or its loop ends, then close it."""
    try:
        await asyncio.Event().wait()
    finally:
        await client.aclose()


def is_local(url: str) -> bool:
    """Whether an address is on this machine.

    >>> is_local("http://localhost:8000/v1"), is_local("http://[::1]/"), is_local("https://api.openai.com/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read(data: bytes, max_tokens: int) -> tuple[str, TokenUsage | None]:
    """The text of a chat completion and what it cost; CallError if there is none."""
    try:
        body = json.loads(data)
        (choice, *_) = body["choices"]
        message = choice["message"]
        text = _text(message.get("content"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = _said(data)
        more = f": {shorten(said, SHOWN)}" if said else ""
        raise CallError(f"the endpoint's reply is not a chat completion{more}") from None
    tokens, why = _tokens(body.get("usage")), choice.get("finish_reason")
    if message.get("refusal"):
        raise CallError(f"the model declined: {shorten(str(message['refusal']), SHOWN)}", tokens=tokens)
    if why == "content_filter":
        raise CallError("the endpoint's content filter withheld the answer", raw=text, tokens=tokens)
    if why == "length":
        # 0.85 may have been cut to 0.8, or to 0.
        reason = f"the answer was cut off at {max_tokens} tokens; a larger judge.max_tokens may help"
        raise CallError(reason, raw=text, tokens=tokens)
    return text, tokens


def _text(content: object) -> str:
    """The content as one text; some servers send it in pieces."""
    if isinstance(content, list):
        return "".join(piece["text"] for piece in content if piece.get("type", "text") == "text")
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content or ""


def _tokens(usage: Any) -> TokenUsage | None:
    match usage:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion)}:
            return TokenUsage(prompt, completion)
        case _:
            return None


def _refusals(reply: _Reply, refused: frozenset[str]) -> frozenset[str]:
    """Which of the parameters sent a server may have refused."""
    if reply.status < 400 or reply.status in (401, 403, 429):
        return frozenset()
    said = reply.data[:10_000].decode(errors="replace")
    named = frozenset(name for name, words in REFUSED_BY.items() if any(word in said for word in words))
    if not named and reply.status in (400, 415, 422, 501):
        named = frozenset({FORMAT})  # the likeliest, if it does not say
    return named - refused


def _said(data: bytes) -> str:
    """The message in a server's error: there are as many forms as servers."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    for _ in range(3):
        if not isinstance(body, dict):
            break
        body = next((body[key] for key in ("error", "message", "detail", "msg") if body.get(key)), "")
    return body if isinstance(body, str) else ""
