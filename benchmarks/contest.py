"""Fit one library's models on the tables, and score all of them the same way.

``python benchmarks/contest.py LIBRARY TABLE [--only MODEL] [--seeds N]`` prints a line of JSON for each model
and δ. It runs in the environment of that library, so it imports nothing but numpy, scikit-learn's metrics
and, through ``real_tables.py``, pandas. ``page.py`` calls it for all.

A contestant is one entry in ``ours.py``, ``peers.py`` or ``plain.py``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import resource
import signal
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import real_tables as tables
from metrics import METRICS, area, log_loss

EPSILONS = (0.1, 0.5, 1.0, 4.0, 10.0)
#: For the largest table, and on large ones for variants of a model that aren't its default.
FEW_EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-6
CLUSTERS, COMPONENTS = 4, 2
#: Processor seconds after which a fit is given up, and after which no more fits than the fewest are made.
PATIENCE, ENOUGH = 20.0, 1.0
#: The same for small tables, where whoever takes so long would take it for every seed.
SMALL_PATIENCE = 5.0
#: And for fits without privacy, and for those of a second measurement: among more fits more are slow.
PLAIN_PATIENCE = AGAIN_PATIENCE = 60.0
FEWEST_SEEDS = 3
#: Where the seeds of a second measurement start; those of the first start at 0.
FRESH_SEED = 1000
#: Our models on public rows, as if they were a library.
TWINS = "discreet without noise"
#: Twins have no noise to average over: only splits differ.
TWIN_SEEDS = 4
MODULES = {
    "discreet": "ours",
    "diffprivlib": "peers",
    "OpenDP": "peers",
    "interpret": "peers",
    "scikit-learn": "plain",
    TWINS: "twins",
}


@dataclass(frozen=True)
class Inputs:
    """What a model is given, in its own form.

    Attributes
    ----------
    train : tuple
        The arguments of ``fit``.
    test : object
        The argument of ``predict``.
    truth : array
        What should be predicted.
    positive : object
        For classes: what the second class is called.
    bounds : pair
        For numbers: the declared bounds, to which everyone's predictions are clipped.
    options : dict
        Keywords of ``fit``.
    """

    train: tuple[Any, ...]
    test: Any = None
    truth: Any = None
    positive: Any = 1
    bounds: tuple[float, float] = (0.0, 1.0)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contestant:
    """A model that is measured.

    Attributes
    ----------
    library : str
    model : str
        As the page shows it.
    task : {"classes", "number", "line", "clusters", "components"}
    view : {"numbers", "categories", "all", "few"}
        Which columns it gets.
    inputs : callable of (split, contestant)
        The data in the model's form; not timed.
    build : callable of (split, contestant, epsilon, delta, seed)
        The model, not yet fitted.
    deltas : tuple of float
        The budgets it is measured with; none for models without privacy.
    rival : str
        For a peer: our model that does the same, on the same columns.
    path : str
        For ours: the class below `discreet.models`, and its parameters.
    parameters : dict
    left_out : dict of table to reason
    is_variant : bool
        Whether it is another method of a model than the default.
    """

    library: str
    model: str
    task: str
    view: str
    inputs: Callable[[tables.Split, Contestant], Inputs]
    build: Callable[[tables.Split, Contestant, float, float, int], Any]
    deltas: tuple[float, ...] = (0.0,)
    rival: str = ""
    path: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    is_variant: bool = False

    def epsilons(self, table: tables.Table) -> tuple[float, ...]:
        """The budgets it is measured with."""
        if not self.is_private:
            return ()
        few = table.name == "kdd" or (self.is_variant and table.is_large)
        return FEW_EPSILONS if few else EPSILONS

    @property
    def is_private(self) -> bool:
        """Whether it spends a budget."""
        return bool(self.deltas)

    def names(self, table: tables.Table) -> list[str]:
        """The features it gets."""
        if self.task == "line":
            return [] if table.feature is None else [table.feature]
        if self.task == "number":
            return [name for name in table.numbers if name != table.number]
        chosen = {
            "numbers": table.numbers,
            "categories": table.categories,
            "few": list(table.few),
        }
        return chosen.get(self.view, table.numbers + table.categories)

    def suits(self, table: tables.Table) -> bool:
        """Whether the table has something for it."""
        if table.name in self.left_out:
            return False
        if self.task in ("number", "line"):
            return table.number is not None
        if self.view in ("categories", "all") and not table.categories:
            return self.view == "all" and not self._has_twin()
        return bool(self.names(table))

    def _has_twin(self) -> bool:
        """Whether it is measured on numbers too: where all columns are numbers, once is enough."""
        return any(
            other.model == self.model and other.task == self.task and other.view == "numbers"
            for other in contestants(self.library)
        )


def contestants(library: str) -> tuple[Contestant, ...]:
    """All entries of a library."""
    module = importlib.import_module(MODULES[library])
    return tuple(one for one in module.CONTESTANTS if one.library == library)


class TooLong(Exception):
    """A fit took more processor time than anyone waits for."""


def patience(one: Contestant, table: tables.Table) -> float:
    """Processor seconds after which a fit is given up; a reference that is fitted once may take longer."""
    if not one.is_private:
        return PLAIN_PATIENCE
    return PATIENCE if table.is_large else SMALL_PATIENCE


def processor_seconds() -> float:
    """Of this process and its threads: while a timer runs, `time.process_time` moves in steps of 4 ms."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(model: Any, inputs: Inputs, limit: float = PATIENCE) -> float:
    """Processor seconds of a fit: on a machine that others use too, they vary less than the clock's."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        raise TooLong

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit, 1.0)  # again: a library's callback may swallow it
    try:
        start = processor_seconds()
        fitted = model.fit(*inputs.train, **inputs.options)
        took = processor_seconds() - start
    except Exception as error:
        raise (TooLong if stopped else error) from None  # a library may have wrapped ours
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    if fitted is not model:
        model.fitted = fitted
    return took


def scores(task: str, model: Any, inputs: Inputs, split: tables.Split) -> dict[str, float]:
    """The metrics of a fitted model; no log loss of one without probabilities."""
    model = getattr(model, "fitted", model)
    if task == "classes":
        truth = split.truth("test")
        found = np.asarray(model.predict(inputs.test)) == inputs.positive
        place = list(model.classes_).index(inputs.positive)
        if hasattr(model, "predict_proba"):
            order = np.asarray(model.predict_proba(inputs.test))[:, place]
        else:
            order = np.asarray(model.decision_function(inputs.test))
            order = order if place else -order  # it speaks of the last class
        order = np.nan_to_num(order)
        reached = {
            "auc": area(truth, order),
            "accuracy": float((found == truth).mean()),
        }
        if hasattr(model, "predict_proba"):
            reached["log_loss"] = log_loss(truth, order)
        return reached
    if task in ("number", "line"):
        found = np.clip(np.ravel(model.predict(inputs.test)), *inputs.bounds)
        missed = np.mean((found - inputs.truth) ** 2) / np.var(inputs.truth)
        return {"r2": float(1 - missed)}
    x = split.scaled("train", split.table.numbers)
    if task == "clusters":
        centres = np.asarray(model.cluster_centers_)
        far = ((x**2).sum(axis=1)[:, None] - 2 * x @ centres.T + (centres**2).sum(axis=1)).min(
            axis=1
        )
        return {"inertia": float(np.maximum(far, 0).mean())}
    covariance = np.cov(x.T, bias=True)
    along = np.linalg.qr(np.asarray(model.components_)[:COMPONENTS].T)[0]
    return {"variance": float(np.trace(along.T @ covariance @ along) / np.trace(covariance))}


def rounds(contestant: Contestant, table: tables.Table, seeds: int | None) -> list[int]:
    """The seeds that a figure is the mean of."""
    count = table.seeds if seeds is None else seeds
    if not contestant.is_private and len(table.files) == 2:
        count = 1  # nothing would differ
    if contestant.library == TWINS:
        count = min(count, TWIN_SEEDS)
    return list(range(count))


def lines(
    library: str,
    name: str,
    only: str | None = None,
    seeds: int | None = None,
    known: Collection[tuple[str, str, str, float | None]] = (),
    columns: str | None = None,
) -> Iterator[dict[str, Any]]:
    """A record for each contestant and δ, with one entry for each ε; but not for those known."""
    table = tables.TABLES[name]
    for one in contestants(library):
        if not one.suits(table) or (only is not None and only not in one.model):
            continue
        if columns not in (None, one.view):
            continue
        for delta in one.deltas or (0.0,):
            if (one.model, one.task, one.view, delta if one.is_private else None) not in known:
                yield record(one, name, delta, one.epsilons(table), rounds(one, table, seeds))


def lines_again(
    library: str, name: str, wanted: Collection[tuple[str, str, str, float, float, int]]
) -> Iterator[dict[str, Any]]:
    """A record for each model, task, columns, δ and ε that is wanted, from so many fits with fresh seeds."""
    for one in contestants(library):
        for model, task, view, delta, epsilon, count in wanted:
            if (model, task, view) == (one.model, one.task, one.view):
                seeds = list(range(FRESH_SEED, FRESH_SEED + count))
                yield record(
                    one, name, delta, (epsilon,), seeds, enough=math.inf, limit=AGAIN_PATIENCE
                )


def record(
    one: Contestant,
    name: str,
    delta: float,
    epsilons: tuple[float, ...],
    seeds: list[int],
    enough: float = ENOUGH,
    limit: float | None = None,
) -> dict[str, Any]:
    """The figures of a contestant at each ε; `limit` is for a fit, by default that of its table."""
    limit = patience(one, tables.TABLES[name]) if limit is None else limit
    start = time.process_time()
    inputs = prepare(one, name)
    found = [
        _at(one, inputs, epsilon, delta, seeds, enough, limit)
        for epsilon in epsilons or (math.inf,)
    ]
    return {
        "table": name,
        "library": one.library,
        "model": one.model,
        "task": one.task,
        "columns": one.view,
        "delta": delta if one.is_private else None,
        "epsilons": list(epsilons),
        **{
            key: [figures.get(key) for figures in found]
            for key in (*METRICS[one.task], "seconds", "seeds", "failed")
        },
        "spent": round(time.process_time() - start, 1),
    }


def prepare(one: Contestant, name: str) -> Callable[[int], tuple[tables.Split, Inputs]]:
    """The split and the inputs that belong to a seed, made once for all ε."""
    published = len(tables.TABLES[name].files) == 2
    made: dict[int, tuple[tables.Split, Inputs]] = {}

    def inputs(seed: int) -> tuple[tables.Split, Inputs]:
        key = 0 if published else seed
        if key not in made:
            split = tables.load(name, seed)
            made[key] = split, one.inputs(split, one)
        return made[key]

    return inputs


def _at(
    one: Contestant,
    prepared: Callable[[int], tuple[tables.Split, Inputs]],
    epsilon: float,
    delta: float,
    seeds: list[int],
    enough: float,
    limit: float,
) -> dict[str, Any]:
    """Mean and standard error of each metric, and the median of the seconds."""
    found: list[dict[str, float]] = []
    took: list[float] = []
    for seed in seeds:
        if len(took) >= FEWEST_SEEDS and sum(took) > enough:
            break
        split, inputs = prepared(seed)
        try:
            model = one.build(split, one, epsilon, delta, seed)
            took.append(measured(model, inputs, limit))
            found.append(scores(one.task, model, inputs, split))
        except TooLong:
            return {"failed": f"a fit takes over {limit:.0f} s"}
        except Exception as error:  # a failure is a result
            return {"failed": f"{type(error).__name__}: {str(error).strip()[:80]}"}
    figures: dict[str, Any] = {"seconds": float(f"{np.median(took):.2g}"), "seeds": len(took)}
    for metric in METRICS[one.task]:
        if not all(metric in scored for scored in found):
            continue
        values = np.array([scored[metric] for scored in found])
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        figures[metric] = [round(float(values.mean()), 5), float(f"{error:.2g}")]
    return figures


def main() -> None:
    """Print the records, each as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=list(MODULES))
    parser.add_argument("table", choices=list(tables.TABLES))
    parser.add_argument("--only")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--columns")
    parser.add_argument("--known", type=json.loads, default=[], help="JSON: lines to leave out")
    parser.add_argument("--again", type=json.loads, help="JSON: lines to measure with fresh seeds")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.again is not None:
        for found in lines_again(asked.library, asked.table, [tuple(one) for one in asked.again]):
            print(json.dumps(found), flush=True)
        return
    known = [tuple(line) for line in asked.known]
    for found in lines(asked.library, asked.table, asked.only, asked.seeds, known, asked.columns):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
