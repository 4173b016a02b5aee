"""What makes a fit small, and its guests keen: parameters, neighbours and runs, for each estimator.

A guest can only catch half of the noise where a person moves what is told about as far as the guarantee
allows. By default a fit is that of the estimators' registry, on a person in a corner of the domain. Where
that person would move little, or a fit takes long, other public parameters and other rows stand here; where a
bound leaves room for persons there are none of, the control has less than half of the noise, and the reason
stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from subject import HALF

from discreet.models.linear_model import LogisticRegression
from discreet.models.tree import RandomDecisionForest
from discreet.testing import Example

Row = tuple[float, ...]
Rows = list[Row]


@dataclass(frozen=True)
class Small:
    """How guests are shown an estimator.

    Attributes
    ----------
    parameters : mapping
        Those that differ from the registry's.
    inner : mapping
        Parameters of the logistic regression inside of it.
    features : int
        How many columns a model learns from.
    rows : callable, optional
        From the number of columns to pairs of the person's row and the others' rows; else corners.
    runs : int
        On each side, where every run is a fit.
    draws : int, optional
        On each side, where only noise is drawn; by default more, the more numbers a person moves.
    knows_both : bool
        Whether guests are also told to which table each noised sum leans: what it would have been on either
        follows from what was told before.
    share : Fraction
        Of the noise, in the control.
    why : str
        Why that is less than half.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    inner: Mapping[str, Any] = field(default_factory=dict)
    features: int = 2
    rows: Callable[[int], Iterator[tuple[Row, Rows]]] | None = None
    runs: int = 800
    draws: int | None = None
    knows_both: bool = False
    share: Fraction = HALF
    why: str = ""

    def __post_init__(self) -> None:
        assert (self.share < HALF) == bool(self.why), "a weaker control needs a reason"

    def build(self, example: Example, epsilon: Any) -> Any:
        """The estimator to be fitted."""
        inner = {"estimator": LogisticRegression(**self.inner)} if self.inner else {}
        return example.build(**{**self.parameters, **inner, "epsilon": epsilon})


def outvoted(nearness: float, others: int) -> Callable[[int], Iterator[tuple[Row, Rows]]]:
    """One row of a class that a model gives to the other, by many rows near the middle.

    A row's gradient is longest where the model errs most, and rows near the middle hardly bend the loss.
    """

    def rows(columns: int) -> Iterator[tuple[Row, Rows]]:
        near = 0.5 + nearness / 2
        yield (*[1.0] * (columns - 1), 1.0), [(*[near] * (columns - 1), 0.0)] * others

    return rows


def beside(person: Row, *others: Row, each: int) -> Callable[[int], Iterator[tuple[Row, Rows]]]:
    """One row beside this many of each of the others."""
    return lambda columns: iter([(person, list(others) * each)])


#: A plain ridge takes next to nothing of ε for determinants, so all the rest is in the noise; without a
#: constant, rows near the middle are short.
PLAIN = {"alpha": 2, "fit_intercept": False}
HARD = outvoted(0.05, 240)
#: Losses with a slope of 1 where weights are near 0.
STEEP = {"alpha": 500}
#: Noise on the minimiser is as far as a person moves it, whatever the ridge.
OUTPUT = {"alpha": "1/2", "fit_intercept": False}
HARD_OUTPUT = outvoted(0.02, 130)
#: A row that makes some splits better and all others worse, each by as much as a row can.
APART = beside((1.0, 0.0, 1.0), (0.0, 0.0, 0.0), each=60)

SMALL_FITS: dict[str, Small] = {
    "PrivateSearch(settings={'alpha': [None, 20]}, runs=2)": Small(
        {
            "estimator": RandomDecisionForest(n_estimators=1, calibrate=False, random_state=0),
            "settings": {"max_depth": [1, 2]},
        },
        rows=beside((1.0, 1.0, 1.0), each=0),
        runs=350,
        knows_both=True,
        share=Fraction(1, 5),
        why="the best of any number of runs costs three times as much as one run; the best of about two "
        "tells little more than one",
    ),
    "ThresholdClassifier()": Small(inner=PLAIN, rows=HARD, knows_both=True),
    "KMeans(n_clusters=3)": Small(
        {"rounds": 1}, features=1, rows=beside((1.0,), each=0), runs=500, knows_both=True
    ),
    "KMeans(n_clusters=3, method='sample_aggregate')": Small(
        # rows of one block, found by a random search
        rows=beside((0.02, 0.583), (0.68, 0.976), (0.008, 0.545), (0.988, 0.024), each=1),
        draws=100_000,
    ),
    "PCA(n_components=1, method='clipped')": Small(knows_both=True),
    "PCA(n_components=1, method='exponential', accept_assumed=True)": Small(
        rows=beside((1.0, 1.0), (0.5, 0.5), each=4000),
        runs=1200,
        knows_both=True,
        share=Fraction(1, 3),
        why="directions for which the density and its integral both move as far as they may are hardly "
        "ever drawn",
    ),
    "LogisticRegression()": Small(PLAIN, rows=HARD),
    "LogisticRegression(method='output')": Small(OUTPUT, rows=HARD_OUTPUT),
    "LinearSVC()": Small(STEEP, runs=1600),
    "LinearSVR()": Small(STEEP, runs=1600),
    "SVC(n_components=16, random_state=0)": Small(
        {**STEEP, "n_components": 1, "fit_intercept": False}, runs=1000
    ),
    "SVR(n_components=16, random_state=0)": Small(
        {**STEEP, "n_components": 1, "fit_intercept": False}, runs=1000
    ),
    "SimpleLinearRegression(feature=0, method='theil_sen')": Small(
        # the person's lines are below all others
        rows=beside((0.0, 0.5, 0.0), (1.0, 0.5, 1.0), (0.9, 0.5, 1.0), each=10),
        share=Fraction(1, 8),
        why="the bound is for a row that is in a pair of every round, each time instead of a line on the "
        "other side; by chance it is in six of ten, and seldom instead of another",
    ),
    # each cut is at one side of the person's row or at the other, with the same chance
    "QuantileBinner(n_bins=3)": Small(features=1, rows=beside((0.5,), (0.0,), each=8), runs=8000),
    "RandomDecisionForest(n_estimators=4, max_depth=5, random_state=0)": Small(
        {"n_estimators": 1, "max_depth": 2}, rows=beside((1.0, 1.0, 1.0), each=0), knows_both=True
    ),
    # the line of a forest is looked at above; without it all noise is drawn at once
    "RandomDecisionForestRegressor(n_estimators=16, max_depth=6, random_state=0)": Small(
        {"n_estimators": 4, "calibrate": False}
    ),
    "DecisionTreeClassifier()": Small({"max_depth": 1}, rows=APART, runs=2400, knows_both=True),
    # with few rows expected, leaves get more of the budget, and they are moved as far as the bound allows
    "DecisionTreeRegressor()": Small(
        {"max_depth": 1, "expected_rows": 500},
        rows=APART,
        runs=20_000,  # fewer don't show half of the noise
        knows_both=True,
    ),
    "AdditiveBoostingClassifier(rounds=2, cells=16)": Small(
        {"rounds": 1}, rows=beside((1.0, 1.0, 1.0), (1.0, 1.0, 0.0), each=200), knows_both=True
    ),
    "AdditiveBoostingRegressor(rounds=2, cells=16)": Small(
        {"rounds": 1}, rows=beside((1.0, 1.0, 1.0), (1.0, 1.0, 0.0), each=200), knows_both=True
    ),
    "MaskedData(samples=40, random_state=0)": Small({**PLAIN, "samples": 16}, rows=HARD),
    "MaskedData(samples=32, random_state=0, method='greedy')": Small(
        {**OUTPUT, "perturbation": "output", "samples": 16}, rows=HARD_OUTPUT
    ),
}


def small_fit_of(example: Example) -> Small:
    return SMALL_FITS.get(str(example), Small())
