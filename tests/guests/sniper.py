"""A guest of DP-Sniper's kind: a learned classifier of outputs chooses the attack set.

After Bichsel, Steffen, Bogunovic & Vechev 2021: the most powerful set of outputs is where the posterior
probability of the first input is highest; a classifier learns it from runs, and its bounds come from runs
that nothing was learned from. Written from the paper's description; here the threshold is chosen on runs
of its own, by the bound that it promises, in place of a fixed probability of the set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from outcomes import Counted, interval_floor
from readings import Floats, joint_codes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

Score = Callable[[Floats], Floats]

#: Columns that a classifier gets, at most, and how far their numbers may go.
MAX_COLUMNS, FARTHEST = 40, 8.0
#: A value this common is an atom.
ATOM = 0.04
#: Boosted trees need this many runs on each side.
MIN_FOR_TREES = 700
#: More runs than this on each side teach a classifier nothing more; they choose its threshold.
MAX_TO_LEARN = 6000


class Features:
    """Numbers that a linear classifier can separate: columns, folded columns, atoms, whole outputs."""

    def __init__(self, first: Floats, second: Floats) -> None:
        both = np.concatenate([first, second])
        self.centre = np.median(both, axis=0)
        spread = np.subtract(*np.quantile(both, [0.8, 0.2], axis=0))
        self.scale = np.where(spread > 0, spread, both.std(axis=0))
        a, b = self._standard(first), self._standard(second)
        self.columns = np.argsort(-distances(a, b), kind="stable")[:MAX_COLUMNS]
        self.columns = self.columns[self.scale[self.columns] > 0]
        self.middles = [np.median(side[:, self.columns], axis=0) for side in (a, b)]
        self.atoms = [(j, value) for j in self.columns[:12] for value in _atoms(both[:, j])]
        self.wholes = np.unique(both, axis=0) if joint_codes(first, second) else both[:0]

    def _standard(self, rows: Floats) -> Floats:
        scale = np.where(self.scale > 0, self.scale, 1.0)
        return np.clip((rows - self.centre) / scale, -FARTHEST, FARTHEST)

    def leaning(self, rows: Floats) -> tuple[Floats, Floats]:
        """The chosen columns, and how much nearer each number is to the first input's usual one.

        The likelihood ratio of normal noise is linear in the first, that of Laplace noise in the second.
        """
        z = self._standard(rows)[:, self.columns]
        return z, np.abs(z - self.middles[1]) - np.abs(z - self.middles[0])

    def __call__(self, rows: Floats) -> Floats:
        z, folded = self.leaning(rows)
        atoms = [rows[:, j] == value for j, value in self.atoms]
        wholes = [(rows == whole).all(axis=1) for whole in self.wholes]
        return np.column_stack([z, folded, *atoms, *wholes]).astype(np.float64)


def distances(first: Floats, second: Floats) -> Floats:
    """How far apart the two sides are in each column, in standard errors of one run."""
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0))
    noise = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2)
    return np.where(noise > 0, gap / np.where(noise > 0, noise, 1.0), np.where(gap > 0, 1e3, 0.0))


def _atoms(column: Floats) -> Floats:
    values, counts = np.unique(column, return_counts=True)
    common = values[counts > ATOM * len(column)]
    return common[:6] if len(values) > 1 else common[:0]


def learn(first: Floats, second: Floats) -> list[Score]:
    """Scores that rise with the posterior probability of the first input."""
    features = Features(first, second)
    x = np.concatenate([features(first), features(second)])
    if not x.shape[1]:
        return []
    y = np.repeat([1, 0], [len(first), len(second)])
    linear = LogisticRegression(max_iter=300).fit(x, y)
    scores: list[Score] = [lambda rows: linear.decision_function(features(rows))]
    if len(features.columns) > 1:  # few runs teach few weights: one for all columns together
        ends = features.middles[0] - features.middles[1]

        def brief(rows: Floats) -> Floats:
            z, folded = features.leaning(rows)
            return np.column_stack([folded.sum(axis=1), z @ ends])

        summary = LogisticRegression(max_iter=300).fit(brief(np.concatenate([first, second])), y)
        scores.append(lambda rows: summary.decision_function(brief(rows)))
    if len(first) >= MIN_FOR_TREES:
        trees: Any = HistGradientBoostingClassifier(
            max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=0
        ).fit(x, y)
        scores.append(lambda rows: trees.decision_function(features(rows)))
    return scores


class Attack:
    """A score with a threshold: the outputs above it (or below it, if swapped) speak for one input."""

    def __init__(self, score: Score, threshold: float, swapped: bool, promise: float) -> None:
        self.score, self.threshold, self.swapped = score, threshold, swapped
        self.promise = promise

    def count(self, first: Floats, second: Floats) -> Counted:
        sides = (second, first) if self.swapped else (first, second)
        sign = -1.0 if self.swapped else 1.0
        hits = [int((sign * self.score(side) >= self.threshold).sum()) for side in sides]
        return Counted(hits[0], hits[1], len(first))


class Student:
    """Learns from one half of these runs, at most `MAX_TO_LEARN`, and chooses thresholds on the others."""

    def __init__(self, first: Floats, second: Floats) -> None:
        half = min(len(first) // 2, MAX_TO_LEARN)
        self.scores = learn(first[:half], second[:half])
        self.rest = [(score(first[half:]), score(second[half:])) for score in self.scores]


def choose(student: Student, delta: float, risk: float, runs: int) -> Attack | None:
    """What `runs` runs should show most of."""
    best: Attack | None = None
    for score, (a, b) in zip(student.scores, student.rest, strict=True):
        for swapped in (False, True):
            here, there = (-b, -a) if swapped else (a, b)
            at, hits, others = _thresholds(here, there)
            scale = runs / len(here)
            # half a run more on the other side: what was never seen is not impossible
            value = interval_floor(hits * scale, (others + 0.5) * scale, runs, delta, risk)
            place = int(np.argmax(value))
            if best is None or value[place] > best.promise:
                best = Attack(score, float(at[place]), swapped, float(value[place]))
    return best


def _thresholds(here: Floats, there: Floats) -> tuple[Floats, npt.NDArray[Any], npt.NDArray[Any]]:
    at = np.unique(np.quantile(np.concatenate([here, there]), np.linspace(0, 1, 200)))
    counts = [len(side) - np.searchsorted(np.sort(side), at, "left") for side in (here, there)]
    return at, counts[0].astype(np.float64), counts[1].astype(np.float64)


def find_floor(student: Student, test: tuple[Floats, Floats], delta: float, risk: float) -> float:
    """The certified lower bound on ε at δ, of what was learned from other runs."""
    attack = choose(student, delta, risk, len(test[0]))
    if attack is None:
        return 0.0
    counted = attack.count(*test)
    return float(interval_floor(counted.hits, counted.other_hits, counted.runs, delta, risk))
