"""Perturb rows one by one: what each person reports instead of their own row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.accounting import satisfies
from discreet.coding import VALUE_BITS, Sensitivity
from discreet.coding.clipping import clip_rows
from discreet.columns import Categorical, Numeric
from discreet.deprecation import former_method
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution, GeneralizedRandomizedResponse, mechanism_for
from discreet.mechanisms.local.response import respond
from discreet.models.reading import column_array, column_names, read_cells
from discreet.models.rows import Rows
from discreet.noise.norm_gamma import check_norm_gamma, norm_gamma
from discreet.rational import positive, rational
from discreet.schema import Schema

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

#: A number at its upper bound is this integer, at its lower bound minus it.
ONE = 2**12
_WHY = (
    "norm-Gamma noise is drawn as a direction times a radius in float64, of exact integer draws: its "
    "distribution is exact in real numbers only"
)


@final
@dataclass(frozen=True)
class RowPerturbation:
    """A channel that each person applies to a whole row: noise on numbers, randomised response on categories.

    Local: it takes values, not a data set, and nobody has to be trusted. A curator who holds the rows
    uses `perturb`.

    Parameters
    ----------
    schema : Schema
        All columns must be numbers with bounds, or categories.
    epsilon, delta : number
        What one report costs. With ``delta=0`` numbers get discrete Laplace noise, else the less noisy of
        that and Gaussian noise.
    target : str, optional
        The column that is to be learned, if it holds categories: it gets `label_share` of ε.
    norm : number, optional
        Numbers are scaled to [-1, 1] by their bounds; rows of them longer than this are scaled down to it.
        By default √(d/3), for d numbers.
    label_share : number, optional
        Between 0 and 1. By default what maximises tanh(ε_y/2)·(ε - ε_y): the first factor is what randomised
        response leaves of a label, the other what noise leaves of the numbers. The rest of ε is
        divided evenly: one part for each number, one for each category.
    kind : {"grid", "norm-gamma"}
        ``"norm-gamma"``: noise of density ∝ exp(-ε‖b‖/(2·norm)), as Pham, Ghosh & Yegneswaran add it
        (algorithm 2), but on a grid; ``delta`` must be 0. Its event is `Assumed`.

    Privacy
    -------
    ε-local DP, or (ε, δ), for the whole row, label included: any two rows count as neighbours. NaN and
    whatever is not a number count as the schema says, an unknown category as the first one; no value makes
    it raise or changes a length. With ``kind="norm-gamma"`` this is assumed, not proved: it holds in real
    arithmetic. Proof page: ``docs/proofs/input_perturbation.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Real(20, 80), state=dp.Categorical("ill", "well"))
    >>> channel = dp.publish.RowPerturbation(schema, epsilon=8, target="state")
    >>> told = channel.randomize({"age": [34.0, 51.0], "state": ["ill", "well"]})
    >>> channel.measure, sorted(told)
    (PureDP(epsilon=8), ['age', 'state'])
    """

    schema: Schema
    epsilon: Fraction
    delta: Fraction
    target: str | None
    norm: Fraction | None
    label_share: Fraction | None
    kind: Literal["grid", "norm-gamma"]

    def __init__(
        self,
        schema: Schema,
        *,
        epsilon: Any,
        delta: Any = 0,
        target: str | None = None,
        norm: Any = None,
        label_share: Any = None,
        kind: Literal["grid", "norm-gamma"] = "grid",
    ) -> None:
        if not isinstance(schema, Schema):
            raise TypeError(f"schema must be a dp.Schema, not {type(schema).__name__}.")
        for name, column in schema.base.items():
            if not isinstance(column, Numeric | Categorical):
                raise ValueError(
                    f"column {name!r} must be dp.Real, dp.Integer or dp.Categorical to be perturbed."
                )
        if target is not None and not isinstance(schema[target], Categorical):
            raise ValueError(
                "target must be a column of categories: a column of numbers needs no share of its own."
            )
        if kind not in ("grid", "norm-gamma"):
            raise ValueError(f"kind must be 'grid' or 'norm-gamma', got {kind!r}.")
        exact = rational(delta, "delta")
        if not 0 <= exact < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}.")
        if exact and kind == "norm-gamma":
            raise ValueError("delta must be 0 with norm-Gamma noise.")
        share = None if label_share is None else rational(label_share, "label_share")
        if share is not None and not 0 < share < 1:
            raise ValueError(f"label_share must lie between 0 and 1, got {label_share!r}.")
        for name, value in (
            ("schema", schema),
            ("epsilon", positive(epsilon, "epsilon")),
            ("delta", exact),
            ("target", target),
            ("norm", None if norm is None else positive(norm, "norm")),
            ("label_share", share),
            ("kind", kind),
        ):
            object.__setattr__(self, name, value)

    @property
    def measure(self) -> Measure:
        """The guarantee of one row; assumed with norm-Gamma noise."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers that can differ at all."""
        base = self.schema.base.items()
        return tuple(n for n, c in base if isinstance(c, Numeric) and c.steps(VALUE_BITS))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The columns of two or more categories."""
        base = self.schema.base.items()
        return tuple(n for n, c in base if isinstance(c, Categorical) and len(c.values) > 1)

    @cached_property
    def shares(self) -> Mapping[str, Fraction]:
        """The share of ε of each column of categories, and of all numbers together as ``""``."""
        parts: dict[str, Fraction] = {}
        rest = self.epsilon
        others = [name for name in self.categories if name != self.target]
        weight = len(self.numbers) + len(others)
        if self.target in self.categories:
            share = Fraction(1) if not weight else self.label_share or _even_loss(self.epsilon)
            parts[str(self.target)] = self.epsilon * share
            rest -= parts[str(self.target)]
        if self.numbers:
            parts[""] = rest * len(self.numbers) / weight
        for name in others:
            parts[name] = rest / weight
        return parts

    @cached_property
    def radius(self) -> int:
        """A bound on the L2 norm of a row of numbers, in units of 1/ONE."""
        width = len(self.numbers)
        longest = math.isqrt(ONE * ONE * width)
        if self.norm is None:
            return math.isqrt(ONE * ONE * width // 3)
        return max(1, min(math.floor(self.norm * ONE), longest))

    @cached_property
    def moved(self) -> Sensitivity:
        """How far the numbers of two rows can be apart: ‖a - b‖₁ ≤ √d·‖a - b‖₂ ≤ 2√d·radius."""
        width, radius = len(self.numbers), self.radius
        l1 = min(math.isqrt(4 * width * radius**2), 2 * ONE * width)
        return Sensitivity(l1, min(4 * radius**2, 4 * ONE**2 * width))

    @cached_property
    def distribution(self) -> Distribution:
        """The noise on each number; not for norm-Gamma noise.

        Gaussian noise is used where the accountant can show that all columns together cost no more.
        """
        share = self.shares[""]
        if self.delta:
            distribution = mechanism_for(ApproxDP(share, self.delta), self.moved).distribution(
                self.moved
            )
            told = events.Compose(distribution.event(self.moved), *self._responses())
            if satisfies(told, self.measure):
                return distribution
        return mechanism_for(PureDP(share), self.moved).distribution(self.moved)

    def _responses(self) -> list[events.Event]:
        return [self.response(name).event() for name in self.categories]

    def response(self, name: str) -> GeneralizedRandomizedResponse:
        """The mechanism for a column of categories; reports are positions in its list of values."""
        column = self.schema.base[name]
        assert isinstance(column, Categorical)
        return GeneralizedRandomizedResponse(self.shares[name], len(column.values))

    def event(self) -> events.Event:
        """The event of one row's report, for the accountant."""
        found: list[events.Event] = []
        if self.numbers:
            if self.kind == "grid":
                found.append(self.distribution.event(self.moved))
            else:
                check_norm_gamma(len(self.numbers), self._gamma_scale, 2.0**52)
                cost = events.External(PureDP(self.shares[""]), "norm-Gamma noise on numbers")
                found.append(events.Assumed(cost, _WHY))
        return events.Compose(*found, *self._responses())

    def spread(self) -> dict[str, float]:
        """The standard deviation of the noise on each column of numbers, in its unit."""
        if not self.numbers:
            return {}
        size = self.distribution.expected_error() if self.kind == "grid" else self._gamma_spread()
        base = self.schema.base
        return {name: size / ONE * base[name].width / 2 for name in self.numbers}  # type: ignore[union-attr]

    def _gamma_spread(self) -> float:
        # E‖b‖² = d(d + 1)·scale², spread over d coordinates
        return math.sqrt(len(self.numbers) + 1) * self._gamma_scale

    @property
    def _gamma_scale(self) -> float:
        return 2 * self.radius / float(self.shares[""])

    def randomize(self, rows: Any) -> dict[str, Array]:
        """Draw one report for each row: a mapping from columns to values, in the rows' order.

        Parameters
        ----------
        rows : mapping of names to arrays, data frame, or array with the schema's columns in order
        """
        names = tuple(self.schema.base)
        given = column_names(rows)
        if given is not None:
            lacking = [name for name in names if name not in given]
            if lacking:
                raise ValueError(f"rows must have the column {lacking[0]!r}.")
            cells = tuple(column_array(rows, name) for name in names)
        else:
            matrix = read_cells(rows)
            if matrix.ndim != 2 or matrix.shape[1] != len(names):
                raise ValueError(f"rows must have {len(names)} columns, as the schema does.")
            cells = tuple(matrix[:, place] for place in range(len(names)))
        if len({len(column) for column in cells}) > 1:
            raise ValueError("rows must have columns of the same length.")
        columns = tuple(self.schema.base.values())
        return self.decode(self.blur(Rows(cells, columns, names, len(cells[0])).codes()))

    blurred = former_method("blurred", "blur")
    decoded = former_method("decoded", "decode")

    def blur(self, codes: Integers) -> Integers:
        """Reports for rows of the schema's codes: numbers in units of 1/ONE, categories as positions."""
        base = self.schema.base
        names = tuple(base)
        found = np.zeros(codes.shape, np.int64)
        if self.numbers:
            places = [names.index(name) for name in self.numbers]
            steps = np.array([base[n].steps(VALUE_BITS) for n in self.numbers])  # type: ignore[union-attr]
            z = clip_rows(as_units(codes[:, places], steps), self.radius)
            found[:, places] = (
                self.distribution.run(z) if self.kind == "grid" else self._with_gamma(z)
            )
        for name in self.categories:
            place, response = names.index(name), self.response(name)
            known = np.maximum(codes[:, place], 0)
            found[:, place] = respond(known, response.k, response.lie)
        return found

    def _with_gamma(self, z: Integers) -> Integers:
        """Noise of density ∝ exp(-‖b‖·share/(2·radius)): a radius Gamma(d, 2·radius/share), any direction."""
        drawn = norm_gamma(len(z), z.shape[1], self._gamma_scale)
        moved = np.clip(np.rint(drawn), -(2.0**52), 2.0**52)
        return np.asarray(z + moved.astype(np.int64))

    def decode(self, reports: Integers) -> dict[str, Array]:
        """Reports as values; numbers are not clamped, so that they stay unbiased."""
        found: dict[str, Array] = {}
        for place, (name, column) in enumerate(self.schema.base.items()):
            if isinstance(column, Numeric):
                half = column.width / 2
                found[name] = float(column.lower) + half + half / ONE * reports[:, place]
            else:
                assert isinstance(column, Categorical)
                found[name] = np.asarray(column.values)[reports[:, place]]
        return found


def as_units(codes: Integers, steps: Any) -> Integers:
    """Codes from 0 to `steps`, at most 2^20, as the integers ⌊(2k - steps)·ONE/steps⌋ between -ONE and ONE.

    float64 is exact here: numerators are below 2^33, and a quotient that is no integer is 2^-20 away from
    one, while rounding moves it by at most 2^-41.
    """
    units = np.multiply(codes, 2.0 * ONE)
    units -= np.multiply(steps, float(ONE))
    units /= steps
    np.floor(units, out=units)
    return np.asarray(units.astype(np.int64))


def _even_loss(epsilon: Fraction) -> Fraction:
    """The share s of ε that maximises tanh(sε/2)·(1 - s): a multiple of 1/1024."""
    size = min(float(epsilon), 1e6)
    best = max(range(1, 1024), key=lambda k: math.tanh(k * size / 2048) * (1024 - k))
    return Fraction(best, 1024)
