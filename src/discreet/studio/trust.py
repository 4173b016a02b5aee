"""Trust: what is claimed, how it is proved, what attacks find, and what nothing here covers."""

from __future__ import annotations

import re
from typing import Any

from discreet.guarantees import Claim, all_claims
from discreet.pages import list_pages, read_page
from discreet.report import Bullets
from discreet.report.summary import describe_limits
from discreet.studio.markup import render_markdown
from discreet.studio.pages import Answer, Route
from discreet.studio.studio import Studio
from discreet.studio.visits import FieldErrors, NotFound, Page, Redirect, Visit

__all__ = ["ROUTES"]

EFFORTS = {"0.1": "quick", "1": "as on record", "10": "thorough"}
STATUSES = ("proved", "assumed", "refuted")


def show(studio: Studio, visit: Visit) -> Page:
    """The claims, with their verdicts."""
    claims = all_claims()
    status = visit.query.text("status")
    sought = visit.query.text("sought").lower()
    chosen = [
        claim
        for claim in claims
        if (not status or claim.status == status)
        and (not sought or sought in f"{claim.name} {claim.statement}".lower())
    ]
    verdicts = _list_verdicts()
    watched = studio.audits.list()
    shown = {
        "title": "Trust",
        "here": "Trust",
        "claims": [
            (claim, verdicts.get(claim.name, ""), watched.get(claim.name)) for claim in chosen
        ],
        "counts": [(name, sum(claim.status == name for claim in claims)) for name in STATUSES],
        "total": len(claims),
        "status": status,
        "sought": sought,
        "limits": _list_limits(),
    }
    return Page("trust.html", shown)


def _list_limits() -> tuple[str, ...]:
    blocks = describe_limits([], None).blocks
    return next(block.items for block in blocks if isinstance(block, Bullets))


def _list_verdicts() -> dict[str, str]:
    """What the audits on record found, by claim, from the page of audits."""
    try:
        text = read_page("audits")
    except (FileNotFoundError, ValueError):
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        verdict = next((cell for cell in cells if cell in ("consistent", "violated")), "")
        name = re.sub(r"[`\[\]]|\(.*\)", "", cells[0]) if cells else ""
        if verdict and found.get(name) != "violated":
            found[name] = verdict
    return found


def _find(name: str) -> Claim:
    for claim in all_claims():
        if claim.name == name:
            return claim
    raise NotFound


def show_claim(studio: Studio, visit: Visit) -> Page:
    """All about one claim, with its proof and what attacks find."""
    claim = _find(visit.places["name"])
    page = f"proofs/{claim.proof.removesuffix('.md')}"
    try:
        proof: Any = render_markdown(read_page(page), page, studio.base, 1)
    except (FileNotFoundError, ValueError):
        proof = ""
    shown = {
        "title": claim.name,
        "here": "Trust",
        "claim": claim,
        "verdict": _list_verdicts().get(claim.name, ""),
        "watched": studio.audits.find(claim.name),
        "proof": proof,
        "page": page,
        "efforts": EFFORTS,
    }
    return Page("claim.html", shown)


def audit(studio: Studio, visit: Visit) -> Answer:
    """Begin an attack on a claim."""
    claim = _find(visit.places["name"])
    effort = visit.form.text("effort")
    if effort not in EFFORTS:
        raise FieldErrors({"effort": "Choose one of the list."})
    studio.audits.begin(claim.name, float(effort))
    return Redirect(f"/trust/claim/{claim.name}#audit")


def tell_audit(studio: Studio, visit: Visit) -> Answer:
    """How far an audit is, for the page's script."""
    watched = studio.audits.find(visit.places["name"])
    if watched is None:
        raise NotFound
    return {"goes_on": watched.goes_on, "share": -1.0, "found": len(watched.found)}


def show_page(studio: Studio, visit: Visit) -> Page:
    """A page of the documentation."""
    name = visit.places["page"]
    if name not in list_pages():
        raise NotFound
    text = render_markdown(read_page(name), name, studio.base)
    return Page("document.html", {"title": name, "here": "Trust", "text": text})


ROUTES: list[Route] = [
    ("GET", "/trust", show),
    ("GET", "/trust/claim/{name}", show_claim),
    ("GET", "/trust/claim/{name}/state", tell_audit),
    ("POST", "/trust/claim/{name}", audit),
    ("GET", "/trust/page/{page:path}", show_page),
]
