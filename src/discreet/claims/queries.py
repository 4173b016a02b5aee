"""Claims about queries through the door."""

from discreet.claims.base import ANY_UNIT, Claim

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
            "discreet.answers.quantile",
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
            "discreet.queries.base.Query._moved",
            "discreet.engines.arrays.grid_codes",
            "discreet.engines.arrays.keep_rows",
            "discreet.engines.arrays",
            "discreet.answers.additive",
            "discreet.queries.base",
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
        functions=(
            "discreet.accounting.thresholds.threshold_delta",
            "discreet.accounting.thresholds.least_threshold",
            "discreet.answers.discovery.KeysAnswerer.answer",
            "discreet.engines.arrays.count_texts",
            "discreet.answers.discovery",
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
        functions=(
            "discreet.queries.discovery.Bounds.sensitivity",
            "discreet.answers.discovery.BoundsAnswerer.answer",
            "discreet.engines.arrays.ladder_codes",
        ),
    ),
)
