"""Checkpoints of a training: what was learned so far, and a name that can be taken up once.

A checkpoint holds noised weights and public settings, no row and no state of a generator. How many steps were
made is the ledger's to know.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import torch

from discreet.events import Compose
from discreet.ledger import Book
from discreet.ledger.chain import new_token

__all__ = ["Checkpoint", "load", "save", "take_up"]


@dataclass(frozen=True)
class Checkpoint:
    """What a training needs to go on.

    Attributes
    ----------
    token : str
        The training's name in the ledger.
    name : str
        This checkpoint's own name: it may be taken up once.
    sigma, steps : int
    chance : str
        Of the plan, to see that it is the same training.
    states : dict
        Of the model, the optimizer, the scheduler and the average.
    """

    token: str
    name: str
    sigma: int
    steps: int
    chance: str
    states: dict[str, Any]


def save(path: str | PathLike[str], checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    beside = f"{os.fspath(path)}.{new_token()[:8]}.new"
    try:
        with open(beside, "wb") as file:
            torch.save(asdict(checkpoint), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.remove(beside)


def load(path: str | PathLike[str]) -> Checkpoint:
    """Read a checkpoint: tensors and plain data, no code."""
    found = torch.load(path, weights_only=True)
    try:
        return Checkpoint(**found)
    except TypeError:
        raise ValueError(
            f"checkpoint: {os.fspath(path)} is not a checkpoint of a training."
        ) from None


def take_up(book: Book | None, checkpoint: Checkpoint) -> None:
    """Enter in the ledger that a checkpoint is taken up; refuse it if it was taken up before.

    Privacy
    -------
    Steps are paid for once in any case; this refuses two trainings that would share what is left of them.
    """
    if book is None:
        return
    mine = f"a training is taken up from a checkpoint [{new_token()}]"
    entered = book.charge(Compose(), note=mine, token=f"checkpoint {checkpoint.name}")
    if entered.note != mine:
        raise ValueError(
            "checkpoint: it was taken up before, here or elsewhere; a copy can't be taken up again. Use the "
            "checkpoint that the other training wrote last."
        )
