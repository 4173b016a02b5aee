"""Examples of every event, noise distribution and query: what the distributions of the test suite run over.

A class without an example here fails the suite, so that a later one can't be forgotten.
"""

from __future__ import annotations

from fractions import Fraction

from discreet import events, mechanisms, queries
from discreet.columns import Nearest
from discreet.events import Event
from discreet.measures import ApproxDP, PureDP
from discreet.mechanisms import AdditiveMechanism, Distribution, LocalMechanism
from discreet.publish.privelet import Ranges
from discreet.queries import Query

__all__ = [
    "DISCOVERIES",
    "DISTRIBUTIONS",
    "EVENTS",
    "LOCALS",
    "MECHANISMS",
    "QUERIES",
    "SEVERAL",
    "missing",
]

_LEAF = events.DiscreteLaplace(2, 1)

EVENTS: tuple[Event, ...] = (
    _LEAF,
    events.DiscreteLaplace("7/3", 5),
    events.Gaussian(2, 1),
    events.Gaussian("3/2", sensitivity="1/3"),
    events.DiscreteGaussian(3, 2),
    events.Exponential("1/2"),
    events.KeyThreshold(2, 1, 30),
    events.KeyThreshold(4, 3, 90, rows=3, groups=2),
    events.RandomizedResponse(1),
    events.RandomizedResponse("1/3", 7),
    events.PartialResponse(1, "1/2"),
    events.Poisson("1/10", events.Gaussian(1)),
    events.Poisson("1/4", _LEAF),
    events.Repeat(_LEAF, 3),
    events.Compose(),
    events.Compose(_LEAF, events.Exponential("1/5")),
    events.Parallel([_LEAF, events.DiscreteLaplace(4)], reach=2),
    events.OneOf([_LEAF, events.DiscreteLaplace(4)]),
    events.RepeatAndSelect(_LEAF, 1, "1/10"),
    events.RepeatAndSelect(events.GaussianObjective(9, 2, "1/8", 1), 0, "1/10"),
    events.PermuteAndFlip(2, 1),
    events.PermuteAndFlip("3/2", 3, monotone=True),
    events.NoisyMax(4, 1),
    events.NoisyMax("5/3", 2, monotone=True),
    events.SparseVector(3, 12, cutoff=2),
    events.SparseVector("7/2", 9, 3, sensitivity=2, monotone=True),
    events.Staircase(2, 5, 2, 5),
    events.LaplaceObjective(5, "7/2", "1/8"),
    events.GaussianObjective(9, 2, "1/8", 1, rows=2),
    events.Staircase("1/2", 3, 1, 4),
    events.External(PureDP(0.25), "a table printed elsewhere"),
    events.External(ApproxDP(0.25, Fraction(1, 10**6)), "a model trained elsewhere"),
    events.Assumed(_LEAF, "real arithmetic"),
)

MECHANISMS: tuple[AdditiveMechanism, ...] = (
    mechanisms.Laplace(1),
    mechanisms.Gaussian(1, "1/100000"),
    mechanisms.Gaussian(rho="1/8"),
    mechanisms.DiscreteGaussian(1, "1/100000"),
    mechanisms.DiscreteGaussian(rho="1/8"),
)

DISTRIBUTIONS: tuple[Distribution, ...] = (
    mechanisms.LaplaceDistribution(Fraction(3, 2)),
    mechanisms.GaussianDistribution(Fraction(5, 2)),
    mechanisms.DiscreteGaussianDistribution(Fraction(5, 2)),
    mechanisms.StaircaseDistribution(Fraction(1, 2), 4, 2),
    mechanisms.NoNoise(),
)

LOCALS: tuple[LocalMechanism, ...] = (
    mechanisms.RandomizedResponse(1),
    mechanisms.RandomizedResponse.two_coins(),
    mechanisms.GeneralizedRandomizedResponse(1, 6),
    mechanisms.UnaryEncoding(1, 6),
    mechanisms.UnaryEncoding(1, 6, optimised=True),
    mechanisms.LocalHashing(1, 6),
    mechanisms.Memoised(3, 1, 6),
    mechanisms.DuchiMean(1, -1, 1),
    mechanisms.PiecewiseMean(2, 0, 10),
    mechanisms.HybridMean(2, -3, 5),
)

#: Queries on columns x and y (real or integer) and c (categorical).
QUERIES: tuple[Query, ...] = (
    queries.Count(),
    queries.Count(by="c"),
    queries.Histogram("c", where="x > 0"),
    queries.CountPeople(),
    queries.CountPeople(by="c", where="x > 0"),
    queries.Sum("x"),
    queries.Sum("y", by="c"),
    queries.Mean("x"),
    queries.Mean("x", by="c", where="y >= 1"),
    queries.Variance("x"),
    queries.Moments("x", "y", by="c"),
    queries.Gram("x", "y"),
    queries.NormalEquations(["x"], "y"),
    queries.NormalEquations(["x", "y"], square=False, bits=6, by="c"),
    queries.Marginals("x", "y", by="c"),
    queries.CellCounts(queries.Axis("x", (1,)), queries.Axis("c")),
    queries.CellCounts(queries.Axis("y", (1,), (1, 0)), queries.Axis("c")),
    queries.CentredSums("x", "y", by="c"),
    queries.CentredSums("x", products="squares", count_weight="1/2"),
    queries.CentredSums("x", "y", products="all", bits=8),
    queries.WithColumns(queries.CentredSums("x", by="at"), {"at": Nearest("x", [(0,), (2,)])}),
    queries.ClassResiduals("c", "c", [{"c": [3, -2]}], [1], classes=[0]),
    queries.NumberResiduals("x", "c", {"c": [3, -2]}, 40, steps=3),
    queries.MeanEstimate("x", by="c"),
    queries.SumEstimate("y", where="x > 0"),
    queries.ShareEstimate(by="c"),
    queries.QuantileEstimate("y", "1/3", by="c"),
    queries.Tighten(queries.Mean("x", by="c")),
    queries.Tighten(queries.Variance("y")),
    queries.Quantile("x", "1/3"),
    queries.Quantile("y", ["1/4", "1/2", "3/4"], by="c"),
)

#: Queries for what nobody declared, on columns t (text) and u (real, without bounds).
DISCOVERIES: tuple[Query, ...] = (
    queries.KeyCounts("t", delta="1/1000000"),
    queries.Bounds("u"),
)

#: Queries that are computed in several parts, on the columns of `QUERIES`.
SEVERAL: tuple[Query, ...] = (
    queries.Joint(queries.Count(by="c"), queries.Mean("x"), queries.Sum("y", by="c")),
    queries.Best(queries.Count(where="x > 0"), queries.Count(where="x > 1")),
    queries.BestSplit("c", {"x": [1], "y": [1.5]}),
    queries.BestSplit("x", {"y": [1.5, 2.5]}, criterion="variance", by="c"),
    queries.BestSplit("c", {"x": [1], "y": [1.5]}, criterion="deviation"),
    queries.FarMarginals(
        [
            [queries.Axis("x", (1,)), queries.Axis("c")],
            [queries.Axis("c")],
            [queries.Axis("x", (1,))],
        ],
        [[0, 0, 0, 0, 0, 6], [0, 6, 0], [0, 0]],  # of "b" in the first, of "a" in the second
        draws=2,
    ),
    queries.Check(),
    queries.Check("c", "y"),
    queries.RowsPerPerson(3, where="x > 0"),
    Ranges("x", bins=12),
    Ranges("x", "c", bins=6, strategy="haar", where="y >= 1"),
)


def missing(base: type, examples: tuple[object, ...]) -> list[str]:
    """The names of final subclasses of `base` in this package that have no example.

    Examples
    --------
    >>> from discreet import events, testing
    >>> testing.missing(events.Event, testing.EVENTS)
    []
    >>> len(testing.missing(events.Event, ())) > 10
    True
    """
    shown = {type(example) for example in examples}
    found: list[type] = []
    pending = [base]
    while pending:
        below: list[type] = pending.pop().__subclasses__()
        pending += below
        found += below
    ours = [c for c in found if c.__module__.startswith("discreet.") and not c.__subclasses__()]
    return sorted(c.__name__ for c in ours if c not in shown)
