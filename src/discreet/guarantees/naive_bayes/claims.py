"""Claims about naive Bayes."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.models.naive_bayes",
    "discreet.models.posterior",
)
RESTS_ON = FITTED


CLAIMS = (
    Claim(
        name="naive-bayes",
        statement="A fitted GaussianNB, CategoricalNB or MixedNB, all its attributes together, is ε-DP "
        "(δ = 0) or (ε, δ)-DP: one noised vector of counts, sums, squares and histograms by class.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP or ApproxDP",
        status="proved",
        source="this project; shares per attribute after Vaidya, Shafiq, Basu & Hong 2013, repaired",
        proof="naive_bayes.md",
        functions=(
            "discreet.queries.marginals.Marginals.terms",
            "discreet.queries.marginals.Marginals.coded",
            "discreet.queries.marginals.Marginals.extent",
            "discreet.models.naive_bayes.NaiveBayes._plan",
            "discreet.models.naive_bayes.NaiveBayes._train",
            "discreet.models.base.PrivateEstimator.fit",
            "discreet.models.base.PrivateEstimator._fit_source",
            "discreet.models.base.PrivateEstimator._carry_out",
            "discreet.models.facts.Facts.ask",
            "discreet.models.facts.Question",
        ),
    ),
)
