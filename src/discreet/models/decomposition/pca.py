"""Principal components of a noised covariance matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure
from discreet.mechanisms import Gaussian, Laplace, Mechanism
from discreet.models import learned
from discreet.models.decomposition.clipped import ClippedPlan
from discreet.models.decomposition.exponential import ExponentialPlan
from discreet.models.facts import Facts, Question
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.scaled import finest, scaled_moments
from discreet.models.targets import BoundedEstimator
from discreet.queries import CentredSums
from discreet.queries.additive import Floats
from discreet.rational import as_integer, positive

METHODS = ("auto", "sulq", "analyze_gauss", "clipped", "exponential")
#: How many rows are expected where nobody says.
DEFAULT_ROWS = 10_000
#: Noise of this norm, where columns are in [-1, 1], hides variances (``docs/proofs/decomposition.md``).
HIDDEN = 1 / 256


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The moments that are asked for, and how many components are made of them."""

    question: Question
    components: int


@final
@with_parameters
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BoundedEstimator):
    """Principal component analysis of private rows.

    A noised matrix of products gives the covariance, and everything else is post-processing: where rows are
    many, one vector (count, sums, products) of the columns scaled by their bounds to [-1, 1]; where they are
    few for the budget, products of rows that were first moved into a ball around their noised mean. With
    ``method="exponential"`` no matrix is noised: the components themselves are drawn, one after the other.

    Parameters
    ----------
    n_components : int, optional
        All by default.
    method : {"auto", "sulq", "analyze_gauss", "clipped", "exponential"}
        ``"sulq"``: independent Laplace noise on each entry of the symmetric matrix, which is pure DP and
        never needs a delta (SuLQ of Blum et al. 2005, made symmetric). ``"analyze_gauss"``: Gaussian
        noise, for delta > 0 (Dwork et al. 2014). ``"clipped"``: the noise of either, for rows that are
        moved into a ball around their noised mean; far less noise for many columns, and a small bias. It
        reads rows instead of sums. ``"auto"`` is ``"clipped"`` where noise on the whole matrix would hide
        what `expected_rows` show, else ``"analyze_gauss"`` where there is a delta, else ``"sulq"``.
        ``"exponential"``: each component is drawn by the exponential mechanism
        (PPCA: Chaudhuri, Sarwate & Sinha 2013), pure DP whatever the delta; for many columns and few
        components. It reads rows instead of sums.
    whiten : bool
        Whether `transform` divides each component by its standard deviation.
    norm : number, optional
        For ``"clipped"`` and ``"exponential"``: rows farther from the noised mean are moved to this distance,
        in the units of the columns. By default a third of the way from the middle of the box of bounds to a
        corner; for ``"clipped"`` after columns were scaled by their bounds, and up to two thirds of the way
        where `expected_rows` promise little noise. A smaller one means less noise and more bias.
    expected_rows : int, optional
        A public guess of the number of rows, 10000 by default; where the number is public, that one. It only
        decides what ``"auto"`` and the default of `norm` mean.
    accept_assumed : bool
        Whether the ledger that a fit opens accepts ``"exponential"``, which is private in real arithmetic
        that floating point only approximates. A `ledger` that is given must itself have been opened with
        ``accept_assumed=True``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, the largest variance first; in each, the entry of largest magnitude (the first,
        if several) is positive.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components,)
        From the noised covariance (divisor n), at least 0; the ratio is to the sum of all. With
        ``"clipped"`` of the rows as moved; with ``"exponential"`` from noised sums of their squares, in
        falling order.
    mean_ : array of shape (n_features,)
    n_components_ : int
    privacy_ : FitPrivacy

    Privacy
    -------
    The vector's joint sensitivity is an exact integer: no separate share for the mean, and the diagonal
    is noised like every other entry. ``"clipped"`` composes a noised mean (a fifth of the budget) and the
    noised products of rows that lie in the ball by exact integers. No eigenvalue is looked at before the
    noise. Null and NaN count as the column's fill; with no rows the matrix is noise. ``"exponential"``
    composes a noised mean, the draws (an `Assumed` event) and noised sums of squares; its running time
    depends on the rows. Proof page: ``docs/proofs/decomposition.md``.

    Examples
    --------
    >>> from discreet.models.decomposition import PCA
    >>> PCA(2, epsilon=1.0, bounds=(0, 1)).plan(n_features=6).measure
    PureDP(epsilon=1)
    """

    _numbers_only = True

    n_components: int | None = field(default=None, kw_only=False)
    method: str = "auto"
    whiten: bool = False
    norm: Any = None
    expected_rows: Any = None
    accept_assumed: bool = False

    _learned = learned.attributes(
        n_components_=learned.Count(),
        mean_=learned.Array("features"),
        components_=learned.Array("components", "features"),
        explained_variance_=learned.Array("components"),
        explained_variance_ratio_=learned.Array("components"),
    )

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        named = {
            "exponential": ("pca-exponential",),
            "clipped": ("pca-clipped",),
            "auto": ("pca", "pca-clipped"),
        }
        return named.get(self.method, ("pca",))

    def _how(self) -> Measure | Mechanism:
        measure = self._measure()
        if self.method not in METHODS:
            raise ValueError(
                "method must be 'auto', 'sulq', 'analyze_gauss', 'clipped' or 'exponential', "
                f"got {self.method!r}."
            )
        gaussian = isinstance(measure, ApproxDP) and bool(measure.delta)
        if self.method == "analyze_gauss" and not gaussian:
            raise ValueError(
                "method='analyze_gauss' needs delta > 0, as in delta=1e-6; method='sulq' needs none."
            )
        if gaussian and self.method != "sulq":
            return Gaussian(self.epsilon, self.delta)
        return Laplace(self.epsilon)

    def _query(self, facts: Facts) -> CentredSums:
        facts.numeric("PCA")
        return finest(facts, self._how(), "all")

    def _components(self, facts: Facts) -> int:
        d = len(facts.features)
        if self.n_components is None:
            return d
        count = as_integer(self.n_components, "n_components", minimum=1)
        if count > d:
            raise ValueError(
                f"n_components must be at most the number of columns, {d}, got {count}."
            )
        return count

    def _exponential(self, facts: Facts) -> ExponentialPlan:
        return ExponentialPlan(
            facts, facts.numeric("PCA"), self._components(facts), self._measure(), self.norm
        )

    def _clipped(self, facts: Facts) -> ClippedPlan | None:
        """The plan with rows in a ball, where that is asked for, or better for as many rows as expected."""
        if self.method not in ("auto", "clipped"):
            return None
        rows = facts.rows or DEFAULT_ROWS
        if self.expected_rows is not None:
            rows = as_integer(self.expected_rows, "expected_rows", minimum=1)
        if self.norm is not None:
            positive(self.norm, "norm")  # a wrong one isn't taken for too much noise below
        plan = partial(ClippedPlan, facts, facts.numeric("PCA"), self._measure(), rows, self.norm)
        if self.method == "clipped":
            return plan()
        if facts.unit.is_public or not self._hides(facts, rows):
            return None
        return plan()

    def _hides(self, facts: Facts, rows: int) -> bool:
        """Whether noise on the whole matrix would hide the variances of this many rows."""
        asked = facts.ask(self._query(facts), self._how())
        error = float(np.max(asked.expected_error(rows)[..., -1])) / rows
        return error * math.sqrt(len(facts.features)) > HIDDEN

    def _check_own_ledger(self) -> None:
        if self.method == "exponential" and self.accept_assumed is not True:
            raise ValueError(
                "method='exponential' is private in real arithmetic, which floating point only approximates: "
                "pass accept_assumed=True, give a ledger opened with accept_assumed=True, or use "
                "method='sulq', which is proved."
            )

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        budget = self._how()
        if self.method == "exponential":
            plan = self._exponential(facts)
            queries = (plan.mean_query,)
            return FitPlan(plan.event(), self._measure(), plan.noise(rows), queries, facts, plan)
        clipped = self._clipped(facts)
        if clipped is not None:
            self._components(facts)
            asked = (clipped.mean_query,)
            return FitPlan(
                clipped.event(), self._measure(), clipped.noise(rows), asked, facts, clipped
            )
        recipe = _Recipe(facts.ask(self._query(facts), budget), self._components(facts))
        noise = {}
        if rows is not None:
            # of the covariance's entries in [-1, 1], by the product's noise alone
            last = recipe.question.expected_error(rows)[..., -1]
            noise = {"covariance": float(np.max(last)) / max(rows, 1)}
        return FitPlan.from_question(facts, recipe.question, noise, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        if isinstance(plan.recipe, ExponentialPlan | ClippedPlan):
            found = plan.recipe.run(door)
            self.n_components_ = self._components(plan.facts)
            self.mean_ = found.mean
            self.components_ = fix_signs(found.components[: self.n_components_])
            self._set_variances(found.variances[: self.n_components_], found.total)
            return
        recipe: _Recipe = plan.recipe
        facts, count, query = plan.facts, recipe.components, recipe.question.query
        assert isinstance(query, CentredSums)
        release = recipe.question.release(door)
        columns = facts.numeric("PCA")
        lower = np.array([float(column.lower) for column in columns])
        half = np.array([column.width / 2 for column in columns])
        moments = scaled_moments(release.value, release.stderr, len(columns), squares=False)
        covariance = moments.second - np.outer(moments.mean, moments.mean)
        values, vectors = np.linalg.eigh(covariance * np.outer(half, half))
        values = np.maximum(values[::-1], 0.0)
        self.n_components_ = count
        self.mean_ = np.clip(
            lower + half * (moments.mean + query.shift(facts.schema) + 1), lower, lower + 2 * half
        )
        self.components_ = fix_signs(vectors.T[::-1][:count])
        self._set_variances(values[:count], float(values.sum()))

    def _set_variances(self, values: Floats, total: float) -> None:
        self.explained_variance_ = values
        self.explained_variance_ratio_ = values / (total if total > 0 else 1.0)

    def transform(self, X: Any) -> Floats:
        """Project rows onto the components."""
        centred = self._rows(X).numbers() - self.mean_
        return np.asarray(centred @ self.components_.T / self._deviations())

    def output_box(self) -> tuple[Floats, Floats]:
        """Where transformed rows lie, from the declared bounds and what was released."""
        columns = list(self.columns_.values())
        ends = [
            (np.array([float(getattr(c, half)) for c in columns]) - self.mean_) * self.components_
            for half in ("lower", "upper")
        ]
        deviations = self._deviations()
        lower = np.minimum(*ends).sum(axis=1) / deviations
        return lower, np.maximum(*ends).sum(axis=1) / deviations

    def inverse_transform(self, X: Any) -> Floats:
        """Map coordinates along the components back to rows."""
        check_is_fitted(self, "privacy_")
        points = check_array(X, dtype=np.float64)
        if points.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {points.shape[1]} columns, but there are {self.n_components_} components."
            )
        return np.asarray(points * self._deviations() @ self.components_ + self.mean_)

    def _deviations(self) -> Floats:
        if not self.whiten:
            return np.ones(self.n_components_)
        deviations = np.sqrt(self.explained_variance_)
        return np.where(deviations > 0, deviations, 1.0)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def fix_signs(vectors: Floats) -> Floats:
    """Flip rows so that the entry of largest magnitude is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.decomposition import fix_signs
    >>> fix_signs(np.array([[0.6, -0.8], [0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs)[:, None])
