"""What a network and its loss keep of the rows that go through them: nothing, or they are refused."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.deep.clipping import Differentiator, Loss
from discreet.deep.contributions import Tensor

__all__ = ["check_hooks", "check_kept"]

#: What all modules have, and what is looked at elsewhere.
_APART = ("_parameters", "_modules")
#: Where modules keep their hooks.
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
#: How far objects inside of attributes are followed.
_DEPTH = 6


def check_hooks(where: str, module: Any) -> None:
    """Raise for hooks on a module: they get rows, or what was made of them, before any noise.

    Parameters
    ----------
    where : str
        How errors call the module.
    module : torch.nn.Module
    """
    if any(getattr(module, name, None) for name in _HOOKS):
        raise ValueError(
            f"{where} with hooks, which see rows before any noise is added: remove them. In place of "
            "torch.nn.utils.weight_norm or spectral_norm use torch.nn.utils.parametrizations."
        )


def check_kept(model: Any, loss: Loss, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Run a network on public rows, and raise if anything that it, or the loss, keeps has changed.

    Parameters
    ----------
    model : torch.nn.Module
        Its parameters are changed; give a copy.
    loss : callable
    inputs : tuple of tensors
    targets : tensor

    Privacy
    -------
    A parameter that is written to in a forward pass has a row's values without noise. What is kept of one
    batch reaches the next ones, or the released network, without any noise; even a count of calls tells
    how many persons were drawn.
    """
    others = tuple(map(_other_rows, inputs))
    with torch.no_grad():
        for parameter in model.parameters():  # what has converged (spectral norm) must move, too
            parameter.mul_(1 + torch.rand_like(parameter))
        fresh = copy.deepcopy(model)
        engine = _engine(model, loss)
        states = [_facts(engine)]
        for rows in (inputs, others):
            engine.losses(rows, targets, len(targets))
            states.append(_facts(engine))
        engine = _engine(fresh, loss)
        engine.losses(others, targets, len(targets))
        states.append(_facts(engine))
    start, once, twice, other = states
    for name in sorted(once.keys() | twice.keys() | other.keys()):
        # what the first run makes may stay, such as a mask that is built once, if no row is in it
        is_new = "the attribute" in name and start.get(name) is None
        first = once.get(name) if is_new else start.get(name)
        if not all(_same(first, state.get(name)) for state in (once, twice, other)):
            raise ValueError(
                f"{name} changes when it runs in training, which would keep what it saw of the rows without "
                "noise. Remove what changes it."
            )


def _other_rows(values: Tensor) -> Tensor:
    """Rows of other values: larger ones, or the first row everywhere where they are whole numbers."""
    if values.is_floating_point():
        return 10 * values + 1
    return values[:1].expand_as(values).clone()


def _engine(model: Any, loss: Loss) -> Differentiator:
    return Differentiator(model, copy.deepcopy(loss) if isinstance(loss, nn.Module) else loss)


def _facts(engine: Differentiator) -> dict[str, Any]:
    """Copies of all that a network and its loss keep, by what errors call it."""
    parts = (("model", engine.model), ("loss", engine.loss))
    return {f"{whose}: {name}": fact for whose, of in parts for name, fact in _held(of).items()}


def _held(of: Any) -> dict[str, Any]:
    """Copies of all that an object keeps: of modules by the names of their buffers and attributes."""
    of = of.__self__ if inspect.ismethod(of) else of
    if not isinstance(of, nn.Module):
        held = getattr(of, "__dict__", {})
        return {f"the attribute {name}": _copy(value) for name, value in held.items()}
    found = {f"the buffer {name}": each.detach().clone() for name, each in of.named_buffers()}
    for name, each in of.named_parameters():
        found[f"the parameter {name}"] = each.detach().clone()
    for name, module in of.named_modules():
        for key, value in vars(module).items():
            if key not in (*_APART, "_buffers"):
                found[f"the attribute {name}.{key}".replace(" .", " ")] = _copy(value)
    return found


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except (
        Exception
    ):  # such as a tensor with a history: compared with itself, and no leaf of a state
        return value


def _same(one: Any, other: Any, depth: int = _DEPTH) -> bool:
    """Whether two copies of an attribute hold the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        alike = one.shape == other.shape and one.dtype == other.dtype
        return alike and bool(torch.equal(one.detach(), other.detach()))
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[k], other[k], depth) for k in one)
    if isinstance(one, list | tuple | deque):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(a, b, depth) for a, b in pairs)
    if isinstance(one, str | bytes | int | float | complex | set | frozenset | type(None)):
        return bool(one == other)
    if isinstance(one, nn.Module | type) or not depth:
        return True
    return _same(getattr(one, "__dict__", None), getattr(other, "__dict__", None), depth - 1)
