"""Claims about queries through the door."""

from discreet.guarantees.base import ANY_UNIT, ASKED, Claim

CODE = (
    "discreet.queries.*",
    "!discreet.queries.check",
    "!discreet.queries.count_vector",
    "!discreet.queries.discovery",
    "!discreet.queries.people",
)
PAGES = (
    "answers.md",
    "boosting.md",
    "cluster.md",
    "linear_model.md",
    "moments.md",
    "naive_bayes.md",
    "synthetic.md",
    "tree.md",
)
RESTS_ON = (*ASKED, "people")


CLAIMS = (
    Claim(
        name="exponential-quantile",
        statement="A quantile drawn on the coded grid by the exponential mechanism is ε-DP and "
        "(ε²/8)-zCDP, over all groups together.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="McSherry & Talwar 2007; Smith 2011; Cesar & Rogers 2021",
        proof="quantiles.md",
        functions=(
            "discreet.mechanisms.selection.Exponential.event",
            "discreet.mechanisms.selection.Exponential.run",
            "discreet.queries.quantile.Quantile.rank_sensitivity",
            "discreet.queries.quantile.Quantile.scores",
            "discreet.noise.select",
            "discreet.noise.selection",
            "discreet.queries.quantile.PreparedQuantile",
        ),
    ),
    Claim(
        name="joint-quantiles",
        statement="Several quantiles drawn by recursive splitting are ε-DP, and ε²/(8·levels)-zCDP, "
        "over all groups together: each level costs one draw, since every row is in one part of it.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="Kaplan, Schnapp & Stemmer 2022",
        proof="quantiles.md",
        functions=(
            "discreet.queries.cuts",
            "discreet.queries.joint_quantiles",
            "discreet.queries.quantile.Quantile.rank_sensitivity",
            "discreet.mechanisms.selection.Exponential.event",
            "discreet.noise.select",
            "discreet.noise.selection",
        ),
    ),
    Claim(
        name="tightened-means",
        statement="A mean between bounds that are bought first costs what its two parts cost together: a "
        "noised histogram, and a vector of sums whose sensitivity doesn't depend on the bounds.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="this project",
        proof="moments.md",
        functions=(
            "discreet.queries.tightened",
            "discreet.columns.clamped",
            "discreet.queries.base.Query._sensitivity_from_extent",
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
        functions=(
            "discreet.queries.base.Query._sensitivity_from_extent",
            "discreet.coding.values.grid_codes",
            "discreet.coding.persons.keep_rows",
            "discreet.engines.arrays",
            "discreet.queries.additive",
            "discreet.queries.base",
        ),
    ),
)
