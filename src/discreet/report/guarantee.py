"""A guarantee in plain words, as odds, and as a picture of what the best adversary can reach."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi
from discreet.measures.meaning import advantage, posterior_bounds, trade_off
from discreet.rational import readable
from discreet.report.blocks import Block, Chart, Series, Words
from discreet.show import Table
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["explain_guarantee", "is_finite", "name_measure", "percent_above", "percent_below"]

#: What somebody may have thought before.
PRIORS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
#: The false positive rates of the read-outs.
READ_OUTS = (0.0, 0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def percent_above(share: float) -> str:
    """A share in per cent, rounded up."""
    return f"{math.ceil(min(share, 1.0) * 1000 - 1e-9) / 10:g} %"


def percent_below(share: float) -> str:
    """A share in per cent, rounded down."""
    return f"{math.floor(max(share, 0.0) * 1000 + 1e-9) / 10:g} %"


def is_finite(measure: Measure) -> bool:
    """Whether a measure bounds anything."""
    match measure:
        case PureDP(epsilon):
            return epsilon < math.inf
        case ApproxDP(epsilon, delta):
            return epsilon < math.inf and delta < 1
        case ZCDP(rho):
            return rho < math.inf
        case GaussianDP():
            return measure.mu < math.inf
        case Renyi():
            return any(value < math.inf for value in measure.curve.values())
    return False


def name_measure(measure: Measure) -> str:
    """A measure in the letters that people write."""
    match measure:
        case PureDP(epsilon):
            return f"ε = {_digits(epsilon)}"
        case ApproxDP(epsilon, delta):
            return f"ε = {_digits(epsilon)}, δ = {_digits(delta)}"
        case ZCDP(rho):
            return f"ρ = {_digits(rho)} (zero-concentrated)"
        case GaussianDP():
            return f"μ = {measure.mu:.6g} (Gaussian)"
    return repr(measure)


def _digits(value: Fraction | float) -> str:
    return "∞" if value == math.inf else readable(Fraction(value))


def _secret(unit: Unit | None) -> str:
    """What the guarantee hides, as the end of "it likely that …"."""
    if unit is None:
        return "one person's data is what it is"
    if unit.relation is REPLACE_ONE:
        return "a person's data is one thing rather than another"
    return "a certain person is in the data"


def explain_guarantee(measure: Measure, unit: Unit | None) -> list[Block]:
    """What a finite guarantee means for a person: sentences, a chart, and the numbers behind it."""
    if isinstance(measure, PureDP):
        return _explain_pure(measure, unit)
    return _explain_test(measure, unit)


def _explain_pure(measure: PureDP, unit: Unit | None) -> list[Block]:
    low, high = posterior_bounds(measure, 0.5)
    _, rare = posterior_bounds(measure, 0.01)
    rows = [(prior, *posterior_bounds(measure, prior)) for prior in PRIORS]
    table = Table(
        ("thought before", "at least after", "at most after"), rows, "Beliefs before and after"
    )
    grid = [at / 20 for at in range(21)]
    ends = [posterior_bounds(measure, prior) for prior in grid]
    low_ends, high_ends = (tuple(end[side] for end in ends) for side in (0, 1))
    band = Series("after", tuple(grid), tuple(grid), low_ends, high_ends, has_marks=False)
    lead = (
        f"Who thought it 50 % likely that {_secret(unit)} can reach at most {percent_above(high)} after "
        f"seeing all of it (and fall to {percent_below(low)} at the least), whatever else they know. Who "
        f"thought 1 % can reach at most {percent_above(rare)}."
    )
    odds = f"The odds change by a factor of at most e^ε = {_factor(measure)}, in either direction."
    chart = Chart(
        "lines",
        "What can be thought about one person, before and after",
        f"For every belief before, the range of beliefs after: from 50 % to between {percent_below(low)} and "
        f"{percent_above(high)}.",
        table,
        (band,),
        "thought before",
        "can be thought after",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
    )
    return [Words(lead, "lead"), Words(odds), chart]


def _factor(measure: PureDP) -> str:
    epsilon = float(measure.epsilon)
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    digits = 2 - math.floor(math.log10(factor)) if math.isfinite(factor) else 0
    if not math.isfinite(factor):
        return "more than 10^300"
    return f"{math.ceil(factor * 10**digits - 1e-9) / 10**digits:g}"


def _explain_test(measure: Measure, unit: Unit | None) -> list[Block]:
    # the curve is convex and symmetric, so at even chances the least risk is where both errors are equal
    risk = (1 - advantage(measure)) / 2
    false = np.concatenate([READ_OUTS, np.linspace(0.02, 1.0, 50)])
    true = 1 - trade_off(measure, false)
    table = Table(
        ("false positives", "true positives at most"),
        list(zip(READ_OUTS, true[: len(READ_OUTS)].tolist(), strict=True)),
        "What the best test reaches",
    )
    order = np.argsort(false, kind="stable")
    false, true = false[order], true[order]
    points = tuple(false.tolist()), tuple(true.tolist())
    bound = Series("the most that any test reaches", *points, has_marks=False)
    blind = Series("blind guessing", (0.0, 1.0), (0.0, 1.0), is_reference=True)
    lead = (
        f"Who thought it 50 % likely that {_secret(unit)} guesses right at most {percent_above(1 - risk)} of "
        "the time after seeing all of it, instead of 50 %, whatever else they know."
    )
    blocks: list[Block] = [Words(lead, "lead")]
    if isinstance(measure, ApproxDP) and measure.delta:
        blocks.append(
            Words(
                f"δ = {float(measure.delta):g} is a chance that is left over: with at most that probability, "
                "for each person, an answer may tell more than ε allows, even everything."
            )
        )
    chart = Chart(
        "lines",
        "What the best test between a person's being in or out can reach",
        "True against false positives: the bound lies above the diagonal of blind guessing; at even "
        f"chances it is right at most {percent_above(1 - risk)} of the time.",
        table,
        (bound, blind),
        "false positives",
        "true positives",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
    )
    return [*blocks, chart]
