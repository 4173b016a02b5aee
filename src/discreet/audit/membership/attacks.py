"""Membership inference: loss threshold, shadow models, LiRA and RMIA.

Each takes a `Game` and returns a `MembershipReport`. None looks at the targets' secret halves.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from discreet.audit.membership.game import Answers, Game
from discreet.audit.membership.report import MembershipReport
from discreet.deprecation import former_keyword
from discreet.rational import Number, probability

__all__ = ["lira", "loss_threshold", "rmia", "shadow_models"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Fitted deviations are at least this: a model that always says the same isn't infinitely surprising.
_MIN_DEVIATION = 1e-2

#: The variance common to all records counts as much as this many shadows in a record's own.
_WEIGHTS = {"each": 0.0, "shrunk": 8.0, "shared": math.inf}


def loss_threshold(game: Game, *, delta: Number = 0, confidence: float = 0.95) -> MembershipReport:
    """Members have low losses: the score is log p(own class). Source: Yeom et al. 2018."""
    return _report("Loss threshold", np.log(game.targets.confidence), game, delta, confidence)


def shadow_models(
    game: Game, *, attack: Any = None, delta: Number = 0, confidence: float = 0.95
) -> MembershipReport:
    """Train an attack classifier for each class on the shadows, to learn what members' answers look like.

    Source: Shokri, Stronati, Song & Shmatikov 2017.

    Parameters
    ----------
    game : Game
        With at least one shadow.
    attack : scikit-learn classifier with `predict_proba`, optional
        Cloned for each class. By default a random forest of 30 trees.
    """
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier

    _need_shadows(game, 1)
    if attack is None:
        attack = RandomForestClassifier(30, min_samples_leaf=20, random_state=0)
    shadows, targets = game.shadows, game.targets
    scores = np.full(targets.included.shape, 0.5)
    for value in np.unique(targets.labels):
        rows = targets.labels == value
        seen = shadows.included[:, rows].ravel()
        if seen.all() or not seen.any():
            continue
        features = _features(shadows, rows)
        learnt = clone(attack).fit(features, seen)
        member = int(np.flatnonzero(learnt.classes_)[0])
        found = learnt.predict_proba(_features(targets, rows))[:, member]
        scores[:, rows] = found.reshape(len(targets.included), -1)
    return _report("Shadow models", scores, game, delta, confidence)


def _features(answers: Answers, rows: Flags) -> Floats:
    """The probabilities of all classes, and the log-odds of the record's own class."""
    parts = [answers.probabilities[:, rows], answers.log_odds()[:, rows, None]]
    return np.concatenate(parts, axis=2).reshape(-1, answers.probabilities.shape[2] + 1)


@former_keyword("least", "minimum")
def lira(
    game: Game,
    *,
    online: bool = True,
    variance: Literal["shrunk", "each", "shared"] = "shrunk",
    minimum: float = 0.01,
    delta: Number = 0,
    confidence: float = 0.95,
) -> MembershipReport:
    """The likelihood-ratio attack, with normal distributions fitted to the shadows' log-odds of each record.

    Source: Carlini, Chien, Nasr, Song, Terzis & Tramèr 2022, online and offline; "shrunk" is ours.

    Parameters
    ----------
    game : Game
        Every record must be in at least two shadows and out of two; 16 shadows or more make that likely.
    online : bool
        True: N(in)/N(out). False: the probability of a lower value under N(out) alone, for attackers who
        train no shadow on the record.
    variance : {"shrunk", "each", "shared"}
        A variance for each record, one for all (better with few shadows), or the record's own pulled
        towards the common one, which counts as much as eight shadows.
    minimum : float
        Probabilities are kept this far from 0 and 1. The frequencies that trees give are 0 or 1 too often for
        normal distributions; for a network that is certain with good reason use less, such as 1e-6.
    """
    if variance not in _WEIGHTS:
        raise ValueError(f'variance must be "shrunk", "each" or "shared", got {variance!r}.')
    if not 0 < minimum < 0.5:
        raise ValueError(f"minimum must be between 0 and 1/2, got {minimum!r}.")
    _need_shadows(game, 4)
    weight = _WEIGHTS[variance]
    values, found = game.shadows.log_odds(minimum), game.targets.log_odds(minimum)
    out_mean, out_deviation = _normal(values, ~game.shadows.included, weight)
    if online:
        in_mean, in_deviation = _normal(values, game.shadows.included, weight)
        scores = norm.logpdf(found, in_mean, in_deviation)
        scores -= norm.logpdf(found, out_mean, out_deviation)
    else:
        scores = norm.logcdf(found, out_mean, out_deviation)
    name = f"LiRA ({'online' if online else 'offline'})"
    return _report(name, scores, game, delta, confidence)


def _normal(values: Floats, where: Flags, weight: float) -> tuple[Floats, Floats]:
    """Means and deviations over the models that `where` marks; the common variance counts `weight` times."""
    count = where.sum(axis=0)
    total = np.where(where, values, 0).sum(axis=0)
    overall = float(total.sum() / max(1, count.sum()))
    mean = np.where(count > 0, total / np.maximum(count, 1), overall)
    squares = np.where(where, (values - mean) ** 2, 0).sum(axis=0)
    freedom = np.maximum(count - 1, 0)
    common = squares.sum() / max(1, freedom.sum())
    if math.isinf(weight):
        found = np.full(count.shape, common)
    else:
        # a record without degrees of freedom takes the common variance
        weights = np.where(freedom > 0, weight, 1.0)
        found = (squares + weights * common) / (freedom + weights)
    return mean, np.maximum(np.sqrt(found), _MIN_DEVIATION)


def rmia(
    game: Game,
    *,
    online: bool = True,
    gamma: float = 2.0,
    a: float = 0.3,
    delta: Number = 0,
    confidence: float = 0.95,
) -> MembershipReport:
    """The share of a population that the record beats: P_z(LR(x, z) >= γ), strong with few shadows.

    LR(x, z) = (p(x | θ)/p(x)) / (p(z | θ)/p(z)) (Zarifzadeh, Liu & Shokri 2024).

    Parameters
    ----------
    game : Game
        With a population and at least one shadow.
    online : bool
        True: p(x) is half the mean over shadows with x, half that over those without. False: shadows
        without x alone, p(x) = ((1 + a)·p_out(x) + (1 - a))/2.
    gamma : float
        At least 1: by how much z must be beaten.
    a : float
        Between 0 and 1, for offline; near 1 for models that hardly overfit.
    """
    if not gamma >= 1:
        raise ValueError(f"gamma must be at least 1, got {gamma!r}.")
    if not 0 <= a <= 1:
        raise ValueError(f"a must be between 0 and 1, got {a!r}.")
    _need_shadows(game, 1)
    if not len(game.target_population.labels):
        raise ValueError("rmia needs a population: play the game with population > 0.")
    shadows = game.shadows
    outside = _mean(shadows.confidence, ~shadows.included)
    usual_z = game.shadow_population.confidence.mean(axis=0)  # no model has seen them
    if online:
        usual_x = (outside + _mean(shadows.confidence, shadows.included)) / 2
    else:
        usual_x = ((1 + a) * outside + (1 - a)) / 2
        usual_z = ((1 + a) * usual_z + (1 - a)) / 2
    ratio_x = game.targets.confidence / usual_x
    ratio_z = game.target_population.confidence / usual_z
    scores = np.empty(ratio_x.shape)
    for row in range(len(scores)):
        beaten = np.searchsorted(np.sort(ratio_z[row]), ratio_x[row] / gamma, side="right")
        scores[row] = beaten / ratio_z.shape[1]
    # equal shares are common: within them the record's own ratio decides, by less than one z
    scores += (1 - 1 / (1 + ratio_x)) / (2 * ratio_z.shape[1])
    name = f"RMIA ({'online' if online else 'offline'})"
    return _report(name, scores, game, delta, confidence)


def _mean(values: Floats, where: Flags) -> Floats:
    """Means over the models that `where` marks; over all models for records without any."""
    count = where.sum(axis=0)
    found = np.where(where, values, 0).sum(axis=0) / np.maximum(count, 1)
    return np.asarray(np.where(count > 0, found, values.mean(axis=0)), np.float64)


def _need_shadows(game: Game, minimum: int) -> None:
    if len(game.shadows.included) < minimum:
        raise ValueError(f"this attack needs at least {minimum} shadow(s): play with more.")


def _report(
    name: str, scores: Floats, game: Game, delta: Number, confidence: float
) -> MembershipReport:
    chance = float(probability(delta, "delta"))
    return MembershipReport(name, scores, game.targets.included, chance, confidence)
