"""The registry of guarantees: what is claimed, of whom, on what proof, and which attack tests it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CLAIMS", "Claim", "claim"]

Status = Literal["proved", "assumed", "refuted"]


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
        The page that proves it, below ``docs/proofs/``; for a refuted claim, that shows why not.
    audit : str
        The attack that tests it, as ``tests/...py::name``.
    functions : tuple of str
        The code it speaks of, as dotted names.
    """

    name: str
    statement: str
    unit: str
    measure: str
    status: Status
    source: str
    proof: str
    audit: str
    functions: tuple[str, ...]


_ANY = "add/remove or replace-one, as the sensitivity was taken"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="discrete-laplace",
        statement="Integers with L1 sensitivity Δ plus discrete Laplace noise of scale s are (Δ/s)-DP.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="Ghosh, Roughgarden & Sundararajan 2012; Dwork, McSherry, Nissim & Smith 2006",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_an_attack_finds_no_more_than_the_claim",
        functions=(
            "discreet.mechanisms.laws.LaplaceLaw.event",
            "discreet.mechanisms.laws.LaplaceLaw.run",
            "discreet.mechanisms.additive.Laplace.law",
            "discreet.noise.discrete_laplace",
        ),
    ),
    Claim(
        name="rounded-gaussian",
        statement="Integers with L2 sensitivity Δ plus rounded Gaussian noise are (Δ/σ)-Gaussian DP, "
        "hence (ε, δ(ε))-DP by the analytic formula and (Δ²/2σ²)-zCDP.",
        unit=_ANY,
        measure="GaussianDP",
        status="proved",
        source="Balle & Wang 2018; Dong, Roth & Su 2022; Bun & Steinke 2016",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_an_attack_finds_no_more_than_the_claim",
        functions=(
            "discreet.mechanisms.laws.GaussianLaw.event",
            "discreet.mechanisms.laws.GaussianLaw.run",
            "discreet.mechanisms.additive.Gaussian.law",
            "discreet.noise.rounded_gaussian",
        ),
    ),
    Claim(
        name="discrete-gaussian",
        statement="Integers with L2 sensitivity Δ plus discrete Gaussian noise are (Δ²/2σ²)-zCDP.",
        unit=_ANY,
        measure="ZCDP",
        status="proved",
        source="Canonne, Kamath & Steinke 2020",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_an_attack_finds_no_more_than_the_claim",
        functions=(
            "discreet.mechanisms.laws.DiscreteGaussianLaw.event",
            "discreet.mechanisms.laws.DiscreteGaussianLaw.run",
            "discreet.mechanisms.additive.DiscreteGaussian.law",
            "discreet.noise.discrete_gaussian",
        ),
    ),
    Claim(
        name="analytic-formula-for-discrete-gaussian",
        statement="Discrete Gaussian noise calibrated by the analytic Gaussian formula is (ε, δ)-DP.",
        unit=_ANY,
        measure="ApproxDP",
        status="refuted",
        source="a shortcut seen in practice; δ is 1.035 times the target at (1, 1e-5) with Δ = 1",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_the_analytic_formula_is_false_for_the_discrete_gaussian",
        functions=(),
    ),
    Claim(
        name="exponential-quantile",
        statement="A quantile drawn on the coded grid by the exponential mechanism is ε-DP and "
        "(ε²/8)-zCDP, over all groups together.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="McSherry & Talwar 2007; Smith 2011; Cesar & Rogers 2021",
        proof="quantiles.md",
        audit="tests/attacks/test_queries.py::test_an_attack_on_quantiles_finds_no_more_than_was_charged",
        functions=(
            "discreet.mechanisms.selection.Exponential.event",
            "discreet.mechanisms.selection.Exponential.run",
            "discreet.queries.quantile.Quantile.rank_sensitivity",
            "discreet.queries.quantile.Quantile.scores",
            "discreet.noise.select",
        ),
    ),
    Claim(
        name="coded-sums",
        statement="The integer vector of a query moves by at most its stated L1 and L2 sensitivity "
        "between neighbours, on every engine, whatever stands in the cells.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="sensitivity",
        status="proved",
        source="this project",
        proof="coding.md",
        audit="tests/attacks/test_queries.py::test_an_attack_on_the_door_finds_no_more_than_was_charged",
        functions=(
            "discreet.queries.base.Query._moved",
            "discreet.engines.arrays.grid_codes",
            "discreet.engines.arrays.keep_rows",
        ),
    ),
    Claim(
        name="discovered-keys",
        statement="Keys whose noisy count reaches the threshold are released with (ε, δ)-DP, the mass at "
        "the threshold counted.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="ApproxDP",
        status="proved",
        source="Korolova, Kenthapadi, Mishra & Ntoulas 2009",
        proof="keys.md",
        audit="tests/attacks/test_discovery.py::test_a_key_of_one_person_is_released_no_more_often_than_delta",
        functions=(
            "discreet.accounting.thresholds.threshold_delta",
            "discreet.accounting.thresholds.least_threshold",
            "discreet.answers.discovery.KeysAnswerer.answer",
            "discreet.engines.arrays.count_texts",
        ),
    ),
    Claim(
        name="private-bounds",
        statement="Bounds chosen from a noisy histogram of signs and powers of two are ε-DP.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP",
        status="proved",
        source="a histogram with public bins: Dwork, McSherry, Nissim & Smith 2006",
        proof="keys.md",
        audit="tests/attacks/test_discovery.py::test_an_attack_on_bounds_finds_no_more_than_was_charged",
        functions=(
            "discreet.queries.discovery.Bounds.sensitivity",
            "discreet.answers.discovery.BoundsAnswerer.answer",
            "discreet.engines.arrays.ladder_codes",
        ),
    ),
    Claim(
        name="ledger-filter",
        statement="All answers charged to a ledger, chosen adaptively, together satisfy its limit.",
        unit="the ledger's",
        measure="the limit's",
        status="proved",
        source="Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Lécuyer 2021",
        proof="filter.md",
        audit="tests/attacks/test_ledger.py::test_an_adaptive_analyst_never_gets_more_than_the_limit",
        functions=("discreet.ledger.Ledger.charge",),
    ),
)


def claim(name: str) -> Claim:
    """The claim of this name."""
    for entry in CLAIMS:
        if entry.name == name:
            return entry
    raise KeyError(f"no claim is called {name!r}; there are: {', '.join(c.name for c in CLAIMS)}.")
