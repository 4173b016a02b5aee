"""The masks of Choi & Lee 2019 as published: LS, LS+ and pseudo-quantum. None of them is private.

Source: K. Choi, T. Lee, *Differentially private M-band wavelet-based mechanisms in machine learning
environments*, 2019. They are here so that its experiments can be repeated and its claims tested
(``docs/proofs/refuted.md``), on rows declared public.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import VALUE_BITS
from discreet.columns import Categorical, Numeric
from discreet.dataset import PrivateDataset
from discreet.publish.masks.sigmoid import laplace_sigmoid, multipliers, noise_parameter
from discreet.publish.wavelets import THREE_BAND, FilterBank, forward_blocks, inverse_blocks
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import PUBLIC, Relation, Unit, as_unit

__all__ = [
    "LS",
    "MAX_REAL_INTENSITY",
    "PRINTED_THRESHOLD",
    "LSPlus",
    "PseudoQuantum",
    "PublishedMask",
]

Array = npt.NDArray[Any]

#: Up to this δ the pseudo-quantum mask gives real numbers (Remark 1).
MAX_REAL_INTENSITY = 2 / math.sqrt(3) - 1
#: Labels from this on become 1 (section 3.2.1, step 4).
THRESHOLD = 0.5
#: What the paper prints in its place for pseudo-quantum (section 3.4.2, step 6).
PRINTED_THRESHOLD = -0.5


class PublishedMask(ABC):
    """A mask as it was published, for rows declared public.

    Privacy
    -------
    None: each is refuted, and no ledger accepts it.
    """

    #: The claim that refutes it, and what holds the promise instead.
    claim: ClassVar[str]
    repair: ClassVar[str]
    bank: FilterBank
    threshold: float = THRESHOLD

    def apply(
        self,
        rows: npt.ArrayLike,
        *,
        unit: Unit | Relation,
        target: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Array:
        """Mask a table.

        Parameters
        ----------
        rows : array of shape (rows, columns)
        unit : dp.PUBLIC
            Said by the caller, as for a data set: the rows are nobody's secret.
        target : int, optional
            The column of labels 0 and 1: at the end it is set to 1 from the mask's threshold on (0.5),
            else to 0.
        random_state : int or numpy Generator, optional

        Returns
        -------
        array of the same shape
        """
        found, _ = self.draw(rows, 1, unit=unit, target=target, random_state=random_state)
        return np.asarray(found[0])

    def publish(
        self, data: PrivateDataset, *, target: str | None = None, random_state: Any = None
    ) -> dict[str, Array]:
        """Mask all rows of a data set whose unit is ``dp.PUBLIC``; categories count as 0, 1, …

        Returns
        -------
        mapping of columns to arrays
            The column `target` holds its own values again if it has two categories.
        """
        if not isinstance(data, PrivateDataset):
            raise TypeError(
                f"data must be a dp.PrivateDataset, not {type(data).__name__}; for an array of public rows, "
                "use apply(rows, unit=dp.PUBLIC)."
            )
        found: dict[str, Array] = data.run(_PublicRows(self, data.schema, target, random_state))
        return found

    def check(self, unit: Unit | Relation) -> None:
        """Refuse rows that aren't declared public."""
        if not as_unit(unit).is_public:
            raise ValueError(
                f"{type(self).__name__} is not private, whatever its epsilon "
                f"(docs/proofs/refuted.md, {self.claim!r}): it runs on rows declared public alone, with "
                f"unit=dp.PUBLIC. For private rows, use {self.repair}."
            )

    def draw(
        self,
        rows: npt.ArrayLike,
        trials: int,
        *,
        unit: Unit | Relation,
        target: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> tuple[Array, Array]:
        """Draw many masks of one table, with the signs of the Laplace noise in each; else as `apply`.

        Returns
        -------
        masked : array of shape (trials, rows, columns)
        trace : int8 array of shape (trials, blocks, coefficients, columns)
            1 where the Laplace noise on a coefficient is positive or 0, else -1: what the authors call
            trace(X) and keep to approximate the data (section 3.2.2).
        """
        self.check(unit)
        table = np.asarray(rows, np.float64)
        if table.ndim != 2:
            raise ValueError("rows must be a table: an array of shape (rows, columns).")
        generator = np.random.default_rng(random_state)
        block = self._block(len(table))
        coefficients = forward_blocks(table, self.bank, block)
        changed = self._changed(block)
        masked, drawn = self._embed(coefficients[:, changed], trials, generator)
        moved = np.zeros((trials, *coefficients.shape), masked.dtype)
        moved[:, :, changed] = masked - coefficients[:, changed]
        back = inverse_blocks(moved.reshape(-1, *coefficients.shape[1:]), self.bank)
        found = table + back.reshape(trials, -1, table.shape[1])[:, : len(table)]
        if target is not None:
            found[..., target] = np.where(found[..., target].real >= self.threshold, 1.0, 0.0)
        return found, np.where(drawn >= 0, 1, -1).astype(np.int8)

    @abstractmethod
    def _block(self, rows: int) -> int:
        """How many rows are transformed together."""

    @abstractmethod
    def _changed(self, block: int) -> slice:
        """The coefficients of a block that get noise."""

    @abstractmethod
    def _embed(
        self, coefficients: Array, trials: int, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Coefficients with noise, and the Laplace noise that was drawn."""


class _Approximated(PublishedMask):
    """A mask of the whole table that changes its approximation band alone."""

    def _block(self, rows: int) -> int:
        return max(1, -(-rows // self.bank.bands)) * self.bank.bands

    def _changed(self, block: int) -> slice:
        return slice(0, block // self.bank.bands)


class _Sigmoid(PublishedMask):
    """A mask with Laplace–Sigmoid noise, whose multipliers are scaled over `scaled` axes."""

    scaled: ClassVar[tuple[int, ...] | None]
    epsilon: float
    gamma: float

    def __post_init__(self) -> None:
        _check_parameters(epsilon=self.epsilon, gamma=self.gamma)

    def _embed(
        self, coefficients: Array, trials: int, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        y = multipliers(coefficients, self.gamma, axis=self.scaled)
        parameter = noise_parameter(self.epsilon, self.gamma)
        added, drawn = laplace_sigmoid(y, parameter, trials, generator)
        return coefficients + added, drawn


@final
@dataclass(frozen=True)
class LS(_Sigmoid, _Approximated):
    """LS: Laplace–Sigmoid noise on the approximation band (Choi & Lee 2019, section 3.2).

    Parameters
    ----------
    epsilon : float
        As the authors state it; ``math.inf`` for no noise.
    gamma : float
        The multipliers are the sigmoids of numbers in [-γ, γ].
    bank : FilterBank

    Examples
    --------
    >>> import discreet as dp
    >>> table = np.random.default_rng(0).integers(0, 2, (27, 3))
    >>> LS(0.5, 1).apply(table, unit=dp.PUBLIC).shape
    (27, 3)

    Privacy
    -------
    None: two thirds of the coefficients come out as they went in, so ε = ∞ (``docs/proofs/refuted.md``,
    `wavelet-ls`); use `WaveletApproximation`, or rather what ``docs/guides/publish.md`` suggests.
    """

    claim: ClassVar[str] = "wavelet-ls"
    repair: ClassVar[str] = "WaveletApproximation"
    scaled: ClassVar[tuple[int, ...] | None] = None

    epsilon: float
    gamma: float = 1.0
    bank: FilterBank = field(default=THREE_BAND, repr=False)


@final
@dataclass(frozen=True)
class LSPlus(_Sigmoid):
    """LS+: Laplace–Sigmoid noise on all coefficients of each block of rows (Choi & Lee 2019, section 3.3).

    >>> import numpy as np
    >>> from discreet import PUBLIC
    >>> LSPlus(epsilon=0.5).apply(np.ones((9, 2)), unit=PUBLIC).shape  # not private: public rows only
    (9, 2)

    Parameters
    ----------
    epsilon : float
        As the authors state it; ``math.inf`` for no noise.
    gamma : float
        The multipliers are the sigmoids of numbers in [-γ, γ].
    block : int
        Rows in a block; a last one with fewer is padded with zeros, which are dropped afterwards.
    bank : FilterBank

    Privacy
    -------
    None: the multipliers depend on the data without bound, so ε = ∞ (``docs/proofs/refuted.md``,
    `wavelet-ls-plus`); use `WaveletLaplace`, or rather what ``docs/guides/publish.md`` suggests.
    """

    claim: ClassVar[str] = "wavelet-ls-plus"
    repair: ClassVar[str] = "WaveletLaplace"
    scaled: ClassVar[tuple[int, ...] | None] = (1, 2)

    epsilon: float
    gamma: float = 1.0
    block: int = 9
    bank: FilterBank = field(default=THREE_BAND, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if as_integer(self.block, "block", minimum=1) % self.bank.bands:
            raise ValueError(f"block must be a multiple of {self.bank.bands}, got {self.block}.")

    def _block(self, rows: int) -> int:
        return self.block

    def _changed(self, block: int) -> slice:
        return slice(None)


@final
@dataclass(frozen=True)
class PseudoQuantum(_Approximated):
    """The pseudo-quantum mask: noise embedded in angles of the approximation band (Choi & Lee 2019, 3.4).

    >>> import numpy as np
    >>> from discreet import PUBLIC
    >>> PseudoQuantum(0.5).apply(np.ones((9, 2)), unit=PUBLIC).shape  # not private: public rows only
    (9, 2)

    Parameters
    ----------
    epsilon : float
        As the authors state it. It has no effect: the noise is rescaled by its own extremes.
    delta_intensity : float
        δ, the embedding intensity. Above 2/√3 - 1 ≈ 0.1547 arccos and arcsin leave the real numbers, and
        the mask is complex (principal values; some programs give the conjugates).
    eta : float
        The embedding bias, from 0 to 1. As printed the branches overlap where it is positive; the first
        that applies is used: the cosine with probability (1 + η)/2.
    bank : FilterBank
    threshold : float
        Labels from this on become 1. The paper prints `PRINTED_THRESHOLD`, -0.5, "like in the LS and LS+
        mechanisms", which use 0.5; by it nearly all labels become 1.

    Privacy
    -------
    None: two thirds of the coefficients come out as they went in, and ε has no effect at all
    (``docs/proofs/refuted.md``, `wavelet-pseudo-quantum`); use `AngleEmbedding`, or rather what
    ``docs/guides/publish.md`` suggests.
    """

    claim: ClassVar[str] = "wavelet-pseudo-quantum"
    repair: ClassVar[str] = "AngleEmbedding"

    epsilon: float
    delta_intensity: float = 0.1
    eta: float = 0.0
    bank: FilterBank = field(default=THREE_BAND, repr=False)
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        _check_parameters(epsilon=self.epsilon)
        if not math.isfinite(self.threshold):
            raise ValueError(f"threshold must be a finite number, got {self.threshold!r}.")
        if not 0 <= self.delta_intensity < math.inf:
            raise ValueError(
                f"delta_intensity must be at least 0 and finite, got {self.delta_intensity!r}."
            )
        if not 0 <= self.eta <= 1:
            raise ValueError(f"eta must be between 0 and 1, got {self.eta!r}.")

    def _embed(
        self, coefficients: Array, trials: int, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        angle, low, high = _angles(coefficients, axis=None)
        drawn = generator.laplace(size=(trials, *coefficients.shape)) * (2 / self.epsilon)
        embedded, _, _ = _angles(drawn, axis=(1, 2, 3))
        coin = generator.random(drawn.shape)
        cosine = np.cos(angle) + self.delta_intensity * np.cos(embedded)
        sine = np.sin(angle) + self.delta_intensity * np.sin(embedded)
        if self.delta_intensity > MAX_REAL_INTENSITY:
            by_cosine, by_sine = np.arccos(cosine + 0j), np.arcsin(sine + 0j)
        else:
            by_cosine, by_sine = (np.arccos(np.minimum(cosine, 1)), np.arcsin(np.minimum(sine, 1)))
        turned = np.where(coin >= (1 - self.eta) / 2, by_cosine, by_sine)
        return 6 * turned * (high - low) / math.pi - high + 2 * low, drawn


def _angles(values: Array, axis: Any) -> tuple[Array, Array, Array]:
    """Values put into [π/6, π/3] by their own extremes, and these (steps 2 and 3); π/6 if all are equal."""
    low = values.min(axis=axis, keepdims=True, initial=np.inf)
    high = values.max(axis=axis, keepdims=True, initial=-np.inf)
    width = np.where(high > low, high - low, 1.0)
    return math.pi / 6 * (1 + np.where(high > low, (values - low) / width, 0.0)), low, high


def _check_parameters(**given: float) -> None:
    for name, value in given.items():
        if not value > 0 or (name != "epsilon" and math.isinf(value)):
            raise ValueError(f"{name} must be greater than 0, got {value!r}.")


@final
class _PublicRows(Step):
    """A published mask on the rows of a data set."""

    def __init__(
        self, mask: PublishedMask, schema: Schema, target: str | None, random_state: Any
    ) -> None:
        self.columns = tuple(schema.base)
        if target is not None and target not in self.columns:
            raise ValueError(f"target must be a column of the schema, got {target!r}.")
        self._mask, self._target, self._random_state = mask, target, random_state

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        self._mask.check(unit)
        return events.Compose()

    def run(self, rows: CodedRows) -> dict[str, Array]:
        base = rows.schema.base
        table = np.empty(rows.codes.shape)
        for place, name in enumerate(rows.names):
            codes, column = rows.codes[:, place], base[name]
            table[:, place] = np.maximum(codes, 0)
            if isinstance(column, Numeric):
                table[:, place] = column.lower + codes * (
                    column.width / max(1, column.steps(VALUE_BITS))
                )
        target = None if self._target is None else rows.names.index(self._target)
        masked = self._mask.apply(
            table, unit=PUBLIC, target=target, random_state=self._random_state
        )
        found = {name: masked[:, place] for place, name in enumerate(rows.names)}
        label = None if self._target is None else base[self._target]
        if isinstance(label, Categorical) and len(label.values) == 2:
            found[str(self._target)] = np.asarray(label.values)[
                found[str(self._target)].real.astype(int)
            ]
        return found

    def __repr__(self) -> str:
        return repr(self._mask)
