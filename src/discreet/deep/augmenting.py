"""Rows changed at random before a network gets them, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from discreet.deep.clipping import as_tuple
from discreet.deep.contributions import Tensor
from discreet.noise.generators import reseed

__all__ = ["Augment", "augment_rows", "check_augment"]

#: What turns rows into changed ones of the same shapes and types.
Augment = Callable[..., Any]


def augment_rows(
    augment: Augment,
    inputs: tuple[Tensor, ...],
    present: npt.NDArray[np.bool_],
    generators: Sequence[Any] = (),
) -> tuple[tuple[Tensor, ...], npt.NDArray[np.bool_]]:
    """Change the rows of those who are present; whoever has a row that can't be changed is not, afterwards.

    Parameters
    ----------
    augment : callable
    inputs : tuple of tensors
        Rows in the first dimension, those of one person one after the other, equally many for each.
    present : array of bool
        Whether somebody stands in a person's place.
    generators : sequence
        What it may draw from, besides the generators of the process.

    Returns
    -------
    inputs : tuple of tensors
        With zeros where nobody is.
    present : array of bool

    Privacy
    -------
    It is called for each row by itself, with generators that are seeded anew: a coin that it tosses once in a
    call is that row's own, whatever it seeded for the row before, and a row for which it raises, or that
    comes out in another shape or of another type, takes its own person out and changes no other.
    Proof page: ``docs/proofs/deep.md``.
    """
    changed, left = tuple(map(torch.zeros_like, inputs)), present.copy()
    each = len(inputs[0]) // max(1, len(present))
    for person in np.flatnonzero(present).tolist():
        try:
            rows = []
            for row in range(each):
                reseed(generators)
                rows.append(_augment_one(augment, inputs, person * each + row))
        except KeyboardInterrupt:
            raise
        except BaseException:  # an error is a fact about this person: it adds nothing
            left[person] = False
            continue
        for values, parts in zip(changed, zip(*rows, strict=True), strict=True):
            values[person * each : (person + 1) * each] = torch.cat(parts)
    return changed, left


def _augment_one(augment: Augment, inputs: tuple[Tensor, ...], place: int) -> tuple[Tensor, ...]:
    """One row, changed; it must come out as it went in."""
    alone = tuple(each[place : place + 1].clone() for each in inputs)
    found = as_tuple(augment(*(each.clone() for each in alone)))
    if [(each.shape, each.dtype) for each in found] != [(each.shape, each.dtype) for each in alone]:
        raise ValueError(
            "augment: it must give each row back in the same shape, and as numbers of the same type."
        )
    return tuple(each.detach() for each in found)


def check_augment(
    augment: Augment,
    inputs: tuple[Tensor, ...],
    others: tuple[Tensor, ...],
    back: Callable[[], None],
) -> None:
    """Raise for an augmentation that mixes rows or keeps something of them, found out on public rows.

    Parameters
    ----------
    augment : callable
    inputs, others : tuple of tensors
        Two sets of random public rows.
    back : callable
        Sets all generators back to where they were.
    """
    count = len(inputs[0])

    def run(given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        back()
        return as_tuple(augment(*(each.clone() for each in given)))

    first = run(inputs)
    if any(len(each) != count for each in first):
        raise ValueError("augment: it must return as many rows as it gets.")
    for place in {0, count // 2, count - 1}:
        kept = torch.arange(count) != place
        second = run(put_row(inputs, place, others))
        if not all(are_near(a[kept], b[kept]) for a, b in zip(first, second, strict=True)):
            raise ValueError(
                "augment: what it makes of one row depends on other rows, as mixing them would. It must "
                "change each row by itself, and draw as many random numbers whatever the rows hold."
            )
    back()
    alone = _augment_one(augment, inputs, 0)
    _augment_one(augment, others, count - 1)
    back()
    again = _augment_one(augment, inputs, 0)
    if not all(map(are_near, alone, again)):
        raise ValueError(
            "augment: it keeps something from call to call, or draws from a generator that it doesn't hold. "
            "Draw from torch's, numpy's or Python's own generators, or from one that is its attribute or "
            "default argument."
        )


def put_row(given: tuple[Tensor, ...], place: int, other: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The same rows with another one at a place."""
    changed = tuple(each.clone() for each in given)
    for each, row in zip(changed, other, strict=True):
        each[place] = row[place]
    return changed


def are_near(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same but for rounding; what isn't a number must be so in both."""
    return one.shape == other.shape and bool(
        torch.allclose(one.double(), other.double(), rtol=1e-5, atol=1e-6, equal_nan=True)
    )
