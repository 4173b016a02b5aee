"""Attacks on masked data and input perturbation as the toolkit publishes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.audit.exact import statement
from discreet.audit.losses import LossDistribution
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Categorical, Real
from discreet.guarantees.erm.attacks import minimum_losses
from discreet.guarantees.erm.attacks_batches import table as erm_table
from discreet.measures import ApproxDP, PureDP
from discreet.models.erm.features import ONE
from discreet.models.erm.perturbation import OutputPerturbation
from discreet.models.inputs import plan_facts
from discreet.publish import MaskedData, RowPerturbation
from discreet.publish.perturb import PerturbedRows
from discreet.schema import Schema
from discreet.step import CodedRows
from discreet.unit import ADD_REMOVE, PUBLIC, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
#: Features and labels of some rows.
Rows = tuple[Floats, npt.NDArray[np.int64]]

#: Masks are fitted one by one, so there are few.
_FITS = 80
_UNITS = (Unit(ADD_REMOVE), Unit(REPLACE_ONE), Unit(ADD_REMOVE, id_column="person", max_rows=3))


def estimator(**options: Any) -> MaskedData:
    """Masks of one feature, whose weight is noise alone."""
    common: dict[str, Any] = {"perturbation": "output", "alpha": 8, "fit_intercept": False}
    shape: dict[str, Any] = {"samples": 16, "random_state": 0, "epsilon": 1}
    return MaskedData(bounds=(-1, 1), classes=[0, 1], **{**common, **shape, **options})


def masks(rows: Rows) -> Floats:
    """A whole fit: the masked rows and labels, in the order in which they are published.

    The rows are declared public, so that no ledger slows it down: the noise is that of add/remove.
    """
    made = estimator(unit=PUBLIC).fit(*rows)
    return np.concatenate([made.X_.ravel(), made.y_])


def weights(epsilon: int) -> Callable[..., Floats]:
    """The noisy weights that masks are made from, many times: a mask says no more."""
    asked = estimator(epsilon=epsilon)
    facts = plan_facts(asked, None, 1, None)
    model = asked._model()
    step = model._step(facts, model._measure())

    def run(codes: npt.NDArray[np.int64], trials: int) -> Floats:
        rows = CodedRows(codes, ("x0", "target"), facts.schema)
        return np.array([step.run(rows).ravel() for _ in range(trials)])

    return run


def weights_losses(epsilon: int) -> LossDistribution | None:
    """The exact distribution of these weights for one row, or none."""
    asked = estimator(epsilon=epsilon)
    model = asked._model()
    step = model._step(plan_facts(asked, None, 1, None), model._measure())
    feature = float(step.features.matrix(np.array([[2**20]]))[0, 0]) / ONE  # scaled to the norm
    assert isinstance(step._perturbation, OutputPerturbation)
    return minimum_losses(step._perturbation, (erm_table([]), erm_table([(feature, 0.0)])))


def costs() -> Iterator[AuditResult]:
    """Check that what a fit asks costs no more than it says, however its budget is split."""
    for unit in _UNITS:
        for labels in ("model", "noisy"):
            for delta in (0, "1/1000000"):
                made = estimator(unit=unit, labels=labels, delta=delta, perturbation="objective")
                plan = made.plan(n_features=1)
                title = f"labels {labels!r}, {plan.measure!r}, {unit}"
                good = plan.measure == made._measure() and satisfies(plan.event, plan.measure)
                yield statement(title, "the event costs no more", good, repr(plan.event))


def table(*rows: tuple[float, int]) -> Rows:
    """Rows of one feature and a label."""
    return np.array([[x] for x, _ in rows]), np.array([y for _, y in rows])


def made_without_rows() -> AuditResult:
    """Check that the published rows can be made again from the released numbers alone."""
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (40, 2))
    y = (x[:, 0] > 0).astype(np.int64)
    options: dict[str, Any] = {"epsilon": 1, "samples": 30, "random_state": 3, "labels": "noisy"}
    fitted = MaskedData(**options, bounds=(-1, 1), classes=[0, 1], unit=PUBLIC).fit(x, y)
    again = MaskedData(**options)
    for name in ("coef_", "intercept_", "columns_", "classes_", "_shares", "_labels"):
        setattr(again, name, getattr(fitted, name))
    found = again._publish(again._mask(30, 3, None))
    same = np.array_equal(found[0], fitted.X_) and np.array_equal(found[1], fitted.y_)
    words = "they are" if same and fitted._labels is None else "they are not"
    return statement(
        "rows made again without the data",
        "masked rows are those that released weights and shares give",
        same and fitted._labels is None,
        words,
    )


@attack("masked-data")
def masked_data() -> Iterator[Part]:
    yield made_without_rows()
    yield from costs()
    pair: Any = np.zeros((0, 2), np.int64), np.array([[2**20, 0]])
    yield Case(
        "weights of one row or none, ε = 4", weights(4), pair, 4.0, 3_000, losses=weights_losses(4)
    )
    few = [(0.5, 1), (-0.5, 0)] * 8
    pair = table(*few), table((0.5, 0), *few[1:])
    told = {"reuse": False}
    words = (
        "made from the noisy weights, attacked above: a mask says less; this looks for true labels"
    )
    title = "masks, one row's label is another, ε = 1"
    yield Case(title, masks, pair, 1.0, _FITS, told, reason=words)


def channel(numbers: int, **options: Any) -> RowPerturbation:
    """A channel for this many numbers between -1 and 1, and a label."""
    columns: dict[str, Any] = {f"x{j}": Real(-1, 1) for j in range(numbers)}
    return RowPerturbation(
        Schema({**columns, "y": Categorical(0, 1)}), **{"target": "y", **options}
    )


def reports(of: RowPerturbation) -> Callable[..., Floats]:
    """Reports of one row, many times."""

    def run(row: tuple[float, ...], trials: int) -> Floats:
        told = of.randomize(np.tile(np.array(row, np.float64), (trials, 1)))
        return np.column_stack([np.asarray(column, np.float64) for column in told.values()])

    return run


def corner(of: RowPerturbation) -> Callable[[Floats], Floats]:
    """The log-ratio of two opposite rows, (1, ..., 1) and its negative, with labels 1 and 0."""
    width = len(of.numbers)
    at = of.radius / 2**12 / math.sqrt(width)

    def score(told: Floats) -> Floats:
        x = told[:, :width]
        if of.kind == "grid":
            size = max(of.spread().values())
            loss = (np.abs(x + at) - np.abs(x - at)).sum(axis=1) * math.sqrt(2) / size
        else:
            rate = float(of.shares[""]) / (2 * of.radius / 2**12)
            loss = rate * (np.linalg.norm(x + at, axis=1) - np.linalg.norm(x - at, axis=1))
        return np.asarray(loss + float(of.shares["y"]) * (2 * told[:, -1] - 1))

    return score


def _cases(kind: str, budgets: tuple[Any, ...]) -> Iterator[Part]:
    for width, epsilon, delta in budgets:
        of = channel(width, epsilon=epsilon, delta=delta, kind=kind)
        pair = (1.0,) * (width + 1), (-1.0,) * width + (0.0,)
        title = f"{width} numbers and a label, {of.measure!r}"
        yield Case(title, reports(of), pair, of.measure, 20_000, {"score": corner(of)})


def refused() -> Iterator[AuditResult]:
    """Check that rows are not published where their number is private."""
    of = channel(1, epsilon=1)
    persons = Unit(REPLACE_ONE, id_column="person", max_rows=2)
    for unit in (Unit(ADD_REMOVE), persons):
        try:
            PerturbedRows(of, None).event(of.schema, unit)
            told = "it was not"
        except ValueError:
            told = "it was"
        yield statement(f"rows of {unit}", "publishing them is refused", told == "it was", told)


def whole_table(rows: npt.NDArray[np.int64], trials: int) -> Floats:
    """Publish all rows of a table, many times, as the step behind the door does it."""
    of = channel(1, epsilon=6)
    step, coded = PerturbedRows(of, len(rows)), CodedRows(rows, ("x0", "y"), of.schema)
    found = [step.run(coded) for _ in range(trials)]
    return np.array([np.concatenate([told["x0"], told["y"]]) for told in found])


@attack("input-perturbation")
def input_perturbation() -> Iterator[Part]:
    for delta in (0, "1/100000"):
        of = channel(12, epsilon=2, delta=delta)
        claim = ApproxDP(2, delta) if delta else PureDP(2)
        holds = satisfies(of.event(), claim)
        yield statement(
            f"the event of a row, {claim!r}", "it costs no more", holds, repr(of.event())
        )
    yield from refused()
    yield from _cases("grid", ((1, 1, 0), (1, 4, 0), (3, 2, 0), (6, 2, "1/100")))
    strange = channel(1, epsilon=1)
    odd = [((math.nan, 7.0), (1.0, 1.0)), ((math.inf, math.nan), (-1.0, 0.0))]
    words = "a cell that is no number is taken for the middle, which is half as far from the ends"
    yield Case("cells of any kind, ε = 1", reports(strange), odd, 1.0, 10_000, reason=words)
    top = 2**20
    pair = np.array([[top, 1], [0, 0]]), np.array([[0, 0], [0, 0]])
    words = "published in random order, which hides more; single reports are attacked above"
    yield Case("a table of two rows, ε = 6", whole_table, pair, 6.0, 600, reason=words)


@attack("input-perturbation-norm-gamma")
def norm_gamma() -> Iterator[Part]:
    yield from _cases("norm-gamma", ((1, 1, 0), (2, 2, 0), (8, 4, 0)))
