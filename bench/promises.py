"""Do promises hold? Calibration on unseen models and questions, and thresholds from simulated sets of labels.

python -m bench.promises

Public answers of eleven language models to the same questions, each with the confidence that the model stated. Two
numbers are fitted: the stated confidence, and the share of the other models that gave the same answer. Nothing is split
by row: a curve is tested on models, or on questions, that it has not seen. A set of labels is drawn by question, with
one answer to each, so that its cases are independent; what it promises is checked against all answers, whose
true error is known.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.timing import row
from scalepan.fit.curve import fit_curve
from scalepan.fit.labels import LabeledNumbers
from scalepan.stats.alarm import Alarm
from scalepan.stats.promise import promised_threshold
from scalepan.stats.ranking import auroc
from scalepan.stats.reliability import calibration_error

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "llm_confidence" / "records.dev.jsonl"
SETS, SIZES, SURE = 1000, (100, 300, 1000), 0.95
FOLDS = 5
TINY = 1e-9
HARD, HELD_FOR, STREAM = "lsat_ar_test", 500, 2000
"""A drift that happens: the agent gets questions of another kind."""
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Answers(NamedTuple):
    """Every answer: who gave it, to which question of which set, how sure it was, and whether it was right."""

    model: NDArray[np.str_]
    topic: NDArray[np.str_]
    question: NDArray[np.str_]
    stated: Floats
    agreement: Floats
    right: Bools

    def where(self, chosen: Bools) -> "Answers":
        """Some of them."""
        m, t, q, stated, agreement, right = self
        return Answers(m[chosen], t[chosen], q[chosen], stated[chosen], agreement[chosen], right[chosen])


def load(file: Path) -> Answers:
    """Answers to questions that at least two models answered."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    # In one of the sets the models rated a given answer and gave none of their own.
    rows = [one for one in rows if "answer" in one]
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for one in rows:
        one["question"] = f"{one['qset']}/{one['qid']}"
        said[one["question"]][str(one["answer"])] += 1
    rows = [one for one in rows if said[one["question"]].total() > 1]
    agreement = [(said[one["question"]][str(one["answer"])] - 1) / (said[one["question"]].total() - 1) for one in rows]
    texts = [np.array([one[name] for one in rows]) for name in ("llm", "qset", "question")]
    stated = np.array([one["stated"] for one in rows], dtype=float)
    right = np.array([one["correct"] for one in rows], dtype=bool)
    return Answers(texts[0], texts[1], texts[2], stated, np.array(agreement), right)


def calibration(answers: Answers) -> None:
    """The calibration error before and after a curve, on models and on questions that it was not fitted on."""
    print("calibration error (15 bins of equal mass), mean over unseen parts, and the worst part")
    row("", "before", "after", "after, by topic")
    models = [answers.model == name for name in np.unique(answers.model)]
    names, where = np.unique(answers.question, return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(names))[where] % FOLDS
    parts = {"models, one at a time": models, "questions, five folds": [fold == number for number in range(FOLDS)]}
    for number in ("stated", "agreement"):
        for name, unseen in parts.items():
            errors = np.array([_errors(answers, number, out) for out in unseen])
            cells = [f"{mean:.3f} ({worst:.3f})" for mean, worst in zip(errors.mean(0), errors.max(0), strict=True)]
            row(f"  {number}, unseen {name}", *cells)


def _errors(answers: Answers, number: str, out: Bools) -> tuple[float, float, float]:
    known, unseen = answers.where(~out), answers.where(out)
    values, right = getattr(unseen, number), unseen.right.astype(float)
    by_topic = np.empty(len(values))
    for topic in np.unique(unseen.topic):
        some = known.where(known.topic == topic)
        by_topic[unseen.topic == topic] = _curve(some, number)(values[unseen.topic == topic])
    return (
        calibration_error(values, right),
        calibration_error(_curve(known, number)(values), right),
        calibration_error(by_topic, right),
    )


def _curve(answers: Answers, number: str):  # type: ignore[no-untyped-def]
    return fit_curve(LabeledNumbers(getattr(answers, number), answers.right, tuple(answers.model.tolist())))


class Truth(NamedTuple):
    """For each threshold: the true error of what it lets through, and the share that it lets through."""

    thresholds: Floats
    error: Floats
    coverage: Floats

    def best(self, max_error: float) -> float:
        """The largest coverage that keeps the promise."""
        return float(max(self.coverage[self.error <= max_error], default=0.0))


def truth(answers: Answers, number: str) -> Truth:
    """Over all answers, each question counted once."""
    _, where, counts = np.unique(answers.question, return_inverse=True, return_counts=True)
    weight = 1 / counts[where] / len(counts)
    values = getattr(answers, number)
    thresholds = np.unique(values)
    let = np.array([weight[values >= one].sum() for one in thresholds])
    wrong = np.array([(weight * ~answers.right)[values >= one].sum() for one in thresholds])
    return Truth(thresholds, wrong / let, let)


def promises(answers: Answers, number: str, max_error: float) -> None:
    """How often a promise from so many labels is given and broken, and how much it lets through."""
    true = truth(answers, number)
    order = np.argsort(answers.question, kind="stable")
    starts = np.flatnonzero(np.append(True, answers.question[order][1:] != answers.question[order][:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    best = true.best(max_error)
    for count in SIZES:
        random = np.random.default_rng(count)
        broken, coverage = 0, []
        for _ in range(SETS):
            asked = random.integers(0, len(starts), count)
            drawn = order[starts[asked] + random.integers(0, sizes[asked])]
            found = promised_threshold(getattr(answers, number)[drawn], answers.right[drawn], max_error, SURE)
            if found is not None:
                at = np.searchsorted(true.thresholds, found.threshold)
                broken += bool(true.error[at] > max_error)
                coverage.append(float(true.coverage[at]))
        row(
            f"  {number}, {max_error:.0%}, n = {count:,}",
            f"{len(coverage) / SETS:.1%}",
            f"{broken / SETS:.1%}",
            f"{np.mean(coverage):.1%}" if coverage else "none",
            f"{best:.1%}",
        )


def hardest(max_error: float) -> None:
    """A number that says nothing, wrong just more often than allowed: every promise that is given is broken."""
    for count in SIZES:
        random = np.random.default_rng(count)
        given = sum(
            promised_threshold(random.random(count), random.random(count) >= max_error + TINY, max_error, SURE)
            is not None
            for _ in range(SETS)
        )
        row(f"  nothing, {max_error:.0%}, n = {count:,}", f"{given / SETS:.1%}", f"{given / SETS:.1%}", "", "0.0%")


def alarms(answers: Answers, number: str, max_error: float) -> None:
    """False alarms while the promise holds, and how many cases it takes after the questions have become other ones."""
    random = np.random.default_rng(0)
    false = sum(_raised(random.random(STREAM) < max_error, max_error) is not None for _ in range(SETS))
    row(f"  error exactly {max_error:.0%}, {STREAM:,} cases", f"{false / SETS:.1%} false", "")
    hard = answers.topic == HARD
    known = answers.where(~hard)
    true = truth(known, number)
    threshold = true.thresholds[true.error <= max_error].min()
    before, after = (one.where(getattr(one, number) >= threshold) for one in (known, answers.where(hard)))
    delays, false = [], 0
    for _ in range(SETS):
        wrong = ~np.concatenate(
            [random.choice(before.right, HELD_FOR), random.choice(after.right, STREAM)]  # cases that were let through
        )
        at = _raised(wrong, max_error)
        false += at is not None and at <= HELD_FOR
        delays.append(STREAM if at is None else max(at - HELD_FOR, 0))
    errors = f"{1 - before.right.mean():.1%} wrong, then {1 - after.right.mean():.1%}"
    row(f"  {number}: {errors}", f"{false / SETS:.1%} false", f"after {np.median(delays):.0f} cases")


def _raised(wrong: Bools, max_error: float) -> int | None:
    alarm = Alarm(max_error)
    for one in wrong.tolist():
        if alarm.add(one):
            break
    return alarm.raised_at


def main() -> None:
    """Everything."""
    if not DATA.is_file():
        sys.exit(f"{DATA} is absent: these figures come from its answers only")
    answers = load(DATA)
    questions, models = len(np.unique(answers.question)), len(np.unique(answers.model))
    right = answers.right.mean()
    print(f"{len(answers.right):,} answers of {models} models to {questions:,} questions, {right:.1%} right")
    for number in ("stated", "agreement"):
        print(f"AUROC of {number}: {auroc(getattr(answers, number), answers.right)[0]:.3f}")
    calibration(answers)
    print(f"promises, {SURE:.0%} sure, from {SETS:,} simulated sets of labels")
    row("", "given", "broken", "coverage if given", "best coverage")
    for number in ("stated", "agreement"):
        for max_error in (0.05, 0.1, 0.15):
            promises(answers, number, max_error)
    hardest(0.05)
    print(f"the alarm, read after every case, {SETS:,} streams; the drift is to {HARD} after {HELD_FOR:,} cases")
    alarms(answers, "stated", 0.15)


if __name__ == "__main__":
    main()
