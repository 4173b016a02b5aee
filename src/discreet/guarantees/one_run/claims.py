"""Claims about audits in one run."""

from discreet.guarantees.base import PRICES, Claim

CODE = ("discreet.audit.one_run",)
RESTS_ON = PRICES


CLAIMS = (
    Claim(
        name="one-run-bound",
        statement="If coins decide which canaries are in, no (ε, δ)-DP or f-DP algorithm lets so many "
        "guesses be right with a larger probability than `Guesses.p_value` says.",
        unit="that of the audited claim: one canary in or out, or one of two records",
        measure="PureDP, ApproxDP, GaussianDP, ZCDP, Renyi, trade-off curves",
        status="proved",
        source="Steinke, Nasr & Jagielski 2023; Mahloujifar, Melis & Chaudhuri 2025; the term with δ is ours",
        proof="one_run.md",
        functions=(
            "discreet.audit.one_run._binomial_p_value",
            "discreet.audit.one_run._too_much",
            "discreet.audit.one_run._power_needed",
            "discreet.audit.one_run.Guesses.p_value",
            "discreet.audit.one_run.guess",
            "discreet.audit.one_run.audit_in_one_run",
            "discreet.audit.one_run.OneRunAudit.p_value",
        ),
    ),
    Claim(
        name="one-run-delta-as-published",
        statement="At least v of r guesses about m canaries are right with probability at most "
        "P(W >= v) + 2mδ·max_i P(v > W >= v - i)/i, W ~ Binomial(r, e^ε/(1 + e^ε)).",
        unit="one canary in or out",
        measure="ApproxDP",
        status="refuted",
        source="Steinke, Nasr & Jagielski 2023, program; too small by 0.001 where it is 0.93, so that no "
        "audit is harmed: where it is below 0.8 we know of no violation",
        proof="one_run.md",
        functions=("discreet.audit.one_run.published_p_value",),
        repair="one-run-bound",
    ),
)
