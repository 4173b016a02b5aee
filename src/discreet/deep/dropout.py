"""Dropout switched off, for tries in which two runs of a network must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from discreet.deep.contributions import Tensor

__all__ = ["without_dropout"]


@contextmanager
def without_dropout(model: Any) -> Iterator[None]:
    """Inside the block, no layer of the network, and no function of dropout, draws at random."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        if isinstance(module, nn.MultiheadAttention | nn.RNNBase):
            module.dropout = 0.0
    with _KeepAll():
        yield


@final
class _KeepAll(TorchFunctionMode):
    """Functions of dropout give what they get."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Tensor:
        given = dict(kwargs or {})
        if func in _DROPOUT:
            return args[0] if args else given["input"]
        if func is F.scaled_dot_product_attention:
            args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
            given.pop("dropout_p", None)
        return func(*args, **given)


_DROPOUT = {
    F.dropout,
    F.dropout1d,
    F.dropout2d,
    F.dropout3d,
    F.alpha_dropout,
    F.feature_alpha_dropout,
    torch.dropout,
}
