"""Claims about additive boosting."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.models.boosting.*",
    "!discreet.models.boosting.plots",
)
RESTS_ON = (*FITTED, "naive_bayes", "tree")


_UNIT = "add/remove and replace-one, with or without ids and max_rows"

CLAIMS = (
    Claim(
        name="additive-boosting",
        statement="Additive boosting, its cells, shapes and intercepts, is ε-DP (δ = 0) or (ε, δ)-DP: one "
        "noised vector of the target in public cells, then a fixed number of noised vectors of clipped "
        "residuals, a public group of columns at a time, in cells that earlier answers decided; for numbers "
        "the target's moments before all that.",
        unit=_UNIT,
        measure="PureDP or ApproxDP",
        status="proved",
        source="after Nori, Caruana, Bu, Shen & Kulkarni 2021",
        proof="boosting.md",
        functions=(
            "discreet.queries.residuals",
            "discreet.models.boosting.layout.public_layout",
            "discreet.models.boosting.layout.join_cells",
            "discreet.models.boosting.layout.join_columns",
            "discreet.models.boosting.learning",
            "discreet.models.boosting.starts",
            "discreet.models.boosting.schedule.public_groups",
            "discreet.models.boosting.schedule.split_costs",
            "discreet.models.boosting.pairs",
            "discreet.models.boosting.estimator.AdditiveBoosting._number_of_pairs",
            "discreet.models.boosting.estimator.AdditiveBoosting._number_of_rounds",
            "discreet.models.boosting.estimator.AdditiveBoosting._public_layout",
            "discreet.models.boosting.estimator.AdditiveBoosting._first",
            "discreet.models.boosting.estimator.AdditiveBoosting._round",
            "discreet.models.boosting.estimator.AdditiveBoosting._costs",
            "discreet.models.boosting.estimator.AdditiveBoosting._plan",
            "discreet.models.boosting.estimator.AdditiveBoosting._train",
            "discreet.models.boosting.classifier.AdditiveBoostingClassifier._first_query",
            "discreet.models.boosting.classifier.AdditiveBoostingClassifier._residuals",
            "discreet.models.boosting.regressor.AdditiveBoostingRegressor._first_query",
            "discreet.models.boosting.regressor.AdditiveBoostingRegressor._target_query",
            "discreet.models.boosting.regressor.AdditiveBoostingRegressor._residuals",
            "discreet.models.shares.split",
            "discreet.engines.code_cache",
        ),
    ),
)
