"""Calibration of raw scores, fitted on labelled queries or on votes (contract memory.18).

Half of the queries are fitted, the others say what it brought: log loss before and after.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scalepan import clock
from scalepan.errors import InputError
from scalepan.memory.rank import norm_bm25, norm_cos, parameters
from scalepan.memory.recall.boundary import check_whole, reach
from scalepan.memory.recall.candidates.levels import TEXT_LEVELS, VECTOR_LEVELS
from scalepan.memory.recall.candidates.query import Hit
from scalepan.memory.recall.contexts import raw_scores
from scalepan.memory.recall.deadline import Deadline
from scalepan.memory.recall.search import search_query
from scalepan.memory.recall.succession import true_at
from scalepan.memory.recall.weigh import calibrated
from scalepan.memory.requests import (
    CANDIDATES,
    VOTED_PAIRS,
    AskCandidates,
    AskVotes,
    LevelCandidates,
    VotedPair,
    VotedPairs,
)
from scalepan.memory.state import memory_state
from scalepan.policy.retrieval import Curve, Method
from scalepan.stats.calibration import fit_isotonic, fit_platt, fit_quantile, log_loss
from scalepan.store.operation import reads
from scalepan.store.receipts import read_object
from scalepan.text import terms_version

if TYPE_CHECKING:
    from scalepan.store import Here

FEWEST = 20
"""Labelled candidates that a curve is fitted on; of fewer it would say nothing."""


@reads(CANDIDATES)
def candidates(here: "Here", request: AskCandidates) -> LevelCandidates:
    """The candidates of one level a side. A level that cannot work here is an error, not a step down."""
    keep = memory_state(here)
    ask = request.ask
    rules = keep.rules(here, ask)
    policy = rules.policy.retrieval
    moment = true_at(ask, ask.at if ask.at is not None else clock.time())
    within = reach(ask.who, "search", rules.policy.boundary, ask.scopes, ask.at, moment)
    encoder = keep.encoder(here, rules.policy) if request.vector_level else None
    query = search_query(here, rules, ask, within, encoder, Deadline(policy.timeout_ms))
    chosen = parameters(ask.query, policy, ask.alpha, ask.k)
    text = TEXT_LEVELS[request.text_level](query, chosen.k_txt) if request.text_level else []
    vector = VECTOR_LEVELS[request.vector_level](query, chosen.k_vec) if encoder is not None else []
    return LevelCandidates(
        _raw(text), _raw(vector), encoder.model_id if encoder else "", terms_version(query.index.morphology)
    )


def _raw(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.id, hit.raw) for hit in hits]


@reads(VOTED_PAIRS)
def voted_pairs(here: "Here", request: AskVotes) -> VotedPairs:
    """What votes say about the candidates of active contexts: helpful was relevant, harmful was not."""
    rules = memory_state(here).rules(here, request)
    check_whole(request.who, "calibrate", rules.policy.boundary)
    pairs = []
    for row in here.votes.in_contexts(request.who.tenant, request.who.project):
        # The raw scores stand with the vote: contexts expire, and what was learned in them stays.
        raw = raw_scores(read_object(row.body)["recalled"])
        pairs.append(VotedPair(row.context_id or "", raw["bm25"], raw["cos"], row.signal == "helpful"))
    morphology = rules.policy.retrieval.morphology
    return VotedPairs(pairs, memory_state(here).model(here) or "", terms_version(morphology))


class LabelledScores(NamedTuple):
    """Raw scores of one side with labels, query by query."""

    scores: list[list[float]]
    labels: list[list[bool]]
    plain: list[list[float]]
    """The same scores as they are mapped without calibration."""


class Fitted(NamedTuple):
    """A curve, and what it brought on the queries that it was not fitted on."""

    curve: Curve
    fitted_on: int
    tested_on: int
    before: float
    after: float


def text_side(queries: Sequence[Sequence[tuple[float, bool]]]) -> LabelledScores:
    """BM25 with labels; plain is min-max within the query."""
    scores = [[score for score, _ in query] for query in queries]
    return LabelledScores(scores, [[label for _, label in query] for query in queries], [norm_bm25(s) for s in scores])


def vector_side(queries: Sequence[Sequence[tuple[float, bool]]]) -> LabelledScores:
    """Cosines with labels; plain is (cos + 1) / 2."""
    scores = [[score for score, _ in query] for query in queries]
    plain = [[norm_cos(sim) for sim in query] for query in scores]
    return LabelledScores(scores, [[label for _, label in query] for query in queries], plain)


def fit(labelled: LabelledScores, names: Sequence[str], method: Method) -> Fitted | None:
    """A curve for one side; None if there is too little to fit or to test it on."""
    # By the query's hash: the same queries are fitted each time, and adding some does not deal them anew.
    tested = [sha256(name.encode()).digest()[0] % 2 == 0 for name in names]
    scores, labels = _flat(labelled.scores, tested, False), _flat(labelled.labels, tested, False)
    test_scores, test_labels = _flat(labelled.scores, tested, True), _flat(labelled.labels, tested, True)
    if len(scores) < FEWEST or len(set(labels)) < 2 or len(test_scores) < FEWEST:
        return None
    try:
        curve = fit_curve(scores, labels, method)
    except ValueError:  # it falls: the labels say that a higher score is worse, and there is no use in that
        return None
    return Fitted(
        curve,
        fitted_on=len(scores),
        tested_on=len(test_scores),
        before=log_loss(_flat(labelled.plain, tested, True), test_labels),
        after=log_loss(np.asarray(calibrated(test_scores.tolist(), curve)), test_labels),
    )


def fit_curve(scores: Any, labels: Any, method: Method) -> Curve:
    """Raw scores and labels to a curve that a policy can hold."""
    if method == "platt":
        return Curve(method="platt", x=list(fit_platt(scores, labels)), y=[])
    points = fit_quantile(scores) if method == "quantile" else fit_isotonic(scores, labels)
    return Curve(method=method, x=points.x.tolist(), y=points.y.tolist())


def _flat(rows: Sequence[Sequence[float]], tested: Sequence[bool], which: bool) -> Any:
    return np.array(
        [value for row, test in zip(rows, tested, strict=True) if test == which for value in row], dtype=float
    )


def read_labelled(lines: Sequence[Any], file: str) -> list[tuple[str, set[str]]]:
    """Labelled queries: objects with `query` and `relevant`, a list of claim ids."""
    found = []
    for number, line in lines:
        if (
            not isinstance(line, dict)
            or not isinstance(line.get("query"), str)
            or not isinstance(line.get("relevant"), list)
        ):
            raise InputError('expected {"query": "...", "relevant": ["clm_..."]}', file=file, line=number)
        found.append((line["query"], set(map(str, line["relevant"]))))
    return found
