"""Claims about k-means."""

from discreet.guarantees.base import FITTED, Claim

CODE = ("discreet.models.cluster.*",)
RESTS_ON = FITTED


_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_MEASURE = "PureDP or ApproxDP"

CLAIMS = (
    Claim(
        name="k-means",
        statement="A KMeans fitted by Lloyd's rounds, centres and sizes and everything seen on the way, is "
        "ε-DP (δ = 0) or (ε, δ)-DP: a noised start, then one noised vector of counts and sums per round.",
        unit=_UNIT,
        measure=_MEASURE,
        status="proved",
        source="Blum, Dwork, McSherry & Nissim 2005; Su, Cao, Li, Bertino & Jin 2016",
        proof="cluster.md",
        functions=(
            "discreet.queries.centred.CentredSums.extent",
            "discreet.queries.centred.CentredSums._new_terms",
            "discreet.queries.with_columns.WithColumns.sensitivity",
            "discreet.queries.with_columns.WithColumns.coded",
            "discreet.models.shares.split",
            "discreet.models.cluster.lloyd.Lloyd",
            "discreet.models.cluster.starts.GridStart",
            "discreet.models.cluster.starts.SplitStart",
            "discreet.models.cluster.kmeans.KMeans._plan",
            "discreet.models.cluster.kmeans.KMeans._train",
        ),
    ),
    Claim(
        name="k-means-blocks",
        statement="The noised average of k-means in disjoint blocks, each block's centres matched with "
        "public points and kept in the public box, is ε-DP (δ = 0) or (ε, δ)-DP.",
        unit=_UNIT,
        measure=_MEASURE,
        status="proved",
        source="Nissim, Raskhodnikova & Smith 2007; Mohan, Thakurta, Shi, Song & Culler 2012",
        proof="cluster.md",
        functions=(
            "discreet.models.cluster.blocks.BlockCentres",
            "discreet.models.cluster.blocks.block_sensitivity",
            "discreet.models.cluster.blocks.dealt",
        ),
    ),
)
