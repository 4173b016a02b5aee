"""Which code each guarantee rests on: every module belongs to one dossier, or is exempt for a reason.

A *foundation* is code that many claims share; a *topic* is a folder of this package, whose ``claims.py`` says
in ``CODE`` which modules are its own, in ``RESTS_ON`` which other dossiers its claims cite, and in ``PAGES``
which pages beside those of its claims speak of its code. So a change in shared code asks for one look at its
foundation, not for one at every claim. ``tools/looks.py`` compares all of it with the record of looks,
``guarantees.lock``; a module in no dossier, or in two, fails there.

A pattern is the name of a module, with ``*`` for any characters; ``name.*`` is a package with everything in
it; ``!name`` leaves one out. The broken copies of a topic are its own code, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module

from discreet.guarantees import topics
from discreet.guarantees.base import Claim

__all__ = ["EXEMPT", "FOUNDATIONS", "Dossier", "all_dossiers", "homes", "matches", "rests_on"]


@dataclass(frozen=True)
class Dossier:
    """Code that is looked at together, against the same proof pages.

    Attributes
    ----------
    name : str
    code : tuple of str
        Patterns of its modules.
    pages : tuple of str
        The pages to compare it with, below ``docs/proofs/``.
    claims : tuple of Claim
        What is claimed about it; none for a foundation.
    rests_on : tuple of str
        The dossiers that its claims cite besides their own.
    """

    name: str
    code: tuple[str, ...]
    pages: tuple[str, ...]
    claims: tuple[Claim, ...] = ()
    rests_on: tuple[str, ...] = ()


FOUNDATIONS = (
    Dossier(
        "measures",
        ("discreet.rational", "discreet.measures.*", "!discreet.measures.meaning"),
        ("conversions.md",),
    ),
    Dossier("events", ("discreet.events.*",), ("accounting.md",)),
    Dossier(
        "accounting",
        ("discreet.accounting.*", "!discreet.accounting.published"),
        ("accounting.md",),
    ),
    Dossier(
        "schema",
        (
            "discreet.unit",
            "discreet.schema",
            "discreet.matching",
            "discreet.expressions",
            "discreet.columns.*",
        ),
        ("coding.md",),
    ),
    Dossier("coding", ("discreet.coding.*",), ("coding.md",)),
    Dossier("engines", ("discreet.engines.*",), ("coding.md",)),
    Dossier(
        "door",
        (
            "discreet.comparison",
            "discreet.dataset",
            "discreet.deprecation",
            "discreet.progress",
            "discreet.release",
            "discreet.selection",
            "discreet.shortcuts.*",
            "discreet.sql.door",
            "discreet.step",
        ),
        ("ledger.md", "model_selection.md"),
    ),
    Dossier(
        "models",
        (
            "discreet.models",
            "discreet.models.base",
            "discreet.models.facts",
            "discreet.models.features",
            "discreet.models.inputs",
            "discreet.models.kinds",
            "discreet.models.parameters",
            "discreet.models.pipeline",
            "discreet.models.plan",
            "discreet.models.privacy",
            "discreet.models.reading",
            "discreet.models.rows",
            "discreet.models.seeds",
            "discreet.models.shares",
            "discreet.models.targets",
        ),
        ("ledger.md", "naive_bayes.md"),
    ),
)

#: Modules that no claim rests on, by the reason.
EXEMPT = {
    "names and where they are at home; nothing is computed": (
        "discreet",
        "discreet.claims",
    ),
    "keeps passwords out of sight, which no guarantee about rows rests on": ("discreet.secret",),
    "prints what other modules found": ("discreet.__main__", "discreet.cli.*"),
    "shows pages, and asks through the same door and ledger as any user": (
        "discreet.studio",
        "discreet.studio.*",
    ),
    "turns SQL into queries and answers into a table: a mistake asks another question, and pays for it": (
        "discreet.sql",
        "discreet.sql.*",
        "!discreet.sql.door",
    ),
    "shows the toolkit, through the same door as any user": ("discreet.demo",),
    "examples and switches for tests; the door reaches none of it": ("discreet.testing.*",),
    "draws a fitted model, which is post-processing": ("discreet.models.boosting.plots",),
    "shows, writes and reads what was released or is public already, which is post-processing": (
        "discreet.certificates",
        "discreet.layout",
        "discreet.models.files.*",
        "discreet.models.learned",
        "discreet.pages",
        "discreet.report",
        "discreet.report.*",
        "discreet.show.*",
    ),
    "ranks models by public facts and figures, and reads no row": ("discreet.models.recommending",),
    "fits and scores through the door like any user, and computes with what it was given": (
        "discreet.tradeoff",
        "discreet.tradeoff.*",
    ),
    "learns from what masks released, which is post-processing": ("discreet.publish.learning",),
    "offers by name what other modules publish and charge: a mistake tells a wrong price": (
        "discreet.publish.publishers",
    ),
    "public files, networks without weights, features of one image: what reads rows is charged": (
        "discreet.deep.images",
        "discreet.deep.paper_networks",
        "discreet.deep.scattering",
    ),
    "looks for leaks: a mistake misses one or invents one, and makes none": (
        "discreet.audit.*",
        "!discreet.audit.one_run",
        "discreet.guarantees.*.attacks*",
        "discreet.guarantees.draws",
        "discreet.guarantees.fits",
        "discreet.guarantees.findings",
        "discreet.guarantees.power",
        "discreet.guarantees.told",
    ),
    "what is claimed and where it belongs; the record has it claim by claim, function by function": (
        "discreet.guarantees",
        "discreet.guarantees.base",
        "discreet.guarantees.dossiers",
        "discreet.guarantees.*.claims",
    ),
}


@cache
def all_dossiers() -> dict[str, Dossier]:
    """All dossiers by name: foundations, then topics."""
    found = {entry.name: entry for entry in FOUNDATIONS}
    for topic in topics():
        module = import_module(f"discreet.guarantees.{topic}.claims")
        if topic in found:
            raise ValueError(f"a foundation and a topic are both called {topic!r}.")
        found[topic] = Dossier(
            topic,
            (*module.CODE, f"discreet.guarantees.{topic}.broken*"),
            (*dict.fromkeys(claim.proof for claim in module.CLAIMS), *getattr(module, "PAGES", ())),
            module.CLAIMS,
            tuple(name for name in module.RESTS_ON if name != topic),
        )
    return found


@cache
def matches(module: str, patterns: tuple[str, ...]) -> bool:
    """Whether a module is among those that the patterns name."""
    taken = [p for p in patterns if not p.startswith("!")]
    left_out = [p.removeprefix("!") for p in patterns if p.startswith("!")]
    return any(_names(p, module) for p in taken) and not any(_names(p, module) for p in left_out)


def _names(pattern: str, module: str) -> bool:
    return module == pattern.removesuffix(".*") or fnmatchcase(module, pattern)


def homes(module: str) -> list[str]:
    """The dossiers that a module belongs to, and ``exempt``; there should be exactly one."""
    found = [entry.name for entry in all_dossiers().values() if matches(module, entry.code)]
    return found + ["exempt"] * any(matches(module, patterns) for patterns in EXEMPT.values())


def rests_on(claim: str) -> tuple[str, ...]:
    """The dossiers that a claim cites, its own topic first."""
    for entry in all_dossiers().values():
        if claim in {each.name for each in entry.claims}:
            return (entry.name, *entry.rests_on)
    raise KeyError(f"no claim is called {claim!r}; `discreet claims` lists them.")
