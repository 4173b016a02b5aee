"""How each known layer is carried out on the tape, and the gradients of its parameters, person by person."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F

from discreet.deep import attention, recurrent
from discreet.deep.contributions import Contribution, Dense, Outer, Rows, Tensor
from discreet.deep.grid import Order

if TYPE_CHECKING:
    from discreet.deep.tape import Tape

__all__ = ["HANDLERS", "RECURRENT", "linear_gradients"]

Differentiate = Callable[[Tensor, int], Sequence[Contribution]]

#: A kernel with so few numbers for each output is unfolded along all dimensions.
FEW_COLUMNS = 32
#: So many numbers of unfolded inputs are held at a time, so that they stay in the cache.
WINDOW = 2**19


class Kernel(NamedTuple):
    """The shape of a convolution's kernel, its steps over the input, and how far its numbers are apart."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    spread: tuple[int, ...]


def _by_person(values: Tensor, persons: int) -> Tensor:
    """Sums over a person's rows, flat: from (rows, …) to (persons, size)."""
    return values.reshape(persons, len(values) // persons, -1).sum(dim=1)


def _alike(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the wider of their types: inside ``torch.autocast`` they differ."""
    kind = torch.promote_types(one.dtype, other.dtype)
    return one.to(kind), other.to(kind)


def linear_gradients(x: Tensor, weighted: bool, shifted: bool) -> Differentiate:
    """The gradients of a linear map's weight and bias."""

    def differentiate(gradient: Tensor, persons: int) -> Sequence[Contribution]:
        outputs = gradient.reshape(persons, -1, gradient.shape[-1])
        found: list[Contribution] = []
        if weighted:
            inputs, after = _alike(x, outputs)
            found.append(Outer(inputs.reshape(persons, -1, x.shape[-1]), after))
        if shifted:
            found.append(Dense(outputs.sum(dim=1)))
        return found

    return differentiate


def _linear(tape: Tape, func: Any, input: Tensor, weight: Tensor, bias: Tensor = None) -> Tensor:
    if not tape.knows(weight, bias):
        return func(input, weight, bias)
    if input.dim() < 2:
        return func(input, weight, bias)  # a row alone: the walk will find it
    return tape.linear(input, weight, bias)


def _convolve(dimensions: int) -> Any:
    """The handler for convolutions in so many dimensions."""

    def handler(
        tape: Tape,
        func: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        output = func(input, weight, bias, stride, padding, dilation, groups)
        batched = input.dim() == dimensions + 2
        weighted, shifted = tape.slot(weight), None if bias is None else tape.slot(bias)
        slots = [slot for slot in (weighted, shifted) if slot is not None]
        if not slots or not batched:
            return output
        steps, spread = _tuple(stride, dimensions), _tuple(dilation, dimensions)
        kernel = Kernel(tuple(weight.shape[2:]), steps, spread)
        x = F.pad(input.detach(), _margins(padding, kernel))

        def differentiate(gradient: Tensor, persons: int) -> Sequence[Contribution]:
            found: list[Contribution] = []
            if weighted is not None:
                full, order = _convolution_gradients(x, gradient, kernel, groups)
                found.append(Dense(_by_person(full, persons), order))
            if shifted is not None:
                found.append(Dense(_by_person(gradient.flatten(2).sum(dim=2), persons)))
            return found

        return tape.note(slots, input, output, differentiate)

    return handler


def _tuple(value: Any, dimensions: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    return values * dimensions if len(values) == 1 else values


def _margins(padding: Any, kernel: Kernel) -> list[int]:
    """What `F.pad` must add around the input, the last dimension first."""
    if padding == "valid":
        sides = [(0, 0)] * len(kernel.shape)
    elif padding == "same":
        totals = [s * (k - 1) for k, s in zip(kernel.shape, kernel.spread, strict=True)]
        sides = [(total // 2, total - total // 2) for total in totals]
    else:
        sides = [(each, each) for each in _tuple(padding, len(kernel.shape))]
    return [side for pair in reversed(sides) for side in pair]


def _convolution_gradients(
    x: Tensor, gradient: Tensor, kernel: Kernel, groups: int
) -> tuple[Tensor, Order | None]:
    """Each row's gradient of the kernel, and how its numbers are ordered."""
    x, gradient = _alike(x, gradient)
    if groups > 1:
        return _grouped_gradients(x, gradient, kernel, groups), None
    return _unfolded_gradients(x, gradient, kernel)


def _unfolded_gradients(x: Tensor, gradient: Tensor, kernel: Kernel) -> tuple[Tensor, Order]:
    """The same by few and large products of matrices, for some rows at a time.

    Numbers stay in the order in which the products give them: outputs last.
    """
    rows, outputs, extent = len(x), gradient.shape[1], gradient.shape[2:]
    dimensions, numbers = len(kernel.shape), math.prod(kernel.shape)
    x, after = x.movedim(1, -1), gradient.movedim(1, -1).flatten(1, -2)
    shape = (*kernel.shape, x.shape[-1], outputs)
    few = math.prod(shape[:-1]) <= FEW_COLUMNS
    unfold = _unfold_all if few else _unfold_last
    together = numbers if few else kernel.shape[-1]
    found = x.new_empty(rows, numbers // together, together * x.shape[-1], outputs)
    step = max(1, WINDOW // max(1, together * x[:1].numel()))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        for place, before in enumerate(unfold(x[part], kernel, extent)):
            # not by out=: into an array with gaps each small product is done by itself, in all threads
            found[part, place] = torch.bmm(before, after[part])
    return found.flatten(1), Order(shape, (dimensions + 1, dimensions, *range(dimensions)))


def _unfold_all(x: Tensor, kernel: Kernel, extent: Sequence[int]) -> Iterator[Tensor]:
    """One array of shape (rows, kernel times channels, places): what each number of the kernel meets."""
    row, *strides, channel = x.stride()
    met = x.as_strided(
        (len(x), *kernel.shape, x.shape[-1], *extent),
        (row, *map(mul, strides, kernel.spread), channel, *map(mul, strides, kernel.steps)),
    )
    yield met.reshape(len(x), -1, math.prod(extent))


def _unfold_last(x: Tensor, kernel: Kernel, extent: Sequence[int]) -> Iterator[Tensor]:
    """The same along the last dimension alone, one array for each place of the kernel in the others.

    Those are cut out of one copy; with steps of 1 they aren't copied again.
    """
    *strides, last, channel = x.stride()
    wide = x.as_strided(
        (*x.shape[:-2], extent[-1], kernel.shape[-1], x.shape[-1]),
        (*strides, last * kernel.steps[-1], last * kernel.spread[-1], channel),
    ).flatten(-2)
    others = Kernel(kernel.shape[:-1], kernel.steps[:-1], kernel.spread[:-1])
    for place in itertools.product(*map(range, others.shape)):
        met = wide[(slice(None), *_window(place, others, extent[:-1]))]
        yield met.reshape(len(x), -1, met.shape[-1]).transpose(1, 2)


def _window(place: tuple[int, ...], kernel: Kernel, extent: Sequence[int]) -> tuple[slice, ...]:
    """Where the inputs are that a place of the kernel meets."""
    return tuple(
        slice(p * d, p * d + s * (n - 1) + 1, s)
        for p, d, s, n in zip(place, kernel.spread, kernel.steps, extent, strict=True)
    )


def _grouped_gradients(x: Tensor, gradient: Tensor, kernel: Kernel, groups: int) -> Tensor:
    """Each row's gradient of the kernel: one product of matrices for each of its places."""
    rows, outputs, inputs = len(x), gradient.shape[1], x.shape[1]
    after = gradient.reshape(rows * groups, outputs // groups, -1)
    extent = gradient.shape[2:]
    found = x.new_empty(rows * groups, outputs // groups, inputs // groups, *kernel.shape)
    for place in itertools.product(*map(range, kernel.shape)):
        before = x[(slice(None), slice(None), *_window(place, kernel, extent))]
        before = before.reshape(rows * groups, inputs // groups, -1)
        found[(..., *place)] = torch.bmm(after, before.transpose(1, 2))
    return found.reshape(rows, -1)


def _embed(
    tape: Tape,
    func: Any,
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    slot = tape.slot(weight)
    if slot is not None and (max_norm is not None or scale_grad_by_freq):
        raise ValueError(
            f"model: the embedding {slot.name} must have max_norm=None and scale_grad_by_freq=False: both "
            "let one person's words change what others add, without any noise."
        )
    output = func(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, False)
    if slot is None:
        return output
    indices = input.detach()

    def differentiate(gradient: Tensor, persons: int) -> Sequence[Contribution]:
        width = gradient.shape[-1]
        places = indices.reshape(persons, -1)
        gradient = gradient.reshape(persons, -1, width)
        if padding_idx is not None:
            ignored = places == (padding_idx % len(weight))
            gradient = gradient.masked_fill(ignored[:, :, None], 0)
        return [Rows(places, gradient, len(weight))]

    return tape.note([slot], input, output, differentiate)


def _by_layer(values: Tensor, persons: int, normalized_shape: Sequence[int]) -> Tensor:
    return values.reshape(persons, -1, math.prod(normalized_shape)).sum(dim=1)


def _by_channel(values: Tensor, persons: int, num_groups: int) -> Tensor:
    return _by_person(values.reshape(*values.shape[:2], -1).sum(dim=2), persons)


def _normalise(function: Any, gather: Callable[[Tensor, int, Any], Tensor]) -> Any:
    """The handler for a layer that multiplies standardised inputs by a weight and adds a bias.

    `gather` adds up what a person's places have for each number of the weight.
    """

    def handler(tape: Tape, func: Any, *args: Any, **named: Any) -> Tensor:
        given = inspect.signature(function).bind(*args, **named)
        given.apply_defaults()
        input, groups, weight, bias, eps = given.args
        output = func(*given.args)
        weighted = None if weight is None else tape.slot(weight)
        shifted = None if bias is None else tape.slot(bias)

        def differentiate(gradient: Tensor, persons: int) -> Sequence[Contribution]:
            found: list[Contribution] = []
            if weighted is not None:
                standard = function(input.detach(), groups, None, None, eps)
                found.append(Dense(gather(gradient * standard, persons, groups)))
            if shifted is not None:
                found.append(Dense(gather(gradient, persons, groups)))
            return found

        slots = [slot for slot in (weighted, shifted) if slot is not None]
        return tape.note(slots, input, output, differentiate)

    return handler


#: What is done in place of a function of torch while the tape runs.
HANDLERS: dict[Any, Any] = {
    F.linear: _linear,
    torch.conv1d: _convolve(1),
    torch.conv2d: _convolve(2),
    torch.conv3d: _convolve(3),
    F.embedding: _embed,
    F.layer_norm: _normalise(F.layer_norm, _by_layer),
    F.group_norm: _normalise(F.group_norm, _by_channel),
    F.multi_head_attention_forward: attention.attend,
}

#: The recurrent layers, by the name of torch's function.
RECURRENT: dict[str, Any] = {
    "lstm": recurrent.run_lstm,
    "gru": recurrent.run_gru,
    "rnn_tanh": recurrent.run_tanh,
    "rnn_relu": recurrent.run_relu,
}
