"""Which curve makes a number a probability? Chosen by cross-validation over groups, and refused where none helps."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from scalepan.errors import InputError
from scalepan.fit.labels import Labels
from scalepan.stats.calibration import apply_platt, apply_points, fit_isotonic, fit_platt, log_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Apply = Callable[[Floats], Floats]

FOLDS = 5
FEWEST = 50
"""With fewer labels a curve would follow chance."""
SHRINK = 1e-3
"""Curves state no certainty: probabilities are kept this far from 0 and 1."""


class FittedCurve(msgspec.Struct, frozen=True, kw_only=True):
    """A curve, and what it was found to be worth on cases it was not fitted on."""

    kind: str
    """platt, isotonic or beta; none if the number as it is was not worse than any of them."""
    parameters: dict[str, list[float]]
    log_loss: dict[str, float]
    """By kind, on held-out groups; `none` is the number as it is."""
    gain: float
    """How much lower the log loss is than that of the number as it is."""
    gain_low: float
    """The lower end of the gain's 95 % interval: at most 0 means that no curve was taken."""
    held_out: tuple[float, ...]
    """The probability of each labeled case, by curves that were fitted without its group."""

    def __call__(self, values: "Floats") -> "Floats":
        """The probabilities of these numbers."""
        return _APPLY[self.kind](np.asarray(values, dtype=float), self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """As JSON, without the single cases."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        del data["held_out"]
        return data


class _Kind(NamedTuple):
    fit: "Callable[[Floats, Floats], dict[str, list[float]]]"
    apply: "Callable[[Floats, dict[str, list[float]]], Floats]"


def fit_curve(labels: Labels) -> FittedCurve:
    """The best curve for these labels, by the log loss on groups that it was not fitted on."""
    from scalepan.stats.paired import bca_interval, grouped

    values, right = labels.values, labels.right.astype(float)
    if len(values) < FEWEST or not 0 < right.sum() < len(right):
        raise InputError(
            f"{len(values):,} labels, {int(right.sum()):,} of them right, are too few for a curve; "
            f"{FEWEST} are needed, of both kinds"
        )
    held_out = {name: _cross_validated(kind, values, right, labels.units) for name, kind in KINDS.items()}
    losses = {name: log_loss(found, right) for name, found in held_out.items()}
    best = min((name for name in KINDS if name != NONE), key=losses.__getitem__)
    single = {name: -np.log(np.where(right > 0, p, 1 - p)) for name, p in held_out.items() if name in (NONE, best)}
    gain, low = losses[NONE] - losses[best], bca_interval(grouped(single[NONE] - single[best], labels.groups))[0]
    taken = best if low > 0 else NONE
    return FittedCurve(
        kind=taken,
        parameters=KINDS[taken].fit(values, right),
        log_loss=losses,
        gain=gain,
        gain_low=low,
        held_out=tuple(held_out[taken].tolist()),
    )


def _cross_validated(kind: _Kind, values: "Floats", right: "Floats", units: tuple[str, ...]) -> "Floats":
    names, where = np.unique(np.asarray(units), return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(names))[where] % FOLDS
    found = np.empty(len(values))
    for number in range(FOLDS):
        out = fold == number
        if not out.any():
            continue
        some, labels = values[~out], right[~out]
        both = len(labels) and 0 < labels.sum() < len(labels)
        found[out] = kind.apply(values[out], kind.fit(some, labels)) if both else right.mean()
    return found


def _kept_off(probabilities: "Floats") -> "Floats":
    return np.clip(probabilities, SHRINK, 1 - SHRINK)


def _fit_platt(values: "Floats", right: "Floats") -> dict[str, list[float]]:
    return {"platt": list(fit_platt(values, right))}


def _apply_platt(values: "Floats", found: dict[str, list[float]]) -> "Floats":
    return _kept_off(apply_platt(values, *found["platt"]))


def _fit_isotonic(values: "Floats", right: "Floats") -> dict[str, list[float]]:
    points = fit_isotonic(values, right)
    return {"x": points.x.tolist(), "y": points.y.tolist()}


def _apply_isotonic(values: "Floats", found: dict[str, list[float]]) -> "Floats":
    return _kept_off(apply_points(values, np.array(found["x"]), np.array(found["y"])))


def _fit_beta(values: "Floats", right: "Floats") -> dict[str, list[float]]:
    """Platt's method on the log odds of the number: the beta curve with equal shapes, a line where it is calibrated."""
    return {"logit": list(fit_platt(_logit(values), right))}


def _apply_beta(values: "Floats", found: dict[str, list[float]]) -> "Floats":
    return _kept_off(apply_platt(_logit(values), *found["logit"]))


def _logit(values: "Floats") -> "Floats":
    p = _kept_off(values)
    return np.log(p / (1 - p))


NONE = "none"
KINDS = {
    NONE: _Kind(lambda _, __: {}, lambda values, _: _kept_off(values)),
    "platt": _Kind(_fit_platt, _apply_platt),
    "beta": _Kind(_fit_beta, _apply_beta),
    "isotonic": _Kind(_fit_isotonic, _apply_isotonic),
}
_APPLY = {name: kind.apply for name, kind in KINDS.items()}
