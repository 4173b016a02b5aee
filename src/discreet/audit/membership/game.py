"""The game that membership attacks are judged by: who was in the training set of this model?

Models are trained on random halves of one data set. The *targets* keep their halves secret until the
guesses are made; the *shadows* show theirs. Attackers see shadows, targets and a population that no model
was trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from discreet.rational import as_integer

__all__ = ["Answers", "Game", "class_probabilities", "play", "trainer"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.intp]

#: Takes records and labels, returns a fitted classifier.
Trainer = Callable[[Any, Any], Any]

#: Probabilities of classes are kept this far from 0 and 1, so that logarithms are finite.
_MIN_PROBABILITY = 1e-7


@dataclass(frozen=True, eq=False)
class Answers:
    """What models say about records.

    Parameters
    ----------
    included : (models, records) array of booleans
        Which records each model was trained on.
    probabilities : (models, records, classes) array
        The models' probabilities of the classes.
    labels : (records,) array of class numbers
    """

    included: Flags
    probabilities: Floats
    labels: Codes

    @property
    def confidence(self) -> Floats:
        """The probability of each record's own class, (models, records)."""
        found = self.probabilities[:, np.arange(len(self.labels)), self.labels]
        return np.asarray(np.clip(found, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY), np.float64)

    def log_odds(self, minimum: float = _MIN_PROBABILITY) -> Floats:
        """log(p/(1 - p)) of each record's own class, p kept between `minimum` and 1 - `minimum`.

        Nearly normal for many models (Carlini et al. 2022).
        """
        p = np.clip(self.confidence, minimum, 1 - minimum)
        return np.asarray(np.log(p) - np.log1p(-p), np.float64)


@dataclass(frozen=True, eq=False)
class Game:
    """Trained models and their answers; `play` makes one, attacks take one.

    Parameters
    ----------
    targets, shadows : Answers
        About the records that may be members.
    target_population, shadow_population : Answers
        About records that no model was trained on.
    """

    targets: Answers
    shadows: Answers
    target_population: Answers
    shadow_population: Answers

    def __repr__(self) -> str:
        models, records = self.targets.included.shape
        return (
            f"Game({models} target(s) and {len(self.shadows.included)} shadow(s) on halves of {records} "
            f"records, {len(self.target_population.labels)} records of a population)"
        )


def trainer(algorithm: Any) -> Trainer:
    """A training algorithm from a scikit-learn classifier (cloned for each fit) or a function of (X, y)."""
    if hasattr(algorithm, "fit"):
        from sklearn.base import clone

        return lambda X, y: clone(algorithm).fit(X, y)
    if not callable(algorithm):
        raise TypeError(
            "algorithm must be a classifier with `fit`, or a function of (X, y) that gives a fitted one."
        )

    def train(X: Any, y: Any) -> Any:
        return algorithm(X, y)

    return train


def class_probabilities(model: Any, X: Any, classes: npt.NDArray[Any]) -> Floats:
    """The model's probabilities of `classes`, (records, classes); 0 for classes that it never saw.

    From `predict_proba`, or else from `decision_function` through the logistic or softmax function, which
    are then scores, not probabilities.
    """
    if hasattr(model, "predict_proba"):
        found = np.asarray(model.predict_proba(X), np.float64)
    elif hasattr(model, "decision_function"):
        margin = np.asarray(model.decision_function(X), np.float64)
        if margin.ndim == 1:
            found = np.stack([expit(-margin), expit(margin)], axis=1)
        else:
            found = softmax(margin, axis=1)
    else:
        raise TypeError(
            f"{type(model).__name__} has neither `predict_proba` nor `decision_function`: "
            "give a classifier that has one of them."
        )
    own = np.asarray(getattr(model, "classes_", classes))
    if found.shape != (len(X), len(own)):
        raise ValueError("the model must give one number for each record and each class.")
    result = np.zeros((len(X), len(classes)))
    for column, value in enumerate(own):
        result[:, classes == value] = found[:, [column]]
    return result


def table(X: Any) -> Any:
    """Records as they are if they are a frame with `iloc`, else as an array."""
    found = X if hasattr(X, "iloc") else np.asarray(X)
    if len(found.shape) < 2:
        raise ValueError("X must have one row for each record.")
    return found


def rows(records: Any, which: npt.NDArray[Any]) -> Any:
    """The rows with these numbers, or those where a mask is true."""
    numbers = np.flatnonzero(which) if which.dtype == np.bool_ else which
    return records.iloc[numbers] if hasattr(records, "iloc") else records[numbers]


def play(
    algorithm: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    targets: int = 1,
    shadows: int = 16,
    population: float = 0.2,
    random_state: int | np.random.Generator | None = None,
) -> Game:
    """Train targets and shadows on random halves and ask them about every record.

    Parameters
    ----------
    algorithm : classifier or callable
        See `trainer`.
    X, y : arrays, or X a pandas frame
        Records and labels. Their owner plays this game; nothing here is private towards the owner.
    targets, shadows : int
        How many models of each kind are trained.
    population : float
        The share of records that are kept out of every training set.
    random_state : int or Generator, optional
        For the halves. Each record is in each half by a fair coin, which the bounds on ε need.
    """
    records, labels = table(X), np.asarray(y)
    if labels.shape != (len(records),):
        raise ValueError("y must have one label for each row of X.")
    as_integer(targets, "targets", minimum=1)
    as_integer(shadows, "shadows")
    if not 0 <= population < 1:
        raise ValueError(f"population must be at least 0 and below 1, got {population!r}.")
    train, rng = trainer(algorithm), np.random.default_rng(random_state)
    classes, codes = np.unique(labels, return_inverse=True)
    order = rng.permutation(len(records))
    held = round(population * len(records))
    outside, inside = order[:held], order[held:]
    coins = rng.integers(0, 2, (targets + shadows, len(inside))).astype(np.bool_)
    said = np.zeros((len(coins), len(records), len(classes)))
    for row, coin in enumerate(coins):
        model = train(rows(records, inside[coin]), labels[inside[coin]])
        said[row] = class_probabilities(model, records, classes)

    def answers(models: slice, which: Codes, included: Flags) -> Answers:
        return Answers(included, said[models][:, which], codes[which])

    first, rest = slice(0, targets), slice(targets, None)
    nobody = np.zeros((len(coins), held), np.bool_)
    return Game(
        answers(first, inside, coins[first]),
        answers(rest, inside, coins[rest]),
        answers(first, outside, nobody[first]),
        answers(rest, outside, nobody[rest]),
    )
