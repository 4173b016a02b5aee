"""Claims about several answers from one budget."""

from discreet.guarantees.base import ASKED, Claim

CODE = ("discreet.answers.*",)
RESTS_ON = ASKED

_UNIT = "add/remove and replace-one, with or without ids and max_rows"

CLAIMS = (
    Claim(
        name="split-budget",
        statement="All answers of release_all together satisfy the measure that is charged for them, once, "
        "however the budget is split among them.",
        unit=_UNIT,
        measure="PureDP, ApproxDP, ZCDP",
        status="proved",
        source="Dwork & Roth 2014, Theorem 3.16; Bun & Steinke 2016, Lemma 1.7; Dong, Roth & Su 2022, "
        "Corollary 3.3; the split: this project",
        proof="answers.md",
        functions=(
            "discreet.answers.splitting.best_shares",
            "discreet.answers.splitting.fit",
            "discreet.answers.splitting.list_routes",
            "discreet.answers.splitting.sum_events",
            "discreet.answers.several.plan_questions",
            "discreet.answers.asking.Asking.release_all",
        ),
    ),
    Claim(
        name="quantile-estimate",
        statement="A quantile, its neighbours, chosen by a noised count, and that count are together ε-DP or "
        "ρ-zCDP, over all groups.",
        unit=_UNIT,
        measure="PureDP or ZCDP",
        status="proved",
        source="McSherry & Talwar 2007; Dwork & Roth 2014, Theorem 3.16; the neighbours: this project",
        proof="answers.md",
        functions=(
            "discreet.queries.quantile_estimate.PreparedEstimate",
            "discreet.queries.quantile.Quantile.rank_sensitivity",
            "discreet.queries.quantile.PreparedQuantile",
        ),
    ),
)
