"""Claims of the survey by Fan & Tian 2024."""

from discreet.guarantees.base import ANY_UNIT, NOISED, Claim, Document

CODE: tuple[str, ...] = ()
RESTS_ON = NOISED


_BROKEN = "discreet.guarantees.survey.broken."


_printed = Document(
    "Fan & Tian 2024",
    topic="survey",
    unit="replace-one",
    status="refuted",
).claim


_FAILS = (
    _printed(
        "survey-delta-does-not-add",
        "For (ε, δ)-DP the sums of parameters no longer hold for a pair of answers.",
        "section 2.2; they do, adaptively as well",
        unit=ANY_UNIT,
        measure="ApproxDP",
        repair="thesis-basic-composition",
    ),
    _printed(
        "survey-output-perturbation",
        "Regularised weights with Laplace noise of scale 2/(Cε) on each coordinate are ε-DP.",
        "equation (16); 2/C bounds the L2 norm, the noise is for the L1 norm",
        ("regularised_logistic",),
        repair="masking-weights",
    ),
    _printed(
        "survey-objective-perturbation",
        "The minimiser with a linear term of Laplace noise of scale 2/(Cε) is ε-DP.",
        "equation (17); the noise shrinks with C, the gradient's change doesn't",
        ("objective_perturbation", "regularised_logistic"),
        repair="survey-smoothed-hinge",
    ),
    _printed(
        "survey-bayes-counts",
        "Naive Bayes with noise of scale 1/ε on every count is ε-DP.",
        "equations (25)-(26); m + 1 counts change, or 2(m + 1)",
        ("noisy_counts",),
        unit="add/remove and replace-one",
        repair="discrete-laplace",
    ),
    _printed(
        "survey-bayes-gaussian",
        "Means with noise for (u-l)/(n+1) and deviations with noise for √(n(u-l)/(n+1)) are ε-DP.",
        "equations (27)-(28); n is private and sets the scale: ε = ∞",
        ("gaussian_parameters",),
        unit="add/remove",
        repair="coded-sums",
    ),
    _printed(
        "survey-tree-stops",
        "A tree grown by noisy information gains that stops where all labels are equal is ε-DP.",
        "section 3.3; the stop reads the labels exactly: ε = ∞",
        ("noisy_tree",),
        repair="permute-and-flip",
    ),
    _printed(
        "survey-random-trees-replaced",
        "Leaf counters of a random tree with noise of scale 1/ε are ε-DP when a row is replaced.",
        "equation (31), read for replace-one: two counters change",
        repair="survey-random-trees",
    ),
    _printed(
        "survey-sample-and-aggregate",
        "The centre of a ball of diameter Δ that holds most block outputs moves by at most Δ.",
        "equation (33); which ball it is depends on the data",
        ("aggregated_centre",),
    ),
    _printed(
        "survey-dp-sgd",
        "DP-SGD is (ε, δ)-DP if σ <= C₂·b√(T·log(1/δ))/(nε).",
        "Proposition 3; the inequality is reversed: σ = 0 qualifies",
        ("dp_sgd",),
        unit="add/remove",
        measure="ApproxDP",
    ),
    _printed(
        "survey-local-definition",
        "A mechanism that treats all pairs of the present data owners alike is ε-local DP.",
        "Definition 4; all pairs of possible values are meant",
        unit="one person's value",
        repair="randomised-response",
    ),
    _printed(
        "survey-histogram",
        "A histogram with noise of scale 1/ε on each cell is ε-DP when a row is replaced.",
        "appendix B.3; two cells change",
        repair="thesis-histogram",
    ),
    Claim(
        name="objective-perturbation-on-a-grid",
        statement="Objective perturbation with its noise on a public grid is ε-DP.",
        unit="replace-one",
        measure="PureDP",
        status="refuted",
        source="a remedy against floating point, carried over from sums; the output tells the noise: ε = ∞",
        proof="refuted.md",
        functions=(_BROKEN + "objective_perturbation", _BROKEN + "objective_noise"),
        repair="survey-smoothed-hinge",
    ),
)

_HOLDS = (
    _printed(
        "survey-composition",
        "Two answers that are ε₁- and ε₂-DP are (ε₁ + ε₂)-DP together.",
        "Proposition 1",
        status="proved",
        unit=ANY_UNIT,
    ),
    _printed(
        "survey-post-processing",
        "A function of an ε-DP answer is ε-DP.",
        "Proposition 2",
        status="proved",
        unit=ANY_UNIT,
    ),
    _printed(
        "survey-laplace",
        "In real numbers, Laplace noise of scale Δ₁/ε is ε-DP.",
        "equation (7); Dwork, McSherry, Nissim & Smith 2006",
        status="proved",
        unit=ANY_UNIT,
    ),
    _printed(
        "survey-gaussian",
        "In real numbers, Gaussian noise of variance 2·log(1.25/δ)·Δ₂²/ε² is (ε, δ)-DP for ε in (0, 1).",
        "equation (8); Dwork & Roth 2014",
        status="proved",
        unit=ANY_UNIT,
        measure="ApproxDP",
    ),
    _printed(
        "survey-smoothed-hinge",
        "Objective perturbation with the hinge loss smoothed over ±h is ε-DP with noise for "
        "ε - 2·log(1 + 1/(2hλ)), in real numbers and for one coordinate.",
        "section 3.1; Chaudhuri, Monteleoni & Sarwate 2011",
        status="proved",
    ),
    _printed(
        "survey-functional-mechanism",
        "Coefficients of a polynomial loss with Laplace noise for 2·max Σ|λ|, the maximum over the public "
        "domain, are ε-DP.",
        "equations (19)-(20); Zhang, Zhang, Xiao, Yang & Winslett 2012",
        status="proved",
    ),
    _printed(
        "survey-random-trees",
        "Leaf counters of N random trees with noise of scale N/ε are ε-DP.",
        "equation (31); Jagannathan, Pillaipakkamnatt & Wright 2009",
        status="proved",
        unit="add/remove",
    ),
    _printed(
        "survey-principal-components",
        "A direction drawn exactly from Bmf(nεΣ/2) is ε-DP for ‖x‖ <= 1.",
        "section 3.5; Chaudhuri, Sarwate & Sinha 2013",
        status="proved",
    ),
    _printed(
        "survey-teacher-votes",
        "Votes of teachers on disjoint data with noise of scale 2/ε are ε-DP for each query.",
        "equation (39); Papernot, Abadi, Erlingsson, Goodfellow & Talwar 2017",
        status="proved",
    ),
    _printed(
        "survey-histogram-add-remove",
        "A histogram with noise of scale 1/ε on each public cell is ε-DP when a row comes or goes.",
        "appendix B.3",
        status="proved",
        unit="add/remove",
    ),
)

CLAIMS = (*_FAILS, *_HOLDS)
