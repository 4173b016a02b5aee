"""Chapter 1's stories as experiments with tables: each attack, and what stops it or doesn't."""

from __future__ import annotations

import numpy as np
import stories
from harness import Study, markdown
from study import STUDY

import discreet as dp
from discreet.measures.meaning import advantage

__all__: list[str] = []

BUDGETS = (0.5, 1.0, 2.0)
#: How many bills are known.
BILLS = (1, 2, 4, 8, 16)
#: How the days of bills are published.
MOVES = ("as they are", "together", "one by one")
PARTS = ("she is in the table", "she is not")


@STUDY.experiment((1, 2, 4, 8), (3, 14), repeats=10, quick=1)
def linkage(known: int, days: int, *, seed: int) -> dict[str, float]:
    return {"identified": stories.link(known, days, np.random.default_rng(seed))}


@STUDY.experiment((0.5, 1.0, 2.0), repeats=20)
def linkage_stopped(epsilon: float, *, seed: int) -> dict[str, float]:
    true, false = stories.watch(epsilon, seed)
    return {"advantage": true - false}


@STUDY.experiment(range(1, len(stories.KNOWN) + 1), repeats=1, quick=1)
def quasi_identifiers(columns: int, *, seed: int) -> dict[str, float]:
    return {"unique": stories.unique_share(columns)}


@STUDY.experiment((0.5, 1.0, 2.0), repeats=50)
def quasi_identifiers_stopped(epsilon: float, *, seed: int) -> dict[str, float]:
    return {"right": stories.guess_diagnosis(epsilon, seed)}


@STUDY.experiment(("exact", 0.5, 1.0, 2.0), repeats=20, quick=1)
def homer(release: str | float, *, seed: int) -> dict[str, float]:
    power, false = stories.homer(None if release == "exact" else float(release), seed)
    return {"power": power, "false positives": false}


@STUDY.experiment(BILLS, MOVES, repeats=10, quick=1)
def bills(known: int, how: str, *, seed: int) -> dict[str, float]:
    return {"identified": stories.link_bills(known, how, np.random.default_rng(seed))}


@STUDY.experiment(BUDGETS, repeats=20)
def bills_stopped(epsilon: float, *, seed: int) -> dict[str, float]:
    true, false = stories.watch_bills(epsilon, seed)
    return {"advantage": true - false}


@STUDY.experiment(("exact", *BUDGETS), PARTS, repeats=200)
def terry_ross(release: str | float, part: str, *, seed: int) -> dict[str, float]:
    told, guessed = stories.terry(
        None if release == "exact" else float(release), part == PARTS[0], seed
    )
    return {"told": told, "guessed": guessed}


# -- tables


@STUDY.table("terry-ross")
def auxiliary_information(study: Study) -> str:
    rows = []
    for release in ("exact", *BUDGETS):
        found = [study.get("terry-ross", release, part) for part in PARTS]
        name = release if isinstance(release, str) else f"ε = {release:g}"
        stopped = "–" if release == "exact" else f"{advantage(dp.PureDP(release)):.3f}"
        rows.append([name, *(each["told"] for each in found), found[0]["guessed"], stopped])
    head = [
        "mean height",
        *PARTS,
        "guessed without the release",
        "told from another woman in her place, at most",
    ]
    count = study.get("terry-ross", "exact", PARTS[0])["told"].count
    return f"{markdown(head, rows)}\n\nDistance from her height in cm, {count} repetitions."


@STUDY.table("bills", "bills-stopped")
def billing_records(study: Study) -> str:
    rows = [
        [known, *(study.get("bills", known, how)["identified"] for how in MOVES)] for known in BILLS
    ]
    count = study.get("bills", 1, MOVES[0])["identified"].count
    head = ["bills known", "days as they are", "a person's days moved together", "moved one by one"]
    exposed = markdown(head, rows)
    rows = [
        [f"{e:g}", study.get("bills-stopped", e)["advantage"], f"{advantage(dp.PureDP(e)):.3f}"]
        for e in BUDGETS
    ]
    stopped = markdown(["ε", "true less false positives of the best test", "at most"], rows)
    return (
        f"{exposed}\n\n{count} made-up tables, 200 victims each.\n\n{stopped}\n\n"
        f"{study.get('bills-stopped', 1.0)['advantage'].count} repetitions of 60 releases with and without."
    )


@STUDY.table("linkage", "linkage-stopped")
def pseudonyms(study: Study) -> str:
    rows = [
        [known, *(study.get("linkage", known, days)["identified"] for days in (3, 14))]
        for known in (1, 2, 4, 8)
    ]
    count = study.get("linkage", 1, 3)["identified"].count
    exposed = markdown(["ratings known", "identified, days ± 3", "days ± 14"], rows)
    rows = [
        [f"{e:g}", study.get("linkage-stopped", e)["advantage"], f"{advantage(dp.PureDP(e)):.3f}"]
        for e in (0.5, 1.0, 2.0)
    ]
    stopped = markdown(["ε", "true less false positives of the best test", "at most"], rows)
    return (
        f"{exposed}\n\n{count} made-up tables, 200 victims each.\n\n{stopped}\n\n"
        f"{study.get('linkage-stopped', 1.0)['advantage'].count} repetitions of 60 releases with and without."
    )


@STUDY.table("quasi-identifiers", "quasi-identifiers-stopped")
def health_records(study: Study) -> str:
    rows = [
        [", ".join(stories.KNOWN[:k]), f"{study.get('quasi-identifiers', k)['unique'].mean:.1%}"]
        for k in range(1, len(stories.KNOWN) + 1)
    ]
    exposed = markdown(["known", "people who are the only ones"], rows)
    rows = [
        [
            f"{e:g}",
            study.get("quasi-identifiers-stopped", e)["right"],
            f"{1 / (1 + np.exp(-e)):.3f}",
        ]
        for e in (0.5, 1.0, 2.0)
    ]
    stopped = markdown(["ε", "diagnoses guessed right", "at most"], rows)
    count = study.get("quasi-identifiers-stopped", 1.0)["right"].count
    return f"{exposed}\n\n{stopped}\n\n{count} repetitions."


@STUDY.table("homer")
def genomes(study: Study) -> str:
    rows = [["exact", study.get("homer", "exact")["power"], "–"]]
    rows += [
        [f"({e:g}, 10⁻⁶)", study.get("homer", e)["power"], f"{stories.power_bound(e):.3f}"]
        for e in (0.5, 1.0, 2.0)
    ]
    count = study.get("homer", "exact")["power"].count
    return (
        markdown(["frequencies", "members found, at 5 % false positives", "at most"], rows)
        + f"\n\n{count} repetitions."
    )
