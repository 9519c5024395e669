"""Which curve makes a number a probability? Chosen by cross-validation over groups, and refused where none helps."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from scalepan.errors import counted
from scalepan.fit.labels import LabeledNumbers
from scalepan.stats.calibration import apply_platt, apply_points, fit_isotonic, fit_platt, fit_quantile, log_loss
from scalepan.stats.paired import bca_interval, grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Found = dict[str, list[float]]

FOLDS = 5
FEWEST = 50
"""With fewer labels a curve would follow chance."""
KEPT_OFF = 1e-3
"""Curves state no certainty: probabilities are kept this far from 0 and 1."""


class FittedCurve(msgspec.Struct, frozen=True, kw_only=True):
    """A curve, and what it was found to be worth on cases it was not fitted on."""

    kind: str
    """platt, logit, isotonic or quantile; none where no curve was taken."""
    parameters: dict[str, list[float]]
    reason: str
    """Why it was taken, or why none was."""
    log_loss: dict[str, float]
    """By kind, on held-out groups; `none` is the number as it is."""
    gain: float | None = None
    """How much the best curve lowers the log loss of the number as it is; None if there were too few labels."""
    gain_low: float | None = None
    """The lower end of the gain's 95 % interval: a curve is taken if it is above 0."""

    @property
    def taken(self) -> bool:
        """Whether a curve helps."""
        return self.kind != NONE

    def __call__(self, values: "Floats") -> "Floats":
        """The probabilities of these numbers."""
        return KINDS[self.kind].apply(np.asarray(values, dtype=float), self.parameters)


class CurveKind(NamedTuple):
    """A family of curves: how one is fitted, and applied."""

    fit: "Callable[[Floats, Floats], Found]"
    apply: "Callable[[Floats, Found], Floats]"


def fit_curve(labels: LabeledNumbers) -> FittedCurve:
    """The best curve for these labels, by the log loss on groups that it was not fitted on."""
    count, rights = len(labels), int(labels.right.sum())
    if count < FEWEST or not 0 < rights < count:
        reason = f"{counted(count, 'label')}, {rights:,} of them right: a curve needs {FEWEST}, of both kinds"
        return FittedCurve(kind=NONE, parameters={}, reason=reason, log_loss={})
    right = labels.right.astype(float)
    found = {name: held_out(name, labels) for name in KINDS}
    losses = {name: log_loss(probabilities, right) for name, probabilities in found.items()}
    best = min((name for name in KINDS if name != NONE), key=losses.__getitem__)
    plain, curved = (-np.log(np.where(labels.right, found[name], 1 - found[name])) for name in (NONE, best))
    gain, low = losses[NONE] - losses[best], bca_interval(grouped(plain - curved, labels.drawn_units))[0]
    taken = best if low > 0 else NONE
    beside = f"log loss {losses[best]:.3f} with {best}, {losses[NONE]:.3f} as it is, on cases it was not fitted on"
    return FittedCurve(
        kind=taken,
        parameters=KINDS[taken].fit(labels.values, right),
        reason=beside if taken != NONE else f"no curve is clearly better than the number as it is: {beside}",
        log_loss=losses,
        gain=gain,
        gain_low=low,
    )


def held_out(name: str, labels: LabeledNumbers) -> "Floats":
    """The probability of each case by a curve that was fitted without its group."""
    kind, values, right = KINDS[name], labels.values, labels.right.astype(float)
    found = np.empty(len(values))
    for out in _folds(labels.held_out_units):
        some, known = values[~out], right[~out]
        both = len(known) and 0 < known.sum() < len(known)
        found[out] = kind.apply(values[out], kind.fit(some, known)) if both else _kept_off(np.array(right.mean()))
    return found


def _folds(units: Sequence[str]) -> "list[NDArray[np.bool_]]":
    names, where = np.unique(np.asarray(units), return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(names))[where] % FOLDS
    return [fold == number for number in range(min(FOLDS, len(names)))]


def _kept_off(probabilities: "Floats") -> "Floats":
    return np.clip(probabilities, KEPT_OFF, 1 - KEPT_OFF)


def _rising(values: "Floats", right: "Floats") -> list[float]:
    """Platt's a and b; a curve that falls would turn the number upside down, so it becomes a constant."""
    a, b = fit_platt(values, right)
    if a <= 0:
        return [a, b]
    share = float(_kept_off(right.mean()))
    return [0.0, float(np.log((1 - share) / share))]


def _fit_platt(values: "Floats", right: "Floats") -> "Found":
    return {"platt": _rising(values, right)}


def _apply_platt(values: "Floats", found: "Found") -> "Floats":
    return _kept_off(apply_platt(values, *found["platt"]))


def _fit_logit(values: "Floats", right: "Floats") -> "Found":
    """Platt's method on the log odds of the number: a calibrated number stays as it is."""
    return {"logit": _rising(_logit(values), right)}


def _apply_logit(values: "Floats", found: "Found") -> "Floats":
    return _kept_off(apply_platt(_logit(values), *found["logit"]))


def _logit(values: "Floats") -> "Floats":
    p = _kept_off(values)
    odds: Floats = np.log(p / (1 - p))
    return odds


def _fit_isotonic(values: "Floats", right: "Floats") -> "Found":
    points = fit_isotonic(values, right)
    return {"x": points.x.tolist(), "y": points.y.tolist()}


def _fit_quantile(values: "Floats", _: "Floats") -> "Found":
    points = fit_quantile(values)
    return {"x": points.x.tolist(), "y": points.y.tolist()}


def _apply_points(values: "Floats", found: "Found") -> "Floats":
    return _kept_off(apply_points(values, np.array(found["x"]), np.array(found["y"])))


NONE = "none"
KINDS = {
    NONE: CurveKind(lambda _, __: {}, lambda values, _: _kept_off(values)),
    "platt": CurveKind(_fit_platt, _apply_platt),
    "logit": CurveKind(_fit_logit, _apply_logit),
    "isotonic": CurveKind(_fit_isotonic, _apply_points),
    "quantile": CurveKind(_fit_quantile, _apply_points),
}
