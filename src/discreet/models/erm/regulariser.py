"""How much to shrink by default: Λ from ε, δ, the schema, the unit and a public guess of the rows alone.

It costs nobody's privacy which one is taken; what it must be at least, for a proof, `Task` says.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet import events
from discreet.measures import ApproxDP
from discreet.models.erm.features import ONE
from discreet.models.erm.losses import Loss, SmoothHinge
from discreet.models.erm.task import Task, shorten
from discreet.rational import square_root_above

__all__ = ["GUESSED_ROWS", "balance", "objective_regulariser", "output_regulariser"]

#: The largest share of the rest that the determinant may take; Λ is raised until it fits.
JACOBIAN_SHARE = Fraction(1, 2)
#: The share it takes by default where the noise is Gaussian.
GAUSSIAN_SHARE = Fraction(1, 3)
#: The least Λ by default.
MIN_REGULARISER = Fraction(1, 8)
#: Λ without noise, by default.
PLAIN_REGULARISER = Fraction(1)
#: Divides the default Λ of objective perturbation: a larger one means less shrinkage and more noise.
BALANCE = 5
#: For a loss of residuals, the default Λ is this many deviations of b or more: where rows say nothing, noise
#: moves a prediction by about a fifth of half the width of the target's bounds.
DEVIATIONS = 5
#: The same for classes and a kernel, whose scores noise moves by as much as a margin where rows say nothing.
KERNEL_DEVIATIONS = 1
#: The same for noise on the minimiser, which moves all scores, whatever rows say: so many deviations of a
#: score are half the width of a target's bounds, a margin of 1 for `SmoothHinge`, or log-odds of 1.
OUTPUT_DEVIATIONS, OUTPUT_MARGIN_DEVIATIONS, OUTPUT_ODDS_DEVIATIONS = 30, 5, 2
#: Above so many rows for each unit of noise there is room for less of it.
OUTPUT_ROWS = 3000
#: The number of rows that a default Λ is made for.
GUESSED_ROWS = 10_000


def output_regulariser(task: Task) -> Fraction:
    """Λ for noise on the minimiser, from public constants."""
    if task.alpha is not None:
        return shorten(task.alpha)
    if isinstance(task.epsilon, float):
        return PLAIN_REGULARISER
    # the noise of a score against its size; with many rows against shrinkage, even at Λ ~ √(noise·rows)
    noise, rows = _weight_noise(task), task.rows or GUESSED_ROWS
    room = rows * (task.radius / ONE) ** 2 / (OUTPUT_ROWS * noise)
    found = _output_deviations(task.loss) * noise * math.sqrt(max(1.0, room))
    if task.loss.of_residuals:
        found = min(found, float(task.most_regulariser) / 2)
    return shorten(max(Fraction(found), MIN_REGULARISER))


def _output_deviations(loss: Loss) -> int:
    """How many deviations of a score, moved by noise on the minimiser, its natural size should be."""
    if loss.of_residuals:
        return OUTPUT_DEVIATIONS
    return OUTPUT_MARGIN_DEVIATIONS if isinstance(loss, SmoothHinge) else OUTPUT_ODDS_DEVIATIONS


def _deviations(task: Task) -> int:
    """How many deviations of b Λ is by default, or more."""
    if task.loss.of_residuals:
        return DEVIATIONS
    return 0 if task.directions is None else KERNEL_DEVIATIONS


def _weight_noise(task: Task) -> float:
    """About the deviation of a score from noise on the minimiser, times Λ."""
    radius = task.radius / ONE
    moved = task.changed * math.sqrt(float(task.loss.slope_squared)) * radius
    wide = math.sqrt(2 * task.size)
    if isinstance(task.measure, ApproxDP) and task.measure.delta:
        wide = min(wide, math.sqrt(2 * math.log(1.25 / float(task.measure.delta))))
    return radius * float(moved) * wide / float(task.epsilon)


def objective_regulariser(task: Task, rest: Fraction) -> Fraction:
    """Λ for noise in the objective, which has the share `rest` of ε."""
    if isinstance(task.epsilon, float):
        return PLAIN_REGULARISER if task.alpha is None else shorten(task.alpha)
    if task.alpha is not None:  # raised rather than refused, so that there is no cliff
        return shorten(max(task.alpha, task.minimum_regulariser(JACOBIAN_SHARE * rest)))
    share = GAUSSIAN_SHARE if isinstance(task.measure, ApproxDP) else JACOBIAN_SHARE
    return max(task.minimum_regulariser(share * rest), MIN_REGULARISER)


def balance(task: Task, inner: events.LaplaceObjective | events.GaussianObjective) -> Fraction:
    """The Λ at which the noise b and shrinkage are about even, for the guessed number of rows.

    With a Hessian of about h in every direction, the error N·σ²/(h + Λ)² + (Λ‖w‖/(h + Λ))² is least at
    Λ = N·σ²/(h‖w‖²); h is rows·trace·R²/d, and the factor (for ‖w‖ and margins that are not 0) is a rule
    of thumb, as is the bound by rows/16. Directions in which h is 0 have weights of -b/Λ: harmless for
    the order of scores, but predicted numbers miss by as much (`DEVIATIONS`).
    """
    if isinstance(inner, events.LaplaceObjective):
        variance = 2 * inner.scale**2
    else:
        variance = inner.sigma**2
    rows = task.rows or GUESSED_ROWS
    squared = Fraction(task.radius, ONE) ** 2
    flat = rows * task.loss.trace / task.loss.outputs * squared / (task.directions or task.width)
    ridge = min(task.size * variance / (BALANCE * flat), Fraction(rows, 16))
    hidden = _deviations(task) * square_root_above(Fraction(variance))
    return shorten(max(ridge, min(hidden, task.most_regulariser / 2)))
