"""How well recall finds, by profile, beside its own halves; and what it says when there is nothing to find.

python -m bench.recall [SET ...] [--limit N] [--nothing]

Real stores, filled by `add_many` with speakers, positions and dates as the data has them, and asked by `search`. Recall
and nDCG at 10 (and 12, which contract memory.73 is about), means over queries; intervals are 95 %, by drawing queries
(of locomo: conversations, then their queries) 2,000 times, and differences are those of the same draws. `--real-dates`
gives claims the dates of the data and asks a day after the last of them, so that age counts. `--nothing` asks locomo's
questions in the wrong conversation.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.recall_sets import SETS, DataSet, Query, foreign, load, sample
from scalepan.memory import Memory
from scalepan.memory.bench.result import ndcg_at, recall_at
from scalepan.memory.claim import SECONDS_A_DAY, moment
from scalepan.memory.state import remember_vectors
from scalepan.store import Store

Floats = NDArray[np.float64]
DRAWS = 2000
SEED = 17
RRF = 60
DEPTH = 100
PROFILES = ("spec", "default", "best")
AT = (10, 12)


class Way(NamedTuple):
    """One way of asking: by the name it is shown under, claims of a query, best first."""

    name: str
    ask: Callable[[Query], list[str]]


class Place:
    """A set in a store."""

    def __init__(self, data: DataSet, file: Path, *, real_dates: bool) -> None:
        self.data = data
        self.store = Store(file)
        self.document_of: dict[str, str] = {}
        remembering = remember_vectors.set(True)
        try:
            for project in dict.fromkeys(doc.project for doc in data.docs):
                memory = Memory(self.store, project=project)
                docs = [doc for doc in data.docs if doc.project == project]
                for at in range(0, len(docs), 500):
                    page = docs[at : at + 500]
                    added = memory.add_many([_dated(doc.claim) if real_dates else doc.claim for doc in page])
                    # Some texts stand in a set more than once, and are kept once.
                    for doc, one in zip(page, added, strict=True):
                        self.document_of.setdefault(one.id, doc.id)
            self.claim_of = {}
            for doc_id, claim in ((doc, claim) for claim, doc in self.document_of.items()):
                self.claim_of[doc_id] = claim
        finally:
            remember_vectors.reset(remembering)
        self.real_dates = real_dates
        self._memories: dict[tuple[str, str], Memory] = {}

    def memory(self, project: str, profile: str) -> Memory:
        """A caller's memory under a profile."""
        key = project, profile
        if key not in self._memories:
            policy = {"retrieval": {"profile": profile}}
            self._memories[key] = Memory(self.store, project=project, policy=policy)
        return self._memories[key]

    def ways(self) -> list[Way]:
        """Both halves, their fusion by ranks, and the profiles."""
        return [
            Way("words", lambda query: self._side(query)[0]),
            Way("vectors", lambda query: self._side(query)[1]),
            Way("RRF", self._rrf),
            *(Way(profile, lambda query, profile=profile: self._search(query, profile)) for profile in PROFILES),  # type: ignore[misc]
        ]

    def _search(self, query: Query, profile: str) -> list[str]:
        at = self.end(query.project) if self.real_dates else None
        return [one.id for one in self.memory(query.project, profile).search(query.text, max(AT), at=at)]

    def end(self, project: str) -> float:
        """A day after the last claim of a project: when its questions are asked."""
        times = [moment(doc.claim["said_at"]) for doc in self.data.docs if doc.project == project]
        return max(times) + SECONDS_A_DAY

    def _side(self, query: Query) -> tuple[list[str], list[str]]:
        found = self.memory(query.project, "spec").candidates(query.text, k=DEPTH)
        return [id_ for id_, _ in found.text], [id_ for id_, _ in found.vector]

    def _rrf(self, query: Query) -> list[str]:
        shares: dict[str, float] = {}
        for side in self._side(query):
            for rank, id_ in enumerate(side[:DEPTH], 1):
                shares[id_] = shares.get(id_, 0.0) + 1 / (RRF + rank)
        return sorted(shares, key=lambda id_: -shares[id_])


def _dated(claim: Mapping[str, Any]) -> dict[str, Any]:
    return {**claim, "created_at": f"{claim['said_at']}+00:00"} if "said_at" in claim else dict(claim)


class Figures(NamedTuple):
    """Of each query: recall and nDCG at 10, then at 12."""

    of: dict[str, Floats]
    groups: list[str]


def measure(data: DataSet, queries: Sequence[Query], file: Path, *, real_dates: bool) -> Figures:
    """Every way, every query."""
    place = Place(data, file, real_dates=real_dates)
    gold = [{place.claim_of.get(id_, id_): 1.0 for id_ in query.gold} for query in queries]
    found = {}
    for way in place.ways():
        rows = []
        for query, relevant in zip(queries, gold, strict=True):
            ids = way.ask(query)
            rows.append([measured(ids, relevant, k) for k in AT for measured in (recall_at, ndcg_at)])
        found[way.name] = np.array(rows)
        print(f"  {way.name}: done", file=sys.stderr, flush=True)
    place.store.close()
    return Figures(found, [query.project for query in queries])


def draws(groups: Sequence[str]) -> list[NDArray[np.int64]]:
    """Queries drawn with replacement; where there are several groups, groups first."""
    dice = np.random.default_rng(SEED)
    places = {name: np.flatnonzero(np.array(groups) == name) for name in dict.fromkeys(groups)}
    names = list(places)
    drawn = []
    for _ in range(DRAWS):
        chosen = [names[i] for i in dice.integers(0, len(names), len(names))]
        drawn.append(np.concatenate([dice.choice(places[name], len(places[name])) for name in chosen]))
    return drawn


def interval(values: Floats, drawn: Sequence[NDArray[np.int64]]) -> tuple[float, float]:
    """Of the mean."""
    low, high = np.quantile([values[some].mean() for some in drawn], [0.025, 0.975])
    return float(low), float(high)


def show(name: str, figures: Figures) -> None:
    """A table of one set, and each profile minus its better half."""
    drawn = draws(figures.groups)
    print(f"\n{name}: {len(figures.groups):,} queries")
    print(f"  {'':10}{'Recall@10':>22}{'nDCG@10':>22}{'Recall@12':>11}{'nDCG@12':>9}")
    for way, rows in figures.of.items():
        spans = [
            f"{rows[:, i].mean():.3f} [{low:.3f}, {high:.3f}]"
            for i in (0, 1)
            for low, high in [interval(rows[:, i], drawn)]
        ]
        print(f"  {way:10}{spans[0]:>22}{spans[1]:>22}{rows[:, 2].mean():>11.3f}{rows[:, 3].mean():>9.3f}")
    better = max(("words", "vectors"), key=lambda half: figures.of[half][:, 1].mean())
    for profile in PROFILES:
        gains = figures.of[profile] - figures.of[better]
        spans = [
            f"{gains[:, i].mean():+.3f} [{low:+.3f}, {high:+.3f}]"
            for i in (0, 1)
            for low, high in [interval(gains[:, i], drawn)]
        ]
        print(f"  {profile} minus {better}: Recall@10 {spans[0]}, nDCG@10 {spans[1]}")


def by_kind(figures: Figures, queries: Sequence[Query]) -> None:
    """The same by kind of question."""
    kinds = [query.kind for query in queries]
    for kind in sorted(set(kinds)):
        mine = np.array(kinds) == kind
        told = "  ".join(
            f"{way} {rows[mine, 0].mean():.3f} / {rows[mine, 1].mean():.3f}" for way, rows in figures.of.items()
        )
        print(f"  {kind or 'all'}, {int(mine.sum())}: {told}")


class Nothing(NamedTuple):
    """What an activation answers: how likely it is to help, whether its best claim is right, how many it accepts."""

    p_useful: Floats
    right: Floats
    accepted: Floats


def nothing(file: Path) -> None:
    """Questions where their answer is, where it is not, and adversarial ones."""
    data = load("locomo")
    place = Place(data, file, real_dates=False)
    own = [query for query in data.queries if query.kind != "adversarial"]
    adversarial = [query for query in data.queries if query.kind == "adversarial"]
    for profile in ("default", "best"):
        at_home, abroad, tricky = (
            _activate(place, some, profile) for some in (own, foreign(data).queries, adversarial)
        )
        least = float(np.quantile(at_home.p_useful[at_home.right > 0], 0.05))
        print(f"\n{profile}: {len(own)} questions, the same in another conversation, {len(adversarial)} adversarial")
        print(f"  best claim right, at home: {at_home.right.mean():.3f}")
        print(f"  false accepts where 95 % of right ones are accepted (p_useful >= {least:.3f}):", end=" ")
        print(f"foreign {np.mean(abroad.p_useful >= least):.3f}, adversarial {np.mean(tricky.p_useful >= least):.3f}")
        for told, some in (("at home", at_home), ("foreign", abroad), ("adversarial", tricky)):
            empty = np.mean(some.accepted == 0)
            print(f"  activation, {told}: {some.accepted.mean():.2f} claims of 12 accepted, empty {empty:.3f}")
        kept = np.mean(at_home.accepted[at_home.right > 0] > 0)
        print(f"  not empty where the best claim is right: {kept:.3f}")
        p = np.concatenate([at_home.p_useful, abroad.p_useful])
        y = np.concatenate([at_home.right, np.zeros(len(abroad.right))])
        print(f"  ECE of p_useful, ten equal groups, {y.mean():.0%} of both right: {ece(p, y):.3f}")
    place.store.close()


def _activate(place: Place, queries: Sequence[Query], profile: str) -> Nothing:
    rows = []
    for query in queries:
        memory = place.memory(query.project, profile)
        found = memory.search(query.text, 12)
        gold = {place.claim_of.get(id_, id_) for id_ in query.gold}
        accepted = len(memory.activate(query.text, 12))
        rows.append((found.p_useful or 0.0, float(bool(len(found)) and found[0].id in gold), float(accepted)))
    return Nothing(*np.array(rows).T)


def ece(p: Floats, y: Floats, groups: int = 10) -> float:
    """Mean distance of what is said and what is true, over groups of equal size by what is said."""
    order = np.argsort(p)
    return float(
        sum(len(some) / len(p) * abs(p[some].mean() - y[some].mean()) for some in np.array_split(order, groups))
    )


def main() -> None:
    """The sets that are named, or all."""
    words = sys.argv[1:]
    limit = int(words[words.index("--limit") + 1]) if "--limit" in words else None
    named = [word for word in words if word in SETS] or list(SETS)
    with TemporaryDirectory(prefix="scalepan-bench-") as folder:
        if "--nothing" in words:
            nothing(Path(folder) / "nothing.duckdb")
            return
        for name in named:
            data = load(name)
            queries = sample(data.queries, limit)
            figures = measure(data, queries, Path(folder) / f"{name}.duckdb", real_dates="--real-dates" in words)
            show(name, figures)
            by_kind(figures, queries)


if __name__ == "__main__":
    main()
