"""What each person adds to the gradient of one parameter, in the form in which the layer gives it.

A linear layer's share is a product of two thin arrays, an embedding's is a few rows, all others are full
arrays. Norms and weighted sums are taken in that form where it is cheaper. Everything here is float
arithmetic of torch; what must be exact happens on the integer grid, see `discreet.deep.grid`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import torch

from discreet.deep.grid import Coded, CodedDense, CodedOuter, CodedRows, Order

__all__ = ["Contribution", "Dense", "Outer", "Rows", "add"]

#: A tensor of torch, which carries no types where it is not installed.
Tensor = Any


class Contribution(ABC):
    """The gradients of one parameter, one for each person of a block."""

    @abstractmethod
    def materialise(self) -> Tensor:
        """The gradients as one array of shape (persons, parameter's size)."""

    @abstractmethod
    def squared_norms(self) -> Tensor:
        """The squared norm of each person's gradient, in float arithmetic."""

    @abstractmethod
    def weighted_sum(self, weights: Tensor) -> Tensor:
        """The sum over persons of weight times gradient, flat, in float arithmetic."""

    @abstractmethod
    def coded(self) -> Coded:
        """The same for the integer grid, where norms and sums are exact."""


@final
@dataclass(frozen=True)
class Dense(Contribution):
    """Full gradients, of shape (persons, size); with an `order` other than the parameter's."""

    gradients: Tensor
    order: Order | None = None

    def materialise(self) -> Tensor:
        return self._ordered(self.gradients)

    def _ordered(self, gradients: Tensor) -> Tensor:
        """The same numbers in the order of the parameter."""
        if self.order is None:
            return gradients
        axes = [0, *(1 + axis for axis in self.order.axes)]
        return gradients.reshape(-1, *self.order.shape).permute(axes).flatten(1)

    def squared_norms(self) -> Tensor:
        return self.gradients.square().sum(dim=1)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        return self._ordered((weights @ self.gradients)[None])[0]

    def coded(self) -> Coded:
        return CodedDense(_array(self.gradients), self.order)


@final
@dataclass(frozen=True)
class Outer(Contribution):
    """Σ_t g_t a_tᵀ for inputs a, of shape (persons, places, width), and output gradients g alike.

    Norms come from the two Gram matrices of a person's places where that is less work ("ghost norms",
    Goodfellow 2015; Li, Tramèr, Liang & Hashimoto 2022), and the weighted sum is one product of matrices
    (book-keeping; Bu, Wang, Zha & Karypis 2023).
    """

    inputs: Tensor
    outputs: Tensor

    @property
    def places(self) -> int:
        """How many products one person's gradient is a sum of."""
        return int(self.inputs.shape[1])

    def materialise(self) -> Tensor:
        full = torch.bmm(self.outputs.transpose(1, 2), self.inputs)
        return full.reshape(len(full), -1)

    def squared_norms(self) -> Tensor:
        if self.places == 1:
            inputs, outputs = self.inputs[:, 0], self.outputs[:, 0]
            return inputs.square().sum(dim=1) * outputs.square().sum(dim=1)
        if self._ghost_is_cheaper():
            inner = torch.bmm(self.inputs, self.inputs.transpose(1, 2))
            outer = torch.bmm(self.outputs, self.outputs.transpose(1, 2))
            return (inner * outer).sum(dim=(1, 2)).clamp(min=0)
        return self.materialise().square().sum(dim=1)

    def _ghost_is_cheaper(self) -> bool:
        wide, narrow = self.inputs.shape[2], self.outputs.shape[2]
        return bool(self.places * (wide + narrow) < 2 * wide * narrow)

    def weighted_sum(self, weights: Tensor) -> Tensor:
        outputs = (self.outputs * weights[:, None, None]).flatten(0, 1)
        return (outputs.T @ self.inputs.flatten(0, 1)).flatten()

    def coded(self) -> Coded:
        if self.places == 1:
            return CodedOuter(_array(self.inputs[:, 0]), _array(self.outputs[:, 0]))
        return CodedDense(_array(self.materialise()))


@final
@dataclass(frozen=True)
class Rows(Contribution):
    """Gradients that touch few rows of a table: `indices` (persons, places), `gradients` with a width."""

    indices: Tensor
    gradients: Tensor
    rows: int

    def _combine(self) -> Tensor:
        """The gradients with those of equal rows added up at their first place, and zero elsewhere."""
        same = self.indices[:, :, None] == self.indices[:, None, :]
        first = ~torch.tril(same, diagonal=-1).any(dim=2)
        totals = torch.bmm(same.to(self.gradients.dtype), self.gradients)
        return totals.masked_fill(~first[:, :, None], 0)

    def materialise(self) -> Tensor:
        persons, _, width = self.gradients.shape
        full = self.gradients.new_zeros(persons, self.rows, width)
        places = self.indices[:, :, None].expand_as(self.gradients)
        return full.scatter_add_(1, places, self.gradients).flatten(1)

    def squared_norms(self) -> Tensor:
        return self._combine().square().sum(dim=(1, 2))

    def weighted_sum(self, weights: Tensor) -> Tensor:
        width = self.gradients.shape[2]
        full = self.gradients.new_zeros(self.rows, width)
        weighted = (self.gradients * weights[:, None, None]).flatten(0, 1)
        return full.index_add_(0, self.indices.flatten(), weighted).flatten()

    def coded(self) -> Coded:
        return CodedRows(_array(self.indices), _array(self._combine()), self.rows)


def add(parts: list[Contribution]) -> Contribution:
    """One contribution for a parameter that is used several times: gradients add up before the norm."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, Outer) for part in parts):
        return Outer(
            torch.cat([part.inputs for part in parts], dim=1),  # type: ignore[attr-defined]
            torch.cat([part.outputs for part in parts], dim=1),  # type: ignore[attr-defined]
        )
    if all(isinstance(part, Rows) for part in parts):
        return Rows(
            torch.cat([part.indices for part in parts], dim=1),  # type: ignore[attr-defined]
            torch.cat([part.gradients for part in parts], dim=1),  # type: ignore[attr-defined]
            parts[0].rows,  # type: ignore[attr-defined]
        )
    return Dense(torch.stack([part.materialise() for part in parts]).sum(dim=0))


def _array(tensor: Tensor) -> Any:
    """The numbers of a tensor in main memory, in float32, float64 or int64."""
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    return tensor.detach().cpu().numpy()
