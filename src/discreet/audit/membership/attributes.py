"""Attribute inference: guessing one column of a record from a model and the rest of the record.

A model that has learnt how a column and the label are related lets anyone guess the column, whether or not
the record was in its training set; that is what models are for. What counts as a leak is how much *better*
the guesses are for records that were in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.membership.game import class_probabilities, trainer
from discreet.audit.membership.report import Rate
from discreet.rational import as_integer

__all__ = ["AttributeReport", "attribute_inference"]

#: A column with more values than this isn't guessed value by value.
_MAX_VALUES = 64


@dataclass(frozen=True, repr=False)
class AttributeReport:
    """How often a column was guessed right.

    Parameters
    ----------
    column : int
    members, others : Rate
        Of the attack through the model, for records in its training set and for records outside it.
    without_model : Rate
        Of a classifier that learnt the column from other records, for records in the training set.
    most_common : float
        The share of the column's most common value: what a guess without looking gets.
    """

    column: int
    members: Rate
    others: Rate
    without_model: Rate
    most_common: float

    @property
    def advantage(self) -> float:
        """The rate of right guesses for members minus that for others (Yeom et al. 2018)."""
        return self.members.value - self.others.value

    @property
    def advantage_interval(self) -> tuple[float, float]:
        """Both rates' intervals hold together with probability 1 - 2·(1 - confidence); so does this one."""
        (low, high), (other_low, other_high) = self.members.interval, self.others.interval
        return low - other_high, high - other_low

    def __repr__(self) -> str:
        low, high = self.advantage_interval
        return (
            f"Column {self.column} guessed right, by a model about\n"
            f"  records that it was trained on: {self.members!r}\n"
            f"  records that it wasn't:         {self.others!r}\n"
            f"  the difference, its leak:       {self.advantage:+.3f} [{low:+.3f}, {high:+.3f}]\n"
            f"  without the model: {self.without_model!r}; the most common value: {self.most_common:.3f}"
        )


def attribute_inference(
    algorithm: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    column: int,
    *,
    models: int = 4,
    without_model: Any = None,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> AttributeReport:
    """Train models on random halves and guess a column of every record through them.

    The guess is the value a with the largest prior(a)·p(label | record with a), which is the rule of
    Fredrikson et al. 2015 and Yeom et al. 2018, for log loss.

    Parameters
    ----------
    algorithm : classifier or callable
        See `trainer`.
    X, y : arrays
    column : int
        The column to guess; it must have between 2 and 64 values.
    models : int
        How many halves are tried.
    without_model : scikit-learn classifier, optional
        Learns the column from the rest of the record and its label, on the records *outside* the half:
        what can be guessed without the model. By default a random forest.
    confidence : float
        Of the intervals, which take records for independent trials.
    random_state : int or Generator, optional
        For the halves.
    """
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier

    records, labels = np.asarray(X), np.asarray(y)
    train, rng = trainer(algorithm), np.random.default_rng(random_state)
    as_integer(models, "models", minimum=1)
    if records.ndim != 2 or not 0 <= as_integer(column, "column") < records.shape[1]:
        raise ValueError("column must be the number of a column of X.")
    values, truth, counts = np.unique(records[:, column], return_inverse=True, return_counts=True)
    if not 2 <= len(values) <= _MAX_VALUES:
        raise ValueError(f"column must have between 2 and {_MAX_VALUES} values; bin it first.")
    if without_model is None:
        without_model = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    classes, codes = np.unique(labels, return_inverse=True)
    rest = np.column_stack([np.delete(records, column, axis=1), codes])
    hits = np.zeros((2, 2), np.int64)  # (hits, trials) of members and of others
    blind = np.zeros(2, np.int64)
    for _ in range(models):
        inside = rng.integers(0, 2, len(records)).astype(np.bool_)
        model = train(records[inside], labels[inside])
        score = np.empty((len(records), len(values)))
        for k, value in enumerate(values):
            changed = records.copy()
            changed[:, column] = value
            said = class_probabilities(model, changed, classes)[np.arange(len(codes)), codes]
            score[:, k] = np.log(np.maximum(said, 1e-12)) + np.log(counts[k])
        right = score.argmax(axis=1) == truth
        hits += [[right[inside].sum(), inside.sum()], [right[~inside].sum(), (~inside).sum()]]
        if len(np.unique(truth[~inside])) > 1:
            learnt = clone(without_model).fit(rest[~inside], truth[~inside])
            blind += [(learnt.predict(rest[inside]) == truth[inside]).sum(), inside.sum()]
    members, others, imputed = (
        Rate(int(a), int(b), confidence) for a, b in (hits[0], hits[1], blind)
    )
    return AttributeReport(column, members, others, imputed, float(counts.max() / len(records)))
