"""The flow r(q): reach, candidates, scores, choice (contract memory.1 to memory.6). Runs in the owner of the store."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scalepan import clock
from scalepan.errors import ScalepanError, TookTooLongError
from scalepan.memory.ingest.rescan import backfill_aside
from scalepan.memory.rank import Parameters, parameters
from scalepan.memory.recall.answers import Recall, Recalled, Rejected
from scalepan.memory.recall.boundary import opened, reach
from scalepan.memory.recall.by_evidence import ByEvidence, weigh_by_evidence
from scalepan.memory.recall.candidates.levels import TEXT_LEVELS, VECTOR_LEVELS
from scalepan.memory.recall.candidates.query import Hit, SearchQuery
from scalepan.memory.recall.candidates.words import shared
from scalepan.memory.recall.contexts import expire_in_passing
from scalepan.memory.recall.curves import Curves, fitted_curves
from scalepan.memory.recall.deadline import Deadline
from scalepan.memory.recall.diversify import Choice, Contender, diversify
from scalepan.memory.recall.index import Index
from scalepan.memory.recall.population import NO_SPREAD
from scalepan.memory.recall.succession import true_at, why_not_in_force, with_successions
from scalepan.memory.recall.weigh import (
    Candidates,
    SideFound,
    Weighed,
    fused,
    joined,
    reason,
    score_of,
    spec_weights,
    statistics,
    text_scores,
    vector_scores,
    weigh,
)
from scalepan.memory.redaction import clean_text, outgoing
from scalepan.memory.requests import Ask
from scalepan.memory.standing.decay import tell_decay_in_passing
from scalepan.memory.state import Rules, memory_state
from scalepan.policy.retrieval import Curve
from scalepan.stats.products import product
from scalepan.store.own import ADD_EVENT, AddEvent
from scalepan.store.reach import Reach
from scalepan.store.request import Who
from scalepan.text import normal_form, terms, token_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scalepan.embed import Embedder
    from scalepan.store import Here

NO_ENCODER = "no encoder found: recall uses words only; 'scalepan doctor' shows how to add one"
NO_VECTORS = "no claim here has a vector yet: recall uses words only"
MOST_REJECTED = 20
"""How many of those not taken an answer names; `why` asks about any."""


def recall(here: "Here", ask: Ask, action: str) -> tuple[Recall, dict[str, Any]]:
    """What a query recalls, and what the event about it says."""
    started = perf_counter()
    keep = memory_state(here)
    rules = keep.rules(here, ask)
    policy = rules.policy.retrieval
    now = ask.at if ask.at is not None else clock.time()
    within = reach(ask.who, action, rules.policy.boundary, ask.scopes, now, true_at(ask, now))
    deadline = Deadline(policy.timeout_ms)
    encoder = keep.encoder(here, rules.policy)
    query = search_query(here, rules, ask, within, encoder, deadline)
    index = query.index
    deadline.check("encoding")
    chosen = parameters(query.query, policy, ask.alpha, ask.k)
    curves = fitted_curves(rules, index.morphology, encoder)
    with query.one_state():
        search = _Search(here, query, chosen, ask.who, partial(clean_text, redactor=rules.redactor))
        weighed, text, vectors, candidates = search.weighed(encoder, curves, now)
        query.deadline.check("scoring")

        # An activation takes nothing below the threshold; a search shows it, flagged.
        enough = weighed.enough(policy)
        eligible = np.flatnonzero(enough) if action == "activate" else np.arange(len(weighed))
        asked = policy.diversity.search if ask.diverse is None else ask.diverse
        diverse = action == "activate" or asked
        likeness = _likeness(index, weighed, eligible) if diverse else None
    search.backfill(encoder, rules)
    search.notes += curves.notes(text, vectors)
    for misfit in curves.misfits:
        search.tell_fallback(misfit.payload())
    diversity = policy.diversity if diverse else policy.diversity.by_score()
    choice = diversify(_contenders(weighed, eligible), chosen.k_final, diversity, likeness).among(eligible.tolist())
    recalled, left_out = _recalled(weighed, choice, text, vectors, rules, within, ask.max_tokens, enough)
    recalled = with_successions(index, recalled, within)
    if action == "activate" and not len(eligible):
        search.notes.append(weighed.nothing(policy))
    taken = {place for place, _ in choice.chosen} - left_out.keys()
    others = _Others(weighed, [i for i in range(len(weighed)) if i not in taken], choice.passed_over | left_out, enough)
    answer = Recall(
        recalled,
        policy_version=rules.version,
        request_id=here.id,
        trace_id=ask.who.trace_id or "",
        alpha=chosen.alpha,
        why_alpha=chosen.why_alpha,
        k_txt=search.k["k_txt"],
        k_vec=search.k["k_vec"],
        k_final=chosen.k_final,
        text_level=text.level,
        vector_level=vectors.level,
        candidates=candidates,
        rejected=[others.rejected(place) for place in others.places[:MOST_REJECTED]],
        notes=search.notes,
        took_ms=(perf_counter() - started) * 1000,
        why=_why(ask, recalled, others, query, text, vectors) if ask.why else None,
        population=weighed.people,
        profile=weighed.profile,
        p_useful=weighed.best_useful(),
    )
    expire_in_passing(here, clock.time())
    tell_decay_in_passing(here, ask.who, clock.time(), policy.feedback)
    return answer, _event(answer, weighed, enough)


def search_query(
    here: "Here", rules: Rules, ask: Ask, within: Reach, encoder: "Embedder | None", deadline: Deadline
) -> SearchQuery:
    """The query, redacted, ready for every level."""
    keep = memory_state(here)
    policy = rules.policy.retrieval
    query = clean_text(ask.query, rules.redactor)
    with deadline.not_counted():
        index = keep.index(here, rules.policy)
    return SearchQuery(
        index,
        here.search,
        within,
        tuple(ask.kinds) if ask.kinds is not None else None,
        query,
        normal_form(query),
        terms(query, index.morphology),
        np.zeros(0, dtype=np.float32) if encoder is None else encoder.encode([query], "query")[0],
        policy,
        deadline,
        keep.sides,
    )


class _Search:
    """Both sides of one search: down their ladders, and once more where too little was found."""

    def __init__(
        self, here: "Here", query: SearchQuery, chosen: Parameters, who: Who, cleaned: Callable[[str], str]
    ) -> None:
        """`cleaned` makes of an error's text what may be shown and kept: it may quote the query, or a claim."""
        self.query = query
        self.notes: list[str] = []
        self.k = {"k_txt": chosen.k_txt, "k_vec": chosen.k_vec}
        self._chosen = chosen
        self._enough = chosen.k_final / 2
        with query.index.lock:
            mask = query.mask()
            self._in_reach = int(np.count_nonzero(mask))
            self._without_vector = query.index.vectors.missing(mask)
        self._here, self._who = here, who
        self._cleaned = cleaned

    def weighed(self, encoder: "Embedder | None", curves: Curves, now: float) -> ByEvidence:
        """Candidates of both sides, scored as the policy's profile has it."""
        query = self.query
        by_index = query.policy.text.level == query.policy.vectors.level == "index"
        if query.policy.profile != "spec" and by_index:
            missing = self._no_meaning(encoder)
            known = query.policy.evidence.encoder(encoder.model_id) if encoder is not None and not missing else None
            try:
                found = weigh_by_evidence(query, self._chosen, curves, now, known, missing)
            except Exception as error:
                # The ladder below has levels that do not need the index.
                self._fell_back("evidence", ["spec"], error)
            else:
                self.notes += [found.vectors.note] if found.vectors.note else []
                return found
        text, vectors = self.text_side(curves.text), self.vector_side(encoder, curves.vector)
        weighed = self._by_spec(text, vectors, now)
        return ByEvidence(weighed, text, vectors, len(weighed))

    def _by_spec(self, text: SideFound, vectors: SideFound, now: float) -> Weighed:
        query, policy, index = self.query, self.query.policy, self.query.index
        with index.lock:
            columns = index.columns
            ids = dict.fromkeys(hit.id for side in (text, vectors) for hit in side.hits)
            mask = query.mask()
            # A claim that went while DuckDB searched, or is shut to this caller since then, is no candidate.
            rows = [row for id_ in ids if (row := columns.row_of.get(id_)) is not None and mask[row]]
            claims = [columns.claim(row) for row in rows]
            found = Candidates(claims, rows, *columns.numbers(rows, now, policy.feedback))
            people = columns.population(query.reach, query.kinds, now, policy.feedback) if claims else NO_SPREAD
        sides = joined([claim.id for claim in claims], text, vectors)
        weight = spec_weights(sides, text, vectors, self._chosen.alpha, policy)
        return weigh(found, sides, weight, fused(sides, weight), people, policy, text.level)

    def _no_meaning(self, encoder: "Embedder | None") -> str:
        """Why meaning cannot be searched; empty if it can."""
        if encoder is None:
            return NO_ENCODER
        return NO_VECTORS if self._without_vector == self._in_reach else ""

    def text_side(self, curve: Curve | None) -> SideFound:
        level, hits = self._climb(TEXT_LEVELS, self.query.policy.text.level, "k_txt")
        # A curve is fitted on the index's BM25; L2 counts in other units, L0 not at all.
        fitted = curve if level == "index" else None
        scores = text_scores(level, hits, self.query.policy, fitted)
        return SideFound(level, hits, scores, "" if level == "index" else f"level {level}", fitted is not None)

    def vector_side(self, encoder: "Embedder | None", curve: Curve | None) -> SideFound:
        query = self.query
        missing = self._no_meaning(encoder)
        if missing:
            self.notes.append(missing)
            return SideFound("", [], [], missing)
        level, hits = self._climb(VECTOR_LEVELS, query.policy.vectors.level, "k_vec")
        scores = vector_scores(hits, curve)
        return SideFound(level, hits, scores, "" if level == "index" else f"level {level}", curve is not None)

    def backfill(self, encoder: "Embedder | None", rules: Rules) -> None:
        """Claims that were kept before there was an encoder get their vectors now, beside the calls."""
        if encoder is not None and self._without_vector:
            self.notes.append(_being_made(self._without_vector))
            backfill_aside(self._here, encoder, rules)

    def _climb(
        self, ladder: Mapping[str, Callable[[SearchQuery, int], list[Hit]]], top: str, k: str
    ) -> tuple[str, list[Hit]]:
        """Hits of the first level that works, from `top` down; each that does not is an event."""
        names = list(ladder)
        for place, name in enumerate(names[names.index(top) :], names.index(top)):
            try:
                return name, self._twice(ladder[name], k)
            except TookTooLongError:
                raise
            except Exception as error:
                self._fell_back(name, names[place + 1 : place + 2], error)
        return "", []

    def _twice(self, level: Callable[[SearchQuery, int], list[Hit]], k: str) -> list[Hit]:
        hits = level(self.query, self.k[k])
        if self.query.policy.dynamic.expand and len(hits) < self._enough:
            self.k[k] *= 2
            hits = level(self.query, self.k[k])
        return hits

    def _fell_back(self, level: str, below: list[str], error: Exception) -> None:
        problem = self._cleaned(
            str(error).partition("\n")[0] if isinstance(error, ScalepanError) else f"{type(error).__name__}: {error}"
        )
        going_on = f"{below[0]} is used" if below else "this side is left out"
        self.notes.append(f"{level} does not work here, {going_on}: {problem}")
        self.tell_fallback({"from": level, "to": below[0] if below else None, "problem": problem})

    def tell_fallback(self, payload: dict[str, Any]) -> None:
        """Something did not work, and something else is used: an event."""
        event = AddEvent(
            "search_fallback", payload, self._who.tenant, self._here.id, self._who.trace_id, self._who.project
        )
        self._here.commit_later(ADD_EVENT, event)


def _being_made(count: int) -> str:
    if count == 1:
        return "1 claim here has no vector yet: it is being made"
    return f"{count:,} claims here have no vector yet: they are being made"


def _contenders(weighed: Weighed, places: "NDArray[np.int64]") -> list[Contender]:
    claims = weighed.of.claims
    return [
        Contender(score, claims[place].content_hash, tuple([f"{e.type}:{e.name}" for e in claims[place].entities]))
        for place, score in zip(places.tolist(), weighed.to_diversify()[places].tolist(), strict=True)
    ]


def _likeness(
    index: Index, weighed: Weighed, places: "NDArray[np.int64]"
) -> Callable[[int], "NDArray[np.floating[Any]]"]:
    """How alike candidates are: by their vectors, and where one has none by the terms that they share."""
    rows = [weighed.of.rows[place] for place in places.tolist()]
    count = len(rows)
    with index.lock:
        units, has_vector = index.vectors.unit_vectors(rows)
        term_sets = index.words.sets(rows) if not has_vector.all() else []

    def likeness(place: int) -> "NDArray[np.floating[Any]]":
        near: NDArray[np.float32] = product(units, units[place])
        bare = ~has_vector if has_vector[place] else np.ones(count, dtype=bool)
        for i in np.flatnonzero(bare).tolist():
            near[i] = shared(term_sets[i], term_sets[place])
        return near

    return likeness


def _recalled(
    weighed: Weighed,
    choice: Choice,
    text: SideFound,
    vectors: SideFound,
    rules: Rules,
    within: Reach,
    max_tokens: int | None,
    enough: "NDArray[np.bool_]",
) -> tuple[list[Recalled], dict[int, str]]:
    """The chosen as they are returned: redacted once more, and as many as the budget holds."""
    recalled: list[Recalled] = []
    left_out: dict[int, str] = {}
    left = max_tokens
    for place, score_div in choice.chosen:
        claim = outgoing(weighed.claim(place), rules, within)
        if left is not None:
            cost = token_count(claim.text)
            if cost > left:
                left_out[place] = f"max_tokens={max_tokens}"
                continue
            left -= cost
        below = not enough[place]
        recalled.append(
            Recalled(
                claim,
                len(recalled) + 1,
                score_of(weighed, place, text, vectors, rules.version),
                weighed.features(place, score_div),
                reason(weighed, place, below_threshold=below),
                below,
                weighed.p_useful(place),
            )
        )
    return recalled, left_out


class _Others(NamedTuple):
    """Candidates that were not taken, best first, and the reason each eligible one was skipped."""

    weighed: Weighed
    places: list[int]
    fates: Mapping[int, str]
    enough: "NDArray[np.bool_]"
    """Which candidates reach the threshold."""

    def rejected(self, place: int) -> Rejected:
        """One of them, for the answer."""
        said = reason(self.weighed, place, self.fates.get(place, ""), below_threshold=not self.enough[place])
        return Rejected(self.weighed.of.claims[place].id, float(self.weighed.score[place]), said)


def _why(
    ask: Ask, recalled: Sequence[Recalled], others: _Others, query: SearchQuery, text: SideFound, vectors: SideFound
) -> str:
    """What became of one claim."""
    id_ = ask.why or ""
    for one in recalled:
        if one.id == id_:
            return f"recalled at rank {one.rank} with {float(one.score_final):.3f}: {one.reason}"
    for place in others.places:
        if others.weighed.of.claims[place].id == id_:
            rejected = others.rejected(place)
            return f"a candidate with {rejected.score_final:.3f}, not taken: {rejected.reason}"
    return _why_no_candidate(id_, opened(ask.who), query, text, vectors)


def _why_no_candidate(
    id_: str, classes: tuple[str, ...], query: SearchQuery, text: SideFound, vectors: SideFound
) -> str:
    index = query.index
    with index.lock:
        row = index.columns.row_of.get(id_)
        # What is out of reach looks as if it were not there, except for a class that the caller's own purpose shuts.
        always = query.reach._replace(valid_at=None)
        wide = always._replace(classes=classes)
        if row is None or not index.columns.mask(wide)[row]:
            return "no such claim here: another tenant, project, session or scope, shut by a rule, merged, or forgotten"
        if not index.columns.mask(always)[row]:
            return "its class is not open to this purpose"
        if not index.columns.mask(query.reach)[row]:
            return why_not_in_force(index, row, query.reach)
        if not query.mask()[row]:
            return "its kind was not asked for"
        seen = []
        if text.level == "index":
            shared = index.words.has_any(row, query.terms)
            seen.append(f"not among the {text.candidates} best by words" if shared else "no word of the query is in it")
        if vectors.level:
            seen.append(
                f"not among the {vectors.candidates} nearest by meaning"
                if index.vectors.has(row)
                else "it has no vector yet"
            )
    return "no candidate: " + "; ".join(seen or ["not found by " + (text.level or "any side")])


def _event(answer: Recall, weighed: Weighed, enough: "NDArray[np.bool_]") -> dict[str, Any]:
    """What is kept of a recall: its numbers, and ids; neither the query nor any text."""
    return {
        "policy_version": answer.policy_version,
        "alpha": answer.alpha,
        "k_txt": answer.k_txt,
        "k_vec": answer.k_vec,
        "k_final": answer.k_final,
        "text_level": answer.text_level,
        "vector_level": answer.vector_level,
        "candidates": answer.candidates,
        "claims": [one.id for one in answer.claims],
        "below_threshold": [weighed.of.claims[place].id for place in np.flatnonzero(~enough).tolist()],
        "statistics": statistics(weighed),
        "took_ms": round(answer.took_ms, 3),
    }
