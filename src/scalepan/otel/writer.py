"""Who writes the events of a run? One writer: in batches, to a file of JSON lines or to an OTLP endpoint."""

import os
import stat
from functools import lru_cache
from types import TracebackType
from typing import BinaryIO, Protocol, Self

import msgspec

from scalepan.clock import time
from scalepan.errors import DeliveryError
from scalepan.files import open_private
from scalepan.otel.endpoint import OtlpEndpoint, is_address
from scalepan.otel.event import NOTHING, EvaluationSubject, evaluation_event, logs_request
from scalepan.policy.given import Given, policy_given
from scalepan.redact import Redactor
from scalepan.score import Score

REMEMBERED = 4096
"""How many redacted texts are remembered."""
MOST_EVENTS = 512
MOST_BYTES = 4 << 20
"""A batch is sent when it has this many events or bytes. Collectors take 20 MB by default."""
_HEAD, _TAIL = msgspec.json.encode(logs_request([])).rsplit(b"[]", 1)


class _Target(Protocol):
    name: str

    def post(self, body: bytes, *, once: bool = False) -> tuple[int, str]: ...

    def close(self) -> None: ...


class EvaluationWriter:
    """Writes scores as events to a file or an address, redacted by the policy in force.

    What an endpoint does not take is counted, and `problem` says why; after that nothing more is sent, so that a run
    does not wait for a server that is down. The caller's own work never fails because of it.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        policy: Given = None,
        *,
        append: bool = False,
        endpoint: OtlpEndpoint | None = None,
    ) -> None:
        """`target` is a file, or an address such as http://127.0.0.1:4318; `append` continues a file."""
        name = os.fspath(target)
        self._to: _Target = endpoint or (OtlpEndpoint(name) if is_address(name) else _LogFile(name, append=append))
        redactor = Redactor(policy_given(policy).redact)
        # Most notes are a few words that come again and again.
        self._clean = lru_cache(REMEMBERED)(lambda text: redactor.redact(text).text)
        self._batch: list[bytes] = []
        self._bytes = 0
        self.delivered = 0
        """How many events were written, or accepted by the endpoint."""
        self.lost = 0
        """How many were not."""
        self.problem: str | None = None
        """Why, of the first that was not."""
        self._away = False

    @property
    def name(self) -> str:
        """Where events go, without anything secret."""
        return self._to.name

    def add(
        self,
        score: Score,
        subject: EvaluationSubject = NOTHING,
        *,
        label: str | None = None,
        at: float | None = None,
        evaluator: str = "scalepan",
        version: str | None = None,
    ) -> None:
        """Write one score; `evaluator` and `version` say who judged, if it was not Scalepan itself."""
        named = {} if version is None else {"version": version}
        event = evaluation_event(
            score,
            subject,
            at=time() if at is None else at,
            label=label,
            evaluator=evaluator,
            clean=self._clean,
            **named,
        )
        line = msgspec.json.encode(event)
        self._batch.append(line)
        self._bytes += len(line)
        if len(self._batch) >= MOST_EVENTS or self._bytes >= MOST_BYTES:
            self.flush()

    def flush(self, *, once: bool = False) -> None:
        """Send what is waiting; `once` does not retry."""
        batch, self._batch, self._bytes = self._batch, [], 0
        if not batch:
            return
        rejected, why = len(batch), ""
        if not self._away:
            try:
                rejected, why = self._to.post(_HEAD + b"[" + b",".join(batch) + b"]" + _TAIL, once=once)
            except DeliveryError as error:
                self._away, why = True, str(error)
            except BaseException:
                self._away, self.problem = True, self.problem or "stopped while sending"
                self.lost += len(batch)
                raise
        rejected = min(rejected, len(batch))
        self.delivered += len(batch) - rejected
        self.lost += rejected
        if rejected and self.problem is None:
            self.problem = why or f"{self.name} rejected them"

    def close(self, *, once: bool = False) -> None:
        """Send what is waiting, and finish."""
        try:
            self.flush(once=once)
        finally:
            self._to.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whoever stops a run does not want to wait for a server.
        self.close(once=kind is not None)


class _LogFile:
    """A file with one request per line, as OpenTelemetry's file exporter writes it."""

    def __init__(self, path: str, *, append: bool) -> None:
        self.name = path
        flags = os.O_RDWR if append and os.path.isfile(path) else os.O_WRONLY
        self._file: BinaryIO = open(open_private(path, flags | os.O_CREAT | (0 if append else os.O_TRUNC)), "wb")  # noqa: SIM115 - `close`
        if append:
            self._continue()

    def post(self, body: bytes, *, once: bool = False) -> tuple[int, str]:  # noqa: ARG002 - the endpoint's signature
        """Write one line."""
        self._file.write(body + b"\n")
        self._file.flush()
        return 0, ""

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def _continue(self) -> None:
        """Go to the end of the file; half a line there, of a run that was killed, is ended."""
        handle = self._file.fileno()
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return
        if (size := self._file.seek(0, os.SEEK_END)) and os.pread(handle, 1, size - 1) != b"\n":
            self._file.write(b"\n")
