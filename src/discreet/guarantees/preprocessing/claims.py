"""Claims about scaling and filling."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.models.preprocessing",)
RESTS_ON = (*FITTED, "decomposition")


_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_MEASURE = "PureDP or ApproxDP"

CLAIMS = (
    Claim(
        name="standard-scaler",
        statement="Means and variances of a StandardScaler are ε-DP (δ = 0) or (ε, δ)-DP: one noised "
        "vector of count, sums and sums of squares.",
        unit=_UNIT,
        measure=_MEASURE,
        status="proved",
        source="this project",
        proof="decomposition.md",
        functions=(
            "discreet.queries.centred.CentredSums.extent",
            "discreet.models.preprocessing.StandardScaler._plan",
            "discreet.models.preprocessing.StandardScaler._train",
        ),
    ),
    Claim(
        name="mean-imputer",
        statement="Means by which a MeanImputer fills missing numbers are ε-DP (δ = 0) or (ε, δ)-DP, all "
        "columns together: a noised count and sum of the cells of each that are there.",
        unit=_UNIT,
        measure=_MEASURE,
        status="proved",
        source="this project",
        proof="decomposition.md",
        functions=(
            "discreet.models.preprocessing.MeanImputer._queries",
            "discreet.models.preprocessing.MeanImputer._plan",
            "discreet.models.preprocessing.MeanImputer._train",
        ),
    ),
)
