"""Small networks for tables, as scikit-learn estimators: trained by DP-SGD through the door."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import nn

from discreet.columns import Column, Numeric
from discreet.dataset import PrivateDataset
from discreet.deep.blocks import Blocks, choose_size
from discreet.deep.clipping import Differentiator
from discreet.deep.contributions import Tensor
from discreet.deep.dpsgd import UNTESTED
from discreet.deep.grid import LARGEST_BOUND, RADIUS, SMALLEST_BOUND
from discreet.deep.loop import GradientStep, run_steps
from discreet.deep.plans import (
    PoissonSampler,
    TrainingPlan,
    calibrate_noise,
    check_unit,
    rows_each,
)
from discreet.deep.probe import blocks_are_independent, random_rows
from discreet.deep.steps import BatchSum
from discreet.deep.tables import Encoding, TableDoor, check_columns, shapes
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.targets import BoundedEstimator, PrivateClassifier, PrivateRegressor
from discreet.rational import as_integer
from discreet.unit import Unit

__all__ = ["PRESETS", "MLPClassifier", "MLPRegressor"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Layers by name: that of the wavelet paper's tables.
PRESETS: dict[str, tuple[int, ...]] = {"wavelet": (16, 18, 20, 24)}
#: What stands for the unknown number of rows where none is declared.
DEFAULT_ROWS = 10_000


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """A network that will be trained by DP-SGD, all settings decided.

    Privacy
    -------
    It costs the plan's event. Proof page: ``docs/proofs/deep.md``.
    """

    names: tuple[str, ...]
    declared: tuple[Column, ...]
    encoding: Encoding
    plan: TrainingPlan
    network: Any
    bound: float
    learning_rate: float
    expected: float

    @property
    def block(self) -> int:
        """Persons in a block."""
        return choose_size(self.network, self.expected)

    def run(self, data: PrivateDataset) -> Any:
        """The trained network, from rows whose door was paid for the plan."""
        network = copy.deepcopy(self.network)  # a plan that is carried out again begins anew
        door = TableDoor(data, self.plan, self.encoding, self.names, self.declared)
        network.train()
        engine = Differentiator(network, self.loss, "chain")
        batch = BatchSum(engine, self.bound, "flat", "exact")
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, self.plan.steps)
        step = GradientStep(network, optimizer, self.bound / RADIUS / self.expected)

        def apply(noised: Integers) -> None:
            step.apply(noised)
            schedule.step()

        run_steps(door, self.plan, batch, Blocks(self.block), apply, self.plan.steps)
        return network

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """One loss for each row: of classes, or of a number in [-1, 1]."""
        if isinstance(self.declared[-1], Numeric):
            return F.smooth_l1_loss(outputs[:, 0], targets, reduction="none")
        return F.cross_entropy(outputs, targets, reduction="none")


@with_parameters
class Perceptron(BoundedEstimator):
    """A network of full layers, trained by DP-SGD with Adam.

    Numbers are scaled to [-1, 1] by their bounds, categories become indicators.

    Parameters
    ----------
    hidden : sequence of int or "wavelet"
        The widths of the hidden layers; ``"wavelet"`` is 16, 18, 20, 24.
    steps : int
    sampling_rate : number
        The chance of each person to be in a batch.
    max_grad_norm : float
    learning_rate : float
        Falls linearly over the steps.
    expected_rows : int, optional
        A public guess of the number of rows (of persons, where they may have several), 10 000 by default.
        Adam makes up for a wrong one.
    random_state : int
        For the first weights, which are public.
    """

    delta: Any = 1e-6
    hidden: Any = (32,)
    steps: int = 80
    sampling_rate: Any = 0.25
    max_grad_norm: float = 1.0
    learning_rate: float = 0.05
    expected_rows: int | None = None
    random_state: int = 0

    _claims: ClassVar[tuple[str, ...]] = ("dp-sgd",)

    def _outputs(self, facts: Facts) -> int:
        """How many outputs the network has."""
        return 1

    def _layers(self) -> tuple[int, ...]:
        if isinstance(self.hidden, str):
            if self.hidden not in PRESETS:
                raise ValueError(f"hidden must be widths, or {' or '.join(map(repr, PRESETS))}.")
            return PRESETS[self.hidden]
        return tuple(as_integer(width, "hidden", minimum=1) for width in self.hidden)

    def _network(self, width: int, outputs: int) -> Any:
        """A network with public weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(as_integer(self.random_state, "random_state"))
            layers: list[Any] = []
            for size in self._layers():
                layers += [nn.Linear(width, size), nn.Tanh()]
                width = size
            last = nn.Linear(width, outputs)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
        return nn.Sequential(*layers, last)

    def _training(self, facts: Facts) -> Training:
        _check_facts(facts)
        if not SMALLEST_BOUND <= float(self.max_grad_norm) <= LARGEST_BOUND:
            raise ValueError("max_grad_norm must be a number above 0.")
        encoding = Encoding(facts.columns)
        assert facts.target is not None
        names = (*facts.features, facts.target)
        declared = facts.declare_rows()
        network = self._network(encoding.width, self._outputs(facts))
        sampler = PoissonSampler(self.sampling_rate)
        steps = as_integer(self.steps, "steps", minimum=1)
        sigma = calibrate_noise(sampler, steps, self._measure())
        rows = (
            facts.rows
            if self.expected_rows is None
            else as_integer(self.expected_rows, "expected_rows")
        )
        expected = float(sampler.chance * max(1, rows or DEFAULT_ROWS))
        plan = TrainingPlan(sampler, steps, sigma)
        bound, rate = float(self.max_grad_norm), float(self.learning_rate)
        step = Training(
            names=names,
            declared=declared,
            encoding=encoding,
            plan=plan,
            network=network,
            bound=bound,
            learning_rate=rate,
            expected=expected,
        )
        return (
            step
            if _is_independent(step, facts.unit)
            else replace(step, plan=replace(plan, assumption=UNTESTED))
        )

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        step = self._training(facts)
        noise = {}
        if rows is not None and self.epsilon != math.inf:
            batch = float(step.plan.sampler.chance) * max(1, rows)
            noise = {"gradient": step.bound * step.plan.noise_multiplier / batch}
        return FitPlan(step.plan.event, self._measure(), noise, (), facts, step)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        step: Training = plan.recipe
        self.network_ = step.run(door).eval()
        self.noise_multiplier_ = step.plan.noise_multiplier

    def _scores(self, X: Any) -> Floats:
        rows = self._rows(X)
        inputs = Encoding(rows.columns).inputs(rows.codes())
        network = copy.deepcopy(self.network_).double()  # a row's score doesn't hang on other rows
        with torch.no_grad():
            return np.asarray(network(inputs.double()).numpy())


def _check_facts(facts: Facts) -> None:
    check_unit(facts.unit, facts.unit.id_column is not None)
    check_columns(facts.features, facts.columns)


def _is_independent(step: Training, unit: Unit) -> bool:
    """The premise of exact sums, tested on random public rows."""
    rows = random_rows(*shapes(step.encoding, step.declared[-1]), step.network)
    return blocks_are_independent(
        step.network, step.loss, "chain", rows, step.block, rows_each(unit)
    )


@final
@with_parameters
class MLPClassifier(Perceptron, PrivateClassifier):
    """A network for classes, trained by DP-SGD.

    Attributes
    ----------
    network_ : torch.nn.Module
    noise_multiplier_ : float
    classes_ : array
    privacy_ : FitPrivacy

    Privacy
    -------
    (ε, δ)-DP under add/remove: Poisson samples of persons, exact integer sums of gradients that are clipped
    person by person, rounded Gaussian noise. Rows without a declared class are left out; n = 0 gives a
    network.
    Proof page: ``docs/proofs/deep.md``.
    """

    def _outputs(self, facts: Facts) -> int:
        return max(2, len(facts.labels))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        scores = self._scores(X)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-math.inf))
        labels = list(self.labels_)
        scores = scores[:, [labels.index(label) for label in self.classes_.tolist()]]
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        self.labels_ = plan.facts.labels
        super()._train(plan, door)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


@final
@with_parameters
class MLPRegressor(Perceptron, PrivateRegressor):
    """A network for a number between bounds, trained by DP-SGD.

    Attributes
    ----------
    network_ : torch.nn.Module
    noise_multiplier_ : float
    privacy_ : FitPrivacy

    Privacy
    -------
    As `MLPClassifier`. Predictions lie between the target's bounds.
    """

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        column = plan.recipe.declared[-1]
        self.target_bounds_ = (Fraction(column.lower), Fraction(column.upper))
        super()._train(plan, door)

    def predict(self, X: Any) -> Floats:
        """The expected number for each row."""
        share = (np.clip(self._scores(X)[:, 0], -1, 1) + 1) / 2
        low, high = map(float, self.target_bounds_)
        return np.asarray(low + share * (high - low))
