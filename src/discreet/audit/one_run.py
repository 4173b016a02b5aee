"""Auditing one training run: many canaries, each in or out by a fair coin, and guesses from the result.

How many guesses can be right is bounded for every private algorithm, so that too many right guesses
refute a claim. Proof page: ``docs/proofs/one_run.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr, ndtri
from scipy.stats import binom

from discreet.measures.convert import convert
from discreet.measures.gaussian import gaussian_epsilon
from discreet.measures.kinds import ApproxDP, GaussianDP, Measure, PureDP
from discreet.measures.meaning import trade_off
from discreet.rational import Number, as_integer, probability

__all__ = ["Guesses", "OneRunAudit", "audit_in_one_run", "guess", "published_p_value"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: The least false negatives for given false positives between any two neighbours: convex, symmetric.
TradeOff = Callable[[float], float]

#: Covers the rounding of float64 binomial tails, normal distributions and sums; it makes p-values larger.
_ROUNDING = 1e-9

#: Halvings in searches for ε, μ and p; the end that is returned is the one on the valid side.
_HALVINGS = 50

#: Losses larger than these are not looked for.
_MAX_EPSILON, _MAX_MU = 64.0, 64.0


@dataclass(frozen=True)
class Guesses:
    """How many canaries there were, for how many a guess was made, and how many guesses were right.

    The number of guesses is fixed before the run.

    Examples
    --------
    >>> from discreet import audit, measures
    >>> seen = audit.Guesses(canaries=1000, guesses=100, correct=90)
    >>> seen.p_value(measures.PureDP(1)) < 0.001  # nobody guesses that well at ε = 1
    True
    >>> round(seen.epsilon_floor(0, 0.95), 2)
    1.63
    """

    canaries: int
    guesses: int
    correct: int

    def __post_init__(self) -> None:
        as_integer(self.canaries, "canaries", minimum=1)
        if (
            not as_integer(self.correct, "correct")
            <= as_integer(self.guesses, "guesses")
            <= self.canaries
        ):
            raise ValueError("correct must not exceed guesses, nor guesses exceed canaries.")

    def p_value(self, claim: Measure | TradeOff) -> float:
        """A bound on the chance of this many right guesses, or more, if `claim` is true.

        Parameters
        ----------
        claim : PureDP, ApproxDP, GaussianDP, ZCDP, Renyi, or a trade-off curve
            A curve is a function of the rate of false positives; it must be convex and its own inverse.
        """
        if isinstance(claim, PureDP | ApproxDP):
            pair = convert(claim, ApproxDP)
            return _binomial_p_value(self, float(pair.epsilon), float(pair.delta))
        curve = _power_needed(claim)
        low, high = 0.0, 1.0  # the total at `high` is too large for a probability, or high is 1
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _too_much(self, curve, middle) else (middle, high)
        return min(1.0, high * (1 + _ROUNDING))

    def epsilon_floor(self, delta: Number = 0, confidence: float = 0.95) -> float:
        """The largest ε for which (ε, δ)-DP is refuted with `confidence`; 0 if none is."""
        chance, risk = float(probability(delta, "delta")), _risk(confidence)
        return _largest(lambda e: _binomial_p_value(self, e, chance) <= risk, _MAX_EPSILON)

    def mu_floor(self, confidence: float = 0.95) -> float:
        """The largest μ for which μ-Gaussian DP is refuted with `confidence`; 0 if none is."""
        risk = _risk(confidence) / (1 + _ROUNDING)
        return _largest(lambda mu: _too_much(self, _gaussian(mu), risk), _MAX_MU)


def _risk(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    return 1 - confidence


def _largest(refuted: Callable[[float], bool], maximum: float) -> float:
    """The largest refuted parameter, from below; refutations hold for all smaller ones too."""
    if not refuted(0.0):
        return 0.0
    if refuted(maximum):
        return maximum
    low, high = 0.0, maximum
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _binomial_p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """P(W >= v) + mδ·P(W >= v)·P(W < v)/(v·P(W = v)) with W ~ Binomial(r, e^ε/(1 + e^ε)).

    Pure DP: Steinke, Nasr & Jagielski 2023. The term with δ is proved on our proof page; it is attained
    if there is a guess for every canary.
    """
    m, r, v = guesses.canaries, guesses.guesses, guesses.correct
    if v == 0 or delta >= 1:
        return 1.0
    wrong = float(expit(-epsilon))  # of the wrong guesses, so that large ε keep their digits
    tail = float(binom.cdf(r - v, r, wrong))
    if delta > 0 and tail < 1:
        log_ratio = binom.logcdf(r - v, r, wrong) - binom.logpmf(r - v, r, wrong)
        tail += m * delta * (1 - tail) * math.exp(min(700.0, float(log_ratio))) / v
    return min(1.0, tail * (1 + _ROUNDING))


def published_p_value(guesses: Guesses, claim: PureDP | ApproxDP) -> float:
    """The bound as published, to compare: P(W >= v) + 2mδ·max_i P(v > W >= v - i)/i.

    Source: the program in appendix D of Steinke, Nasr & Jagielski 2023. It is above ours where it is
    below 0.8, and slightly exceeded by some mechanisms where it is larger, which refutes nothing.
    """
    pair = convert(claim, ApproxDP)
    m, r, v = guesses.canaries, guesses.guesses, guesses.correct
    wrong, delta = float(expit(-float(pair.epsilon))), float(pair.delta)
    tail = float(binom.cdf(r - v, r, wrong)) if v else 1.0
    steps = np.arange(1, v + 1)
    between = binom.cdf(r - v + steps, r, wrong) - tail
    steepest = float(np.max(between / steps, initial=0.0))
    return min(1.0, (tail + 2 * m * delta * steepest) * (1 + _ROUNDING))


def _gaussian(mu: float) -> TradeOff:
    """Φ(Φ⁻¹(x) - μ) (Dong, Roth & Su 2022)."""
    return lambda x: float(ndtr(ndtri(x) - mu))


def _power_needed(claim: Measure | TradeOff) -> TradeOff:
    """The least probability under one neighbour for an event that has probability x under the other.

    It is f(1 - x) for a symmetric trade-off curve f.
    """
    if isinstance(claim, GaussianDP):
        return _gaussian(claim.mu)
    if isinstance(claim, Measure):
        return _tabulate(claim)
    if not callable(claim):
        raise TypeError(f"claim must be a measure or a curve, not {type(claim).__name__}.")
    _check_curve(claim)
    return lambda x: float(claim(1 - min(x, 1.0)))


def _tabulate(claim: Measure) -> TradeOff:
    """f(1 - x) from below: a convex function lies above its chords' extensions."""
    x = np.concatenate(
        [[0.0], np.geomspace(1e-7, 0.5, 400), 1 - np.geomspace(0.5, 1e-4, 150)[1:], [1.0]]
    )
    y = trade_off(claim, 1 - x)
    slope = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])  # slope[k] ends at x[k]

    def needed(value: float) -> float:
        k = min(int(np.searchsorted(x, value, side="right")) - 1, len(x) - 2)
        if k < 0 or value >= 1:
            return float(y[-1]) if value >= 1 else 0.0
        left = y[k] + slope[k] * (value - x[k])
        right = y[k + 1] - slope[k + 2] * (x[k + 1] - value) if k + 2 < len(x) else y[k]
        return max(float(y[k]), float(left), float(right))

    return needed


def _check_curve(curve: TradeOff) -> None:
    """Refuse what can't be a symmetric trade-off curve, as far as a grid shows."""
    grid = np.linspace(0.0, 1.0, 201)
    values = np.array([float(curve(float(x))) for x in grid])
    if not (np.all(values >= 0) and np.all(values <= 1 - grid + 1e-9)):
        raise ValueError("claim must be a curve with values between 0 and 1 - x.")
    if np.any(np.diff(values, 2) < -1e-7) or np.any(np.diff(values) > 1e-9):
        raise ValueError("claim must be a curve that is convex and doesn't rise.")
    back = np.array([float(curve(float(value))) for value in values])
    if np.any(back > grid + 1e-6):  # f(f(x)) <= x holds for every curve that is its own inverse
        raise ValueError(
            "claim must be its own inverse, since neighbours come in both orders: "
            "use the larger of the curve and its inverse."
        )


def _too_much(guesses: Guesses, needed: TradeOff, tail: float) -> bool:
    """Whether P(right >= v) = `tail` would force probabilities that sum to more than 1.

    Mahloujifar, Melis & Chaudhuri 2025 (`audit_rh_with_cap`): `right` and `wrong` are the expected numbers of
    right and wrong guesses per canary when at least j guesses are right, as small as the curve allows.
    """
    m, r, v = guesses.canaries, guesses.guesses, guesses.correct
    right, wrong = tail * v / m, tail * (r - v) / m
    most = r / m * (1 + _ROUNDING)
    for j in range(v - 1, -1, -1):
        least = needed(right) * (1 - 1e-12)
        if not least > wrong:
            break  # nor at any smaller j: `right` stays as it is
        right, wrong = right + j / (r - j) * (least - wrong), least
        if right + wrong > most:
            return True
    return right + wrong > most


def guess(
    scores: npt.ArrayLike, included: npt.ArrayLike, positives: int, negatives: int
) -> Guesses:
    """Guess "in" for the `positives` highest scores, "out" for the `negatives` lowest, and count.

    Parameters
    ----------
    scores : array of m numbers
        High where the run suggests that a canary was in. They may depend on `included` only through the run.
    included : array of m booleans
        The coins. They decide here which guesses are right, nothing else: equal scores keep their order.
    positives, negatives : int
        Fixed before the run.

    Examples
    --------
    >>> from discreet import audit
    >>> scores, included = [0.9, 0.8, 0.1, 0.2], [True, False, False, False]
    >>> audit.guess(scores, included, positives=2, negatives=1)
    Guesses(canaries=4, guesses=3, correct=2)
    """
    values, coins = _scores(scores), np.asarray(included)
    if coins.dtype != np.bool_ or coins.shape != values.shape:
        raise ValueError("included must be an array of booleans, one for each score.")
    ins, outs = as_integer(positives, "positives"), as_integer(negatives, "negatives")
    if ins + outs > len(values):
        raise ValueError("positives and negatives must not add up to more than the canaries.")
    order = np.argsort(values, kind="stable")
    right = int((~coins[order[:outs]]).sum()) + int(coins[order[len(order) - ins :]].sum())
    return Guesses(len(values), ins + outs, right)


def _scores(scores: npt.ArrayLike) -> Floats:
    values = np.asarray(scores, np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError("scores must be a list of numbers, one for each canary.")
    if np.isnan(values).any():
        raise ValueError("scores must be numbers: NaN can't be ordered.")
    return values


@dataclass(frozen=True, repr=False)
class OneRunAudit:
    """What the guesses from one run refute; every number of guesses tried is corrected for (Bonferroni).

    Parameters
    ----------
    tried : guesses for each pair of numbers that was fixed before the run
    delta, confidence : of the floors

    Examples
    --------
    >>> from discreet import audit, measures
    >>> found = audit.OneRunAudit((audit.Guesses(1000, 100, 90),), delta=0, confidence=0.95)
    >>> round(found.epsilon, 2), found.refutes(measures.PureDP(1))
    (1.63, True)
    """

    tried: tuple[Guesses, ...]
    delta: float
    confidence: float

    @property
    def _each(self) -> float:
        return 1 - _risk(self.confidence) / len(self.tried)

    @property
    def best(self) -> Guesses:
        """The guesses with the highest floor."""
        return max(self.tried, key=lambda g: (g.epsilon_floor(self.delta, self._each), g.correct))

    @property
    def epsilon(self) -> float:
        """The algorithm isn't (ε, `delta`)-DP for any smaller ε, with `confidence`."""
        return max(g.epsilon_floor(self.delta, self._each) for g in self.tried)

    @property
    def mu(self) -> float:
        """The algorithm isn't μ-Gaussian DP for any smaller μ, with `confidence`."""
        return max(g.mu_floor(self._each) for g in self.tried)

    def p_value(self, claim: Measure | TradeOff) -> float:
        """A bound on the chance of such guesses, or better ones, if `claim` is true."""
        return min(1.0, len(self.tried) * min(g.p_value(claim) for g in self.tried))

    def refutes(self, claim: Measure | TradeOff) -> bool:
        """Whether `claim` is refuted with `confidence`."""
        return self.p_value(claim) <= _risk(self.confidence)

    def __repr__(self) -> str:
        best, mu = self.best, self.mu
        share = f" ({best.correct / best.guesses:.1%})" if best.guesses else ""
        lines = [
            f"One run with {best.canaries} canaries: {best.correct} of {best.guesses} guesses right{share}.",
            f"  ε >= {self.epsilon:.3g} at δ = {self.delta:g}, with confidence {self.confidence:.1%}"
            f" ({len(self.tried)} number(s) of guesses tried, corrected for).",
            f"  μ >= {mu:.3g}, if the algorithm is Gaussian DP"
            + (f" (then ε >= {_gaussian_floor(mu, self.delta):.3g})." if self.delta else "."),
            "  These are floors: the truth may be far above them.",
        ]
        return "\n".join(lines)


def _gaussian_floor(mu: float, delta: float) -> float:
    """ε of μ-Gaussian DP at δ, rounded down a little."""
    found = gaussian_epsilon(Fraction(mu) ** 2, Fraction(delta))
    return max(0.0, float(found) * (1 - _ROUNDING))


def audit_in_one_run(
    run: Callable[[Flags], npt.ArrayLike],
    canaries: int,
    *,
    guesses: Sequence[tuple[int, int]] | None = None,
    delta: Number = 0,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> OneRunAudit:
    """Toss a coin for each canary, run once, guess the coins from the scores, and count the right guesses.

    Parameters
    ----------
    run : callable
        Takes an array of booleans, trains *once* with the canaries for which it is true (and whatever other
        data), and gives a score for each canary, high where the result suggests that it was in (such as minus
        its loss). The scores must come from the trained result; `included` itself mustn't be used for them.
    canaries : int
        How many there are. Each is the data of one unit of privacy.
    guesses : pairs (positives, negatives), optional
        How many canaries with the highest scores are guessed "in", with the lowest "out"; the others are left
        alone. Several pairs are corrected for. By default a half, an eighth and a thirty-second each way.
    delta, confidence : numbers
        Of the floors.
    random_state : int or Generator, optional
        For the coins. Canaries are public; leave it out so that nobody can know the coins.

    Returns
    -------
    OneRunAudit

    Privacy
    -------
    Spends what `run` spends. Refutes claims for add/remove (a canary is in or out); to test replace-one, let
    `run` insert one of two records for each canary. No assumption about the algorithm is made, except that
    the coins reach the scores only through it. Proof page: ``docs/proofs/one_run.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import audit
    >>> leaks = lambda included: included + np.random.default_rng(0).normal(0, 0.2, len(included))
    >>> audit.audit_in_one_run(leaks, 1000, random_state=0).epsilon > 2
    True
    """
    count = as_integer(canaries, "canaries", minimum=1)
    if guesses is None:
        guesses = sorted({(count // k, count // k) for k in (2, 8, 32) if count >= k})
    pairs = [(as_integer(a, "positives"), as_integer(b, "negatives")) for a, b in guesses]
    if not pairs or any(not 1 <= a + b <= count for a, b in pairs):
        raise ValueError("guesses must be pairs that add up to between 1 and `canaries`.")
    chance = float(probability(delta, "delta"))
    _risk(confidence)
    coins = np.random.default_rng(random_state).integers(0, 2, count).astype(np.bool_)
    scores = _scores(run(coins.copy()))
    if len(scores) != count:
        raise ValueError(f"run must give one score for each of the {count} canaries.")
    return OneRunAudit(tuple(guess(scores, coins, a, b) for a, b in pairs), chance, confidence)
