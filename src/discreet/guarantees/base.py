"""What a claim is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["proved", "assumed", "refuted"]

#: The unit of mechanisms that take a sensitivity as given.
ANY_UNIT = "add/remove or replace-one, as the sensitivity was taken"

#: Dossiers that claims rest on (`discreet.guarantees.dossiers`): prices; noise with its price; answers
#: through the door; fitted models.
PRICES = ("measures", "events", "accounting")
NOISED = (*PRICES, "noise", "additive")
ASKED = (*NOISED, "schema", "coding", "engines", "queries", "selection", "ledger", "door")
FITTED = (*ASKED, "models")


@dataclass(frozen=True)
class Claim:
    """One guarantee.

    Attributes
    ----------
    name : str
    statement : str
        What is guaranteed, in a sentence.
    unit : str
        For which change of the data.
    measure : str
    status : "proved", "assumed" or "refuted"
    source : str
        Where it was first stated or proved.
    proof : str
        The page below ``docs/proofs/`` that proves it; for a refuted claim, the one that shows why not.
    functions : tuple of str
        The code it speaks of, as dotted names, in dossiers that its topic cites.
    audit : str
        The name of the attack that tests it; the claim's own by default.
    repair : str
        For a refuted claim: the claim that holds instead, if there is one.
    """

    name: str
    statement: str
    unit: str
    measure: str
    status: Status
    source: str
    proof: str
    functions: tuple[str, ...] = ()
    audit: str = ""
    repair: str = ""

    def __post_init__(self) -> None:
        if not self.audit:
            object.__setattr__(self, "audit", self.name)


def printed(name: str, statement: str, source: str, measure: str, status: Status) -> Claim:
    """A formula as it was printed in the thesis on theory and tools."""
    return Claim(
        name=name,
        statement=statement,
        unit="replace-one",
        measure=measure,
        status=status,
        source=f"Ferrari 2022, {source}",
        proof="meaning.md",
    )


@dataclass(frozen=True)
class Document:
    """A document whose statements are claims, discussed in ``docs/proofs/refuted.md``.

    Attributes
    ----------
    source : str
    topic : str
        The folder of `discreet.guarantees` whose ``broken.py`` has its mechanisms.
    unit, status : str
        What its statements are about, and how most of them fare.
    """

    source: str
    topic: str
    unit: str
    status: Status

    def claim(
        self,
        name: str,
        statement: str,
        where: str,
        code: tuple[str, ...] = (),
        *,
        status: Status | None = None,
        measure: str = "PureDP",
        unit: str = "",
        repair: str = "",
    ) -> Claim:
        """A statement at this place in the document; `code` names broken copies, or functions in full."""
        return Claim(
            name=name,
            statement=statement,
            unit=unit or self.unit,
            measure=measure,
            status=status or self.status,
            source=f"{self.source}, {where}",
            proof="refuted.md",
            functions=tuple(
                each if "." in each else f"discreet.guarantees.{self.topic}.broken.{each}"
                for each in code
            ),
            repair=repair,
        )
