"""Claims about ledgers."""

from discreet.guarantees.base import ASKED, Claim

CODE = ("discreet.ledger.*",)
RESTS_ON = ASKED


CLAIMS = (
    Claim(
        name="ledger-filter",
        statement="All answers charged to a ledger, chosen adaptively, together satisfy its limit.",
        unit="the ledger's",
        measure="the limit's",
        status="proved",
        source="Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Lécuyer 2021",
        proof="ledger.md",
        functions=(
            "discreet.ledger.Ledger.charge",
            "discreet.ledger.filters",
            "discreet.ledger.book",
            "discreet.dataset.PrivateDataset._charge",
        ),
    ),
    Claim(
        name="charged-before-read",
        statement="No cell is looked at before the charge for it is booked, and none if it is refused.",
        unit="the ledger's",
        measure="order of acts",
        status="proved",
        source="this project",
        proof="ledger.md",
        functions=(
            "discreet.dataset.PrivateDataset.release",
            "discreet.dataset.PrivateDataset.run",
            "discreet.dataset.PrivateDataset.prepaid",
        ),
    ),
)
