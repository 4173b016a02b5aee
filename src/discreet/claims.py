"""The registry of guarantees: what is claimed, of whom, on what proof, and which attack tests it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["CLAIMS", "Claim", "claim"]

Status = Literal["proved", "assumed", "refuted"]


@dataclass(frozen=True)
class Claim:
    """One guarantee.

    Attributes
    ----------
    name : str
    statement : str
        What is guaranteed, in a sentence.
    unit : str
        For which change of the data.
    measure : str
    status : "proved", "assumed" or "refuted"
    source : str
        Where it was first stated or proved.
    proof : str
        The page that proves it, below ``docs/proofs/``; for a refuted claim, that shows why not.
    audit : str
        The attack that tests it, as ``tests/...py::name``.
    functions : tuple of str
        The code it speaks of, as dotted names.
    """

    name: str
    statement: str
    unit: str
    measure: str
    status: Status
    source: str
    proof: str
    audit: str
    functions: tuple[str, ...]


_ANY = "add/remove or replace-one, as the sensitivity was taken"

_LOCAL = "discreet.mechanisms.local."


def _local(name: str, statement: str, source: str, code: str, audit: str = "reports") -> Claim:
    """A claim about reports that persons make by themselves."""
    return Claim(
        name=name,
        statement=statement,
        unit="one person's value: any two values of the public domain",
        measure="PureDP",
        status="proved",
        source=source,
        proof="local.md",
        audit=f"tests/attacks/test_local.py::test_an_attack_on_{audit}_finds_no_more_than_the_claim",
        functions=(
            f"{_LOCAL}{code}.event",
            f"{_LOCAL}{code}.randomize",
            f"{_LOCAL}probabilities.outside_mass",
        ),
    )


def _printed(
    name: str, statement: str, source: str, measure: str, audit: str, status: Status
) -> Claim:
    """A formula as it was printed in a source document."""
    return Claim(
        name=name,
        statement=statement,
        unit="replace-one",
        measure=measure,
        status=status,
        source=f"Ferrari 2022, {source}",
        proof="meaning.md",
        audit=f"tests/meaning/{audit}",
        functions=(),
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="discrete-laplace",
        statement="Integers with L1 sensitivity Δ plus discrete Laplace noise of scale s are (Δ/s)-DP.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="Ghosh, Roughgarden & Sundararajan 2012; Dwork, McSherry, Nissim & Smith 2006",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_an_attack_finds_no_more_than_the_claim",
        functions=(
            "discreet.mechanisms.laws.LaplaceLaw.event",
            "discreet.mechanisms.laws.LaplaceLaw.run",
            "discreet.mechanisms.additive.Laplace.law",
            "discreet.noise.discrete_laplace",
        ),
    ),
    Claim(
        name="rounded-gaussian",
        statement="Integers with L2 sensitivity Δ plus rounded Gaussian noise are (Δ/σ)-Gaussian DP, "
        "hence (ε, δ(ε))-DP by the analytic formula and (Δ²/2σ²)-zCDP.",
        unit=_ANY,
        measure="GaussianDP",
        status="proved",
        source="Balle & Wang 2018; Dong, Roth & Su 2022; Bun & Steinke 2016",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_an_attack_finds_no_more_than_the_claim",
        functions=(
            "discreet.mechanisms.laws.GaussianLaw.event",
            "discreet.mechanisms.laws.GaussianLaw.run",
            "discreet.mechanisms.additive.Gaussian.law",
            "discreet.noise.rounded_gaussian",
        ),
    ),
    Claim(
        name="discrete-gaussian",
        statement="Integers with L2 sensitivity Δ plus discrete Gaussian noise are (Δ²/2σ²)-zCDP.",
        unit=_ANY,
        measure="ZCDP",
        status="proved",
        source="Canonne, Kamath & Steinke 2020",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_an_attack_finds_no_more_than_the_claim",
        functions=(
            "discreet.mechanisms.laws.DiscreteGaussianLaw.event",
            "discreet.mechanisms.laws.DiscreteGaussianLaw.run",
            "discreet.mechanisms.additive.DiscreteGaussian.law",
            "discreet.noise.discrete_gaussian",
        ),
    ),
    Claim(
        name="analytic-formula-for-discrete-gaussian",
        statement="Discrete Gaussian noise calibrated by the analytic Gaussian formula is (ε, δ)-DP.",
        unit=_ANY,
        measure="ApproxDP",
        status="refuted",
        source="a shortcut seen in practice; δ is 1.035 times the target at (1, 1e-5) with Δ = 1",
        proof="additive.md",
        audit="tests/attacks/test_laws.py::test_the_analytic_formula_is_false_for_the_discrete_gaussian",
        functions=(),
    ),
    Claim(
        name="exponential-quantile",
        statement="A quantile drawn on the coded grid by the exponential mechanism is ε-DP and "
        "(ε²/8)-zCDP, over all groups together.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="McSherry & Talwar 2007; Smith 2011; Cesar & Rogers 2021",
        proof="quantiles.md",
        audit="tests/attacks/test_queries.py::test_an_attack_on_quantiles_finds_no_more_than_was_charged",
        functions=(
            "discreet.mechanisms.selection.Exponential.event",
            "discreet.mechanisms.selection.Exponential.run",
            "discreet.queries.quantile.Quantile.rank_sensitivity",
            "discreet.queries.quantile.Quantile.scores",
            "discreet.noise.select",
        ),
    ),
    Claim(
        name="coded-sums",
        statement="The integer vector of a query moves by at most its stated L1 and L2 sensitivity "
        "between neighbours, on every engine, whatever stands in the cells.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="sensitivity",
        status="proved",
        source="this project",
        proof="coding.md",
        audit="tests/attacks/test_queries.py::test_an_attack_on_the_door_finds_no_more_than_was_charged",
        functions=(
            "discreet.queries.base.Query._moved",
            "discreet.engines.arrays.grid_codes",
            "discreet.engines.arrays.keep_rows",
        ),
    ),
    Claim(
        name="discovered-keys",
        statement="Keys whose noisy count reaches the threshold are released with (ε, δ)-DP, the mass at "
        "the threshold counted.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="ApproxDP",
        status="proved",
        source="Korolova, Kenthapadi, Mishra & Ntoulas 2009",
        proof="keys.md",
        audit="tests/attacks/test_discovery.py::test_a_key_of_one_person_is_released_no_more_often_than_delta",
        functions=(
            "discreet.accounting.thresholds.threshold_delta",
            "discreet.accounting.thresholds.least_threshold",
            "discreet.answers.discovery.KeysAnswerer.answer",
            "discreet.engines.arrays.count_texts",
        ),
    ),
    Claim(
        name="private-bounds",
        statement="Bounds chosen from a noisy histogram of signs and powers of two are ε-DP.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP",
        status="proved",
        source="a histogram with public bins: Dwork, McSherry, Nissim & Smith 2006",
        proof="keys.md",
        audit="tests/attacks/test_discovery.py::test_an_attack_on_bounds_finds_no_more_than_was_charged",
        functions=(
            "discreet.queries.discovery.Bounds.sensitivity",
            "discreet.answers.discovery.BoundsAnswerer.answer",
            "discreet.engines.arrays.ladder_codes",
        ),
    ),
    Claim(
        name="permute-and-flip",
        statement="Permute-and-flip on integer scores with sensitivity Δ and scale s is (2Δ/s)-DP, and "
        "(Δ/s)-DP if the scores are monotone.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="McKenna & Sheldon 2020; Ding, Kifer, Saghaian, Steinke, Wang, Xiao & Zhang 2021",
        proof="selection.md",
        audit="tests/attacks/test_selective.py::test_an_attack_on_permute_and_flip",
        functions=(
            "discreet.mechanisms.permute_and_flip.PermuteAndFlip.event",
            "discreet.mechanisms.permute_and_flip.PermuteAndFlip.run",
            "discreet.mechanisms.permute_and_flip.selection_scale",
        ),
    ),
    Claim(
        name="permute-and-flip-as-exponential",
        statement="Permute-and-flip has bounded range ε, so it is (ε²/8)-zCDP as exponential draws are.",
        unit=_ANY,
        measure="ZCDP",
        status="refuted",
        source="a shortcut seen in practice; at ε = 0.2 with two candidates D_2 is 3.3 times that",
        proof="selection.md",
        audit="tests/attacks/test_selective.py::test_permute_and_flip_is_not_an_exponential_mechanism",
        functions=(),
    ),
    Claim(
        name="noisy-max",
        statement="The index of the largest integer score plus geometric noise of scale s, ties broken by "
        "an order drawn apart, is (2Δ/s)-DP, and (Δ/s)-DP if the scores are monotone.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="Dwork & Roth 2014, with Laplace noise; the discrete version: this project",
        proof="selection.md",
        audit="tests/attacks/test_selective.py::test_an_attack_on_noisy_max",
        functions=(
            "discreet.mechanisms.noisy_max.ReportNoisyMax.event",
            "discreet.mechanisms.noisy_max.ReportNoisyMax.draws",
        ),
    ),
    Claim(
        name="sparse-vector",
        statement="The decisions of a sparse vector stream are (Δ/s₁ + 2cΔ/s₂)-DP, however many answers are "
        "fed; without the 2 if the answers are monotone.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="Lyu, Su & Li 2017; Dwork & Roth 2014",
        proof="selection.md",
        audit="tests/attacks/test_selective.py::test_an_attack_on_the_sparse_vector",
        functions=(
            "discreet.mechanisms.sparse_vector.SparseVector.event",
            "discreet.mechanisms.sparse_vector.SparseVector.scales",
            "discreet.mechanisms.sparse_vector.SparseVectorStream.feed",
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
        audit="tests/attacks/test_selective.py::test_an_attack_on_the_best_of_several_runs",
        functions=(
            "discreet.mechanisms.best_of.BestOf.run",
            "discreet.mechanisms.best_of.truncated_negative_binomial",
        ),
    ),
    Claim(
        name="staircase",
        statement="One integer with sensitivity Δ plus discrete staircase noise of width Δ is ε-DP.",
        unit=_ANY,
        measure="PureDP",
        status="proved",
        source="Geng & Viswanath 2016",
        proof="staircase.md",
        audit="tests/attacks/test_selective.py::test_an_attack_on_the_staircase",
        functions=(
            "discreet.mechanisms.staircase.Staircase.event",
            "discreet.mechanisms.staircase.Staircase.run",
            "discreet.mechanisms.staircase.StaircaseNoise.draw",
        ),
    ),
    Claim(
        name="classic-gaussian-formula",
        statement="σ = Δ√(2·log(1.25/δ))/ε gives (ε, δ)-DP for every ε.",
        unit=_ANY,
        measure="ApproxDP",
        status="refuted",
        source="Dwork & Roth 2014 prove it for ε < 1; at δ = 1e-4 it first fails near ε = 8",
        proof="staircase.md",
        audit="tests/functional/test_accuracy.py::test_the_classic_formula_is_right_until_it_is_not",
        functions=(
            "discreet.mechanisms.accuracy.published_gaussian_sigma",
            "discreet.mechanisms.accuracy.published_gaussian_delta",
        ),
    ),
    Claim(
        name="bernstein",
        statement="A function on [0,1]^l whose values move by at most L, released through (k+1)^l values "
        "with Laplace noise of scale L(k+1)^l/ε, is ε-DP; with Gaussian noise for L√((k+1)^l), as that is.",
        unit=_ANY,
        measure="PureDP or the Gaussian's",
        status="proved",
        source="Aldà & Rubinstein 2017",
        proof="bernstein.md",
        audit="tests/attacks/test_selective.py::test_an_attack_on_the_bernstein_mechanism",
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
        audit="tests/attacks/test_selective.py::test_an_attack_on_the_bernstein_mechanism",
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
        audit="tests/functional/test_sensitivity_sampling.py::test_a_sampled_sensitivity_is_no_sensitivity",
        functions=("discreet.mechanisms.sensitivity_sampling.sensitivity_sampler",),
    ),
    _local(
        "randomised-response",
        "A yes or no, turned round with probability 1/(e^ε + 1), rounded up, is ε-local DP.",
        "Warner 1965; Kasiviswanathan et al. 2011",
        "response.RandomizedResponse",
    ),
    _local(
        "generalised-randomised-response",
        "One of k values, kept with probability e^ε/(e^ε + k - 1), rounded down, is ε-local DP.",
        "Kairouz, Bonawitz & Ramage 2016",
        "response.GeneralizedRandomizedResponse",
    ),
    _local(
        "unary-encoding",
        "A row of bits, blurred symmetrically or by optimised probabilities, is ε-local DP.",
        "Erlingsson, Pihur & Korolova 2014; Wang, Blocki, Li & Jha 2017",
        "unary.UnaryEncoding",
    ),
    _local(
        "local-hashing",
        "A public random hash function and its value told by randomised response are ε-local DP.",
        "Wang, Blocki, Li & Jha 2017",
        "hashing.LocalHashing",
    ),
    _local(
        "memoised-reports",
        "Any number of reports of one permanent row are ε-local DP together, n of them also n times the ε "
        "of the first.",
        "Erlingsson, Pihur & Korolova 2014; the second part: this project",
        "memoised.Memoised",
        "memoised_reports",
    ),
    _local(
        "one-bit-mean",
        "A bounded real, rounded to an end at random and told by randomised response, is ε-local DP.",
        "Duchi, Jordan & Wainwright 2018",
        "means.DuchiMean",
    ),
    _local(
        "piecewise-mean",
        "A cell drawn from a window that is e^ε times as likely as the rest is ε-local DP, in integers.",
        "Wang et al. 2019, on a grid",
        "means.PiecewiseMean",
    ),
    _local(
        "hybrid-mean",
        "A public coin between the one-bit and the piecewise report is ε-local DP.",
        "Wang et al. 2019",
        "means.HybridMean",
    ),
    Claim(
        name="trade-off-curves",
        statement="No test between neighbours has fewer misses, at given false positives, than the curve of "
        "its measure says; no guess a larger advantage or a smaller risk.",
        unit="that of the measure",
        measure="PureDP, ApproxDP, GaussianDP, ZCDP, Renyi",
        status="proved",
        source="Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022; Balle et al. 2020",
        proof="meaning.md",
        audit="tests/meaning/test_meaning.py::test_no_test_beats_the_trade_off_curve",
        functions=(
            "discreet.measures.meaning.trade_off",
            "discreet.measures.meaning.advantage",
            "discreet.measures.meaning.bayes_risk",
        ),
    ),
    _printed(
        "posterior-odds-as-printed",
        "Under ε-DP the posterior odds of neighbours are at most e^ε for every prior.",
        "equation (2.10); the prior odds are missing",
        "PureDP",
        "test_meaning.py::test_the_prior_odds_count",
        "refuted",
    ),
    _printed(
        "gaussian-scale-as-printed",
        "Gaussian noise with σ = L√(2 log(1.25/δ)) is (ε, δ)-DP for ε, δ in (0, 1).",
        "Theorem 3.1.3; the factor 1/ε is missing: δ is 0.044 at (0.1, 1e-5)",
        "ApproxDP",
        "test_published.py::test_the_printed_gaussian_scale_lacks_its_epsilon",
        "refuted",
    ),
    _printed(
        "renyi-odds-as-printed",
        "Under (α, ε)-Rényi DP the log of the odds moves by at most ε.",
        "section 3.2.2; true on average only",
        "Renyi",
        "test_meaning.py::test_rare_answers_move_the_odds_by_more_than_a_renyi_bound",
        "refuted",
    ),
    _printed(
        "renyi-group-as-printed",
        "After a 2^c-stable map (α, ε)-Rényi DP becomes (α/2, 3^c·ε).",
        "Theorem 3.2.5; false from c = 3 on, where 32 > 27; the order is α/2^c",
        "Renyi",
        "test_published.py::test_printed_group_privacy_is_false_from_three_doublings_on",
        "refuted",
    ),
    _printed(
        "renyi-lower-tail-as-printed",
        "Under (α, ε)-Rényi DP e^-ε·P(S) <= Q(S).",
        "table 3.1; the exponent α/(α-1) of P(S) is missing",
        "Renyi",
        "test_meaning.py::test_the_lower_tail_needs_its_exponent",
        "refuted",
    ),
    _printed(
        "two-answers-as-printed",
        "Two ε-DP answers are 3ε-DP together.",
        "table 3.1; true, and a misprint of 2ε",
        "PureDP",
        "test_published.py::test_composition_of_two_is_two_epsilon",
        "proved",
    ),
    _printed(
        "renyi-tail-as-printed",
        "Under (α, ε)-Rényi DP P(B) <= min{exp(ε + log(1/δ)/(α-1))·Q(B), δ}.",
        "Proposition 3.3.3; the larger of the two is meant",
        "Renyi",
        "test_meaning.py::test_probability_is_not_bounded_by_the_smaller_of_two",
        "refuted",
    ),
    _printed(
        "advanced-composition-as-printed",
        "k answers that are ε-DP are (3kε²/2 + √(6k log(1/δ)), δ)-DP.",
        "Theorem 3.4.4; true, but the factor ε before the root is missing, and mostly more than kε",
        "ApproxDP",
        "test_published.py::test_printed_advanced_composition_says_next_to_nothing",
        "proved",
    ),
    Claim(
        name="ledger-filter",
        statement="All answers charged to a ledger, chosen adaptively, together satisfy its limit.",
        unit="the ledger's",
        measure="the limit's",
        status="proved",
        source="Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Lécuyer 2021",
        proof="filter.md",
        audit="tests/attacks/test_ledger.py::test_an_adaptive_analyst_never_gets_more_than_the_limit",
        functions=("discreet.ledger.Ledger.charge",),
    ),
)


def claim(name: str) -> Claim:
    """The claim of this name."""
    for entry in CLAIMS:
        if entry.name == name:
            return entry
    raise KeyError(f"no claim is called {name!r}; there are: {', '.join(c.name for c in CLAIMS)}.")
