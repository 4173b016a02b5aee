"""Claims about searching over settings, and about noised scores."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.models.model_selection.*",
    "discreet.models.metrics.*",
)
RESTS_ON = (*FITTED, "erm", "linear_model", "m_estimation", "tree")


_DOORS = "discreet.dataset."
_METRICS = "discreet.models.metrics."

CLAIMS = (
    Claim(
        name="private-search",
        statement="PrivateSearch releases the best, by a noised score, of a truncated negative binomial "
        "number of fits with settings drawn at random: if a run of every setting is ε-DP it is (2 + η)ε-DP; "
        "if it is (ε, δ)-DP, it is ((2 + η)ε, δ·E[K])-DP; for Rényi curves Theorem 2 of the source. Draws "
        "from public generators that the best fit publishes are part of what is released.",
        unit="add/remove and replace-one, with or without ids and max_rows; split rows under add/remove",
        measure="ApproxDP",
        status="proved",
        source="Liu & Talwar 2019; Papernot & Steinke 2022; random settings, δ and splits: this project",
        proof="model_selection.md",
        functions=(
            _DOORS + "PrivateDataset.select",
            _DOORS + "PrivateDataset._parts",
            "discreet.selection",
            "discreet.ledger.plans",
            "discreet.engines.wrappers",
            "discreet.noise.generators",
            "discreet.mechanisms.best_of.BestOf.run",
            "discreet.models.model_selection.search.PrivateSearch._divide",
            "discreet.models.model_selection.search.PrivateSearch._train",
            "discreet.models.model_selection.search.hash_share",
            "discreet.models.model_selection.budget",
        ),
    ),
    Claim(
        name="private-score",
        statement="private_score releases sums of vectors of whole numbers, one for each row, that are at "
        "least 0 and sum up to a public number, with exact noise: ε-DP, or (ε, δ)-DP. Predictions are "
        "made row by row.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="ApproxDP",
        status="proved",
        source="this project",
        proof="model_selection.md",
        functions=(
            _METRICS + "kinds",
            _METRICS + "groups",
            _METRICS + "positives",
            _METRICS + "scoring.ScoredRows.run",
            _METRICS + "scoring.ScoredRows._totals",
            _METRICS + "scoring.blocks",
            _METRICS + "scoring.score_event",
            _METRICS + "scoring.score_distribution",
            "discreet.models.model_selection.threshold.ScoreCounts",
            "discreet.models.model_selection.threshold.ThresholdClassifier._plan",
            "discreet.models.model_selection.threshold.ThresholdClassifier._train",
            "discreet.models.model_selection.curves.place_scores",
        ),
    ),
)
