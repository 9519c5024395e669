"""Labels in, a promise out: how good a number is, a curve that helps, and a threshold that keeps its word."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.fit.assess import Assessment, assess
    from scalepan.fit.curve import FittedCurve, fit_curve
    from scalepan.fit.fitted import Fit, GroupPromise, fit
    from scalepan.fit.labels import LabeledNumbers, labels_of, read_labels
    from scalepan.fit.policyfile import policy_text
    from scalepan.fit.promise import Promise, PromisedLevel, promise
    from scalepan.fit.watch import Watched, watch

__all__ = [
    "Assessment",
    "Fit",
    "FittedCurve",
    "GroupPromise",
    "LabeledNumbers",
    "Promise",
    "PromisedLevel",
    "Watched",
    "assess",
    "fit",
    "fit_curve",
    "labels_of",
    "policy_text",
    "promise",
    "read_labels",
    "watch",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.fit.assess": ["Assessment", "assess"],
        "scalepan.fit.curve": ["FittedCurve", "fit_curve"],
        "scalepan.fit.fitted": ["Fit", "GroupPromise", "fit"],
        "scalepan.fit.labels": ["LabeledNumbers", "labels_of", "read_labels"],
        "scalepan.fit.policyfile": ["policy_text"],
        "scalepan.fit.promise": ["Promise", "PromisedLevel", "promise"],
        "scalepan.fit.watch": ["Watched", "watch"],
    },
)
