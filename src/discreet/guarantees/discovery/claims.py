"""Claims about keys and bounds that nobody declared."""

from discreet.guarantees.base import ASKED, Claim

CODE = (
    "discreet.queries.discovery",
    "discreet.mechanisms.thresholded",
)
RESTS_ON = ASKED


CLAIMS = (
    Claim(
        name="discovered-keys",
        statement="Keys whose noisy count reaches the threshold are released with (ε, δ)-DP, the mass at "
        "the threshold counted.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="ApproxDP",
        status="proved",
        source="Korolova, Kenthapadi, Mishra & Ntoulas 2009",
        proof="discovery.md",
        functions=(
            "discreet.accounting.thresholds.threshold_delta",
            "discreet.accounting.thresholds.minimum_threshold",
            "discreet.queries.discovery.PreparedKeys.answer",
            "discreet.coding.persons.count_texts",
            "discreet.queries.discovery",
        ),
    ),
    Claim(
        name="private-bounds",
        statement="Bounds chosen from a noisy histogram of signs and powers of two are ε-DP.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP",
        status="proved",
        source="a histogram with public bins: Dwork, McSherry, Nissim & Smith 2006",
        proof="discovery.md",
        functions=(
            "discreet.queries.discovery.Bounds.sensitivity",
            "discreet.queries.discovery.PreparedBounds.answer",
            "discreet.coding.values.ladder_codes",
        ),
    ),
)
