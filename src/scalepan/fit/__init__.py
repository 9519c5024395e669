"""Labels in, a promise out: how good a number is, a curve that makes it a probability, and a threshold that keeps its word."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.fit.assess import Assessment, assess
    from scalepan.fit.curve import FittedCurve, fit_curve
    from scalepan.fit.labels import Labels, read_labels
    from scalepan.fit.promise import Promise, promise

__all__ = ["Assessment", "FittedCurve", "Labels", "Promise", "assess", "fit_curve", "promise", "read_labels"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.fit.assess": ["Assessment", "assess"],
        "scalepan.fit.curve": ["FittedCurve", "fit_curve"],
        "scalepan.fit.labels": ["Labels", "read_labels"],
        "scalepan.fit.promise": ["Promise", "promise"],
    },
)
