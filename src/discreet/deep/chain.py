"""Networks that are a chain of linear layers and simple activations, with a plan of their own.

For a small network most of a step goes into noting what it does. A chain does the same each time, so forward
and backward pass are written out once: a few products of matrices, persons side by side as *columns*. In that
layout the products of torch round a person's numbers in the same way at every place, which they don't with
persons as rows (MKL, inner sizes that are no multiple of 4); that, too, is tested at each start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.deep.contributions import Tensor
from discreet.deep.tape import Unknown

__all__ = ["Chain"]

_BACKWARD = torch.ops.aten
#: Activations, with what turns the gradient of their output, and that output, into the gradient of the input.
ACTIVATIONS: dict[type, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    nn.Tanh: (torch.tanh, _BACKWARD.tanh_backward.default),
    nn.Sigmoid: (torch.sigmoid, _BACKWARD.sigmoid_backward.default),
    nn.ReLU: (torch.relu, lambda g, y: _BACKWARD.threshold_backward.default(g, y, 0)),
}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@final
class Chain:
    """The layers of a chain, in order."""

    def __init__(self, layers: list[Any], flat: bool) -> None:
        self._flat = flat
        self.linear = [each for each in layers if type(each) is nn.Linear]
        self._biases = [each.bias for each in self.linear]
        self._steps = [
            (each.weight, each.bias, None)
            if type(each) is nn.Linear
            else (None, None, ACTIVATIONS[type(each)])
            for each in layers
        ]

    @classmethod
    def find(cls, model: Any) -> Chain | None:
        """The chain that a network is; None if it is not one, or if it is not trained as a whole."""
        layers: list[Any] = []
        if not _unfold(model, layers):
            return None
        flat = bool(layers) and type(layers[0]) is nn.Flatten
        layers = layers[1:] if flat else layers
        linear = [each for each in layers if type(each) is nn.Linear]
        known = all(type(each) is nn.Linear or type(each) in ACTIVATIONS for each in layers)
        trained = [each for layer in linear for each in layer.parameters()]
        owned = {id(each) for each in model.parameters()}  # a container may have some of its own
        if not known or not linear or len(owned) < len(trained) or owned - set(map(id, trained)):
            return None
        kinds = {(each.dtype, each.device.type, each.requires_grad) for each in trained}
        if kinds not in [{(kind, "cpu", True)} for kind in (torch.float32, torch.float64)]:
            return None
        return cls(layers, flat)

    def columns(
        self, inputs: tuple[Tensor, ...], losses: Callable[[Tensor], Tensor], weights: Tensor
    ) -> list[tuple[Tensor, Tensor]]:
        """The input of each linear layer and the gradient of its output, persons as columns.

        Parameters
        ----------
        inputs : tuple of tensor
            One tensor, rows in the first dimension.
        losses : callable
            From outputs, rows in the first dimension, to one loss for each.
        weights : tensor
            What each loss is multiplied by.
        """
        [x] = inputs
        if x.dim() != 2 and not self._flat:
            raise Unknown("rows of a chain are one number after the other")
        with torch.no_grad():
            value = x.flatten(1).t().contiguous()
            values = [value]
            for weight, bias, activation in self._steps:
                if activation is not None:
                    value = activation[0](value)
                elif bias is None:
                    value = weight @ value
                else:
                    value = torch.addmm(bias[:, None], weight, value)
                values.append(value)
        outputs = value.t().contiguous().requires_grad_()
        with torch.enable_grad():
            [slope] = torch.autograd.grad(losses(outputs), outputs, weights)
        found = []
        with torch.no_grad():
            gradient = slope.t().contiguous()
            for at in range(len(self._steps) - 1, -1, -1):
                weight, _, activation = self._steps[at]
                if activation is not None:
                    gradient = activation[1](gradient, values[at + 1])
                    continue
                found.append((values[at], gradient))
                if len(found) == len(self.linear):
                    break
                assert weight is not None
                gradient = weight.t() @ gradient
        return found[::-1]

    def stack(
        self, columns: list[tuple[Tensor, Tensor]]
    ) -> tuple[npt.NDArray[np.float64], list[tuple[int, int]]]:
        """All inputs and below them all output gradients, as float64; and how many each layer has.

        A bias is the weight of one more input, which is always 1.
        """
        ones = torch.ones_like(columns[0][0][:1])
        parts, widths = [], []
        for bias, (before, after) in zip(self._biases, columns, strict=True):
            parts += [before] if bias is None else [before, ones]
            widths.append((len(before) + (bias is not None), len(after)))
        parts += [after for _, after in columns]
        return np.concatenate([part.numpy() for part in parts], dtype=np.float64), widths

    def flatten(self, totals: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """What layers have, a bias in the last column, in the order of the network's parameters."""
        flat: list[npt.NDArray[np.int64]] = []
        for bias, total in zip(self._biases, totals, strict=True):
            flat += [total.ravel()] if bias is None else [total[:, :-1].ravel(), total[:, -1]]
        return np.concatenate(flat)


def _unfold(module: Any, layers: list[Any]) -> bool:
    """Add the layers of nested sequences; False if a module could do more than its type says."""
    if any(getattr(module, name) for name in _HOOKS) or "forward" in vars(module):
        return False
    if type(module) is not nn.Sequential:
        layers.append(module)
        return type(module) is not nn.Flatten or (module.start_dim, module.end_dim) == (1, -1)
    return all(_unfold(each, layers) for each in module)
