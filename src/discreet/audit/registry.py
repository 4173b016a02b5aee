"""Attacks by name: what is tried on a claim, and running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from discreet.audit.auditor import audit
from discreet.audit.results import AuditResult
from discreet.measures import Measure

__all__ = ["Attack", "Case", "attack", "list_attacks", "run_attack"]


@dataclass(frozen=True)
class Case:
    """One mechanism with neighbours and a claim: what `audit` takes, to be run later.

    `options` are those of `audit`: score, rounding, reuse, fork.
    """

    title: str
    mechanism: Callable[..., Any]
    neighbours: Any
    claim: Measure | float
    trials: int = 100_000
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, confidence: float, effort: float = 1.0) -> AuditResult:
        """Run the audit; `effort` multiplies the number of runs."""
        return audit(
            self.mechanism,
            self.neighbours,
            self.claim,
            trials=max(40, int(self.trials * effort)),
            confidence=confidence,
            title=self.title,
            **self.options,
        )


Part = Case | AuditResult


@dataclass(frozen=True)
class Attack:
    """Everything that is tried on one claim."""

    name: str
    parts: Callable[[], Iterable[Part]]
    is_slow: bool = False


_FOUND: dict[str, Attack] = {}


def attack(
    name: str, *, slow: bool = False
) -> Callable[[Callable[[], Iterable[Part]]], Callable[[], Iterable[Part]]]:
    """Register a function that yields cases, or results of exact probes, as the attack of a claim.

    >>> @attack("discrete-laplace")            # doctest: +SKIP
    ... def discrete_laplace():
    ...     yield Case("ε = 1", lambda x, trials: x + noise.discrete_laplace(1, trials), (0, 1), 1.0)
    """

    def register(parts: Callable[[], Iterable[Part]]) -> Callable[[], Iterable[Part]]:
        if name in _FOUND:
            raise ValueError(f"two attacks are called {name!r}.")
        _FOUND[name] = Attack(name, parts, slow)
        return parts

    return register


def list_attacks() -> dict[str, Attack]:
    """All attacks whose modules were imported, by name."""
    return dict(_FOUND)


def run_attack(
    found: Attack, *, confidence: float = 0.99, effort: float = 1.0
) -> Iterator[AuditResult]:
    """The results of an attack, part by part; `confidence` holds for all of them together."""
    parts = list(found.parts())
    tests = max(1, sum(isinstance(part, Case) for part in parts))
    for part in parts:
        if isinstance(part, Case):
            yield part.run(1 - (1 - confidence) / tests, effort)
        else:
            yield part
