"""A pipeline in which nothing learns from private rows unpaid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np
from sklearn.pipeline import Pipeline as ScikitPipeline
from sklearn.preprocessing import Binarizer, Normalizer

from discreet.dataset import PrivateDataset
from discreet.models.base import PrivateEstimator
from discreet.models.reading import choose_unit

__all__ = ["Pipeline"]

#: Steps of scikit-learn that learn nothing, and the bounds of what comes out of them.
STATELESS: dict[type, tuple[float, float]] = {Normalizer: (-1.0, 1.0), Binarizer: (0.0, 1.0)}


@final
class Pipeline(ScikitPipeline):
    """scikit-learn's pipeline, which refuses what would learn from private rows without being charged.

    Its steps are private estimators, ``"passthrough"``, and scikit-learn's `Normalizer` and `Binarizer`,
    which learn nothing. A plain ``StandardScaler`` in front of a private model would learn means and
    variances of the rows, which nobody pays for and which the model's certificate does not cover.

    Parameters
    ----------
    steps : list of (name, estimator)
        If more than one of them is charged, all need the same ``ledger=`` (and the same unit).
    transform_input, memory : None
        Nothing else is accepted: `memory` would write rows to a disk.
    verbose : bool

    Privacy
    -------
    Each step is charged to the shared ledger before it reads a row, so a fit costs what its steps cost,
    added up by the ledger. What a step hands on are rows, which stay here, and its public bounds
    (``output_box``), a function of declared columns and released numbers: a step without ``bounds`` or
    ``schema`` takes those. Categories are declared by the first step's schema, and handed on. All refusals
    come before the first charge. Proof page: ``docs/proofs/ledger.md``.
    """

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Fit all steps, each charged before it reads a row.

        Parameters
        ----------
        X : array, data frame or mapping of names to arrays
        y : array, optional
        groups : array, optional
            The person each row belongs to, for a unit with ``max_rows``.
        """
        self._fit_last(X, y, groups, params)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Any:
        """Fit all steps, and transform the same rows. The transformed rows are not private."""
        Xt = self._fit_last(X, y, groups, params)
        last = self.steps[-1][1]
        return Xt if _is_passthrough(last) else last.transform(Xt)

    def fit_predict(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Any:
        """Fit all steps, and predict for the same rows. The predictions of these rows are not private."""
        Xt = self._fit_last(X, y, groups, params)
        return self.steps[-1][1].predict(Xt)

    def _fit_last(self, X: Any, y: Any, groups: Any, params: dict[str, Any]) -> Any:
        """Fit every step in turn; the rows as the last one was given them."""
        if params:
            raise TypeError(f"fit takes X, y and groups, not {next(iter(params))!r}.")
        self._check(X)
        Xt, box = X, None
        for index, (_, step) in enumerate(self.steps):
            if _is_passthrough(step):
                continue
            if isinstance(step, PrivateEstimator):
                step.__dict__.pop("_box", None)
                if box is not None:
                    step.__dict__["_box"] = box
                step.fit(Xt, y, groups=groups)
            if index < len(self.steps) - 1:
                Xt = step.transform(Xt)
                box = _box_after(step)
        return Xt

    def _check(self, X: Any) -> None:
        """Refuse, from public facts alone, what would leak, or could not be charged."""
        if not self.steps:
            raise ValueError("steps must hold at least one (name, estimator).")
        if self.memory is not None:
            raise ValueError("memory must be None: it would write private rows to a disk.")
        if getattr(self, "transform_input", None) is not None:
            raise ValueError("transform_input must be None: a private pipeline hands on X alone.")
        paying = []
        for name, step in self.steps:
            if isinstance(step, PrivateEstimator):
                if step._needs_besides:
                    raise ValueError(
                        f"step {name!r}: {type(step).__name__} needs {step._needs_besides}, which a pipeline "
                        "can't hand on: fit it alone."
                    )
                paying.append((name, step))
            elif not _is_passthrough(step) and type(step) not in STATELESS:
                raise ValueError(
                    f"step {name!r}: {type(step).__name__} would learn from the rows without being charged. "
                    "Use a step of discreet.models (models there scale by declared bounds on their own), "
                    "'passthrough', or scikit-learn's Normalizer or Binarizer; or fit it on public rows, "
                    "outside."
                )
        if len(self.steps) > 1 and isinstance(X, PrivateDataset):
            raise TypeError(
                "X must be an array, a data frame or a mapping: the rows of a PrivateDataset can't be handed "
                "from step to step. Fit the last step on it alone."
            )
        _check_boxes(self.steps)
        _check_ledgers(paying)


def _check_boxes(steps: list[tuple[str, Any]]) -> None:
    """Check that every step after the first will know bounds, and that all but the last transform."""
    before = None
    for index, (name, step) in enumerate(steps):
        if _is_passthrough(step):
            continue
        if index < len(steps) - 1 and not hasattr(step, "transform"):
            raise TypeError(f"step {name!r}: {type(step).__name__} has no transform; put it last.")
        undeclared = isinstance(step, PrivateEstimator) and (
            step.schema is None and getattr(step, "bounds", None) is None
        )
        if before is not None and undeclared and not _has_box(before):
            raise ValueError(
                f"step {name!r}: bounds must be declared, since nothing public is known of what comes out of "
                f"{type(before).__name__}."
            )
        before = step


def _has_box(step: Any) -> bool:
    return type(step) in STATELESS or hasattr(step, "output_box")


def _check_ledgers(paying: list[tuple[str, PrivateEstimator]]) -> None:
    """Check that steps which are charged share one ledger and protect the same unit."""
    if len(paying) < 2:
        return
    units = [choose_unit(step.unit, step.ledger) for _, step in paying]
    if any(unit != units[0] for unit in units):
        raise ValueError(
            f"steps {paying[0][0]!r} and {paying[-1][0]!r} must protect the same unit."
        )
    ledgers = [step.ledger for _, step in paying]
    if not units[0].is_public and any(one is None or one is not ledgers[0] for one in ledgers):
        raise ValueError(
            "ledger must be given, the same for all steps that are charged, as in ledger=dp.Ledger(limit="
            "dp.PureDP(1)): with ledgers of their own nothing would add up what they cost together."
        )


def _is_passthrough(step: Any) -> bool:
    return step is None or step == "passthrough"


def _box_after(step: Any) -> Any:
    """The public bounds of what comes out of a step; None where nobody knows any."""
    if type(step) in STATELESS:
        return STATELESS[type(step)]
    if hasattr(step, "output_box"):
        found = step.output_box()
        return found if isinstance(found, Mapping) else tuple(np.asarray(end) for end in found)
    return None
