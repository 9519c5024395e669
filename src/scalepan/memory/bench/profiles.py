"""What does each profile find? The same queries are asked under all of them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import get_args

import numpy as np

from scalepan.memory.bench.compared import ProfilesCompared, QueryFigures, compare
from scalepan.memory.bench.data import BenchQuery
from scalepan.memory.bench.result import ndcg_at, recall_at
from scalepan.memory.memory import Memory
from scalepan.memory.overlaid import overlaid
from scalepan.policy.retrieval import Profile

PROFILES: tuple[Profile, ...] = get_args(Profile)


def compare_profiles(
    memories: Mapping[str, Memory],
    asked: Sequence[BenchQuery],
    k: int,
    tell: Callable[[str, int, int], None] | None = None,
) -> ProfilesCompared:
    """All queries under each profile; the rest of the policy stays as it is."""
    figures: dict[str, QueryFigures] = {}
    for profile in PROFILES:
        ones = {name: overlaid(memory, {"profile": profile}) for name, memory in memories.items()}
        recalls, ndcgs = [], []
        for group, queries in groupby(asked, key=lambda query: query.group):
            for query in queries:
                found = [one.id for one in ones[group].search(query.text, k)]
                recalls.append(recall_at(found, query.gold, k))
                ndcgs.append(ndcg_at(found, query.gold, k))
                if tell is not None:
                    tell(f"profile {profile}", len(ndcgs), len(asked))
        figures[profile] = QueryFigures(np.array(recalls), np.array(ndcgs))
    return compare(figures, [query.group for query in asked])
