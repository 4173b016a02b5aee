"""Claims about noise added to integers."""

from discreet.guarantees.base import ANY_UNIT, NOISED, Claim

CODE = (
    "discreet.mechanisms",
    "discreet.mechanisms.accuracy",
    "discreet.mechanisms.additive",
    "discreet.mechanisms.distributions",
    "discreet.mechanisms.staircase",
)
RESTS_ON = NOISED


CLAIMS = (
    Claim(
        name="discrete-laplace",
        statement="Integers with L1 sensitivity Δ plus discrete Laplace noise of scale s are (Δ/s)-DP.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="Ghosh, Roughgarden & Sundararajan 2012; Dwork, McSherry, Nissim & Smith 2006",
        proof="additive.md",
        functions=(
            "discreet.mechanisms.distributions.LaplaceDistribution.event",
            "discreet.mechanisms.distributions.LaplaceDistribution.run",
            "discreet.mechanisms.additive.Laplace.distribution",
            "discreet.noise.discrete_laplace",
            "discreet.noise.laplace",
            "discreet.noise.inversion",
            "discreet.noise.entropy",
        ),
    ),
    Claim(
        name="rounded-gaussian",
        statement="Integers with L2 sensitivity Δ plus rounded Gaussian noise are (Δ/σ)-Gaussian DP, "
        "hence (ε, δ(ε))-DP by the analytic formula and (Δ²/2σ²)-zCDP.",
        unit=ANY_UNIT,
        measure="GaussianDP",
        status="proved",
        source="Balle & Wang 2018; Dong, Roth & Su 2022; Bun & Steinke 2016",
        proof="additive.md",
        functions=(
            "discreet.mechanisms.distributions.GaussianDistribution.event",
            "discreet.mechanisms.distributions.GaussianDistribution.run",
            "discreet.mechanisms.additive.Gaussian.distribution",
            "discreet.noise.rounded_gaussian",
            "discreet.noise.gaussian",
        ),
    ),
    Claim(
        name="discrete-gaussian",
        statement="Integers with L2 sensitivity Δ plus discrete Gaussian noise are (Δ²/2σ²)-zCDP.",
        unit=ANY_UNIT,
        measure="ZCDP",
        status="proved",
        source="Canonne, Kamath & Steinke 2020",
        proof="additive.md",
        functions=(
            "discreet.mechanisms.distributions.DiscreteGaussianDistribution.event",
            "discreet.mechanisms.distributions.DiscreteGaussianDistribution.run",
            "discreet.mechanisms.additive.DiscreteGaussian.distribution",
            "discreet.noise.discrete_gaussian",
        ),
    ),
    Claim(
        name="analytic-formula-for-discrete-gaussian",
        statement="Discrete Gaussian noise calibrated by the analytic Gaussian formula is (ε, δ)-DP.",
        unit=ANY_UNIT,
        measure="ApproxDP",
        status="refuted",
        source="a shortcut seen in practice; δ is 1.035 times the target at (1, 1e-5) with Δ = 1",
        proof="additive.md",
        functions=(),
    ),
    Claim(
        name="staircase",
        statement="One integer with sensitivity Δ plus discrete staircase noise of width Δ is ε-DP.",
        unit=ANY_UNIT,
        measure="PureDP",
        status="proved",
        source="Geng & Viswanath 2016",
        proof="staircase.md",
        functions=(
            "discreet.mechanisms.staircase.Staircase.event",
            "discreet.mechanisms.staircase.Staircase.run",
            "discreet.mechanisms.staircase.Staircase.for_sums",
            "discreet.mechanisms.staircase.StaircaseDistribution.draw",
            "discreet.mechanisms.staircase.StaircaseDistribution.event",
            "discreet.mechanisms.staircase.StaircaseDistribution.run",
        ),
    ),
    Claim(
        name="classic-gaussian-formula",
        statement="σ = Δ√(2·log(1.25/δ))/ε gives (ε, δ)-DP for every ε.",
        unit=ANY_UNIT,
        measure="ApproxDP",
        status="refuted",
        source="Dwork & Roth 2014 prove it for ε < 1; at δ = 1e-4 it first fails near ε = 8",
        proof="staircase.md",
        functions=(
            "discreet.mechanisms.accuracy.published_gaussian_sigma",
            "discreet.mechanisms.accuracy.published_gaussian_delta",
        ),
    ),
)
