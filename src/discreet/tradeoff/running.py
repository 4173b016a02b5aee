"""Measuring utility against ε: many fits and scores, on rows declared public or each of them charged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from discreet import progress
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.metrics import Metric, private_score
from discreet.models.metrics.names import metric_of
from discreet.models.reading import column_array, column_names
from discreet.rational import as_integer, rational
from discreet.schema import Schema
from discreet.tradeoff.curves import Curve, Point
from discreet.unit import PUBLIC, Relation, Unit, as_unit

__all__ = ["DEFAULT_REPEATS", "DEFAULT_TEST_SHARE", "check_bill", "curve"]

DEFAULT_REPEATS = 10
DEFAULT_TEST_SHARE = 0.3
#: What scores on public rows are asked with.
_EXACT = PureDP(math.inf)


def curve(
    estimators: Any,
    data: Any,
    epsilons: Iterable[Any],
    repeats: int = DEFAULT_REPEATS,
    *,
    schema: Schema | None = None,
    unit: Unit | Relation | None = None,
    test: PrivateDataset | None = None,
    target: str | None = None,
    metric: Metric | str = "accuracy",
    delta: Any = 0,
    budget: Measure | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Curve:
    """Measure how good models are at each ε, with a line for no noise where that is allowed.

    Parameters
    ----------
    estimators : estimator, list, or mapping of name to estimator
        Models of `discreet.models`; ``epsilon`` and ``delta`` are set here.
    data : frame in memory, mapping of names to arrays, or PrivateDataset
        A frame or mapping must be declared public, by ``unit=dp.PUBLIC``, and comes with `schema`: each
        repeat splits it anew. On a `PrivateDataset` all models are fitted, and scored on `test`.
    epsilons : iterable of numbers
    repeats : int
        Fits at each ε, from which mean and standard error are computed.
    schema : Schema
        For a frame or mapping.
    unit : ``dp.PUBLIC``
        For a frame or mapping: says that anyone may see these rows.
    test : PrivateDataset, optional
        Other rows, to score on; needed with a `PrivateDataset`.
    target : str, optional
        The name of the target's column; the schema's last column by default.
    metric : Metric or str
        As in `discreet.models.metrics.private_score`.
    delta : number
        Of each fit.
    budget : Measure, optional
        What *each score* on private rows costs; needed there, refused on public rows, whose scores are exact.
    n_jobs : int, optional
        How many processes to use, for public frames and mappings; -1 for all cores.
    random_state : int
        Decides how public rows are split; noise is never decided by it.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> table = {"x": [0.1, 0.2, 0.8, 0.9] * 50, "y": [0, 0, 1, 1] * 50}
    >>> schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    >>> found = dp.tradeoff.curve(
    ...     GaussianNB(), table, [0.1, 10], repeats=2, schema=schema, unit=dp.PUBLIC
    ... )
    >>> found.epsilons, found.point("GaussianNB", float("inf")).mean
    ((0.1, 10.0), 1.0)

    Privacy
    -------
    How good a model is on private rows says something about these rows, so there are two honest ways and no
    third. *Public rows*: nothing is charged, noise is drawn as usual, scores are exact, there is a line
    without noise, and all of it is marked *not private*. *Private rows*: every fit is charged its ε, and
    every score `budget`; there is no line without noise. Private rows without `budget` are refused before
    anything is charged, and so is a curve that costs more than its ledgers have left.
    """
    named = _name_models(estimators)
    tried = _check_epsilons(epsilons)
    times = as_integer(repeats, "repeats", minimum=1)
    chance = rational(delta, "delta")
    if not 0 <= chance < 1:
        raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}.")
    chosen = metric_of(metric)
    plan = _Plan(named, tried, times, chance, chosen, target)
    if isinstance(data, PrivateDataset):
        return _run_behind_doors(plan, data, test, budget, schema, unit)
    if test is not None:
        raise ValueError("test is for a dp.PrivateDataset: a public table is split by each repeat.")
    table = _read_public(data, schema, unit, budget)
    assert schema is not None
    return _run_on_table(plan, table, schema, n_jobs, as_integer(random_state, "random_state"))


@final
@dataclass(frozen=True)
class _Plan:
    """What is measured: models, ε, repeats."""

    models: Mapping[str, Any]
    epsilons: Sequence[Fraction]
    repeats: int
    delta: Fraction
    metric: Metric
    target: str | None

    def finish(
        self,
        tasks: list[tuple[str, Any]],
        scores: list[float],
        is_public: bool,
        charged: list[Measure],
    ) -> Curve:
        """The curve, from the score of each task."""
        found: dict[tuple[str, float], list[float]] = {}
        for (name, epsilon), score in zip(tasks, scores, strict=True):
            found.setdefault((name, float(epsilon)), []).append(score)
        points = tuple(
            Point(*key, tuple(values)) for key, values in sorted(found.items(), key=self._order)
        )
        larger = self.metric.is_better_if_larger
        name = repr(self.metric).removesuffix("()")
        return Curve(points, name, larger, float(self.delta), is_public, tuple(charged))

    def _order(self, pair: tuple[tuple[str, float], Any]) -> tuple[int, float]:
        (name, epsilon), _ = pair
        return list(self.models).index(name), epsilon

    def fit(self, name: str, epsilon: Any, rows: PrivateDataset) -> Any:
        """A model fitted with a budget."""
        delta = self.delta if epsilon != math.inf else 0
        model = clone(self.models[name]).set_params(epsilon=epsilon, delta=delta)
        return model.fit(rows, target=self.target)


def _name_models(estimators: Any) -> dict[str, Any]:
    """Estimators by name; those with one name are numbered."""
    if isinstance(estimators, Mapping):
        found = dict(estimators)
    else:
        listed = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
        found = {}
        for one in listed:
            name = type(one).__name__
            same = sum(key.split(" (")[0] == name for key in found)
            found[f"{name} ({same + 1})" if same else name] = one
    if not found:
        raise ValueError("estimators must have at least one model.")
    for name, one in found.items():
        if not isinstance(name, str):
            raise TypeError("estimators must be named by text.")
        known = one.get_params() if hasattr(one, "get_params") else {}
        if not {"epsilon", "delta"} <= set(known):
            raise TypeError(
                f"estimators: {name} has no parameters epsilon and delta; give models of discreet.models."
            )
    return found


def _check_epsilons(epsilons: Iterable[Any]) -> list[Fraction]:
    given = list(epsilons)
    if not given:
        raise ValueError("epsilons must have at least one number.")
    for one in given:
        if one == math.inf or not rational(one, "epsilons") > 0:
            raise ValueError(
                f"epsilons must be finite and greater than 0, got {one!r}: the line without noise is added "
                "where it is allowed."
            )
    return list(dict.fromkeys(rational(one, "epsilons") for one in given))


def _read_public(
    data: Any, schema: Schema | None, unit: Unit | Relation | None, budget: Measure | None
) -> dict[str, npt.NDArray[Any]]:
    """The columns of a table that was declared public."""
    if unit is None or not as_unit(unit).is_public:
        raise ValueError(
            "data must be declared public, as in curve(..., unit=dp.PUBLIC), if anyone may see these rows. "
            "Private rows are given as dp.PrivateDataset, with test= and budget=: then every fit and every "
            "score is charged."
        )
    if as_unit(unit) != Unit(PUBLIC):
        raise ValueError("unit must be dp.PUBLIC alone: rows are split without regard to ids.")
    if budget is not None:
        raise ValueError(
            "budget is for private rows: scores on public ones are exact and cost nothing."
        )
    if not isinstance(schema, Schema):
        raise TypeError(
            "schema must be given with a public table, as in curve(..., schema=dp.Schema(...))."
        )
    names = column_names(data)
    if names is None:
        raise TypeError(
            "data must be a frame or a mapping of names to arrays, declared public, or a dp.PrivateDataset, "
            f"not {type(data).__name__}."
        )
    missing = [name for name in schema.base if name not in names]
    if missing:
        raise ValueError(f"data has no column {missing[0]!r}, which the schema declares.")
    table = {name: column_array(data, name) for name in schema.base}
    lengths = {len(column) for column in table.values()}
    if len(lengths) != 1 or min(lengths) < 2:
        raise ValueError("data must have columns of one length, of at least two rows.")
    return table


def _run_on_table(
    plan: _Plan, table: dict[str, npt.NDArray[Any]], schema: Schema, n_jobs: int | None, seed: int
) -> Curve:
    """Split, fit and score public rows, in parallel if asked for."""
    tasks = [
        (name, epsilon, repeat)
        for repeat in range(plan.repeats)
        for name in plan.models
        for epsilon in (*plan.epsilons, math.inf)
    ]
    scores: list[float] = []
    with progress.show("Utility against epsilon", lambda: len(scores) / len(tasks)):
        if n_jobs in (None, 1):
            for task in tasks:
                scores.append(_score_split(plan, table, schema, seed, *task))
        else:
            import joblib  # type: ignore[import-untyped]

            run = joblib.Parallel(n_jobs, return_as="generator")
            for score in run(
                joblib.delayed(_score_split)(plan, table, schema, seed, *task) for task in tasks
            ):
                scores.append(score)
    return plan.finish([task[:2] for task in tasks], scores, True, [])


def _score_split(
    plan: _Plan,
    table: dict[str, npt.NDArray[Any]],
    schema: Schema,
    seed: int,
    name: str,
    epsilon: Any,
    repeat: int,
) -> float:
    """One fit on a part of public rows, scored on the rest; all models and ε of a repeat share the split."""
    rows = len(next(iter(table.values())))
    order = np.random.default_rng([seed, repeat]).permutation(rows)
    held = min(max(1, round(rows * DEFAULT_TEST_SHARE)), rows - 1)
    parts = [
        PrivateDataset({key: column[part] for key, column in table.items()}, schema, unit=PUBLIC)
        for part in (order[held:], order[:held])
    ]
    with progress.hide_bars():
        model = plan.fit(name, epsilon, parts[0])
        return private_score(model, parts[1], plan.metric, _EXACT, target=plan.target).value


def _run_behind_doors(
    plan: _Plan,
    data: PrivateDataset,
    test: PrivateDataset | None,
    budget: Measure | None,
    schema: Schema | None,
    unit: Unit | Relation | None,
) -> Curve:
    """Fit on one data set and score on another, each public or charged."""
    if schema is not None or unit is not None:
        raise ValueError("schema and unit are for tables: a dp.PrivateDataset has its own.")
    if not isinstance(test, PrivateDataset):
        raise TypeError(
            "test must be a dp.PrivateDataset of other rows: a score on the rows that a model learned from "
            "flatters it, and private rows can't be split here."
        )
    is_public = data.unit.is_public and test.unit.is_public
    if test.unit.is_public != (budget is None):
        raise ValueError(
            "budget must be given for private test rows, as in budget=dp.PureDP(0.1): each score is a "
            "release of its own and is charged."
            if budget is None
            else "budget is for private test rows: scores on public ones are exact and cost nothing."
        )
    spent = _check_total(plan, data, test, budget)
    more = [math.inf] if is_public else []
    tasks = [
        (name, epsilon)
        for _ in range(plan.repeats)
        for name in plan.models
        for epsilon in (*plan.epsilons, *more)
    ]
    scores: list[float] = []
    with progress.show("Utility against epsilon", lambda: len(scores) / len(tasks)):
        for name, epsilon in tasks:
            model = plan.fit(name, epsilon, data)
            asked = _EXACT if budget is None else budget
            scores.append(private_score(model, test, plan.metric, asked, target=plan.target).value)
    return plan.finish(tasks, scores, is_public, spent)


def _check_total(
    plan: _Plan, data: PrivateDataset, test: PrivateDataset, budget: Measure | None
) -> list[Measure]:
    """What the whole curve charges, fit by fit; raises before the first charge if that can't be paid."""
    each = plan.repeats * len(plan.models)
    fits: list[Measure] = [
        ApproxDP(epsilon, plan.delta) if plan.delta else PureDP(epsilon)
        for epsilon in plan.epsilons
    ]
    bills: dict[int, tuple[Any, list[Measure]]] = {}
    parts: list[tuple[PrivateDataset, list[Measure]]] = [(data, fits * each)]
    if budget is not None:
        parts.append((test, [budget] * each * len(plan.epsilons)))
    for rows, bill in parts:
        if not rows.unit.is_public and rows.ledger is not None:
            bills.setdefault(id(rows.ledger), (rows.ledger, []))[1].extend(bill)
    for ledger, bill in bills.values():
        check_bill(
            ledger.remaining(),
            bill,
            "the curve",
            "Ask for fewer epsilons, models or repeats, or use rows that are public.",
        )
    return [measure for _, bill in bills.values() for measure in bill]


def check_bill(left: Measure, bill: list[Measure], what: str, remedy: str) -> None:
    """Refuse what adds up to more than is left, as far as sums of ε and δ tell; the ledger decides."""
    if not isinstance(left, PureDP | ApproxDP) or not all(
        isinstance(measure, PureDP | ApproxDP) for measure in bill
    ):
        return
    for name, letter in (("epsilon", "ε"), ("delta", "δ")):
        total = sum((Fraction(getattr(measure, name, 0)) for measure in bill), Fraction(0))
        if total > (rest := getattr(left, name, 0)):
            raise ValueError(
                f"{what} would cost {letter} = {float(total):g} in {len(bill)} charges, and "
                f"{letter} = {float(rest):g} is left: nothing was charged. {remedy}"
            )
