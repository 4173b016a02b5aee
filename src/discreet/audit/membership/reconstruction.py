"""Reconstruction: whole columns from too many counts, and a whole record from a small model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, lsq_linear
from scipy.special import expit

from discreet.audit.membership.report import Rate
from discreet.rational import as_integer

__all__ = ["BitReport", "reconstruct_bits", "reconstruct_record", "reconstruction_attack"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def reconstruct_bits(
    subsets: npt.ArrayLike, answers: npt.ArrayLike, *, norm: Literal[1, 2] = 2
) -> Flags:
    """Reconstruct the bits of n people from noisy counts of ones in subsets of them.

    Parameters
    ----------
    subsets : (questions, persons) array of booleans
        Whom each question counts.
    answers : (questions,) array
    norm : {1, 2}
        2: least squares on [0, 1]ⁿ, then rounding. 1: least absolute deviations (a linear program), which
        tolerates a minority of arbitrarily wrong answers (Dwork, McSherry & Talwar 2007).

    Notes
    -----
    Dinur & Nissim 2003: answers within o(√n) give nearly everything away. With independent errors of
    deviation σ and q random questions, least squares errs by about 2σ/√(q - n) per person before rounding.
    """
    matrix, given = np.asarray(subsets, np.float64), np.asarray(answers, np.float64)
    if matrix.ndim != 2 or given.shape != (len(matrix),):
        raise ValueError("subsets must have a row for each answer and a column for each person.")
    if norm == 2:
        found = lsq_linear(matrix, given, bounds=(0.0, 1.0), tol=1e-8).x
    elif norm == 1:
        questions, persons = matrix.shape
        cost = np.concatenate([np.zeros(persons), np.ones(2 * questions)])
        equal = np.hstack([matrix, np.eye(questions), -np.eye(questions)])
        bounds = [(0, 1)] * persons + [(0, None)] * (2 * questions)
        found = linprog(cost, A_eq=equal, b_eq=given, bounds=bounds, method="highs").x[:persons]
    else:
        raise ValueError(f"norm must be 1 or 2, got {norm!r}.")
    return np.asarray(found > 0.5, np.bool_)


@dataclass(frozen=True, repr=False)
class BitReport:
    """How many secret bits were reconstructed, compared with a blind guess.

    Parameters
    ----------
    right : Rate
    blind : float
        The share of the more common bit.
    noise : float
        The root mean square of the answers' errors.
    questions : int
    """

    right: Rate
    blind: float
    noise: float
    questions: int

    @property
    def expected(self) -> float:
        """About what share of bits least squares gets right at this noise: Φ(√(q - n)/(4σ))."""
        spare = self.questions - self.right.trials
        if spare <= 0 or self.noise == 0:
            return 1.0 if spare > 0 else float("nan")
        return 0.5 * (1 + math.erf(math.sqrt(spare) / (4 * self.noise) / math.sqrt(2)))

    def __repr__(self) -> str:
        n = self.right.trials
        return (
            f"{self.right.hits} of {n} secret bits reconstructed: {self.right!r} (blind: {self.blind:.3f}), "
            f"from {self.questions} counts with errors of {self.noise:.3g} (√n = {math.sqrt(n):.3g})."
        )


def reconstruction_attack(
    answer: Callable[[Flags], npt.ArrayLike],
    secret: npt.ArrayLike,
    *,
    questions: int | None = None,
    norm: Literal[1, 2] = 2,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> BitReport:
    """Ask for the number of ones in random subsets and reconstruct everybody's bit.

    Parameters
    ----------
    answer : callable
        The mechanism: takes a (questions, persons) array of booleans and gives an answer for each row.
    secret : array of n booleans
        The truth, to compare with.
    questions : int, optional
        By default 4n.
    """
    bits = np.asarray(secret)
    if bits.ndim != 1 or bits.dtype != np.bool_ or not len(bits):
        raise ValueError("secret must be a list of booleans, one for each person.")
    count = 4 * len(bits) if questions is None else as_integer(questions, "questions", minimum=1)
    rng = np.random.default_rng(random_state)
    subsets = rng.integers(0, 2, (count, len(bits))).astype(np.bool_)
    answers = np.asarray(answer(subsets), np.float64)
    guessed = reconstruct_bits(subsets, answers, norm=norm)
    error = answers - subsets.astype(np.float64) @ bits
    right = Rate(int((guessed == bits).sum()), len(bits), confidence)
    blind = max(bits.mean(), 1 - bits.mean())
    return BitReport(right, float(blind), float(np.sqrt(np.mean(error**2))), count)


def reconstruct_record(model: Any, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Any, float]:
    """Reconstruct the one unknown record of a logistic regression's training set from the model and the rest.

    At the optimum Σ rᵢ = 0 and Σ rᵢxᵢ + w/C = 0 with residuals r = p - y, so that the missing residual, and
    that residual times its record, are what the others leave (Balle, Cherubin & Hayes 2022).

    Parameters
    ----------
    model : fitted scikit-learn `LogisticRegression`
        For two classes, with intercept and L2 penalty.
    X, y : arrays
        All other training records.

    Returns
    -------
    record : array
    label : its class
    residual : float
        Between -1 and 1. The record is known to about the solver's tolerance divided by its size.
    """
    weights, intercept = np.asarray(model.coef_, np.float64), np.asarray(model.intercept_)
    if weights.shape[0] != 1 or not model.fit_intercept or model.class_weight is not None:
        raise ValueError("model must have two classes, an intercept and no class weights.")
    if getattr(model, "l1_ratio", 0) or getattr(model, "penalty", "l2") not in ("l2", "deprecated"):
        raise ValueError("model must have an L2 penalty.")
    records, labels = np.asarray(X, np.float64), np.asarray(y) == model.classes_[1]
    residuals = expit(records @ weights[0] + intercept[0]) - labels
    missing = -float(residuals.sum())
    product = -(weights[0] / model.C + residuals @ records)
    with np.errstate(divide="ignore", invalid="ignore"):
        record = product / missing
    return record, model.classes_[int(missing < 0)], missing
