"""Claims about joint vectors, choices by sums, trees and forests."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.models.tree.*",)
RESTS_ON = FITTED


_UNIT = "add/remove and replace-one, with or without ids and max_rows"

CLAIMS = (
    Claim(
        name="joint-vector",
        statement="Several vectors of sums, each multiplied by a whole number and noised as one vector, move "
        "between neighbours by at most the stated L1 and L2 distances.",
        unit=_UNIT,
        measure="PureDP, ApproxDP, ZCDP",
        status="proved",
        source="this project",
        proof="tree.md",
        functions=(
            "discreet.queries.several.Joint.weights",
            "discreet.queries.several.Joint.sensitivity",
            "discreet.queries.several.Joint.parts",
            "discreet.queries.several.PreparedJoint.answer",
            "discreet.queries.additive.PreparedSums.totals",
        ),
    ),
    Claim(
        name="private-choice",
        statement="The best of public candidates by integer scores, whose differences one row changes by at "
        "most the stated spread, is drawn with ε-DP (or ρ-zCDP) for all groups together.",
        unit=_UNIT,
        measure="PureDP or ZCDP",
        status="proved",
        source="McSherry & Talwar 2007; McKenna & Sheldon 2020; the spread of each score: this project",
        proof="tree.md",
        functions=(
            "discreet.queries.choice.Choice.sensitivity",
            "discreet.queries.choice.Choice.is_monotone",
            "discreet.queries.choice.Best",
            "discreet.queries.best_split.BestSplit.parts",
            "discreet.queries.best_split.BestSplit.spread",
            "discreet.queries.best_split.BestSplit.scores",
            "discreet.queries.best_split.BestSplit._side",
            "discreet.queries.best_split.BestSplit._deviation",
            "discreet.queries.choice.PreparedChoice",
        ),
    ),
    Claim(
        name="random-decision-forest",
        statement="A random decision forest, its trees and noised leaves, is ε-DP (δ = 0) or (ε, δ)-DP: "
        "public trees, one noised vector of all their leaves, and another of the bins of the score where the "
        "forest is calibrated.",
        unit=_UNIT,
        measure="PureDP or ApproxDP",
        status="proved",
        source="Jagannathan, Pillaipakkamnatt & Wright 2009",
        proof="tree.md",
        functions=(
            "discreet.models.tree.forest.RandomForest._size",
            "discreet.models.tree.forest.RandomForest._splits_rows",
            "discreet.models.tree.forest.RandomForest._queries",
            "discreet.models.tree.forest.RandomForest._line_query",
            "discreet.models.tree.calibration.ScoreBins.columns",
            "discreet.models.shares.split_for",
            "discreet.models.tree.forest.RandomForest._plan",
            "discreet.models.tree.forest.RandomForest._train",
            "discreet.models.tree.structure.tree_of_trees",
            "discreet.models.tree.random_trees.random_trees",
            "discreet.columns.trees.Tree.code",
            "discreet.columns.trees.Parts.code",
        ),
    ),
    Claim(
        name="decision-tree",
        statement="A decision tree, its splits and noised leaves, is ε-DP: for numbers the target's noised "
        "moments, then a fixed number of levels, each with one noised vector of what its nodes hold and one "
        "private choice for all of them, then one noised vector of leaves.",
        unit=_UNIT,
        measure="PureDP",
        status="proved",
        source="after Friedman & Schuster 2010, with scores whose sensitivity doesn't depend on n",
        proof="tree.md",
        functions=(
            "discreet.models.tree.greedy.GreedyTree._depth",
            "discreet.models.tree.greedy.GreedyTree._parts",
            "discreet.models.tree.greedy.GreedyTree._recipe",
            "discreet.models.tree.greedy.GreedyTree._plan",
            "discreet.models.tree.greedy.GreedyTree._train",
            "discreet.models.tree.regressor.clamp",
            "discreet.models.tree.target.target_query",
            "discreet.models.tree.structure.candidates",
            "discreet.columns.trees.Tree.code",
        ),
    ),
)
