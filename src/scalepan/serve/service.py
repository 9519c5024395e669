"""The service behind the doors: whose store, policy and memory a request is answered from. It knows no protocol."""

import threading
from copy import copy
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from scalepan.memory.method import do_for_tool
from scalepan.names import check_label
from scalepan.policy import Policy, load_policy
from scalepan.policy.boundary import BoundaryClass
from scalepan.serve.envelope import Caller, ids
from scalepan.store import Store
from scalepan.store.operation import Operation

if TYPE_CHECKING:
    from scalepan.memory import Memory
    from scalepan.trace import TraceValuer

Req = TypeVar("Req", bound=msgspec.Struct)
Resp = TypeVar("Resp", bound=msgspec.Struct)
POLICY_SECONDS = 1.0
"""How late a change of the policy may be seen: looking costs more than most answers."""


class Settings(msgspec.Struct, frozen=True):
    """For whom a door is open, and how much goes through it."""

    store: Path | None = None
    tenant: str = "default"
    project: str | None = "default"
    session: str | None = None
    policy: Path | None = None
    metadata_only: bool = False
    classes: tuple[BoundaryClass, ...] | None = None
    """The boundary classes that may be reached at most; None: what policy opens."""

    def __post_init__(self) -> None:
        # Every door comes by here: options, headers, tokens.
        for name in ("tenant", "project", "session"):
            if (given := getattr(self, name)) is not None:
                check_label(given, name)


class Service:
    """One store, one tenant, project and session. Thread-safe. A store that is given is shared, and stays open.

    Memory, confidence and arrays are imported by the methods that need them, so that a door is open before that.
    """

    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        self.settings = settings
        self.store = Store(settings.store) if store is None else store
        self._lock = threading.Lock()
        self._policy: tuple[float, Policy | None] = (0.0, None)
        self._valuers: dict[tuple[str, str], TraceValuer] = {}

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def warm(self) -> None:
        """Load what the first call would otherwise wait for."""
        import scalepan.evals
        import scalepan.memory.operations  # noqa: F401
        from scalepan.confidence import ConfidenceCalculator, Gate, confidence_batch  # noqa: F401

        self.policy()

    def policy(self) -> Policy:
        """The policy in force: the file's, then what the store has for tenant and project, then the environment's."""
        from scalepan.store.policies import WhosePolicy, as_layers

        policy = self.fresh_policy()
        if policy is not None:
            return policy
        settings = self.settings
        stored = self.store.call("store.policy_layers", WhosePolicy(settings.tenant, settings.project))
        policy = load_policy(settings.policy, layers=as_layers(stored))
        with self._lock:
            self._policy = (monotonic(), policy)
        return policy

    def fresh_policy(self) -> Policy | None:
        """The policy, if it was looked up just now: for who may not wait."""
        with self._lock:
            looked_at, policy = self._policy
        return policy if monotonic() - looked_at < POLICY_SECONDS else None

    @cached_property
    def _memory_for_all(self) -> "Memory":
        from scalepan.memory import Memory

        s = self.settings
        return Memory(
            self.store, tenant=s.tenant, project=s.project, session=s.session, policy=s.policy, classes=s.classes
        )

    def memory(self, asked: Caller) -> "Memory":
        """The memory, as this request's caller."""
        with self._lock:
            memory = copy(self._memory_for_all)
        memory.who = msgspec.structs.replace(memory.who, trace_id=asked.trace_id, actor=asked.client)
        return memory

    def do(self, operation: Operation[Req, Resp], request: msgspec.Struct, asked: Caller) -> Resp:
        """Do an operation that a tool was asked for."""
        return do_for_tool(self.memory(asked), operation, request)

    def valuer(self) -> "TraceValuer":
        """Made once for a policy: it remembers the traces of this session."""
        from scalepan.embed import find_encoder
        from scalepan.trace import TraceValuer

        policy = self.policy()
        key = (policy.version("value"), policy.version("embed"))
        with self._lock:
            if key not in self._valuers:
                self._valuers = {key: TraceValuer(policy, embedder=find_encoder(policy.embed))}
            return self._valuers[key]

    def envelope(self, asked: Caller, section: str) -> dict[str, Any]:
        """What every answer carries, with the version of the policy section that it was made under."""
        return ids(asked, self.policy().version(section))
