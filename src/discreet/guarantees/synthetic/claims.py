"""Claims about synthetic tables."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.publish.synthetic.*",)
RESTS_ON = (*FITTED, "masked_data")

_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_COUNTS = "discreet.queries.cell_counts."
_FAR = "discreet.queries.far_marginals."
_HERE = "discreet.publish.synthetic."

CLAIMS = (
    Claim(
        name="cell-counts",
        statement="Counts of combinations of cells, several marginals noised as one vector, move between "
        "neighbours by at most the stated L1 and L2 distances: every row is in one cell of each marginal.",
        unit=_UNIT,
        measure="PureDP, ApproxDP, ZCDP",
        status="proved",
        source="this project",
        proof="synthetic.md",
        functions=(
            _COUNTS + "Axis.cells",
            _COUNTS + "Axis.code",
            _COUNTS + "CellCounts.coded",
            _COUNTS + "CellCounts.sensitivity",
            "discreet.queries.several.Joint.sensitivity",
            "discreet.queries.several.PreparedJoint.answer",
        ),
    ),
    Claim(
        name="far-marginals",
        statement="Marginals drawn one after the other by their L1 distance to public whole numbers, each "
        "draw by the exponential mechanism, are together ρ-zCDP, or ε-DP.",
        unit=_UNIT,
        measure="PureDP or ZCDP",
        status="proved",
        source="McSherry & Talwar 2007; bounded range: Cesar & Rogers 2021; the score: McKenna et al. 2022",
        proof="synthetic.md",
        functions=(
            _FAR + "FarMarginals.scores",
            _FAR + "FarMarginals.sensitivity",
            _FAR + "FarMarginals.parts",
            _FAR + "PreparedFarMarginals",
            _FAR + "round_counts",
            "discreet.mechanisms.selection.Exponential",
        ),
    ),
    Claim(
        name="synthetic-tables",
        statement="A Synthesizer's model, and all rows drawn from it, are ε-DP (δ = 0) or (ε, δ)-DP: noised "
        "counts of each column; then, a fixed number of times, draws among marginals, and noised counts.",
        unit=_UNIT,
        measure="PureDP or ApproxDP",
        status="proved",
        source="McKenna, Miklau & Sheldon 2021, 2022 (MST, AIM); (ε, δ): Canonne, Kamath & Steinke 2020",
        proof="synthetic.md",
        functions=(
            _HERE + "plan.make_recipe",
            _HERE + "plan.split_budget",
            _HERE + "plan.find_rho",
            _HERE + "fitting.fit_marginals",
            _HERE + "fitting.fit_joint",
            _HERE + "synthesizer.Synthesizer._plan",
            _HERE + "synthesizer.Synthesizer.fit",
        ),
    ),
)
