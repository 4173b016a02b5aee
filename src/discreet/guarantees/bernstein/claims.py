"""Claims about released functions and sampled sensitivities."""

from discreet.guarantees.base import ANY_UNIT, NOISED, Claim

CODE = (
    "discreet.mechanisms.bernstein",
    "discreet.mechanisms.priestley_chao",
    "discreet.mechanisms.sensitivity_sampling",
)
RESTS_ON = (*NOISED, "local")


CLAIMS = (
    Claim(
        name="bernstein",
        statement="A function on [0,1]^l whose values move by at most L, released through (k+1)^l values "
        "with Laplace noise of scale L(k+1)^l/ε, is ε-DP; with Gaussian noise for L√((k+1)^l), as that is.",
        unit=ANY_UNIT,
        measure="PureDP or the Gaussian's",
        status="proved",
        source="Aldà & Rubinstein 2017",
        proof="bernstein.md",
        functions=(
            "discreet.mechanisms.bernstein.Bernstein.run",
            "discreet.mechanisms.bernstein.Bernstein.run_coded",
            "discreet.mechanisms.bernstein.Bernstein.sensitivity",
        ),
    ),
    Claim(
        name="priestley-chao",
        statement="The coded sums of a Priestley–Chao regression with clamped y move by at most the stated "
        "L1 and L2 sensitivity when a row is replaced.",
        unit="replace-one, n public",
        measure="sensitivity",
        status="proved",
        source="this project; the estimator: Priestley & Chao 1972",
        proof="bernstein.md",
        functions=(
            "discreet.mechanisms.priestley_chao.PriestleyChao.contributions",
            "discreet.mechanisms.priestley_chao.PriestleyChao.sensitivity",
        ),
    ),
    Claim(
        name="sampled-sensitivity-as-sensitivity",
        statement="Noise calibrated to a sampled sensitivity is ε-DP.",
        unit="replace-one",
        measure="PureDP",
        status="refuted",
        source="a reading of Rubinstein & Aldà 2017, who claim random DP only; "
        "mean of 100 normals: exact ε = 3.59 for a claimed 1",
        proof="bernstein.md",
        functions=("discreet.mechanisms.sensitivity_sampling.sensitivity_sampler",),
    ),
)
