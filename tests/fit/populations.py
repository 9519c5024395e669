"""Labels drawn from known chances, so that a test knows what is true."""

import numpy as np

from scalepan.fit.labels import LabeledNumbers, labels_of


def sharp(count: int, seed: int = 0, *, group: str | None = None) -> LabeledNumbers:
    """99 % right from 0.5 on, 50 % below: a promise of 5 % is worth half of the cases."""
    random = np.random.default_rng(seed)
    stated = random.random(count)
    right = random.random(count) < np.where(stated >= 0.5, 0.99, 0.5)
    return drawn(stated, right, group)


def overconfident(count: int, seed: int = 0) -> LabeledNumbers:
    """Says s where s squared is right."""
    random = np.random.default_rng(seed)
    stated = random.random(count)
    return drawn(stated, random.random(count) < stated**2)


def calibrated(count: int, seed: int = 0) -> LabeledNumbers:
    """Says what is true."""
    random = np.random.default_rng(seed)
    stated = random.random(count)
    return drawn(stated, random.random(count) < stated)


def drawn(stated: np.ndarray, right: np.ndarray, group: str | None = None) -> LabeledNumbers:
    """Arrays as labels."""
    rows = [
        {"value": float(one), "label": bool(label), "group": group} for one, label in zip(stated, right, strict=True)
    ]
    return labels_of(enumerate(rows, 1))


def together(*parts: LabeledNumbers) -> LabeledNumbers:
    """Several sets as one."""
    return LabeledNumbers(
        np.concatenate([one.values for one in parts]),
        np.concatenate([one.right for one in parts]),
        tuple(group for one in parts for group in one.groups or [None] * len(one)),
    )
