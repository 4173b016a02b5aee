"""Claims about linear models."""

from discreet.guarantees.base import FITTED, Claim
from discreet.guarantees.erm.claims import OBJECTIVE

CODE = ("discreet.models.linear_model.*",)
RESTS_ON = (*FITTED, "erm")


_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_SUMS = (
    "discreet.queries.products.SumsOfProducts._pairs",
    "discreet.queries.products.SumsOfProducts.terms",
    "discreet.queries.products.SumsOfProducts._ends",
    "discreet.queries.products.SumsOfProducts.extent",
    "discreet.models.linear_model.asking.equations",
)

CLAIMS = (
    Claim(
        name="linear-regression",
        statement="LinearRegression and Ridge release noised moments of the target and one noised vector of "
        "normal equations, by the functional mechanism that vector alone; together they are ε-DP, or "
        "(ε, δ)-DP with Gaussian noise.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Wang 2018; Zhang, Zhang, Xiao, Yang & Winslett 2012; the joint sensitivity: this project",
        proof="linear_model.md",
        functions=(
            *_SUMS,
            "discreet.models.linear_model.asking.split_with_target",
            "discreet.models.linear_model.asking.ask_with_target",
            "discreet.models.linear_model.least_squares.LeastSquares._plan",
            "discreet.models.linear_model.least_squares.LeastSquares._plan_sums",
            "discreet.models.linear_model.least_squares.LeastSquares._train",
            "discreet.models.linear_model.least_squares.LeastSquares._solve",
        ),
    ),
    Claim(
        name="minimised-regression",
        statement="LinearRegression and Ridge with noise in the objective release noised moments of the "
        "target, then a point near the minimiser of Σ loss + (Λ/2)‖w‖² + b·w, whose residuals are told from "
        "the noised mean in noised deviations: ε-DP, or (ε, δ)-DP with Gaussian b.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Kifer, Smith & Thakurta 2012; constants, and the target about its noised mean: this project",
        proof="linear_model.md",
        functions=(
            *OBJECTIVE,
            "discreet.models.linear_model.least_squares.LeastSquares._plan",
            "discreet.models.linear_model.least_squares.LeastSquares._minimised",
            "discreet.models.linear_model.least_squares.LeastSquares._train",
            "discreet.models.linear_model.minimising.Minimised",
            "discreet.models.linear_model.minimising.plan_minimised",
            "discreet.models.linear_model.minimising._divide",
            "discreet.models.erm.step.MinimisedRisk.with_target",
        ),
    ),
    Claim(
        name="noisy-stats",
        statement="SimpleLinearRegression by NoisyStats, in the form of sums with independent noise, is "
        "ε-DP (or (ε, δ)-DP); under replace-one its L1 sensitivity is 5 in scaled units.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Alabi, McMillan, Sarathy, Smith & Vadhan 2022; the form of sums: this project",
        proof="linear_model.md",
        functions=(
            *_SUMS,
            "discreet.models.linear_model.simple.SimpleLinearRegression._plan",
            "discreet.models.linear_model.simple.SimpleLinearRegression._fit_sums",
        ),
    ),
    Claim(
        name="theil-sen",
        statement="SimpleLinearRegression by Theil–Sen, a median of slopes over random pairs and one of what "
        "is left, is ε-DP; where the number of rows is private it is bought first and rows are thrown into "
        "buckets.",
        unit=_UNIT,
        measure="PureDP",
        status="proved",
        source="Alabi, McMillan, Sarathy, Smith & Vadhan 2022; the form with private n: this project",
        proof="linear_model.md",
        functions=(
            "discreet.models.linear_model.theil_sen.score_sensitivity",
            "discreet.models.linear_model.theil_sen.is_matched",
            "discreet.models.linear_model.theil_sen._Medians.event",
            "discreet.models.linear_model.theil_sen._Medians.evidence",
            "discreet.models.linear_model.theil_sen._Medians._pairs",
            "discreet.models.linear_model.theil_sen.PairedSlopes.in_buckets",
            "discreet.models.linear_model.theil_sen.PairedSlopes.run",
            "discreet.models.linear_model.theil_sen.MedianLevel.along",
            "discreet.models.linear_model.theil_sen.MedianLevel.run",
            "discreet.models.linear_model.theil_sen.shares_of_range",
            "discreet.models.linear_model.theil_sen.draw_median",
            "discreet.models.linear_model.theil_sen.random_pairs",
            "discreet.models.linear_model.theil_sen.pair_randomly",
            "discreet.models.linear_model.simple.SimpleLinearRegression._shares",
            "discreet.models.linear_model.simple.SimpleLinearRegression._plan_pairs",
            "discreet.models.linear_model.simple.SimpleLinearRegression._fit_pairs",
        ),
    ),
    Claim(
        name="functional-logistic-regression",
        statement="LogisticRegression by the functional mechanism releases one noised vector of "
        "second-order sums: ε-DP, or (ε, δ)-DP with Gaussian noise.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Zhang, Zhang, Xiao, Yang & Winslett 2012; the joint sensitivity: this project",
        proof="linear_model.md",
        functions=(
            *_SUMS,
            "discreet.models.linear_model.logistic.LogisticRegression._query",
            "discreet.models.linear_model.logistic.LogisticRegression._plan",
            "discreet.models.linear_model.logistic.LogisticRegression._train",
        ),
    ),
)
