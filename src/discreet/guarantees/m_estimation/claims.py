"""Claims about estimators that are fitted to a noised histogram."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.models.m_estimation",
    "discreet.models.cells",
)
RESTS_ON = FITTED


CLAIMS = (
    Claim(
        name="histogram-m-estimator",
        statement="A HistogramMEstimator, weights of cells and the estimator fitted to them, is ε-DP (δ = 0) "
        "or (ε, δ)-DP: one noised vector of counts, or of counts and sums of the target, in public cells.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP or ApproxDP",
        status="proved",
        source="Lei 2011",
        proof="m_estimation.md",
        functions=(
            "discreet.models.cells",
            "discreet.models.m_estimation.HistogramMEstimator._cells",
            "discreet.models.m_estimation.HistogramMEstimator._bins",
            "discreet.models.m_estimation.HistogramMEstimator._target_axis",
            "discreet.models.m_estimation.HistogramMEstimator._query",
            "discreet.models.m_estimation.HistogramMEstimator._plan",
            "discreet.models.m_estimation.HistogramMEstimator._train",
            "discreet.queries.with_columns.WithColumns.sensitivity",
            "discreet.queries.with_columns.WithColumns.coded",
            "discreet.queries.centred.CentredSums.extent",
            "discreet.queries.counts.Count.extent",
        ),
    ),
)
