"""Canaries in whole trainings: persons whose gradient is one known direction, and who sees every noised sum.

The white-box attacker (Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini & Terzis 2023) has the sums of
all steps and knows the canary's gradient; what its share of each sum says adds up over steps. The one-run
attacker (Steinke, Nasr & Jagielski 2023) puts in many canaries, each with a direction of its own, by coins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.one_run import OneRunAudit, audit_in_one_run
from discreet.audit.registry import Case
from discreet.audit.results import AuditResult
from discreet.deep.grid import RADIUS, CodedDense, sum_clipped
from discreet.deep.plans import PoissonSampler, TrainingPlan, calibrate_noise
from discreet.measures import ApproxDP

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: What the attacked trainings claim, together over all their steps.
CLAIM = ApproxDP(4, Fraction(1, 100_000))
STEPS, CHANCE = 10, Fraction(1, 4)
#: How many canaries the one-run attacker has.
CANARIES = 2000
#: Why the white-box floor stays below half of the claim.
FEW_RUNS = "so small a δ is reached by outcomes that this many runs don't have"


def plan_of(claim: ApproxDP = CLAIM, steps: int = STEPS, chance: Fraction = CHANCE) -> TrainingPlan:
    """A training at a claim, with the noise that `calibrate_noise` finds for it."""
    sampler = PoissonSampler(chance)
    return TrainingPlan(sampler, steps, calibrate_noise(sampler, steps, claim))


@dataclass(frozen=True)
class LikelihoodRatio:
    """The log of how much likelier sums are with the canary than without: the best score there is.

    Attributes
    ----------
    chance : float
        To be in a batch.
    noise : float
        As a multiple of the length of the canary.
    """

    chance: float
    noise: float

    def __call__(self, told: Floats) -> Floats:
        ratio = (2 * told - 1) / (2 * self.noise**2)
        inside = np.logaddexp(np.log1p(-self.chance), np.log(self.chance) + ratio)
        return np.asarray(inside.sum(axis=-1))


def score_of(plan: TrainingPlan) -> LikelihoodRatio:
    """The score for a plan."""
    return LikelihoodRatio(min(float(plan.sampler.chance), 1 - 1e-12), plan.sigma / RADIUS)


def white_box(
    title: str, plan: TrainingPlan, claim: Any = CLAIM, trials: int = 40_000, scale: float = 1e30
) -> Case:
    """Whole trainings with a canary or without, of which every noised sum is seen along its direction."""
    [[alone]] = sum_clipped([[CodedDense(np.full((1, 1), scale))]], 1.0, "flat", np.ones(1, bool))

    def mechanism(there: bool, trials: int) -> Floats:
        told = np.zeros((trials, plan.steps), np.int64)
        for step in range(plan.steps):
            if there:
                told[plan.sampler.draw(trials), step] = alone[0]
            told[:, step] = plan.add_noise(told[:, step])
        return told / float(RADIUS)

    options = {"score": score_of(plan), "rounding": 1e-6}
    return Case(title, mechanism, (False, True), claim, trials, options, reason=FEW_RUNS)


def sum_of_step(drawn: Integers, count: int) -> Integers:
    """The clipped sum of canaries, each as long as can be along a coordinate of its own."""
    rows = np.zeros((len(drawn), count))
    rows[np.arange(len(drawn)), drawn] = 1e30
    [[total]] = sum_clipped([[CodedDense(rows)]], 1.0, "flat", np.ones(len(drawn), bool))
    return total


def one_run(
    plan: TrainingPlan,
    canaries: int = CANARIES,
    *,
    add_up: Callable[[Integers, int], Integers] = sum_of_step,
    confidence: float = 0.999,
) -> OneRunAudit:
    """One training with canaries by coins, scored by what every noised sum says about each."""

    def run(included: npt.NDArray[np.bool_]) -> Floats:
        told = np.zeros((canaries, plan.steps), np.int64)
        for step in range(plan.steps):
            drawn = plan.sampler.draw(canaries)
            total = add_up(drawn[included[drawn]].astype(np.int64), canaries)
            told[:, step] = plan.add_noise(total)
        return score_of(plan)(told / float(RADIUS))

    shares = [(2 * canaries // 5, 0), (canaries // 8, canaries // 8)]
    return audit_in_one_run(run, canaries, guesses=shares, delta=CLAIM.delta, confidence=confidence)


def one_run_result(title: str, plan: TrainingPlan, claim: ApproxDP = CLAIM) -> AuditResult:
    """The floor of one run against the claim, in the form that attacks have."""
    found = one_run(plan)
    best = found.best
    return AuditResult(
        title=title,
        claim=claim,
        claimed=float(claim.epsilon),
        floor=found.epsilon,
        verdict="violated" if found.refutes(claim) else "consistent",
        confidence=found.confidence,
        event=f"{best.correct} of {best.guesses} guesses about {best.canaries} canaries are right",
        probe="one run",
        audited="the mechanism as implemented",
        trials=1,
    )
