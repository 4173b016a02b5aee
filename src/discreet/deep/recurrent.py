"""Recurrent layers, written out step by step in linear maps that the tape notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from discreet.deep.contributions import Tensor

if TYPE_CHECKING:
    from discreet.deep.tape import Tape

__all__ = ["run_gru", "run_lstm", "run_relu", "run_tanh"]

#: From the share of the input, the share of the state, and the states, to the new states.
Cell = Callable[[Tensor, Tensor, tuple[Tensor, ...]], tuple[Tensor, ...]]


def _lstm_cell(x: Tensor, h: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    i, f, g, o = (x + h).chunk(4, dim=-1)
    cell = torch.sigmoid(f) * states[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def _gru_cell(x: Tensor, h: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    reset_x, update_x, new_x = x.chunk(3, dim=-1)
    reset_h, update_h, new_h = h.chunk(3, dim=-1)
    update = torch.sigmoid(update_x + update_h)
    new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
    return ((1 - update) * new + update * states[0],)


def _tanh_cell(x: Tensor, h: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (torch.tanh(x + h),)


def _relu_cell(x: Tensor, h: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (torch.relu(x + h),)


def _runner(cell: Cell, states: int) -> Any:
    """The handler for a recurrent layer with this cell and so many states."""

    def handler(tape: Tape, func: Any, *args: Any) -> Any:
        # packed sequences and projections are left to torch: the walk finds their parameters
        if not isinstance(args[2], list | tuple) or not isinstance(args[3], bool):
            return func(*args)
        x, given, weights, biased, count, dropout, train, both, batch_first = args
        starts = tuple(given) if states == 2 else (given,)
        per_layer = 4 if biased else 2
        if x.dim() != 3 or len(weights) != per_layer * count * (2 if both else 1):
            return func(*args)
        x = x if batch_first else x.transpose(0, 1)
        ends: list[tuple[Tensor, ...]] = []
        for layer in range(count):
            if layer and dropout and train:
                x = F.dropout(x, dropout, True)
            found = []
            for direction in range(2 if both else 1):
                at = layer * (2 if both else 1) + direction
                parts = weights[per_layer * at : per_layer * (at + 1)]
                begin = tuple(start[at] for start in starts)
                outputs, last = _run_layer(tape, cell, x, begin, parts, direction == 1)
                found.append(outputs)
                ends.append(last)
            x = torch.cat(found, dim=-1)
        output = x if batch_first else x.transpose(0, 1)
        return (output, *(torch.stack([end[i] for end in ends]) for i in range(states)))

    return handler


def _run_layer(
    tape: Tape,
    cell: Cell,
    x: Tensor,
    states: tuple[Tensor, ...],
    parts: Sequence[Tensor],
    backwards: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One layer in one direction: its outputs at all places, and its last states."""
    inner, outer, *shifts = parts
    first, second = shifts if shifts else (None, None)
    shares = tape.linear(x, inner, first)
    outputs = []
    places = range(x.shape[1] - 1, -1, -1) if backwards else range(x.shape[1])
    for place in places:
        states = cell(shares[:, place], tape.linear(states[0], outer, second), states)
        outputs.append(states[0])
    return torch.stack(outputs[::-1] if backwards else outputs, dim=1), states


run_lstm = _runner(_lstm_cell, 2)
run_gru = _runner(_gru_cell, 1)
run_tanh = _runner(_tanh_cell, 1)
run_relu = _runner(_relu_cell, 1)
