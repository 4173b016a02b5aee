"""Claims of the thesis by Ferrari 2022 beyond the formulas of `discreet.guarantees.meaning.claims`."""

from discreet.guarantees.base import NOISED, Document

CODE: tuple[str, ...] = ()
RESTS_ON = NOISED


_printed = Document(
    "Ferrari 2022",
    topic="thesis",
    unit="replace-one, n public: a row is a person (its Definition 2.0.1)",
    status="proved",
).claim


_FAILS = (
    _printed(
        "thesis-largest-error",
        "P(‖Y‖∞ >= ln((n/β)·(L/ε))) <= β for Laplace noise of scale L/ε.",
        "section 2.4.3; the logarithm must not cover L/ε",
        status="refuted",
        measure="accuracy",
    ),
    _printed(
        "thesis-gaussian-impossible",
        "The Gaussian mechanism can't be (ε, δ)-DP.",
        "section 3.1.1; its own Theorem 3.1.3 says it can",
        status="refuted",
        measure="ApproxDP",
        repair="rounded-gaussian",
    ),
    _printed(
        "thesis-matrix-mean",
        "The mean of a matrix of n cells in [0, 1] with Laplace noise of scale 1/(nε) is ε-DP.",
        "algorithm 2 and appendix; a row has many cells",
        ("matrix_mean",),
        status="refuted",
        repair="thesis-mean",
    ),
    _printed(
        "thesis-local-sensitivity",
        "Noise scaled by L = |f(D) - f(D')| of the data at hand is ε-DP.",
        "algorithm 2, step 1, taken at its word: ε = ∞",
        ("local_mean",),
        status="refuted",
        repair="thesis-mean",
    ),
    _printed(
        "thesis-matrix-mean-gaussian",
        "The mean of a matrix of n cells with σ = √(2·log(1.25/δ))/(nε) is (ε, δ)-DP.",
        "algorithm 3 and appendix; a row has many cells",
        ("matrix_mean",),
        status="refuted",
        measure="ApproxDP",
        repair="rounded-gaussian",
    ),
    _printed(
        "thesis-sampled-regression",
        "A kernel regression with unbounded y, released by Bernstein polynomials with a sampled "
        "sensitivity, is ε-DP.",
        "algorithm 4, section 4.4 and appendix; this is random DP at most, and the oracle isn't the "
        "distribution of the data",
        ("regression_values", "sampled_sensitivity", "plausible"),
        status="refuted",
        repair="bernstein",
    ),
)

_HOLDS = (
    _printed(
        "thesis-coin-example",
        "The truth at heads, a second coin at tails: ln 3-local DP.",
        "Example 2.1.1",
    ),
    _printed(
        "thesis-laplace",
        "In real numbers, Laplace noise of scale L/ε is ε-DP for an L1 sensitivity L.",
        "Definition 2.3.4",
    ),
    _printed(
        "thesis-mean",
        "The mean of n values in [-c, c] with Laplace noise of scale 2c/(nε) is ε-DP, in real numbers.",
        "section 2.4.1",
    ),
    _printed(
        "thesis-counts",
        "k counts with Laplace noise of scale k/ε are ε-DP.",
        "section 2.4.2",
    ),
    _printed(
        "thesis-histogram",
        "A histogram with Laplace noise of scale 2/ε is ε-DP.",
        "section 2.4.3",
    ),
    _printed(
        "thesis-conditional-testing",
        "Under ε-DP both errors of a test, given any event of the answer, add up to at least e^-2ε.",
        "Observation 2.5.1",
    ),
    _printed(
        "thesis-posterior-density",
        "Under ε-DP the posterior of a person independent of the others is within e^±ε of the prior.",
        "Definition 2.5.4",
    ),
    _printed(
        "thesis-renyi-curves",
        "The Rényi curves of Gaussian and Laplace noise at sensitivity 1 and of randomised response.",
        "section 3.2.3, table 3.2; Mironov 2017",
        measure="Renyi",
    ),
    _printed(
        "thesis-adaptive-composition",
        "Rényi divergences of one order add up adaptively, if the second answer has its bound for every "
        "first answer.",
        "Theorem 3.2.3; the condition on the second answer is left out there",
        measure="Renyi",
    ),
    _printed(
        "thesis-pure-to-renyi",
        "ε-DP gives D_α <= min(3αε²/2, ε).",
        "Proposition 3.3.1; a third of the first suffices (Bun & Steinke 2016)",
        measure="Renyi",
    ),
    _printed(
        "thesis-renyi-to-approximate",
        "(α, ε)-Rényi DP gives (ε + log(1/δ)/(α-1), δ)-DP.",
        "Theorem 3.3.4; Mironov 2017",
        measure="ApproxDP",
    ),
    _printed(
        "thesis-basic-composition",
        "ε, pairs (ε, δ), and Rényi divergences of one order add up.",
        "Theorems 3.4.1-3.4.3",
    ),
    _printed(
        "thesis-gaussian-at-three",
        "σ = L√(2·log(1.25/δ))/ε is (ε, δ)-DP at ε = 1 and 3 with δ = 10⁻⁴, outside its theorem.",
        "algorithm 3",
        measure="ApproxDP",
    ),
    _printed(
        "thesis-bernstein-approximate",
        "A function through (k+1)^l values with Laplace noise of scale "
        "2L√(2(k+1)^l·l·log(1/δ))/ε is (ε, δ)-DP for ε <= 8·log(1/δ), in real numbers.",
        "Theorem 4.4.7, there for all ε; Aldà & Rubinstein 2017",
        measure="ApproxDP",
    ),
)

CLAIMS = (*_FAILS, *_HOLDS)
