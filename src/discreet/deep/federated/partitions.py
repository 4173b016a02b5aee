"""Rows dealt to clients: by a column, or unevenly by label, to see what a federation is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.rational import as_integer

__all__ = ["split_by_column", "split_by_label"]


def split_by_column(owners: npt.ArrayLike) -> dict[Any, npt.NDArray[np.intp]]:
    """The places of each owner's rows: a column of sites, hospitals or devices makes the clients.

    Parameters
    ----------
    owners : array
        Whose each row is. Rows without an owner (None, NaN) belong to nobody.

    Privacy
    -------
    Which owners there are is told. It is for sites that are public, or for a simulation.
    """
    column = np.asarray(owners, object)
    if column.ndim != 1:
        raise ValueError("owners must hold one owner for each row.")
    found: dict[Any, list[int]] = {}
    for place, owner in enumerate(column.tolist()):
        if owner is not None and owner == owner:
            found.setdefault(owner, []).append(place)
    return {owner: np.array(places, np.intp) for owner, places in found.items()}


def split_by_label(
    labels: npt.ArrayLike, clients: int, *, concentration: float = 0.5, seed: int = 0
) -> list[npt.NDArray[np.intp]]:
    """Deal rows so that clients have different shares of each label, by a Dirichlet draw for each label.

    Parameters
    ----------
    labels : array
    clients : int
        Some may get no row.
    concentration : float
        Large for clients that are alike, small for clients with few labels each (Hsu, Qi & Brown 2019).
    seed : int
        The same seed deals in the same way.

    Privacy
    -------
    For simulations: it looks at labels and is told to nobody.
    """
    as_integer(clients, "clients", minimum=1)
    if not 0 < concentration < np.inf:
        raise ValueError(f"concentration must be a number above 0, got {concentration!r}.")
    column = np.asarray(labels)
    if column.ndim != 1:
        raise ValueError("labels must hold one label for each row.")
    draw = np.random.default_rng(seed)
    parts: list[list[npt.NDArray[np.intp]]] = [[] for _ in range(clients)]
    for label in np.unique(column):
        rows = draw.permutation(np.flatnonzero(column == label))
        shares = draw.dirichlet(np.full(clients, concentration))
        cuts = np.rint(np.cumsum(shares)[:-1] * len(rows)).astype(np.intp)
        for part, piece in zip(parts, np.split(rows, cuts), strict=True):
            part.append(piece)
    return [np.sort(np.concatenate(part)) if part else np.empty(0, np.intp) for part in parts]
