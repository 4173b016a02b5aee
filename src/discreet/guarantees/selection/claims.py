"""Claims about selections."""

from discreet.guarantees.base import ANY_UNIT, NOISED, Claim

CODE = (
    "discreet.mechanisms.best_of",
    "discreet.mechanisms.noisy_max",
    "discreet.mechanisms.permute_and_flip",
    "discreet.mechanisms.selection",
    "discreet.mechanisms.sparse_vector",
)
RESTS_ON = NOISED


CLAIMS = (
    Claim(
        name="permute-and-flip",
        statement="Permute-and-flip on integer scores with sensitivity Δ and scale s is (2Δ/s)-DP, and "
        "(Δ/s)-DP if the scores are monotone.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="McKenna & Sheldon 2020; Ding, Kifer, Saghaian, Steinke, Wang, Xiao & Zhang 2021",
        proof="selection.md",
        functions=(
            "discreet.mechanisms.permute_and_flip.PermuteAndFlip.event",
            "discreet.mechanisms.permute_and_flip.PermuteAndFlip.run",
            "discreet.mechanisms.permute_and_flip.selection_scale",
        ),
    ),
    Claim(
        name="permute-and-flip-as-exponential",
        statement="Permute-and-flip has bounded range ε, so it is (ε²/8)-zCDP as exponential draws are.",
        unit=ANY_UNIT,
        measure="ZCDP",
        status="refuted",
        source="a shortcut seen in practice; at ε = 0.2 with two candidates D_2 is 3.3 times that",
        proof="selection.md",
        functions=(),
    ),
    Claim(
        name="noisy-max",
        statement="The index of the largest integer score plus geometric noise of scale s, ties broken by "
        "an order drawn apart, is (2Δ/s)-DP, and (Δ/s)-DP if the scores are monotone.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="Dwork & Roth 2014, with Laplace noise; the discrete version: this project",
        proof="selection.md",
        functions=(
            "discreet.mechanisms.noisy_max.ReportNoisyMax.event",
            "discreet.mechanisms.noisy_max.ReportNoisyMax.draws",
        ),
    ),
    Claim(
        name="sparse-vector",
        statement="The decisions of a sparse vector stream are (Δ/s₁ + 2cΔ/s₂)-DP, however many answers are "
        "fed; without the 2 if the answers are monotone.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="Lyu, Su & Li 2017; Dwork & Roth 2014",
        proof="selection.md",
        functions=(
            "discreet.mechanisms.sparse_vector.SparseVector.event",
            "discreet.mechanisms.sparse_vector.SparseVector.scales",
            "discreet.mechanisms.sparse_vector.SparseVectorStream.feed",
            "discreet.mechanisms.sparse_vector",
        ),
    ),
    Claim(
        name="best-of-runs",
        statement="The best of K runs that are ε-DP each, K truncated negative binomial and secret, "
        "is (2 + η)ε-DP.",
        unit="that of the runs",
        measure="PureDP",
        status="proved",
        source="Liu & Talwar 2019; Papernot & Steinke 2022",
        proof="selection.md",
        functions=(
            "discreet.mechanisms.best_of.BestOf.run",
            "discreet.mechanisms.best_of.truncated_negative_binomial",
        ),
    ),
)
