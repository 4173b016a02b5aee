"""Claims about principal components, computed from a noised matrix or drawn."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.models.decomposition.*",
    "discreet.models.scaled",
    "discreet.noise.bingham",
)
RESTS_ON = FITTED


_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_MEASURE = "PureDP or ApproxDP"

CLAIMS = (
    Claim(
        name="pca",
        statement="Components, variances and mean of a PCA are ε-DP (Laplace noise on every entry of the "
        "symmetric matrix) or (ε, δ)-DP (Gaussian noise): one noised vector of count, sums and products.",
        unit=_UNIT,
        measure=_MEASURE,
        status="proved",
        source="Blum, Dwork, McSherry & Nissim 2005; Dwork, Talwar, Thakurta & Zhang 2014",
        proof="decomposition.md",
        functions=(
            "discreet.queries.centred.CentredSums.extent",
            "discreet.queries.centred.CentredSums._new_terms",
            "discreet.models.scaled.finest",
            "discreet.models.decomposition.pca.PCA._how",
            "discreet.models.decomposition.pca.PCA._plan",
            "discreet.models.decomposition.pca.PCA._train",
        ),
    ),
    Claim(
        name="pca-clipped",
        statement="Components, variances and mean of PCA(method='clipped') are ε-DP (Laplace noise) or "
        "(ε, δ)-DP (Gaussian noise): a noised mean, then noised sums of products of rows that were moved "
        "into a ball around it.",
        unit=_UNIT,
        measure=_MEASURE,
        status="proved",
        source="this project, after Dwork, Talwar, Thakurta & Zhang 2014",
        proof="decomposition.md",
        functions=(
            "discreet.models.decomposition.ball.Ball",
            "discreet.models.decomposition.centring.MeanFirst",
            "discreet.models.decomposition.clipped.ClippedProducts",
            "discreet.models.decomposition.clipped.ClippedPlan",
            "discreet.models.decomposition.pca.PCA._clipped",
            "discreet.coding.clipping.clip_rows",
        ),
    ),
    Claim(
        name="pca-exponential",
        statement="Mean, components and variances of PCA(method='exponential') are together ε-DP: a noised "
        "mean, directions drawn one after the other by the exponential mechanism on the sphere (exactly, in "
        "real arithmetic), and noised sums of squares along them.",
        unit=_UNIT,
        measure="PureDP",
        status="assumed",
        source="Chaudhuri, Sarwate & Sinha 2013; Kent, Ganeiber & Mardia 2018",
        proof="decomposition.md",
        functions=(
            "discreet.noise.bingham",
            "discreet.models.decomposition.ball.Ball",
            "discreet.models.decomposition.directions.PrincipalDirections",
            "discreet.models.decomposition.directions.SquaresAlong",
            "discreet.models.decomposition.centring.MeanFirst",
            "discreet.models.decomposition.exponential.ExponentialPlan",
            "discreet.models.decomposition.pca.PCA._exponential",
            "discreet.models.decomposition.pca.PCA._check_own_ledger",
            "discreet.coding.clipping.clip_rows",
        ),
    ),
)
