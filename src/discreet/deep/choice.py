"""Stop a training early, and keep its best weights, by a score that is paid for or made on public rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, final

from discreet.rational import as_integer

__all__ = ["Choice"]


@final
class Choice:
    """Ask for a score every so many steps, keep the best weights, and stop when it no longer rises.

    Parameters
    ----------
    model : torch.nn.Module
    validate : callable
        From the network, in evaluation mode, to a score; the higher, the better.
    every : int
        Steps between two scores.
    patience : int, optional
        How many scores in a row may miss the best one before the training stops; without it, it doesn't.

    Privacy
    -------
    It sees noised weights alone. A score on private rows is a release of its own, which `validate` must pay
    for, as by a count that a ledger is charged for; one on public rows costs nothing. Steps that are not
    made stay paid for.
    """

    def __init__(
        self, model: Any, validate: Callable[[Any], float], every: int, patience: int | None
    ) -> None:
        self._model, self._validate = model, validate
        self._every = as_integer(every, "validate_every", minimum=1)
        self._patience = None if patience is None else as_integer(patience, "patience", minimum=1)
        #: The score after each so many steps.
        self.scores: list[tuple[int, float]] = []
        self._best: tuple[float, dict[str, Any]] | None = None
        self._misses = 0

    def look(self, made: int) -> bool:
        """After so many steps: whether the training should stop."""
        if made % self._every:
            return False
        self._model.eval()
        score = float(self._validate(self._model))
        self._model.train()
        self.scores.append((made, score))
        if self._best is None or score > self._best[0]:
            self._best, self._misses = (score, copy.deepcopy(self._model.state_dict())), 0
            return False
        self._misses += 1
        return self._patience is not None and self._misses >= self._patience

    def keep_best(self) -> None:
        """Give the network the weights with the best score."""
        if self._best is not None:
            self._model.load_state_dict(self._best[1])
