"""What attacks found, with how much they notice, and the page that shows it.

`find` measures one claim; `explain` prints it; `render_page` makes ``docs/audits.md`` from all findings.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.audit.floors import unit_of_floor
from discreet.audit.registry import Attack, Case
from discreet.audit.results import AuditResult
from discreet.guarantees.base import Claim

__all__ = ["Finding", "explain", "find", "is_vacuous", "last_look", "mutants", "render_page"]

#: A sampled case whose floor is below this share of the claim must say why.
MIN_SHARE = 0.5
_REPOSITORY = Path(__file__).parents[3]


@dataclass(frozen=True)
class Finding:
    """What one part of an attack found.

    Attributes
    ----------
    claim, title : str
    kind : "drawn", "exact" or "fact"
        Runs of a mechanism; its distribution, computed; something that is true or not.
    claimed, floor : float
        The number that is claimed, or the stricter one of the exact loss, and what the attack reached.
    unit : str
        What the number is: ε, μ, ρ.
    verdict : str
    power : float or None
        The largest factor of the noise at which it is caught, 0 for none; None if it was not measured.
    reason : str
        Why the floor stays low.
    event : str
        What tells the inputs apart.
    """

    claim: str
    title: str
    kind: str
    claimed: float
    floor: float
    unit: str
    verdict: str
    power: float | None
    reason: str
    event: str

    @property
    def share(self) -> float | None:
        """The floor over the claim; None for facts, and where nothing may be told at all."""
        if self.kind == "fact" or self.claimed <= 0:
            return None
        return self.floor / self.claimed

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """Read what `to_dict` wrote."""
        return cls(**{**data, "floor": float(data["floor"]), "claimed": float(data["claimed"])})


def is_vacuous(case: Case, result: AuditResult) -> bool:
    """Whether a sampled case reached less than half of what it is compared with, and doesn't say why."""
    return not case.reason and result.floor < MIN_SHARE * result.claimed


def find(
    entry: Claim, attack: Attack, confidence: float, *, effort: float = 1.0, power: bool = True
) -> list[Finding]:
    """All that the attack on a claim finds; with `power`, and how much each of its cases notices."""
    from discreet.guarantees.power import measure_power

    parts = list(attack.parts())
    each = 1 - (1 - confidence) / max(1, sum(isinstance(part, Case) for part in parts))
    found: list[Finding] = []
    for part in parts:
        if not isinstance(part, Case):
            found.append(_finding(entry, part, None, ""))
            continue
        if (losses := part.compare_losses()) is not None:
            found.append(_finding(entry, losses, None, ""))
        result = part.run(each, effort)
        wanted = power and entry.status != "refuted"
        reached = measure_power(part, each, effort) if wanted else None
        found.append(_finding(entry, result, reached, part.reason, "drawn"))
    return found


def _finding(
    entry: Claim, result: AuditResult, power: float | None, reason: str, kind: str = "exact"
) -> Finding:
    if isinstance(result.claim, str):
        kind, unit = "fact", ""
    else:
        unit = unit_of_floor(result.claim)
    numbers = (result.claimed, result.floor)
    return Finding(
        entry.name, result.title, kind, *numbers, unit, result.verdict, power, reason, result.event
    )


# --- what the repository records beside it ---


def mutants(topic: str, repository: Path = _REPOSITORY) -> dict[str, int] | None:
    """How many mutants of a topic were tried and killed, as recorded in ``docs/mutants.json``."""
    path = repository / "docs" / "mutants.json"
    if not path.exists():
        return None
    found: dict[str, int] | None = json.loads(path.read_text("utf-8")).get(topic)
    return found


def last_look(topic: str, repository: Path = _REPOSITORY) -> str:
    """When somebody last compared a topic's code with its proof page, as ``guarantees.lock`` records it."""
    path = repository / "guarantees.lock"
    if not path.exists():
        return ""
    return str(tomllib.loads(path.read_text("utf-8")).get(topic, {}).get("when", ""))


def _topic_of(name: str) -> str:
    from discreet.guarantees.dossiers import rests_on

    return rests_on(name)[0]


def _mutants_in_words(topic: str, repository: Path) -> str:
    found = mutants(topic, repository)
    if found is None:
        return ""
    same = f", {found['equivalent']} equivalent" if found.get("equivalent") else ""
    return f"{found['killed']} of {found['tried']} killed{same}"


# --- in words ---


def _number(value: float) -> str:
    return f"{value:.4g}"


def _power_in_words(finding: Finding) -> str:
    if finding.power is None:
        return "exactly" if finding.kind == "exact" else ""
    return f"noise × {finding.power:g}" if finding.power else "none tried"


def explain(entry: Claim, findings: Sequence[Finding], repository: Path = _REPOSITORY) -> str:
    """All about one claim: what is claimed, where it is proved, what was tried, and what that notices."""
    topic = _topic_of(entry.name)
    lines = [
        f"{entry.name} ({entry.status})",
        f"  claim      {entry.statement}",
        f"  unit       {entry.unit}",
        f"  proof      docs/proofs/{entry.proof}",
        f"  mutants    {_mutants_in_words(topic, repository) or 'not recorded here'}",
        f"  last look  {last_look(topic, repository) or 'not recorded here'}",
        "  attacks",
    ]
    for one in findings:
        lines.append(f"    {one.title}: {one.verdict}")
        if one.share is not None:
            number = f"{_number(one.floor)} of {_number(one.claimed)} ({one.unit})"
            lines.append(f"      floor   {number}, {one.share:.0%}")
        if power := _power_in_words(one):
            lines.append(f"      caught  {power}")
        if one.reason:
            lines.append(f"      reason  {one.reason}")
        lines.append(f"      event   {one.event}")
    return "\n".join(lines)


# --- the page ---


def render_page(
    claims: Iterable[Claim], findings: Sequence[Finding], repository: Path = _REPOSITORY
) -> str:
    """The page of all claims, those that attacks come nearest to first."""
    rows, every = [], list(claims)
    for entry in every:
        mine = [one for one in findings if one.claim == entry.name]
        if mine:
            rows.append(_row(entry, mine, repository))
    rows.sort(key=lambda row: -row[0])
    heads = ["claim", "status", "verdict", "proof", "claimed", "floor", "floor/claim"]
    heads += ["sharpest case", "weakest drawn case", "smallest weakening caught", "mutants", "look"]
    lines = [_HEAD, "", "## Per claim", "", _line(heads), _line(["---"] * len(heads))]
    lines += [_line(cells) for _, cells in rows]
    lines += ["", "## Per drawn case", "", _CASES, ""]
    titles = ("claim", "case", "claimed", "floor", "floor/claim", "caught", "reason")
    lines += [_line(titles), _line(["---"] * len(titles))]
    status = {entry.name: entry.status for entry in every}
    drawn = [one for one in findings if one.kind == "drawn" and status.get(one.claim) != "refuted"]
    for one in sorted(drawn, key=lambda one: -_rank(one)):
        share = "" if one.share is None else f"{one.share:.2f}"
        numbers = (f"{_number(one.claimed)} ({one.unit})", _number(one.floor), share)
        lines.append(_line([one.claim, one.title, *numbers, _power_in_words(one), one.reason]))
    return "\n".join(lines) + "\n"


_HEAD = """\
# What the audit finds

Every guarantee that this toolkit states, and every one that its sources state, with what its attacks
reach. *Floor* is a lower bound on the true value of the claimed number: ε, at the claim's δ; μ of
Gaussian DP; ρ of zCDP. Proved claims must be consistent, refuted ones (published mechanisms whose proof
fails, and bugs seen in practice) must be violated; facts that aren't about a number have no floor. Floors
found by sampling hold with 99 % confidence for the whole table together and change a little from run to
run; "inf" means that something happens that must not happen at all. What fails and why: [published
mechanisms](proofs/refuted.md), [bugs](proofs/bugs.md).

Rows are ordered by floor over claim. The *weakest drawn case* is the one of a claim's attacks that comes
least near. The *smallest weakening caught* is the best of its drawn cases; *mutants* are weakened copies
of the code, by topic; the last *look* is when somebody last compared the code with the proof page
(`guarantees.lock`).

The findings are measured by the first command, which takes a while; the second one makes this page from
them. For one claim, `discreet audit NAME --explain` measures and prints the same.

```text
discreet audit all --explain --json --jobs 2 > docs/audits.jsonl
discreet audit all --explain --markdown --from docs/audits.jsonl > docs/audits.md
```"""

_CASES = """\
Runs of mechanisms of standing claims. Where the exact loss is known, runs are compared with
its trade-off curve, which is stricter than the claim; itself it is compared with the claim without chance.
*Caught* is the smallest weakening that the case calls violated: all noise of the toolkit multiplied by the
factor, while everything that is stated and charged stays right. A floor below half needs a reason."""


def _rank(finding: Finding) -> float:
    return -1.0 if finding.share is None else finding.share


def _row(entry: Claim, mine: list[Finding], repository: Path) -> tuple[float, list[str]]:
    """A claim's place in the order, and its cells."""
    numbers = [one for one in mine if one.share is not None]
    topic, broken = _topic_of(entry.name), any(one.verdict == "violated" for one in mine)
    base = [entry.name, entry.status, "violated" if broken else "consistent"]
    base.append(f"[{entry.proof}](proofs/{entry.proof})")
    rest = [_mutants_in_words(topic, repository), last_look(topic, repository)]
    if not numbers:
        event = max(mine, key=lambda one: one.verdict == "violated")
        return -1.0, [*base, "a fact", "", "", f"{event.title}: {event.event}", "", "", *rest]
    sharpest = max(numbers, key=_rank)
    drawn = [one for one in numbers if one.kind == "drawn"]
    weakest = min(drawn, key=_rank) if drawn and entry.status != "refuted" else None
    power = max((one.power for one in drawn if one.power is not None), default=None)
    cells = [
        *base,
        f"{_number(sharpest.claimed)} ({sharpest.unit})",
        _number(sharpest.floor),
        f"{_rank(sharpest):.2f}",
        f"{sharpest.title}: {sharpest.event}",
        "" if weakest is None else f"{weakest.title}: {_rank(weakest):.2f}",
        "" if power is None else (f"noise × {power:g}" if power else "none tried"),
        *rest,
    ]
    return _rank(sharpest), cells


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
