"""Attacks on reports that people randomise themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.exact import exact
from discreet.audit.registry import Case, Part, attack
from discreet.measures import PureDP
from discreet.mechanisms import (
    DuchiMean,
    GeneralizedRandomizedResponse,
    HybridMean,
    LocalHashing,
    LocalMechanism,
    Memoised,
    PiecewiseMean,
    RandomizedResponse,
    UnaryEncoding,
)

Floats = npt.NDArray[np.float64]

#: Values outside the domain: each has a public stand-in.
_STRANGE = (float("nan"), -3.5, 1e300)
_TRIALS = 40_000


def reports(mechanism: LocalMechanism) -> Callable[..., Any]:
    """Reports of one value, many times."""
    return lambda value, trials: mechanism.randomize(np.full(trials, value, np.float64))


def claimed(mechanism: LocalMechanism) -> PureDP:
    """What its event costs."""
    return accounting.cost(mechanism.event(), PureDP)


#: Why attacks on strange values stay below the claim.
STRANGE = (
    "a value outside the domain is taken for one inside, often for the very one it is compared with"
)


def cases(
    mechanism: LocalMechanism, values: tuple[float, ...], trials: int = _TRIALS
) -> Iterator[Part]:
    """Two values of the domain, and a strange value against one of them."""
    first, second = values[0], values[-1]
    claim = claimed(mechanism)
    yield Case(f"{mechanism!r}", reports(mechanism), (first, second), claim, trials)
    strange = [(odd, value) for odd in _STRANGE for value in (first, second)]
    title = f"{mechanism!r}, strange values"
    yield Case(title, reports(mechanism), strange, claim, trials // 4, reason=STRANGE)


def _binary(
    mechanism: RandomizedResponse | GeneralizedRandomizedResponse, k: int
) -> tuple[Floats, Floats]:
    """Two rows of the channel that its stated chances make."""
    keep, other = map(float, mechanism.chances)
    first, second = (np.where(np.arange(k) == value, keep, other) for value in (0, 1))
    return first, second


@attack("randomised-response")
def randomised_response() -> Iterator[Part]:
    for mechanism in (
        RandomizedResponse("1/2"),
        RandomizedResponse(2),
        RandomizedResponse.two_coins(),
    ):
        yield from cases(mechanism, (0, 1))
        distributions = _binary(mechanism, 2)
        yield exact(*distributions, claimed(mechanism), title=f"{mechanism!r}: its chances")


@attack("generalised-randomised-response")
def generalised_randomised_response() -> Iterator[Part]:
    for mechanism, k in (
        (GeneralizedRandomizedResponse("1/2", 6), 6),
        (GeneralizedRandomizedResponse(2, 3), 3),
    ):
        yield from cases(mechanism, (0, 1))
        distributions = _binary(mechanism, k)
        yield exact(*distributions, claimed(mechanism), title=f"{mechanism!r}: its chances")


@attack("unary-encoding")
def unary_encoding() -> Iterator[Part]:
    for epsilon, optimised in product((Fraction(1, 2), Fraction(2)), (False, True)):
        mechanism = UnaryEncoding(epsilon, 4, optimised=optimised)
        yield from cases(mechanism, (0, 1))
        # the two bits in which the values differ are independent
        keep, other = map(float, mechanism.chances)
        one, zero = np.array([1 - keep, keep]), np.array([1 - other, other])
        distributions = (np.multiply.outer(one, zero).ravel(), np.multiply.outer(zero, one).ravel())
        yield exact(*distributions, claimed(mechanism), title=f"{mechanism!r}: its chances")


@attack("local-hashing")
def local_hashing() -> Iterator[Part]:
    """A report (a, b, cell) says only which of two values its cell supports."""
    for epsilon in (Fraction(1, 2), Fraction(2)):
        mechanism = LocalHashing(epsilon, 9)
        yield Case(f"{mechanism!r}", supported(mechanism), (0, 1), claimed(mechanism), _TRIALS)
        title, words = (
            f"{mechanism!r}, whole reports",
            "hashes look random; what they say is attacked above",
        )
        yield Case(title, reports(mechanism), (0, 1), claimed(mechanism), 8_000, reason=words)


def supported(mechanism: LocalHashing) -> Callable[..., Any]:
    """Whether a report's cell is that of the values 0 and 1."""

    def run(value: int, trials: int) -> Any:
        told = mechanism.randomize(np.full(trials, value))
        return np.stack([mechanism.find_supported(told, code) for code in (0, 1)], axis=1)

    return run


@attack("memoised-reports")
def memoised_reports() -> Iterator[Part]:
    mechanism = Memoised(2, "1/2", 3)
    one = accounting.cost(mechanism.event(1), PureDP)
    yield Case("one report", reports(mechanism), (0, 1), one, _TRIALS)
    three = accounting.cost(mechanism.event(3), PureDP)
    yield Case("three reports of one row", again(mechanism, 3), (0, 1), three, _TRIALS)
    every = accounting.cost(mechanism.event(), PureDP)
    yield Case("60 reports of one row", again(mechanism, 60), (0, 1), every, _TRIALS)


def again(mechanism: Memoised, count: int) -> Callable[..., Any]:
    """Many reports of one permanent row, summed up by how often each bit was set."""

    def run(value: int, trials: int) -> Any:
        rows = mechanism.permanent(np.full(trials, value))
        return np.sum([mechanism.report(rows) for _ in range(count)], axis=0, dtype=np.int64)

    return run


@attack("one-bit-mean")
def one_bit_mean() -> Iterator[Part]:
    for epsilon in ("1/2", 2):
        yield from cases(DuchiMean(epsilon, -1, 1), (-1, 1))


@attack("piecewise-mean")
def piecewise_mean() -> Iterator[Part]:
    for epsilon in ("1/2", 2):
        mechanism = PiecewiseMean(epsilon, 0, 10)
        yield from cases(mechanism, (0, 10))
        title, words = f"{mechanism!r}, near values", "near values share most of their reports"
        yield Case(title, reports(mechanism), (5, 6), claimed(mechanism), _TRIALS, reason=words)


@attack("hybrid-mean")
def hybrid_mean() -> Iterator[Part]:
    for epsilon in ("1/2", 2):
        yield from cases(HybridMean(epsilon, -3, 5), (-3, 5))
