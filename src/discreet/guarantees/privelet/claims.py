"""Claims about histograms whose noise is shaped for ranges."""

from discreet.guarantees.base import ASKED, Claim

CODE = ("discreet.publish.privelet.*",)
RESTS_ON = (*ASKED, "masks", "wavelet_masks")

_HOME = "discreet.publish.privelet."

CLAIMS = (
    Claim(
        name="privelet",
        statement="Node counts of trees, Haar coefficients and coefficients of filter banks of a histogram, "
        "with discrete Laplace noise whose scale at each level is its sensitivity over its share of ε, "
        "are ε-DP together; with rounded Gaussian noise they cost one Gaussian event.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="PureDP, or as the Gaussian event says",
        status="proved",
        source="Xiao, Wang & Gehrke 2010; Hay, Rastogi, Miklau & Suciu 2010; Li, Miklau, Hay, McGregor & "
        "Rastogi 2015",
        proof="privelet.md",
        functions=(
            _HOME + "query.PreparedRanges",
            _HOME + "facts.Facts.moved",
            _HOME + "building.build_nodes",
            _HOME + "building.build_contrasts",
            _HOME + "building.farthest",
            _HOME + "building.gaussian_noise",
            _HOME + "building.laplace_scales",
            _HOME + "shares.as_fractions",
            _HOME + "designs.Nodes.measure",
            _HOME + "designs.Contrasts.measure",
            _HOME + "designs.Design.run",
            _HOME + "bank.BankDesign",
        ),
    ),
)
