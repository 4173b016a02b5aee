"""What all private estimators share: open the data, charge the plan, learn through the door."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.columns import Base, Real
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.checked import fit_checked
from discreet.models.facts import Facts, describe_fit
from discreet.models.features import input_names, recipes_of
from discreet.models.inputs import Opened, open_input, plan_facts
from discreet.models.learned import Kind, attributes
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.privacy import ALONE, FitPrivacy
from discreet.models.reading import column_array, column_names, pair, read_cells
from discreet.models.rows import Rows
from discreet.models.seeds import check_seed
from discreet.noise import entropy
from discreet.rational import as_integer, rational
from discreet.unit import Unit

Self = TypeVar("Self", bound="PrivateEstimator")


@with_parameters
class PrivateEstimator(BaseEstimator, ABC):
    """An estimator whose training sees rows only through the door of a `PrivateDataset`.

    A subclass says which target it learns (`_target`), what it will ask (`_plan`, from public facts
    alone), and what it makes of the noised answers (`_train`). This class opens the data, charges the
    whole plan once, before a row is read, has that plan carried out, and records what was paid in
    ``privacy_``.

    Parameters
    ----------
    epsilon, delta : number
        The budget of one fit; pure DP if `delta` is 0. Infinite only with ``unit=dp.PUBLIC``.
    schema : Schema, optional
        Declares features and target, by name or in the order of X's columns.
    unit : Unit, optional
        Who is protected; the ledger's unit, else add/remove with one row per person.
    ledger : Ledger, optional
        Where the fit is charged; by default a fresh one, which knows of no other charges.

    Privacy
    -------
    The door accepts the plan's events and nothing else, so ``fit`` is as private as the event that
    `_plan` gives, for the unit; `plan` shows the same plan without data. Learned attributes are
    functions of noised answers and public facts.

    Examples
    --------
    >>> from discreet.models import PrivateEstimator
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> model = GaussianNB(epsilon=2, bounds=(0, 1), classes=[0, 1])
    >>> isinstance(model, PrivateEstimator), model.plan(n_features=3).measure
    (True, PureDP(epsilon=2))
    """

    epsilon: Any = 1.0
    delta: Any = 0.0
    schema: Any = None
    unit: Any = None
    ledger: Any = None

    #: What the target is: classes, a number between bounds, or none.
    _target: ClassVar[Literal["none", "class", "number"]] = "none"
    #: Whether all features must be numbers: derived columns are then seen as such.
    _numbers_only: ClassVar[bool] = False
    #: Whether features of wide bounds are seen on their logarithmic scale.
    _log_scaling: ClassVar[bool] = False
    #: Names of the claims that the guarantee rests on.
    _claims: ClassVar[tuple[str, ...]] = ()
    #: What a fit learns besides classes: the attributes that a model file has, with their kinds.
    _learned: ClassVar[Mapping[str, Kind]] = attributes()
    #: The public bounds of the features where no parameter gives them: those of a pipeline's last step.
    _box: ClassVar[Any] = None
    #: What a fit needs besides private rows; whatever fits it for somebody else has none, and must refuse.
    _needs_besides: ClassVar[str] = ""

    @abstractmethod
    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        """Decide what will be asked, and for how much: from parameters and public facts alone.

        `rows` is a guess of the number of rows for the expected noise (None: leave that out); it must
        not change the event.
        """

    @abstractmethod
    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        """Carry out the plan's recipe, and set what was learned. Nothing here sees a row."""

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        target: str | None = None,
        check: bool | float = False,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Learn from rows, privately.

        Parameters
        ----------
        X : array, data frame, mapping of names to arrays, or PrivateDataset
            A `PrivateDataset` brings its own schema, unit and ledger.
        y : array, optional
            The target, one value per row; for frames and data sets, name it by `target` instead.
        groups : array, optional
            The person each row belongs to, for a unit with ``max_rows``.
        target : str, optional
            The name of the target's column; the schema's last column by default.
        check : bool or float
            True spends a tenth of the budget, a number that share of it, on a check of the features and
            the target: ``checked_`` has what it found, and what is suspicious is warned of.
        features : sequence of str, optional
            The columns to learn from, all that stand in the table by default. Derived columns such as
            ``dp.Month`` are learned from only if they are named; rows to predict for have the columns that
            they are derived from.
        """
        source = open_input(self, X, y, groups, target, features)
        if check is not False:
            return fit_checked(self, source, check)
        return self._fit_source(source)

    def _fit_source(self: Self, source: Opened) -> Self:
        """Plan, charge and learn: all of `fit` but the reading of its arguments."""
        return self._carry_out(self._plan(source.facts, None), source)

    def _carry_out(self: Self, plan: FitPlan, source: Opened) -> Self:
        """Charge a plan, then learn what it asks."""
        note = describe_fit(self, plan.facts)
        with source.data.prepaid(plan.event, plan.measure, note=note) as door:
            self._remember(plan.facts, source.named)
            self._train(plan, door)
            entry = door.entry
        paid = FitPrivacy(
            plan.event,
            plan.measure,
            plan.unit,
            self._claims,
            entry,
            not plan.unit.is_public and not entropy.is_fixed(),
            self._note(plan.facts, source.own_ledger),
        )
        self._set_privacy(paid)
        return self

    def _set_privacy(self, paid: FitPrivacy) -> None:
        """Set what was paid for the fit; it is the price of models inside of this one, too."""
        self.privacy_ = paid

    def plan(
        self,
        data: Any = None,
        *,
        n_features: int | None = None,
        rows: int | None = None,
        target: str | None = None,
        features: Sequence[str] | None = None,
    ) -> FitPlan:
        """Tell what a fit would cost and how noisy it would be, without touching a row.

        Parameters
        ----------
        data : PrivateDataset, optional
            Supplies schema and unit, for an estimator that declares none itself.
        n_features : int, optional
            The number of features, where neither schema nor bounds give it.
        rows : int, optional
            A public guess of the number of rows, for the expected noise.
        target, features : optional
            As for `fit`.
        """
        facts = plan_facts(self, data, n_features, rows, target, features)
        self._check_settings(facts.unit)
        guess = facts.rows if rows is None else as_integer(rows, "rows")
        return self._plan(facts, guess)

    def _measure(self) -> Measure:
        """What is charged: (ε, δ), pure if δ is 0."""
        if isinstance(self.epsilon, bool) or self.epsilon is None:
            raise TypeError("epsilon must be a number greater than 0.")
        if not (self.epsilon == math.inf or rational(self.epsilon, "epsilon") > 0):
            raise ValueError(f"epsilon must be greater than 0, got {self.epsilon!r}.")
        delta = rational(self.delta, "delta")
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {self.delta!r}.")
        return ApproxDP(self.epsilon, delta) if delta else PureDP(self.epsilon)

    def _check_settings(self, unit: Unit) -> None:
        """Raise for a budget or a seed that no fit can have, before anything is charged."""
        check_seed(getattr(self, "random_state", None))
        self._measure()
        if self.epsilon == math.inf and not unit.is_public:
            raise ValueError("epsilon may be infinite (no noise) only with unit=dp.PUBLIC.")

    def _check_own_ledger(self) -> None:
        """Raise where a ledger that a fit opens for itself needs consent that wasn't given."""

    def _declared_width(self) -> int | None:
        """How many features the parameters declare; None if they don't say."""
        bounds = getattr(self, "bounds", None)
        if bounds is None:
            return None
        sizes = {np.size(half) for half in pair(bounds, "bounds") if np.ndim(half)}
        return max(sizes) if sizes else None

    def _declared_features(self, names: Sequence[str]) -> Mapping[str, Base] | None:
        """The feature columns as parameters declare them; None if they don't."""
        bounds = getattr(self, "bounds", None)
        if bounds is None:
            bounds = self._box
        if isinstance(bounds, Mapping):
            return {name: bounds[name] for name in names}
        if bounds is None:
            return None
        lower, upper = (
            np.broadcast_to(_numbers(half, "bounds"), len(names))
            if np.ndim(half) == 0 or np.shape(half) == (len(names),)
            else _wrong_width(half, len(names))
            for half in pair(bounds, "bounds")
        )
        return {n: Real(float(a), float(b)) for n, a, b in zip(names, lower, upper, strict=True)}

    def _infer_features(
        self, names: Sequence[str], cells: Sequence[npt.NDArray[Any]]
    ) -> Mapping[str, Base]:
        """The feature columns as *public* rows show them: bounds are the smallest and largest value."""
        found = {}
        for name, values in zip(names, cells, strict=True):
            x = np.asarray(values, np.float64)
            x = x[np.isfinite(x)]
            low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
            found[name] = Real(low, high)
        return found

    def _undeclared_message(self) -> str:
        """The error where features are not declared."""
        return (
            "bounds must be declared, as in bounds=(0, 100) or bounds=([0, 17], [1, 90]), or a schema: they "
            "are never taken from private rows. Rows that anyone may see are fitted with unit=dp.PUBLIC."
        )

    def _remember(self, facts: Facts, named: bool) -> None:
        """Set what scikit-learn wants to know, and what prediction needs."""
        self.n_features_in_ = len(facts.features)
        if named:
            self.feature_names_in_ = np.array(facts.features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        pairs = zip(facts.features, facts.columns, strict=True)
        self.columns_ = {name: getattr(column, "plain", column) for name, column in pairs}
        for stale in ("derived_", "checked_"):  # of an earlier fit
            self.__dict__.pop(stale, None)
        if recipes := recipes_of(facts):
            self.derived_ = recipes
        if self._target == "class":
            self.classes_ = np.unique(np.asarray(facts.labels))

    def _check_learned(self) -> None:
        """Raise if what was read from a file doesn't belong together."""

    def _note(self, facts: Facts, own_ledger: bool) -> str:
        if facts.unit.is_public:
            return "the rows were declared public; nothing was charged"
        return ALONE if own_ledger else ""

    def _by_class(self, facts: Facts) -> npt.NDArray[np.int64]:
        """The position of each of ``classes_`` in an answer by target."""
        places = {label: place for place, label in enumerate(facts.labels)}
        return np.array([places[label] for label in self.classes_.tolist()], np.int64)

    def _rows(self, X: Any) -> Rows:
        """Rows to predict for, to be read by the same public rules as the rows of a fit."""
        check_is_fitted(self, "privacy_")
        names = tuple(self.columns_)
        given = column_names(X)
        if hasattr(self, "derived_"):
            return self._derive_rows(X, given)
        fitted = set(getattr(self, "feature_names_in_", ()))
        if given is not None and fitted and fitted < set(given):
            # surplus columns are left out by name, as in `fit`
            cells = tuple(column_array(X, name) for name in names)
        elif isinstance(X, Mapping) and given is not None:
            self._check_names(given)
            cells = tuple(column_array(X, name) for name in names)
        elif given is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            cells = tuple(column_array(X, name) for name in given)
        else:
            if isinstance(X, np.ma.MaskedArray):
                X = read_cells(X)
            matrix = validate_data(
                self, X, reset=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0
            )
            cells = tuple(matrix[:, j] for j in range(matrix.shape[1]))
        return Rows(cells, tuple(self.columns_.values()), names, len(cells[0]))

    def _derive_rows(self, X: Any, given: Sequence[str] | None) -> Rows:
        """Rows to predict for, derived features computed from the columns that they are derived from."""
        needed = input_names(self)
        missing = [name for name in needed if name not in (given or ())]
        if missing:
            raise ValueError(
                f"X must be a frame, or a mapping of names to arrays, with the columns {', '.join(needed)}: "
                f"{', '.join(self.derived_)} is computed from them; {missing[0]!r} is not there."
            )
        cells = {name: column_array(X, name) for name in needed}
        found = tuple(
            self.derived_[name].read(cells, column) if name in self.derived_ else cells[name]
            for name, column in self.columns_.items()
        )
        return Rows(found, tuple(self.columns_.values()), tuple(self.columns_), len(found[0]))

    def _check_names(self, given: Sequence[str]) -> None:
        """Check the names of a mapping, which scikit-learn does not look at."""
        fitted = list(getattr(self, "feature_names_in_", []))
        if list(given) != fitted:
            raise ValueError(
                "The feature names should match those that were passed during fit: "
                f"{', '.join(fitted[:20]) or 'none'}, in this order."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # filled by the schema's public rule
        tags.target_tags.required = self._target != "none"
        tags.non_deterministic = self.epsilon != math.inf
        return tags


def _numbers(value: Any, name: str) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers.") from None


def _wrong_width(half: Any, width: int) -> Any:
    raise ValueError(
        f"bounds must hold two numbers, or two sequences with one number for each of the {width} features; "
        f"one of them has shape {np.shape(half)}."
    )
