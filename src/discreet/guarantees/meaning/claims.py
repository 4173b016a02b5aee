"""Claims about what a measure means."""

from discreet.guarantees.base import PRICES, Claim, printed

CODE = (
    "discreet.measures.meaning",
    "discreet.accounting.published",
)
RESTS_ON = PRICES


CLAIMS = (
    Claim(
        name="trade-off-curves",
        statement="No test between neighbours has fewer misses, at given false positives, than the curve of "
        "its measure says; no guess a larger advantage or a smaller risk; answers are no further apart in "
        "Kullback–Leibler, Hellinger or χ² divergence than it says.",
        unit="that of the measure",
        measure="PureDP, ApproxDP, GaussianDP, ZCDP, Renyi",
        status="proved",
        source="Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022; Balle et al. 2020",
        proof="meaning.md",
        functions=(
            "discreet.measures.meaning.trade_off",
            "discreet.measures.meaning.advantage",
            "discreet.measures.meaning.bayes_risk",
            "discreet.measures.meaning.kullback_leibler",
            "discreet.measures.meaning.hellinger",
            "discreet.measures.meaning.chi_squared",
        ),
    ),
    printed(
        "posterior-odds-as-printed",
        "Under ε-DP the posterior odds of neighbours are at most e^ε for every prior.",
        "equation (2.10); the prior odds are missing",
        "PureDP",
        "refuted",
    ),
    printed(
        "gaussian-scale-as-printed",
        "Gaussian noise with σ = L√(2 log(1.25/δ)) is (ε, δ)-DP for ε, δ in (0, 1).",
        "Theorem 3.1.3; the factor 1/ε is missing: δ is 0.044 at (0.1, 1e-5)",
        "ApproxDP",
        "refuted",
    ),
    printed(
        "renyi-odds-as-printed",
        "Under (α, ε)-Rényi DP the log of the odds moves by at most ε.",
        "section 3.2.2; true on average only",
        "Renyi",
        "refuted",
    ),
    printed(
        "renyi-group-as-printed",
        "After a 2^c-stable map (α, ε)-Rényi DP becomes (α/2, 3^c·ε).",
        "Theorem 3.2.5; false from c = 3 on, where 32 > 27; the order is α/2^c",
        "Renyi",
        "refuted",
    ),
    printed(
        "renyi-lower-tail-as-printed",
        "Under (α, ε)-Rényi DP e^-ε·P(S) <= Q(S).",
        "table 3.1; the exponent α/(α-1) of P(S) is missing",
        "Renyi",
        "refuted",
    ),
    printed(
        "two-answers-as-printed",
        "Two ε-DP answers are 3ε-DP together.",
        "table 3.1; true, and a misprint of 2ε",
        "PureDP",
        "proved",
    ),
    printed(
        "renyi-tail-as-printed",
        "Under (α, ε)-Rényi DP P(B) <= min{exp(ε + log(1/δ)/(α-1))·Q(B), δ}.",
        "Proposition 3.3.3; the larger of the two is meant",
        "Renyi",
        "refuted",
    ),
    printed(
        "advanced-composition-as-printed",
        "k answers that are ε-DP are (3kε²/2 + √(6k log(1/δ)), δ)-DP.",
        "Theorem 3.4.4; true, but the factor ε before the root is missing, and mostly more than kε",
        "ApproxDP",
        "proved",
    ),
)
