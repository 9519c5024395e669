"""What the owner of a store holds for memory from call to call: index, encoder, policies as they apply."""

import threading
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.check import Fault
from scalepan.embed import Embedder, find_encoder
from scalepan.errors import ConflictError, InputError
from scalepan.memory.recall.candidates.side import Sides
from scalepan.memory.recall.index import Index, build, refresh
from scalepan.memory.recall.saved import load, save
from scalepan.policy import Policy, resolve
from scalepan.policy.embed import Embed
from scalepan.redact import Redactor
from scalepan.store.policies import WhosePolicy, as_layers, policy_layers
from scalepan.store.request import Overlay, Request, Who

if TYPE_CHECKING:
    from scalepan.store import Here

KEPT_POLICIES = 256
remember_vectors: ContextVar[bool] = ContextVar("remember_vectors", default=False)
"""Whether an encoder that is found now keeps its vectors in the user's cache: only for a bench on files of theirs."""


class Rules(msgspec.Struct, frozen=True):
    """The policy that applies to a call, and what is made from it once."""

    policy: Policy
    redactor: Redactor
    secrets_only: Redactor
    version: str
    """Of the retrieval section."""
    broken_curves: tuple[Fault, ...] = ()
    """What is wrong with fitted curves that do not load; they are not in the policy."""


class MemoryState:
    """One for each owned store. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sides = Sides()
        self.next_expiry = 0.0
        """When the next active context expires, in seconds since 1970; 0: not looked yet."""
        self.decay_told: set[tuple[str, str | None, str]] = set()
        """Tenant, project and day of the events about decay that were asked for."""
        self._index: Index | None = None
        self._encoder_lock = threading.Lock()
        self._model_lock = threading.Lock()
        self._model: str | None = None
        self._encoders: dict[Embed, Embedder | None] = {}
        self._rules: dict[Any, Rules] = {}

    def rules(self, here: "Here", request: Request) -> Rules:
        """The policy of this caller here: its own, and between file and environment what the store has for it."""
        who, overlay = request.who, request.overlay
        key = (overlay, who.tenant, who.project, here.policies.generation)
        found = self._rules.get(key)
        if found is None:
            policy, broken = _resolved(here, who, overlay)
            redactors = Redactor(policy.redact), Redactor(policy.redact, only=["secret"])
            found = Rules(policy, *redactors, policy.version("retrieval"), tuple(broken))
            check_no_secret(who.tenant, "tenant", found.secrets_only)
            check_no_secret(who.project, "project", found.secrets_only)
            if len(self._rules) >= KEPT_POLICIES:
                self._rules.clear()
            self._rules[key] = found
        check_no_secret(who.session, "session", found.secrets_only)
        check_no_secret(who.trace_id, "trace_id", found.secrets_only)
        return found

    def index(self, here: "Here", policy: Policy) -> Index:
        """The index, built when it is first asked for, and again when most of it is dead."""
        with self.lock:
            if self._index is None or self._index.worn:
                self._index = _made(here, policy)
                here.at_close("memory", self._save)
            return self._index

    def _save(self, here: "Here") -> None:
        # One that could not follow a write was dropped with its state, and is not to be taken for the latest.
        index = self.built() if memory_state(here) is self else None
        if index is not None:
            save(here, index)

    def built(self) -> Index | None:
        """The index, if there is one, for a write to keep in step.

        It waits while one is being built: that one may have begun before the write, and then does not know of it.
        """
        with self.lock:
            return self._index

    def follow(self, here: "Here", ids: Sequence[str]) -> None:
        """After a commit: bring some claims in the index up to what the tables say."""
        index = self.built()
        if index is not None and ids:
            refresh(here, index, ids)

    def encoder(self, here: "Here", policy: Policy) -> Embedder | None:
        """The encoder that the policy names; ConflictError if the store's vectors are by another."""
        encoder = self.named_encoder(policy)
        model = self.model(here) if encoder is not None else None
        if encoder is not None and model and model != encoder.model_id:
            raise ConflictError(
                f"the store's vectors are by {model}, and embed.model names {encoder.model_id}: "
                "use the same, or embed everything again with 'scalepan memory rescan --embed'"
            )
        return encoder

    def named_encoder(self, policy: Policy) -> Embedder | None:
        """The encoder that the policy names, whatever the store has."""
        with self._encoder_lock:
            if policy.embed not in self._encoders:
                # What is remembered is in the store, from where it can be forgotten; a cache elsewhere could not.
                self._encoders[policy.embed] = find_encoder(policy.embed, remember=remember_vectors.get())
            return self._encoders[policy.embed]

    def model(self, here: "Here") -> str | None:
        """Who made the store's vectors; None if there are none."""
        # What was read before another model was named must not be kept after that.
        with self._model_lock:
            if self._model is None:
                self._model = here.vectors.model()
            return self._model

    def forget_model(self) -> None:
        """Another model was named: look it up again."""
        with self._model_lock:
            self._model = None


def check_no_secret(name: str | None, path: str, redactor: Redactor) -> None:
    """InputError if a name is a secret: names are kept as they are and shown, so a key pasted there would leak."""
    found = redactor.redact(name).findings if name else ()
    if found:
        raise InputError(
            f"looks like a secret ({found[0].kind}), and names are stored unredacted: use another", path=path
        )


def memory_state(here: "Here") -> MemoryState:
    """Memory's state in the store that a call is in."""
    found: MemoryState = here.state.setdefault("memory", MemoryState())
    return found


def _made(here: "Here", policy: Policy) -> Index:
    """The index as it was saved, or made anew."""
    index = Index(policy.retrieval.morphology, Redactor(policy.redact), policy.version("redact"))
    with here.snapshot():
        if not load(here, index):
            build(here, index)
    return index


def _resolved(here: "Here", who: Who, overlay: bytes) -> tuple[Policy, list[Fault]]:
    """The policy, and what is wrong with curves that had to be left out of it."""
    callers = msgspec.msgpack.decode(overlay, type=Overlay) if overlay else Overlay()
    stored = policy_layers(here, WhosePolicy(who.tenant, who.project))
    broken: list[Fault] = []
    layers = [*callers.below, *as_layers(stored, broken), *callers.above]
    return resolve(layers, dropped=broken), broken
