"""Claims about learning from the noisy votes of teachers."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.deep.pate.*",)
RESTS_ON = (*FITTED, "deep")


CLAIMS = (
    Claim(
        name="pate",
        statement="The labels of PATE, which questions it answers, and the student fitted to them are ε-DP "
        "(LNMax, δ = 0) or (ε, δ)-DP (LNMax, GNMax, Confident-GNMax), whatever the votes are and whatever "
        "teachers do with their parts.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP or ApproxDP",
        status="proved",
        source="Papernot, Abadi, Erlingsson, Goodfellow & Talwar 2017; Papernot, Song, Mironov, "
        "Raghunathan, Talwar & Erlingsson 2018",
        proof="pate.md",
        functions=(
            "discreet.deep.pate.aggregation.LNMax",
            "discreet.deep.pate.aggregation.GNMax",
            "discreet.deep.pate.aggregation.ConfidentGNMax",
            "discreet.deep.pate.teachers.Lesson.learn_and_vote",
            "discreet.deep.pate.teachers.Lesson.ask",
            "discreet.deep.pate.teachers.Lesson.check_votes",
            "discreet.deep.pate.teachers.deals_by_id",
            "discreet.deep.pate.teachers.changed_teachers",
            "discreet.deep.pate.teachers.deal",
            "discreet.deep.pate.teachers.Teachers",
            "discreet.deep.pate.estimator.PATE._plan",
            "discreet.deep.pate.estimator.PATE._aggregation",
            "discreet.deep.pate.estimator.PATE._prepare",
            "discreet.deep.pate.estimator.PATE._step",
            "discreet.deep.pate.estimator.PATE._train",
        ),
    ),
    Claim(
        name="pate-dependent",
        statement="`dependent_cost` bounds the Rényi divergences, at every listed order and in both "
        "directions, between what given votes release and what they release after one teacher's votes have "
        "changed. It is a function of the votes, refused for private rows.",
        unit="one teacher's votes, on all questions",
        measure="Renyi",
        status="proved",
        source="after Papernot et al. 2018, Section 3.2",
        proof="pate.md",
        functions=(
            "discreet.deep.pate.dependent",
            "discreet.deep.pate.aggregation.GNMax.probabilities",
            "discreet.deep.pate.aggregation.LNMax.probabilities",
            "discreet.deep.pate.aggregation.ConfidentGNMax.probabilities",
            "discreet.deep.pate.estimator.PATE.dependent_epsilon",
        ),
    ),
)
