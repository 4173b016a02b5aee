"""Learning on masked rows: train on a masked table, predict for masked rows, compare with a constant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Categorical
from discreet.dataset import PrivateDataset
from discreet.publish.masks.plan import MaskedRows, RowMask
from discreet.publish.masks.published import PublishedMask
from discreet.publish.true_labels import TrueLabels
from discreet.schema import Schema

__all__ = ["MaskedScore", "score_on_masked"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class MaskedScore:
    """How well a model that was trained on masked rows predicts for masked rows.

    Attributes
    ----------
    accuracy : float
    balanced_accuracy : float
        The mean over classes of the share that is found: 1/k for a constant, whatever the classes' shares.
    majority_rate : float
        The accuracy of always saying the most frequent class: what `accuracy` must be compared with.
    standard_error : float
        Of the accuracy, for the test rows that were drawn and the noise on their labels.
    rows : int
        Test rows.
    """

    accuracy: float
    balanced_accuracy: float
    majority_rate: float
    standard_error: float
    rows: int

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.3f} ± {self.standard_error:.3f} "
            f"(majority {self.majority_rate:.3f}), balanced accuracy {self.balanced_accuracy:.3f}"
        )


def score_on_masked(
    estimator: Any,
    mask: PublishedMask | RowMask,
    train: PrivateDataset,
    test: PrivateDataset,
    *,
    target: str,
    random_state: Any = None,
) -> MaskedScore:
    """Train an estimator on masked rows and score it on masked rows, as Choi & Lee 2019 do (section 4.1).

    Parameters
    ----------
    estimator : object with ``fit(X, y)`` and ``predict(X)``
        It is cloned. The predictions of scikit-learn's regressors count as the nearer of two classes.
    mask : LS, LSPlus, PseudoQuantum, or a mask for private rows such as WaveletLaplace
        One that has a `target` must have this one.
    train, test : PrivateDataset
        Of the same schema. As published, masks take rows declared public; the others charge each data set's
        ledger what its rows cost, the test rows as well.
    target : str
        A column of categories; two of them for the masks as published, and for regressors.
    random_state : int or numpy Generator, optional
        For the masks as published.

    Returns
    -------
    MaskedScore
        With masks as published, predictions are compared with the true labels of the public test rows. With
        the others, with the labels that were released by randomised response: the table of labels and
        predictions is corrected for its lies, which are public, so that the scores are unbiased estimates,
        clipped to [0, 1].

    Privacy
    -------
    Everything after the two releases is post-processing.
    """
    label = _check_arguments(estimator, mask, train, test, target)
    classes = len(label.values)
    if isinstance(mask, PublishedMask):
        if classes != 2:
            raise ValueError("target must have two categories for a mask as it was published.")
        generator = np.random.default_rng(random_state)
        told = [mask.publish(d, target=target, random_state=generator) for d in (train, test)]
        truth, chances = test.run(TrueLabels(target)), np.eye(classes)
        if len(truth) != len(told[1][target]):
            raise ValueError(f"column {target!r} of test has cells that are no declared category.")
    else:
        told = [mask.publish(data) for data in (train, test)]
        truth = _positions(told[1][target], label)
        keep, other = mask.plan(train.schema).channel.response(target).chances
        chances = np.full((classes, classes), float(other))
        np.fill_diagonal(chances, float(keep))
    (x, y), (seen, _) = (_split(released, train.schema, target) for released in told)
    found = _predict(estimator, x, y, seen, classes)
    table = np.zeros((classes, classes))
    np.add.at(table, (truth, found), 1.0)
    return _score(table, chances)


def _check_arguments(estimator: Any, mask: Any, train: Any, test: Any, target: str) -> Categorical:
    """Refuse what can't be scored before anything is charged; the column of labels."""
    for name, data in (("train", train), ("test", test)):
        if not isinstance(data, PrivateDataset):
            raise TypeError(f"{name} must be a dp.PrivateDataset, not {type(data).__name__}.")
    if not isinstance(mask, PublishedMask | RowMask):
        raise TypeError(f"mask must be a mask such as WaveletLaplace, not {type(mask).__name__}.")
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise TypeError("estimator must have fit and predict.")
    label = train.schema.base.get(target)
    if not isinstance(label, Categorical) or len(label.values) < 2:
        raise ValueError("target must be a column of two or more categories.")
    if dict(train.schema.base) != dict(test.schema.base):
        raise ValueError("test must have the schema of train.")
    if len(train.schema.base) < 2:
        raise ValueError("train must have a column beside the target to learn from.")
    if 0 in (train.rows, test.rows):
        raise ValueError("train and test must have at least one row.")
    if isinstance(mask, RowMask):
        if mask.target != target:
            raise ValueError(
                f"mask must be made with target={target!r}, so that labels get a share."
            )
        plan = mask.plan(train.schema)
        for data in (train, test):  # both, before the first is paid for
            data.plan(MaskedRows(plan, data.rows))
    return label


def _positions(values: Array, column: Categorical) -> Integers:
    places = {value: place for place, value in enumerate(column.values)}
    return np.array([places[value] for value in values.tolist()], np.int64)


def _split(released: Mapping[str, Array], schema: Schema, target: str) -> tuple[Floats, Integers]:
    """Features as numbers, categories as their positions, and the positions of labels."""
    features = []
    for name, column in schema.base.items():
        values = np.asarray(released[name])
        if np.iscomplexobj(values):
            raise ValueError(
                "delta_intensity must be at most 0.1547 to learn from the mask: above it is complex."
            )
        if name == target:
            continue
        known = isinstance(column, Categorical) and values.dtype.kind != "f"
        features.append(_positions(values, column) if known else values)  # type: ignore[arg-type]
    label = schema.base[target]
    assert isinstance(label, Categorical)
    return np.column_stack(features).astype(np.float64), _positions(released[target], label)


def _predict(estimator: Any, x: Floats, y: Integers, seen: Floats, classes: int) -> Integers:
    from sklearn.base import clone, is_regressor

    if len(np.unique(y)) == 1:  # many estimators refuse to learn a constant
        return np.full(len(seen), y[0])
    model = clone(estimator, safe=False)
    model.fit(x, y)
    told = np.asarray(model.predict(seen))
    if told.shape != (len(seen),):
        raise ValueError("estimator must predict one label for each row.")
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        if classes != 2:
            raise ValueError("target must have two categories for a regressor.")
        return np.asarray(told >= 0.5, np.int64)
    return told.astype(np.int64)


def _score(table: Floats, chances: Floats) -> MaskedScore:
    """Scores of a table of labels (rows) and predictions, given P(told label | true label)."""
    rows = int(table.sum())
    if not rows:
        raise ValueError("test must have at least one row.")
    true = np.maximum(np.linalg.solve(chances.T, table), 0.0)
    true *= rows / max(true.sum(), 1e-300)
    totals = true.sum(axis=1)
    present = totals > 0
    keep, other = float(chances[0, 0]), float(chances[0, 1])
    match = float(np.trace(table)) / rows
    accuracy = min(1.0, max(0.0, (match - other) / (keep - other)))
    return MaskedScore(
        accuracy=accuracy,
        balanced_accuracy=float((np.diag(true)[present] / totals[present]).mean()),
        majority_rate=float(totals.max()) / rows,
        standard_error=math.sqrt(match * (1 - match) / rows) / (keep - other),
        rows=rows,
    )
