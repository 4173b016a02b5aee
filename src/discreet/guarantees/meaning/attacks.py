"""Attacks on what measures are said to mean: exact tests between small mechanisms, and counterexamples."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from discreet.accounting import published
from discreet.audit.exact import exact, gaussian_cells, statement
from discreet.audit.registry import Part, attack
from discreet.audit.results import AuditResult
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi, convert
from discreet.measures.meaning import advantage, bayes_risk, trade_off

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]

_GRID = np.linspace(0, 1, 41)
_PRIORS = (0.01, 0.5, 0.9)


def response(epsilon: float, k: int = 2) -> Pair:
    """Two rows of k-ary randomised response."""
    rows = [np.where(np.arange(k) == x, math.exp(epsilon), 1.0) for x in (0, 1)]
    return rows[0] / rows[0].sum(), rows[1] / rows[1].sum()


def leaky(epsilon: float, delta: float) -> Pair:
    """Randomised response that tells the truth plainly with probability δ: the worst of (ε, δ)-DP."""
    p, q = ((1 - delta) * side for side in response(epsilon))
    return np.array([delta, *p, 0.0]), np.array([0.0, *q, delta])


def normals(mu: float) -> Pair:
    """N(μ, 1) and N(0, 1) in fine cells."""
    edges = np.linspace(-10, 10 + mu, 4001)
    return gaussian_cells(mu, 1.0, edges), gaussian_cells(0.0, 1.0, edges)


def responses(epsilon: float, count: int) -> Pair:
    """How many of `count` answers by randomised response are lies: the worst of ε-DP, repeated."""
    lies = np.arange(count + 1)
    keep = 1 / (1 + math.exp(-epsilon))
    ways = np.array([math.log(math.comb(count, int(k))) for k in lies])
    logs = ways + (count - lies) * math.log(keep) + lies * math.log1p(-keep)
    other = ways + lies * math.log(keep) + (count - lies) * math.log1p(-keep)
    return np.exp(logs), np.exp(other)


def renyi_of(p: Floats, q: Floats) -> Renyi:
    """Their Rényi curve, the larger direction at each order."""
    orders = (1.5, 2.0, 4.0, 16.0)
    return Renyi({
        a: max(math.log((x**a * y ** (1 - a)).sum()) / (a - 1) for x, y in ((p, q), (q, p)))
        for a in orders
    })  # fmt: skip


def _curve(p: Floats, q: Floats, at: Floats) -> Floats:
    """The least misses at given false positives, over all tests: likelihood ratios, and mixtures."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.where(q > 0, -p / q, -np.inf), kind="stable")
    false_positives = np.concatenate([[0.0], np.cumsum(q[order])])
    misses = 1 - np.concatenate([[0.0], np.cumsum(p[order])])
    # where no false positive is needed, all that is free is taken
    start = int(np.searchsorted(false_positives, 0.0, "right")) - 1
    return np.asarray(np.interp(at, false_positives[start:], misses[start:]), np.float64)


def beaten(measure: Measure, p: Floats, q: Floats) -> float:
    """By how much exact tests and guesses beat what a measure says about them; at most 0 if it holds."""
    distance = float(np.abs(p - q).sum()) / 2
    excess = [float(np.max(trade_off(measure, _GRID) - _curve(p, q, _GRID)))]
    excess.append(distance - advantage(measure))
    for prior in _PRIORS:
        risk = float(np.minimum((1 - prior) * q, prior * p).sum())
        excess.append(bayes_risk(measure, prior) - risk)
    return max(excess)


@attack("trade-off-curves")
def trade_off_curves() -> Iterator[Part]:
    pairs: dict[str, tuple[Pair, list[Measure]]] = {}
    for name, pair, pure in (
        ("randomised response, ε = 1", response(1.0), PureDP(1)),
        ("five values, ε = 1/2", response(0.5, 5), PureDP("1/2")),
        ("20 answers, ε = 1/5 each", responses(0.2, 20), PureDP(4)),
    ):
        known: list[Measure] = [pure, renyi_of(*pair), convert(pure, ZCDP)]
        pairs[name] = (pair, known)
    pairs["leaky response, (0.8, 0.1)"] = (leaky(0.8, 0.1), [ApproxDP("0.8", "0.1")])
    for mu in (0.3, 1.0, 3.0):
        pairs[f"normals, μ = {mu:g}"] = (normals(mu), [GaussianDP(mu**2), ZCDP(mu**2 / 2)])
    for name, (pair, measures) in pairs.items():
        worst = max(beaten(measure, *pair) for measure in measures)
        yield _fact(
            name, "no test or guess does better than its measures say", worst <= 1e-9, worst
        )


def _fact(title: str, claim: str, holds: bool, excess: float) -> AuditResult:
    return statement(title, claim, holds, f"the best excess found is {excess:.4g}", "exact tests")


@attack("posterior-odds-as-printed")
def posterior_odds() -> Iterator[Part]:
    p, q = response(0.1)
    odds = 99 * q[0] / p[0]  # the answer that speaks most against the likelier one
    yield statement(
        "randomised response, ε = 0.1, prior odds 99 : 1",
        "posterior odds are at most e^0.1 = 1.105",
        bool(odds <= math.exp(0.1)),
        f"the least posterior odds are {odds:.4g}",
    )


@attack("gaussian-scale-as-printed")
def gaussian_scale() -> Iterator[Part]:
    for epsilon in (0.1, 0.5):
        sigma = published.gaussian_sigma_as_printed(epsilon, 1e-5)
        edges = np.linspace(-8 * sigma, 8 * sigma, 8001)
        p, q = (gaussian_cells(at, sigma, edges) for at in (0.0, 1.0))
        title = f"σ = √(2 log(1.25/δ)) at ({epsilon:g}, 1e-5)"
        yield exact(p, q, ApproxDP(str(epsilon), "1e-5"), title=title)


@attack("renyi-odds-as-printed")
def renyi_odds() -> Iterator[Part]:
    order = 2.0
    p = 1 - float(ndtr(1.5 - 1))  # x > 1.5 under N(1, 1): there the log-ratio x - 1/2 exceeds 1
    yield statement(
        "normals, μ = 1, order 2",
        "the log of the odds moves by at most D_2 = 1",
        p == 0,
        f"it moves by more with probability {p:.4g} (order {order:g})",
    )


@attack("renyi-group-as-printed")
def renyi_group() -> Iterator[Part]:
    """Gaussian noise at eight times the sensitivity: 32 times the curve at half the order, not 27."""
    sigma, order = 50.0, 64.0
    at, claimed = published.renyi_group_as_printed(order, published.gaussian_curve(sigma, order), 3)
    edges = np.linspace(-20 * sigma, 20 * sigma, 20_001)
    p, q = (gaussian_cells(mean, sigma, edges) for mean in (0.0, 8.0))
    yield exact(p, q, Renyi({at: claimed}), title="σ = 50, order 64, c = 3")


@attack("renyi-lower-tail-as-printed")
def renyi_lower_tail() -> Iterator[Part]:
    p, q = float(ndtr(-2.0)), float(ndtr(-3.0))  # of x > 3, under N(1, 1) and N(0, 1); D_2 = 1
    yield statement(
        "normals, μ = 1, order 2, the event x > 3",
        "e^-1·P(S) <= Q(S)",
        math.exp(-1) * p <= q,
        f"e^-1·P(S) = {math.exp(-1) * p:.4g} and Q(S) = {q:.4g}",
    )


@attack("renyi-tail-as-printed")
def renyi_tail() -> Iterator[Part]:
    delta = 1e-3
    p, q = float(ndtr(6.0)), float(ndtr(5.0))  # of x > -5; D_2 = 1
    bound = min(math.exp(1 + math.log(1 / delta)) * q, delta)
    yield statement(
        "normals, μ = 1, order 2, δ = 1e-3, the event x > -5",
        "P(B) <= min{e^(...)·Q(B), δ}",
        p <= bound,
        f"P(B) = {p:.4g} and the minimum is {bound:.4g}",
    )


@attack("two-answers-as-printed")
def two_answers() -> Iterator[Part]:
    for epsilon in (0.1, 1.0):
        p, q = (np.multiply.outer(side, side).ravel() for side in response(epsilon))
        yield exact(p, q, 3 * epsilon, title=f"randomised response twice, ε = {epsilon:g}")


@attack("advanced-composition-as-printed")
def advanced_composition() -> Iterator[Part]:
    for epsilon, count, delta in (
        (0.01, 1000, 1e-5),
        (0.3, 40, 1e-5),
        (1.0, 10, 1e-2),
        (3.0, 7, 1e-2),
    ):
        printed = published.advanced_composition_as_printed(epsilon, count, delta)
        title = f"{count} times randomised response, ε = {epsilon:g}, δ = {delta:g}"
        yield exact(*responses(epsilon, count), ApproxDP(printed, delta), title=title)
