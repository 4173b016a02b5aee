"""A tape of what a network does with its parameters, and from it what each person adds to their gradient.

While the tape runs, each use of a parameter in a layer that is known here is noted with its input and the
place of its output in autograd's graph. One backward pass to these places then gives every person's
gradients. Nothing is hung on the network, no gradient of a parameter is asked for, and the graph is walked
to see that no parameter reaches the losses in a way that was not noted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import torch
import torch.nn.functional as F
from torch.autograd.graph import get_gradient_edge
from torch.overrides import TorchFunctionMode

from discreet.deep import layers
from discreet.deep.contributions import Contribution, Dense, Tensor, add

__all__ = ["Slot", "Tape", "Unknown"]


class Unknown(Exception):
    """A parameter is used in a way that the tape doesn't know."""


@dataclass(frozen=True)
class Slot:
    """Some rows of a parameter: all of them, or a part of packed projections."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Use:
    """One use of a parameter: where its output is in the graph, and how gradients follow from there."""

    slots: tuple[Slot, ...]
    input: Tensor
    version: int
    edge: Any
    #: From output gradients and persons' sizes to one contribution for each slot.
    differentiate: Callable[[Tensor, int], Sequence[Contribution]]
    #: The tensors through which the graph goes on below this use.
    below: tuple[Any, ...]


@final
class Tape(TorchFunctionMode):
    """Note each use of the parameters inside a ``with`` block.

    Parameters
    ----------
    parameters : dict
        The trained parameters by name.
    rows : int
        The number of rows in the block, the first dimension of every layer's input.
    """

    def __init__(self, parameters: dict[str, Tensor], rows: int) -> None:
        super().__init__()
        self._names = {id(parameter): name for name, parameter in parameters.items()}
        self._parameters = parameters
        self._rows = rows
        self.uses: list[Use] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Tensor:
        handler = layers.HANDLERS.get(func)
        if handler is None:
            handler = layers.RECURRENT.get(getattr(func, "__name__", ""))
        if handler is None:
            return func(*args, **(kwargs or {}))
        return handler(self, func, *args, **(kwargs or {}))

    def knows(self, *tensors: Tensor) -> bool:
        """Whether one of these is a trained parameter."""
        return any(id(tensor) in self._names for tensor in tensors if tensor is not None)

    def slot(self, parameter: Tensor, start: int = 0, stop: int | None = None) -> Slot | None:
        """The slot of a parameter's rows; None if it isn't trained."""
        name = self._names.get(id(parameter))
        if name is None:
            return None
        return Slot(name, start, len(parameter) if stop is None else stop)

    def note(
        self,
        slots: Sequence[Slot],
        value: Tensor,
        output: Tensor,
        differentiate: Callable[[Tensor, int], Sequence[Contribution]],
    ) -> Tensor:
        """Note a use whose input is `value`; returns the output."""
        if not slots or not output.requires_grad:
            return output
        if value.dim() == 0 or value.shape[0] != self._rows:
            raise Unknown(
                f"the layer of {slots[0].name} gets an input whose first dimension is not the batch"
            )
        below = (value.grad_fn,) if value.requires_grad and value.grad_fn is not None else ()
        self.uses.append(
            Use(
                tuple(slots),
                value.detach(),
                value._version,
                get_gradient_edge(output),
                differentiate,
                below,
            )
        )
        return output

    def linear(
        self,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        rows: tuple[int, int] | None = None,
        shifts: tuple[int, int] | None = None,
    ) -> Tensor:
        """A linear map, noted; by some `rows` of a packed weight, and `shifts` of a packed bias."""
        part = weight if rows is None else weight[slice(*rows)]
        shift = bias if bias is None or shifts is None else bias[slice(*shifts)]
        output = F.linear(x, part, shift)
        weighted = self.slot(weight, *(rows or ()))
        shifted = None if bias is None else self.slot(bias, *(shifts or ()))
        slots = [slot for slot in (weighted, shifted) if slot is not None]
        differentiate = layers.linear_gradients(
            x.detach(), weighted is not None, shifted is not None
        )
        return self.note(slots, x, output, differentiate)

    def contributions(
        self, losses: Tensor, persons: int
    ) -> dict[str, list[tuple[Slot, Contribution]]]:
        """Every person's gradient of the sum of losses, by parameter and rows of it.

        Raises
        ------
        Unknown
            When a parameter reaches the losses past the noted uses.
        """
        _check_complete(losses, self.uses, self._names)
        edges = [use.edge for use in self.uses]
        found: dict[str, dict[Slot, list[Contribution]]] = {name: {} for name in self._parameters}
        gradients: Sequence[Any] = ()
        if edges:
            gradients = torch.autograd.grad(losses.sum(), edges, allow_unused=True)
        with torch.no_grad():
            for use, gradient in zip(self.uses, gradients, strict=True):
                if gradient is None:
                    continue
                if use.input._version != use.version:
                    raise Unknown(
                        f"the input of the layer of {use.slots[0].name} was changed in place"
                    )
                parts = use.differentiate(gradient, persons)
                for slot, part in zip(use.slots, parts, strict=True):
                    found[slot.name].setdefault(slot, []).append(part)
            return {
                name: self._merge(
                    name, {slot: add(parts) for slot, parts in slots.items()}, persons
                )
                for name, slots in found.items()
            }

    def _merge(
        self, name: str, slots: dict[Slot, Contribution], persons: int
    ) -> list[tuple[Slot, Contribution]]:
        """Slots that don't overlap; where they do, the full gradients of the whole parameter."""
        parameter = self._parameters[name]
        ordered = sorted(slots, key=lambda slot: slot.start)
        if all(a.stop <= b.start for a, b in pairwise(ordered)):
            return [(slot, slots[slot]) for slot in ordered]
        width = parameter[0].numel()
        full = parameter.new_zeros(persons, parameter.numel())
        for slot, part in slots.items():
            full[:, slot.start * width : slot.stop * width] += part.materialise()
        return [(Slot(name, 0, len(parameter)), Dense(full))]


def _check_complete(losses: Tensor, uses: Sequence[Use], names: dict[int, str]) -> None:
    """Walk the graph from the losses: every way to a parameter must lead through a noted use."""
    noted = {use.edge.node: use for use in uses}
    stack, seen = [losses.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None and id(variable) in names:
            raise Unknown(f"{names[id(variable)]} is used outside of the layers that are known")
        use = noted.get(node)
        stack += [after for after, _ in node.next_functions] if use is None else list(use.below)
