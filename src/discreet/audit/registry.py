"""Attacks by name: what is tried on a claim, and running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from discreet.audit.auditor import audit
from discreet.audit.losses import LossDistribution
from discreet.audit.results import AuditResult
from discreet.measures import Measure, PureDP

__all__ = ["Attack", "Case", "attack", "list_attacks", "run_attack"]


@dataclass(frozen=True)
class Case:
    """One mechanism with neighbours and a claim: what `audit` takes, to be run later.

    Attributes
    ----------
    options : dict
        Those of `audit`: score, rounding, reuse, fork.
    losses : LossDistribution, optional
        The exact distribution of the loss for these neighbours. Then it is compared with the claim, and the
        runs with its trade-off curve.
    reason : str
        Why the floor must stay below half of the claim, for the page; nothing if it needn't.

    Examples
    --------
    >>> from discreet import audit, noise
    >>> add = lambda x, trials: x + noise.discrete_laplace(1, trials)
    >>> audit.Case("a count, ε = 1", add, (0, 1), 1.0, trials=10_000).run(0.99).verdict
    'consistent'
    """

    title: str
    mechanism: Callable[..., Any]
    neighbours: Any
    claim: Measure | float
    trials: int = 100_000
    options: dict[str, Any] = field(default_factory=dict)
    losses: LossDistribution | None = None
    reason: str = ""

    @property
    def measure(self) -> Measure:
        """The claim, as a measure."""
        return self.claim if isinstance(self.claim, Measure) else PureDP(self.claim)

    def compare_losses(self) -> AuditResult | None:
        """The distribution against the claim, if there is one."""
        if self.losses is None:
            return None
        return self.losses.compare(self.measure, f"{self.title}: its exact distribution")

    def run(self, confidence: float, effort: float = 1.0) -> AuditResult:
        """Run the audit; `effort` multiplies the number of runs."""
        trials = max(40, int(self.trials * effort))
        claim = self.claim if self.losses is None else self.losses.curve
        return audit(
            self.mechanism,
            self.neighbours,
            claim,
            trials=trials,
            confidence=confidence,
            title=self.title,
            **self.options,
        )


Part = Case | AuditResult


@dataclass(frozen=True)
class Attack:
    """Everything that is tried on one claim.

    Examples
    --------
    >>> from discreet import audit, noise
    >>> def parts():
    ...     add = lambda x, trials: x + noise.discrete_laplace(1, trials)
    ...     yield audit.Case("a count, ε = 1", add, (0, 1), 1)
    >>> audit.Attack("my-counts", parts).is_slow
    False
    """

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
    """All attacks whose modules were imported, by name.

    Examples
    --------
    >>> import discreet.guarantees.noise.attacks
    >>> from discreet import audit
    >>> "discrete-laplace" in audit.list_attacks()
    True
    """
    return dict(_FOUND)


def run_attack(
    found: Attack, *, confidence: float = 0.99, effort: float = 1.0
) -> Iterator[AuditResult]:
    """The results of an attack, part by part; `confidence` holds for all of them together.

    Examples
    --------
    >>> from discreet import audit, noise
    >>> def parts():
    ...     add = lambda x, trials: x + noise.discrete_laplace(1, trials)
    ...     yield audit.Case("a count, ε = 1", add, (0, 1), 1)
    >>> mine = audit.Attack("my-counts", parts)
    >>> [result.verdict for result in audit.run_attack(mine, effort=0.1)]
    ['consistent']
    """
    parts = list(found.parts())
    tests = max(1, sum(isinstance(part, Case) for part in parts))
    for part in parts:
        if isinstance(part, Case):
            if (losses := part.compare_losses()) is not None:
                yield losses
            yield part.run(1 - (1 - confidence) / tests, effort)
        else:
            yield part
