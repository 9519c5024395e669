"""Memory: what an agent remembers, from Python. Every method is one operation, done here or where the file is."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from scalepan.arguments import as_mapping, as_names, as_path, wrong
from scalepan.errors import ConflictError
from scalepan.memory.calibrate import Fitted, fit, text_side, vector_side
from scalepan.memory.claim import Claim, NewClaim
from scalepan.memory.method import asked_by, checked, converted, do, does
from scalepan.memory.plain import IMPORTED, exported, new_claim, oldest_first, renamed
from scalepan.memory.recall.answers import Recall
from scalepan.memory.requests import (
    ACTIVATE,
    ADD,
    BACKFILL,
    CANDIDATES,
    CONTRADICTIONS,
    EXPORT,
    FORGET,
    GET,
    LINK,
    LIST,
    MOST_AT_ONCE,
    RESCAN,
    SEARCH,
    STATS,
    SWEEP,
    UNDO_VOTE,
    UPDATE,
    VOTE,
    VOTED_PAIRS,
    Add,
    Added,
    Ask,
    AskCandidates,
    AskVotes,
    Backfill,
    Contradicting,
    Contradictions,
    ExportPage,
    Forget,
    Get,
    Got,
    LevelCandidates,
    Link,
    Linked,
    List,
    MemoryFigures,
    OrphanCounts,
    Rescan,
    Stats,
    Sweep,
    UndoVote,
    Updated,
    Vote,
    Voted,
)
from scalepan.policy import Layer, Policy, resolve
from scalepan.policy.boundary import BoundaryClass
from scalepan.policy.files import file_layers
from scalepan.policy.given import LEGAL as LEGAL_POLICY
from scalepan.policy.load import env_layers
from scalepan.policy.retrieval import Method
from scalepan.store import Store
from scalepan.store.policies import SetPolicy, WhosePolicy
from scalepan.store.request import DEFAULT_PROJECT, DEFAULT_PURPOSE, DEFAULT_TENANT, Overlay, Who

SAVES = 5
"""How often fitted curves are put into a policy that somebody else keeps changing."""
Progress = Callable[[int], None]
"""Told how many are done so far."""


class Memory:
    """What an agent remembers, in one file that other processes may use at the same time.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with Memory(Path(tempfile.mkdtemp()) / "notes.duckdb") as memory:
    ...     _ = memory.add("Plans are cancelled by POST /subscriptions/{id}/cancel")
    ...     memory.search("how is a plan cancelled?")[0].text
    'Plans are cancelled by POST /subscriptions/{id}/cancel'
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Store | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        project: str | None = DEFAULT_PROJECT,
        session: str | None = None,
        purposes: Sequence[str] = (DEFAULT_PURPOSE,),
        actor: str | None = None,
        facts: Mapping[str, Any] | None = None,
        policy: str | os.PathLike[str] | Policy | Mapping[str, Any] | None = None,
        trace_id: str | None = None,
        classes: Sequence[BoundaryClass] | None = None,
    ) -> None:
        """Everything after `path` says who asks; claims of other tenants, projects and sessions do not exist here.

        `policy` is a file, a whole Policy, or a mapping that is laid over the policy in force. `classes` are those that
        may be reached at most, whatever the policy opens.
        """
        if path is not None and not isinstance(path, Store):
            path = as_path("path", path, "a store file, a Store, or None for the store that is found from here")
        self.store = path if isinstance(path, Store) else Store(path)
        opened = None if classes is None else as_names("classes", classes)
        said = dict(as_mapping("facts", facts)) if facts is not None else {}
        who = Who(tenant, project, session, as_names("purposes", purposes), actor, said, trace_id, opened)
        self.who = converted(msgspec.to_builtins(who), Who)
        self.overlay = _overlay(policy)
        """What its policy says, packed: every request takes it along."""

    def __repr__(self) -> str:
        """Which file and who asks; the file is not opened for it."""
        who = {"tenant": self.who.tenant, "project": self.who.project, "session": self.who.session}
        said = "".join(f", {name}={value!r}" for name, value in who.items() if value is not None)
        return f"{type(self).__name__}({str(self.store.path)!r}{said})"

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    def add(self, text: str, **more: Any) -> str:
        """Remember one thing; its id. `more` is what else a NewClaim has: kind, scope, boundary_class, entities …

        What is known already is not kept twice: its id is given.
        """
        (added,) = self.add_many([{"text": text, **more}])
        return added.id

    def add_many(
        self, claims: Iterable[NewClaim | Mapping[str, Any] | str], progress: Progress | None = None
    ) -> Sequence[Added]:
        """Remember many things, a thousand at a time; what became of each, in their order.

        One may replace another that stands before it, by the id that it was given with.
        """
        done: list[Added] = []
        kept: dict[str, str] = {}
        if isinstance(claims, (str, Mapping, NewClaim)):
            claims = [claims]  # one that is meant as such, and not its letters or keys
        elif not isinstance(claims, Iterable):
            raise wrong("claims", claims, "a list of texts, dicts or NewClaims")
        for page in _pages(claims):
            good = [renamed(new_claim(claim, number), kept) for number, claim in enumerate(page, len(done))]
            added = do(self, ADD, Add(good)).claims
            kept |= {c.id: one.id for c, one in zip(good, added, strict=True) if c.id not in (None, one.id)}
            done += added
            if progress is not None:
                progress(len(done))
        return done

    @does(SEARCH, Ask)
    def search(self, found: Recall) -> Recall:
        """The k best claims for a query, best first, each with its score and the reason for it."""
        return found

    @does(ACTIVATE, Ask)
    def activate(self, found: Recall) -> Recall:
        """The same as an active context: only what reaches the threshold, kept for a day with its scores."""
        return found

    @does(GET, Get)
    def get(self, found: Got) -> Claim:
        """One claim."""
        return found.claim

    def list(
        self, *, scopes: Sequence[str] | None = None, kinds: Sequence[str] | None = None, limit: int | None = None
    ) -> Iterator[Claim]:
        """The claims that this caller may read, last changed first; all of them, or the first `limit`."""
        after: str | None = None
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise wrong("limit", limit, "a whole number, or None for all")
        left = limit
        while left is None or left > 0:
            size = 1000 if left is None else min(left, 1000)
            request = {"scopes": scopes, "kinds": kinds, "limit": size, "after": after}
            page = do(self, LIST, checked(List, request))
            yield from page.claims
            left = None if left is None else left - len(page.claims)
            if not page.more:
                return
            after = page.claims[-1].id

    @does(UPDATE)
    def update(self, updated: Updated) -> Claim:
        """Change a claim. What is not given stays as it is; entities and provenance may be plain data."""
        return updated.claim

    def forget(self, *claims: str) -> int:
        """Forget claims, with everything that was derived from them; how many. A list of ids will do too."""
        ids = [id_ for given in claims for id_ in as_names("claims", given, "the id of a claim, or a list of ids")]
        return do(self, FORGET, checked(Forget, {"claims": ids})).count

    @does(VOTE, Vote)
    def vote(self, voted: Voted) -> Voted:
        """Say what a claim was worth: helpful, harmful, outdated, or a duplicate of another."""
        return voted

    @does(UNDO_VOTE, UndoVote)
    def undo_vote(self, voted: Voted) -> Voted:
        """Take a vote back: the claim's numbers become what they would be without it."""
        return voted

    @does(CONTRADICTIONS, Contradictions)
    def contradictions(self, found: Contradicting) -> Contradicting:
        """Pairs of claims that may contradict each other, with the evidence. Nothing is changed: see `supersedes`."""
        return found

    @does(LINK, Link)
    def link(self, linked: Linked) -> str:
        """Relate two claims, or a claim and an entity; the relation's id."""
        return linked.id

    @does(STATS, Stats)
    def stats(self, figures: MemoryFigures) -> MemoryFigures:
        """Counts of this project."""
        return figures

    def export(self) -> Iterator[dict[str, Any]]:
        """Every claim of the project as plain data that `import_` takes: what replaces another comes after it."""
        after: str | None = None
        gone_out: set[str] = set()
        replacing: dict[str, Claim] = {}
        while True:
            page = do(self, EXPORT, ExportPage(after=after))
            for claim in page.claims:
                if claim.supersedes is not None:
                    replacing[claim.id] = claim
                    continue
                gone_out.add(claim.id)
                yield exported(claim)
            if not page.more:
                break
            after = page.claims[-1].id
        for claim in oldest_first(replacing):
            yield exported(claim, gone_out)
            gone_out.add(claim.id)

    def import_(self, claims: Iterable[Mapping[str, Any]], progress: Progress | None = None) -> Sequence[Added]:
        """Take in what another memory exported, ids and times included."""
        if isinstance(claims, (str, bytes, Mapping)) or not isinstance(claims, Iterable):
            raise wrong("claims", claims, "a list of claims, as export gives them")
        legal = "a dict, as export gives it"
        rows = (as_mapping(f"claims[{number}]", claim, legal) for number, claim in enumerate(claims))
        return self.add_many(({k: v for k, v in row.items() if k in IMPORTED} for row in rows), progress)

    def rescan(self, progress: Progress | None = None) -> tuple[int, int]:
        """Redact everything once more, after a rule changed; how many were looked at, and how many changed.

        Then what is left of claims that are gone is removed, if there is any: see `sweep`.
        """
        looked_at = changed = 0
        after: str | None = None
        while True:
            page = do(self, RESCAN, Rescan(after=after))
            looked_at, changed, after = looked_at + page.looked_at, changed + page.changed, page.last
            if progress is not None:
                progress(looked_at)
            if after is None:
                self.sweep()
                return looked_at, changed

    @does(SWEEP, Sweep)
    def sweep(self, removed: OrphanCounts) -> dict[str, int]:
        """Remove what is left of claims that are gone, in all tenants: how many rows, by table. Part of `rescan`."""
        return removed.rows

    def backfill(self, *, anew: bool = False, progress: Progress | None = None) -> int:
        """Embed what has no vector; with `anew` everything, if the policy names another encoder. How many."""
        done = 0
        while True:
            page = do(self, BACKFILL, Backfill(anew=anew))
            done += page.done
            if progress is not None:
                progress(done)
            if not page.left:
                return done

    def candidates(
        self, query: str, *, text_level: str = "index", vector_level: str = "index", k: int | None = None
    ) -> LevelCandidates:
        """What single levels find for a query, with raw scores: for measuring."""
        ask = asked_by(self, checked(Ask, {"query": query, "k": k}))
        return self.store.call(CANDIDATES, AskCandidates(ask, text_level, vector_level))

    def calibrate(
        self, labelled: Sequence[tuple[str, set[str]]] | None = None, method: Method = "isotonic", *, save: bool = True
    ) -> dict[str, Fitted]:
        """Fit raw scores to labels, of queries or of votes; by side. Kept as this project's policy, if `save`."""
        names, text, vector, model, terms = self._pairs(labelled)
        fitted = {
            name: found
            for name, side in (("text", text_side(text)), ("vector", vector_side(vector)))
            if (found := fit(side, names, method)) is not None
        }
        if fitted and save:
            for left in reversed(range(SAVES)):
                try:
                    self._save_calibration(fitted, model, terms)
                    break
                except ConflictError:
                    if not left:
                        raise
        return fitted

    def _pairs(
        self, labelled: Sequence[tuple[str, set[str]]] | None
    ) -> tuple[Sequence[str], Sequence[Any], Sequence[Any], str, str]:
        text: list[list[tuple[float, bool]]] = []
        vector: list[list[tuple[float, bool]]] = []
        if labelled is None:
            voted = do(self, VOTED_PAIRS, AskVotes())
            names = list(dict.fromkeys(pair.query for pair in voted.pairs))
            for name in names:
                mine = [pair for pair in voted.pairs if pair.query == name]
                text.append([(pair.bm25, pair.relevant) for pair in mine if pair.bm25 is not None])
                vector.append([(pair.cos, pair.relevant) for pair in mine if pair.cos is not None])
            return names, text, vector, voted.model, voted.terms
        found = LevelCandidates([], [], "", "")
        for query, relevant in labelled:
            found = self.candidates(query)
            text.append([(score, id_ in relevant) for id_, score in found.text])
            vector.append([(score, id_ in relevant) for id_, score in found.vector])
        return [query for query, _ in labelled], text, vector, found.model, found.terms

    def _save_calibration(self, fitted: dict[str, Fitted], model: str, terms: str) -> None:
        import yaml

        from scalepan.yamlfile import parse_yaml

        whose = WhosePolicy(self.who.tenant, self.who.project)
        history = self.store.call("store.policy_history", whose).changes
        policy: dict[str, Any] = (parse_yaml(history[0].yaml) if history else None) or {}
        calibration = {name: msgspec.to_builtins(found.curve) for name, found in fitted.items()}
        policy.setdefault("retrieval", {})["calibration"] = {**calibration, "model": model, "terms": terms}
        text = yaml.safe_dump(policy, sort_keys=False, allow_unicode=True)
        replaced = history[0].id if history else ""
        self.store.call(
            "store.set_policy", SetPolicy(text, self.who.tenant, self.who.project, self.who.actor, replaced)
        )


def _overlay(policy: str | os.PathLike[str] | Policy | Mapping[str, Any] | None) -> bytes:
    """What the caller's policy says, packed once."""
    below: list[Layer] = []
    above = list(env_layers(os.environ))
    if isinstance(policy, Policy):
        below.append(Layer("policy", msgspec.to_builtins(policy), "named"))
    else:
        if policy is not None and not isinstance(policy, (str, os.PathLike, Mapping)):
            raise wrong("policy", policy, LEGAL_POLICY)
        below += file_layers(policy if isinstance(policy, (str, os.PathLike)) else None)
        if isinstance(policy, Mapping):
            above.append(Layer("call", policy, "call"))
        # A fault, or what is ignored, is told here, where the caller is; the store's owner may be another process.
        # Curves that do not load never stop a recall: the owner falls back, and says so.
        resolve([*below, *above], dropped=[])
    return msgspec.msgpack.encode(Overlay(below, above))


def _pages(claims: Iterable[Any]) -> Iterator[list[Any]]:
    page: list[Any] = []
    for claim in claims:
        page.append(claim)
        if len(page) == MOST_AT_ONCE:
            yield page
            page = []
    if page:
        yield page
