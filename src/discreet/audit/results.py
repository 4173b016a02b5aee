"""What an audit found."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

from discreet.audit.bounds import TwoOutcomes
from discreet.audit.floors import unit_of_floor
from discreet.measures import Measure

__all__ = ["AuditResult"]

Verdict = Literal["consistent", "violated"]


@dataclass(frozen=True, repr=False)
class AuditResult:
    """What an audit found. *Consistent* proves nothing; *violated* holds with `confidence`.

    Attributes
    ----------
    title : str
        What was audited.
    claim : Measure or str
        What it claims; words for what is not a measure, such as an order of acts.
    claimed, floor : float
        The claim's number (ε, ρ or μ), and the least that it can be by this audit. A floor of ∞ means that
        something happens that must not happen at all.
    verdict : "consistent" or "violated"
    confidence : float
        1 for exact probes.
    event : str
        What tells the neighbours apart, in words.
    probe : str
        Which way of looking found it.
    audited : str
        The mechanism as implemented, or its ideal in real numbers (scores rounded).
    trials : int
        Runs of the mechanism in total.
    outcomes : TwoOutcomes or None
        How often the event happened in the final, untouched part of the runs.

    Examples
    --------
    >>> from discreet import audit, noise
    >>> def too_little(x, trials):  # says ε = 1, has the noise of ε = 2
    ...     return x + noise.discrete_laplace("1/2", trials)
    >>> result = audit.audit(too_little, (0, 1), 1.0, trials=20_000)
    >>> result.verdict, result.claimed, result.floor > 1.5
    ('violated', 1.0, True)
    """

    title: str
    claim: Measure | str
    claimed: float
    floor: float
    verdict: Verdict
    confidence: float
    event: str
    probe: str
    audited: str
    trials: int
    outcomes: TwoOutcomes | None = None

    @property
    def is_violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict == "violated"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data for JSON."""
        counts = self.outcomes
        return {
            "title": self.title,
            "claim": self.claim if isinstance(self.claim, str) else self.claim.to_dict(),
            "claimed": _plain(self.claimed),
            "floor": _plain(self.floor),
            "verdict": self.verdict,
            "confidence": self.confidence,
            "event": self.event,
            "probe": self.probe,
            "audited": self.audited,
            "trials": self.trials,
            "outcomes": None
            if counts is None
            else [counts.hits, counts.trials, counts.other_hits, counts.other_trials],
        }

    def to_json(self) -> str:
        """The result as a line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __repr__(self) -> str:
        lines = [f"{self.title}: {self.verdict}"]
        if isinstance(self.claim, str):
            lines.append(f"  claim    {self.claim}")
        else:
            unit = unit_of_floor(self.claim)
            lines.append(f"  claim    {self.claim!r}")
            lines.append(f"  floor    {self.floor:.4g} ({unit}), {self.confidence:g} confident")
        lines.append(f"  event    {self.event}")
        if self.outcomes is not None:
            o = self.outcomes
            lines.append(
                f"  counts   {o.hits} of {o.trials} runs against {o.other_hits} of {o.other_trials}"
            )
        lines.append(f"  audited  {self.audited}; probe: {self.probe}; {self.trials} runs")
        return "\n".join(lines)


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
