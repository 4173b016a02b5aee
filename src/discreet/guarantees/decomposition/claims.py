"""Claims about principal components that are drawn instead of computed."""

from discreet.guarantees.base import Claim

CLAIMS = (
    Claim(
        name="pca-exponential",
        statement="Mean, components and variances of PCA(method='exponential') are together ε-DP: a noised "
        "mean, directions drawn one after the other by the exponential mechanism on the sphere (exactly, in "
        "real arithmetic), and noised sums of squares along them.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP",
        status="assumed",
        source="Chaudhuri, Sarwate & Sinha 2013; Kent, Ganeiber & Mardia 2018",
        proof="decomposition.md",
        functions=(
            "discreet.noise.bingham",
            "discreet.models.decomposition.ball.Ball",
            "discreet.models.decomposition.directions.PrincipalDirections",
            "discreet.models.decomposition.directions.SquaresAlong",
            "discreet.models.decomposition.exponential.ExponentialPlan",
            "discreet.models.decomposition.pca.PCA._exponential",
            "discreet.models.decomposition.pca.PCA._check_own_ledger",
            "discreet.engines.clipping.clip_rows",
        ),
    ),
)
