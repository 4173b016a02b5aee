"""Every person's clipped gradient, summed, in one backward pass.

Several ways lead to the same gradients: the *chain* (`discreet.deep.chain`) for linear layers one after the
other, the *tape* (`discreet.deep.tape`) for layers that it knows, `vmap` for all other networks that treat
rows one by one, and one person at a time, which is slow and obvious. *Channels-last* is the tape with images
whose channels are stored side by side, as convolutions and poolings work on them fastest. The probe
(`discreet.deep.probe`) finds out on random public inputs which of them a network allows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal, final

import torch
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from discreet.deep.chain import Chain
from discreet.deep.contributions import Contribution, Dense, Outer, Tensor
from discreet.deep.grid import STABILISER, Rule
from discreet.deep.tape import Slot, Tape, Unknown

__all__ = ["Differentiator", "Path", "clip_gradients", "isolate", "per_person_gradients"]

#: How gradients are found.
Path = Literal["chain", "channels-last", "tape", "vmap", "single"]
Loss = Callable[[Any, Any], Any]
Part = tuple[Slot, Contribution]


@final
class Differentiator:
    """A network with its loss, to be differentiated person by person.

    Parameters
    ----------
    model : torch.nn.Module
        Its parameters with ``requires_grad`` are trained.
    loss : callable
        From outputs and targets to one loss for each row.
    path : {"chain", "channels-last", "tape", "vmap", "single"}

    Privacy
    -------
    Rows go through a copy of the network that shares its trained parameters alone: what else the network
    keeps of them is lost with the copy. The network and the loss get copies of rows, which they may write to.
    """

    def __init__(self, model: Any, loss: Loss, path: Path = "tape") -> None:
        self.model, self.loss, self.path = isolate(model), loss, path
        self.chain = Chain.find(self.model) if path == "chain" else None
        #: The trained parameters by name; a shared one once.
        self.parameters: dict[str, Tensor] = {
            name: each for name, each in self.model.named_parameters() if each.requires_grad
        }

    def parts(
        self, inputs: Any, targets: Tensor, weights: Tensor, persons: int
    ) -> dict[str, list[Part]]:
        """What each person adds to the gradient of Σ weight·loss, by parameter.

        Parameters
        ----------
        inputs : tensor or tuple of tensors
            Rows in the first dimension, those of one person one after the other, equally many for each.
        targets : tensor
        weights : tensor
            One number for each row: 0 where there is none.
        persons : int
        """
        paths = {
            "chain": self._by_chain,
            "channels-last": self._by_channels,
            "tape": self._by_tape,
            "vmap": self._by_vmap,
            "single": self._one_by_one,
        }
        return paths[self.path](inputs, targets, weights, persons)

    def losses(self, inputs: Any, targets: Tensor, rows: int) -> Tensor:
        """One loss for each row, or an error that says what is wrong with the loss."""
        given = tuple(map(self._copy, as_tuple(inputs)))
        return check_losses(self.loss(self.model(*given), targets.clone()), rows)

    def _copy(self, rows: Tensor) -> Tensor:
        """Rows that the network may write to, in the layout that the path asks for."""
        if self.path == "channels-last" and _are_images(rows):
            return rows.clone(memory_format=torch.channels_last)
        return rows.clone()

    def columns(self, inputs: Any, targets: Tensor, weights: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The inputs and output gradients of a chain's layers, rows as columns.

        Raises
        ------
        Unknown
            When the network is no chain.
        """
        given = tuple(each.clone() for each in as_tuple(inputs))
        if self.chain is None or len(given) != 1:
            raise Unknown("the network is not a chain of linear layers")

        def losses(outputs: Tensor) -> Tensor:
            return check_losses(self.loss(outputs, targets.clone()), len(weights))

        return self.chain.columns(given, losses, weights)

    def _by_chain(
        self, inputs: Any, targets: Tensor, weights: Tensor, persons: int
    ) -> dict[str, list[Part]]:
        columns = self.columns(inputs, targets, weights)
        assert self.chain is not None
        names = {id(each): name for name, each in self.parameters.items()}
        found: dict[str, list[Part]] = {}
        for layer, (before, after) in zip(self.chain.linear, columns, strict=True):
            x, g = (
                each.t().contiguous().reshape(persons, -1, len(each)) for each in (before, after)
            )
            parts: list[tuple[Any, Contribution]] = [(layer.weight, Outer(x, g))]
            if layer.bias is not None:
                parts.append((layer.bias, Dense(g.sum(dim=1))))
            for parameter, part in parts:
                name = names[id(parameter)]
                found[name] = [(_whole(name, parameter), part)]
        return found

    def _by_channels(
        self, inputs: Any, targets: Tensor, weights: Tensor, persons: int
    ) -> dict[str, list[Part]]:
        if not any(map(_are_images, as_tuple(inputs))):
            raise Unknown("no input is an image with channels")
        return self._by_tape(inputs, targets, weights, persons)

    def _by_tape(
        self, inputs: Any, targets: Tensor, weights: Tensor, persons: int
    ) -> dict[str, list[Part]]:
        tape = Tape(self.parameters, len(weights))
        with torch.enable_grad():
            with tape:
                losses = self.losses(inputs, targets, len(weights))
            return tape.contributions(losses * weights, persons)

    def _by_vmap(
        self, inputs: Any, targets: Tensor, weights: Tensor, persons: int
    ) -> dict[str, list[Part]]:
        trained = self.parameters
        fixed = {
            name: each.detach()
            for name, each in (*self.model.named_parameters(), *self.model.named_buffers())
            if name not in trained
        }

        def one(values: dict[str, Tensor], row: tuple[Tensor, ...], target: Tensor) -> Tensor:
            alone = tuple(each.unsqueeze(0).clone() for each in row)
            outputs = functional_call(self.model, {**values, **fixed}, alone)
            return check_losses(self.loss(outputs, target.unsqueeze(0).clone()), 1).sum()

        detached = {name: each.detach() for name, each in trained.items()}
        each_row = vmap(grad(one), in_dims=(None, 0, 0), randomness="different")
        with sdpa_kernel(SDPBackend.MATH):  # the others have no rule for vmap
            found = each_row(detached, as_tuple(inputs), targets)
        return {
            name: [(_whole(name, trained[name]), Dense(_weigh(found[name], weights, persons)))]
            for name in trained
        }

    def _one_by_one(
        self, inputs: Any, targets: Tensor, weights: Tensor, persons: int
    ) -> dict[str, list[Part]]:
        trained, rows = self.parameters, []
        with torch.enable_grad():
            for row in range(len(weights)):
                alone = tuple(each[row : row + 1] for each in as_tuple(inputs))
                loss = self.losses(alone, targets[row : row + 1], 1).sum()
                found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
                rows.append(
                    [
                        torch.zeros_like(parameter) if each is None else each
                        for parameter, each in zip(trained.values(), found, strict=True)
                    ]
                )
        return {
            name: [
                (
                    _whole(name, trained[name]),
                    Dense(_weigh(torch.stack([row[at] for row in rows]), weights, persons)),
                )
            ]
            for at, name in enumerate(trained)
        }


def isolate(model: Any) -> Any:
    """A copy of a network that has the same trained parameters, the very objects, and shares nothing else.

    Privacy
    -------
    Whatever the copy keeps of rows, in buffers, attributes or frozen parameters, the original never sees.
    """
    trained = [each for each in model.parameters() if each.requires_grad]
    shared: dict[int, Any] = {id(each): each for each in trained}
    try:
        alone = copy.deepcopy(model, shared)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"model: it can't be copied ({type(error).__name__}), which keeps rows out of it. No attribute "
            "may hold results of a forward pass; use torch.nn.utils.parametrizations for computed weights."
        ) from None
    found = {id(each) for each in alone.parameters()}
    if any(id(each) not in found for each in trained):
        raise ValueError(
            "model: a copy of it doesn't share its parameters. Give the network itself, not one that "
            "torch.jit made of it."
        )
    return alone


def _are_images(rows: Tensor) -> bool:
    return bool(rows.dim() == 4 and rows.is_floating_point())


def _whole(name: str, parameter: Tensor) -> Slot:
    return Slot(name, 0, len(parameter) if parameter.dim() else 1)


def _weigh(gradients: Tensor, weights: Tensor, persons: int) -> Tensor:
    """Weighted sums over a person's rows; a row of weight 0 counts for nothing, whatever it holds."""
    flat = gradients.detach().reshape(len(weights), -1)
    flat = (flat * weights[:, None]).masked_fill((weights == 0)[:, None], 0)
    return flat.reshape(persons, len(weights) // persons, -1).sum(dim=1)


def width_of(parameter: Tensor) -> int:
    """How many numbers a row of a parameter has."""
    return int(parameter.numel() // max(1, len(parameter))) if parameter.dim() else 1


def as_tuple(inputs: Any) -> tuple[Tensor, ...]:
    """The arguments of a network: one tensor, or several."""
    return tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)


def check_losses(losses: Any, rows: int) -> Tensor:
    """The losses, if there is one for each row; else an error that names the fix."""
    if not isinstance(losses, torch.Tensor) or tuple(losses.shape) != (rows,):
        shape = tuple(losses.shape) if isinstance(losses, torch.Tensor) else type(losses).__name__
        raise ValueError(
            f"loss must give one number for each row, of shape ({rows},), not {shape}: use reduction='none', "
            "and take the mean over all but the first dimension."
        )
    return losses


def per_person_gradients(
    model: Any, loss: Loss, inputs: Any, targets: Tensor, *, path: Path = "tape", rows: int = 1
) -> dict[str, Tensor]:
    """Each person's gradients in full, of shape (persons, *parameter); for research on public rows.

    Privacy
    -------
    None: nothing is clipped, and no noise is added.
    """
    count = len(as_tuple(inputs)[0])
    ones = torch.ones(count, dtype=next(iter(model.parameters())).dtype)
    engine = Differentiator(model, loss, path)
    found = engine.parts(inputs, targets, ones, count // rows)
    with torch.no_grad():
        return {
            name: _assemble(engine.parameters[name], parts, count // rows)
            for name, parts in found.items()
        }


def _assemble(parameter: Tensor, parts: Sequence[Part], persons: int) -> Tensor:
    full = parameter.new_zeros(persons, *parameter.shape)
    for slot, part in parts:
        if parameter.dim():
            target = full[:, slot.start : slot.stop]
            target += part.materialise().reshape(target.shape)
        else:
            full += part.materialise().reshape(full.shape)
    return full


def clip_gradients(
    model: Any,
    loss: Loss,
    inputs: Any,
    targets: Tensor,
    max_grad_norm: float,
    *,
    rule: Rule = "flat",
    path: Path = "tape",
    rows: int = 1,
) -> dict[str, Tensor]:
    """The sum of every person's clipped gradient, by parameter, in float arithmetic and without noise.

    Parameters
    ----------
    model : torch.nn.Module
    loss : callable
        From outputs and targets to one loss for each row.
    inputs : tensor or tuple of tensors
    targets : tensor
    max_grad_norm : float
    rule : {"flat", "per-layer", "automatic"}
        Clip the whole gradient, each parameter's to an equal share, or scale it to length 1 nearly.
    path : {"channels-last", "tape", "vmap", "single"}
    rows : int
        How many rows, one after the other, each person has: their gradients add up before they are clipped.

    Privacy
    -------
    None: there is no noise. `PrivateTrainer` is what adds it.
    """
    count = len(as_tuple(inputs)[0])
    ones = torch.ones(count, dtype=next(iter(model.parameters())).dtype)
    engine = Differentiator(model, loss, path)
    found = engine.parts(inputs, targets, ones, count // rows)
    with torch.no_grad():
        return sum_in_floats(engine.parameters, found, max_grad_norm, rule)


def sum_in_floats(
    parameters: dict[str, Tensor],
    found: dict[str, list[Part]],
    bound: float,
    rule: Rule,
    present: Tensor | None = None,
) -> dict[str, Tensor]:
    """The clipped sum over those present, in the network's own float arithmetic; NaN where a number is."""
    none = next(iter(parameters.values())).new_zeros(())
    squares = [
        sum((part.squared_norms() for _, part in found[name]), start=none) for name in parameters
    ]
    factors = _factors(torch.stack(torch.broadcast_tensors(*squares)), bound, rule)
    if present is not None:
        factors = factors * present
    total = {name: torch.zeros_like(each).flatten() for name, each in parameters.items()}
    for (name, parameter), factor in zip(parameters.items(), factors, strict=True):
        width = width_of(parameter)
        for slot, part in found[name]:
            target = total[name][slot.start * width : slot.stop * width]
            target += part.weighted_sum(factor)
    return {name: total[name].reshape(each.shape) for name, each in parameters.items()}


def _factors(squares: Tensor, bound: float, rule: Rule) -> Tensor:
    """What gradients are multiplied by; as `grid.clip_factors`, times the bound."""
    if rule == "per-layer":
        share = bound / len(squares) ** 0.5
        return (share / squares.sqrt()).clamp(max=1)
    length = squares.sum(dim=0).sqrt()
    factor = (
        bound / (length + STABILISER * bound)
        if rule == "automatic"
        else (bound / length).clamp(max=1)
    )
    return factor.expand(squares.shape)
