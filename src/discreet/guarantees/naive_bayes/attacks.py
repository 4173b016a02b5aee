"""Attacks on naive Bayes: on the noised vector that a model is made from, and on fitted models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.losses import LossDistribution
from discreet.audit.registry import Case, Part, attack
from discreet.dataset import PrivateDataset
from discreet.guarantees.fits import answer_losses
from discreet.ledger import Ledger
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.inputs import open_input
from discreet.models.naive_bayes import CategoricalNB, GaussianNB, MixedNB
from discreet.queries import Marginals
from discreet.schema import Categorical, Real, Schema
from discreet.unit import ADD_REMOVE, PUBLIC, REPLACE_ONE, Relation, as_unit

Floats = npt.NDArray[np.float64]
Rows = tuple[tuple[float, ...], ...]

#: What a column of each kind is declared as, and the two cells of a person that lie farthest apart.
KINDS: dict[str, Any] = {
    "real": Real(-1, 1),
    "category": Categorical(0, 1),
    "undeclared": Categorical(0, 1),
}
FAR: dict[str, tuple[float, float]] = {
    "real": (-1.0, 1.0),
    "category": (0.0, 1.0),
    "undeclared": (0.0, 2.0),
}


def _schema(columns: tuple[str, ...], classes: int) -> Schema:
    declared = {f"x{j}": KINDS[column] for j, column in enumerate(columns)}
    return Schema({**declared, "y": Categorical(*range(classes))})


def _measure(epsilon: float, delta: float) -> Measure:
    return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)


def vector(rows: Rows, columns: tuple[str, ...]) -> Floats:
    """The coordinates that rows of one class add up to, weighted to the noise they all share."""
    found = [0.5 * len(rows)] if "real" in columns else []
    for j, column in enumerate(columns):
        if column == "real":
            u = np.array([row[j] for row in rows])
            found += [u.sum(), (1 - u**2).sum() / 2]
    for j, column in enumerate(columns):
        if column != "real":
            found += [float(sum(row[j] == value for row in rows)) for value in (0, 1)]
            found.append(float(sum(row[j] not in (0, 1) for row in rows)))
    return np.array(found)


def released(
    columns: tuple[str, ...], measure: Measure, relation: Relation
) -> Callable[..., Floats]:
    """The noised vector of a class with these rows; many classes are as many independent runs."""

    def mechanism(rows: Rows, trials: int) -> Floats:
        schema = _schema(columns, trials)
        x = np.tile(np.array(rows, np.float64).reshape(len(rows), len(columns)), (trials, 1))
        table = {f"x{j}": x[:, j] for j in range(len(columns))}
        table["y"] = np.repeat(np.arange(trials), len(rows))
        ledger = Ledger(limit=measure, unit=as_unit(relation))
        data = PrivateDataset(table, schema, ledger=ledger)
        query = Marginals(*(name for name in schema.base if name != "y"), by="y")
        value = data.release(query, measure).value
        parts = []
        if value.count is not None:
            rest = (value.count[:, None] - value.squares) / 2
            parts.append(value.count[:, None] / 2)
            parts += [part[:, [j]] for j in range(rest.shape[1]) for part in (value.sums, rest)]
        for cells, unknown in zip(value.cells, value.unknown, strict=True):
            parts += [cells, unknown[:, None]]
        return np.concatenate(parts, axis=1)

    return mechanism


def case(
    columns: tuple[str, ...],
    relation: Relation = ADD_REMOVE,
    *,
    epsilon: float = 2.0,
    delta: float = 0.0,
    spent: float | None = None,
    trials: int = 40_000,
) -> Case:
    """The vector against its claim; `spent` is the ε that its noise is really for, by default `epsilon`."""
    low, high = (tuple(FAR[column][end] for column in columns) for end in (0, 1))
    pair: tuple[Rows, Rows] = ((), (high,)) if relation is ADD_REMOVE else ((low,), (high,))
    a, b = (vector(rows, columns) for rows in pair)

    def ratio(told: Floats) -> Floats:
        """What an attacker who knows both sides looks at: the likelihood ratio."""
        if delta:
            return np.asarray(told @ (b - a))
        return np.asarray((abs(told - a) - abs(told - b)).sum(axis=1))

    run = released(columns, _measure(epsilon if spent is None else spent, delta), relation)
    title = f"{', '.join(columns)}, {relation.value}, ε = {epsilon:g}, δ = {delta:g}"
    claim: Any = ApproxDP(epsilon, delta) if delta else epsilon
    return Case(title, run, pair, claim, trials, {"score": ratio, "rounding": 1e-6})


def fitted(kind: type, columns: tuple[str, ...], epsilon: float) -> Callable[..., Floats]:
    """All that fitted models reveal.

    The rows are declared public, so that no ledger slows the runs; the noise is the same.
    """

    def mechanism(rows: Rows, trials: int) -> Floats:
        x = np.array(rows, np.float64).reshape(len(rows), len(columns))
        table = {f"x{j}": x[:, j] for j in range(len(columns))}
        table["y"] = np.zeros(len(rows), np.int64)
        data = PrivateDataset(table, _schema(columns, 2), unit=PUBLIC)
        model = kind(epsilon=epsilon)
        source = open_input(model, data, None, None, None)
        plan = model._plan(source.facts, None)
        told = []
        for _ in range(trials):
            model._carry_out(plan, source)
            parts = [model.class_count_]
            parts += [model.theta_.ravel(), model.var_.ravel()] if hasattr(model, "theta_") else []
            parts += [cells.ravel() for cells in getattr(model, "category_count_", [])]
            told.append(np.concatenate(parts))
        return np.array(told)

    return mechanism


def fitted_losses(columns: tuple[str, ...], budget: Measure, rows: Rows) -> LossDistribution | None:
    """The exact distribution of the vector that models of these rows, or none, are made from."""
    schema = _schema(columns, 2)
    query = Marginals(*(name for name in schema.base if name != "y"), by="y")
    one, none = (
        {
            **{f"x{j}": np.array([row[j] for row in some]) for j in range(len(columns))},
            "y": np.zeros(len(some), np.int64),
        }
        for some in (rows, ())
    )
    return answer_losses(query, budget, schema, one, none, as_unit(ADD_REMOVE))


@attack("naive-bayes")
def naive_bayes() -> Iterator[Part]:
    for relation in (ADD_REMOVE, REPLACE_ONE):
        yield case(("real", "real"), relation)
        yield case(("category", "category"), relation)
        yield case(("real", "category"), relation)
        yield case(("undeclared", "category"), relation)
    yield case(("real", "real"), delta=0.01)
    yield case(("category",) * 3, delta=0.01)
    for kind, columns in (
        (GaussianNB, ("real",)),
        (CategoricalNB, ("category",)),
        (MixedNB, ("real", "category")),
    ):
        person = (tuple(1.0 for _ in columns),)
        title = f"fitted {kind.__name__}, {', '.join(columns)}, ε = 3"
        losses = fitted_losses(columns, PureDP(3), person)
        yield Case(title, fitted(kind, columns, 3.0), ((), person), 3.0, 1600, losses=losses)
