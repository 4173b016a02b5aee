"""Claims about the check of a table against what was declared."""

from discreet.guarantees.base import ASKED, Claim

CODE = (
    "discreet.queries.check",
    "discreet.queries.count_vector",
    "discreet.check_report",
    "discreet.checking",
    "discreet.models.checked",
)
RESTS_ON = (*ASKED, "models")


CLAIMS = (
    Claim(
        name="checked-table",
        statement="The counts of a check move by at most their stated sensitivity between neighbours "
        "and are noised as one vector; a check along with an answer or a fit is part of the same charge.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="as asked",
        status="proved",
        source="this project; histograms: Dwork, McSherry, Nissim & Smith 2006",
        proof="check.md",
        functions=(
            "discreet.queries.check.Check.sensitivity",
            "discreet.queries.check.Check.parts",
            "discreet.queries.check.Check.vector",
            "discreet.queries.count_vector.PreparedCounts.answer",
            "discreet.checking.split_budget",
            "discreet.checking.release_checked",
            "discreet.models.checked.fit_checked",
        ),
    ),
)
