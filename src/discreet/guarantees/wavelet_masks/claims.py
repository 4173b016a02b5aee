"""Claims of Choi & Lee 2019 about the masks LS, LS+ and pseudo-quantum."""

from discreet.guarantees.base import ASKED, Document

CODE = ("discreet.publish.masks.published", "discreet.publish.masks.sigmoid")
RESTS_ON = (*ASKED, "masks")

_PUBLISHED = "discreet.publish.masks.published."
_SIGMOID = "discreet.publish.masks.sigmoid."

_printed = Document(
    "Choi & Lee 2019",
    topic="wavelet_masks",
    unit="replace-one: a row, or as the paper says an element; n public",
    status="refuted",
).claim


CLAIMS = (
    _printed(
        "wavelet-lemma-one",
        "A sum that moves by at most 1, plus Laplace noise of scale 1/ε, is ε-DP.",
        "section 3.1, as quoted there",
        status="proved",
    ),
    _printed(
        "wavelet-cell-noise",
        "A table with Laplace noise of scale 1/ε on every cell is ε-DP, since neighbours differ in one "
        "element.",
        "Lemma 1; nine columns in [0, 1] give 9ε, unbounded ones ∞",
        repair="discrete-laplace",
    ),
    _printed(
        "wavelet-ls",
        "The mask LS is ε-DP.",
        "Theorem 1; two thirds of the coefficients have no noise: ε = ∞",
        (_PUBLISHED + "LS", _SIGMOID + "multipliers", _SIGMOID + "laplace_sigmoid", "ls"),
        repair="wavelet-approximation",
    ),
    _printed(
        "wavelet-sigmoid-compensation",
        "Noise multiplied by sigmoids up to 1/(1+e^-γ) is ε-DP with ε' = ε/(1+e^-γ).",
        "Theorem 1; the smallest multiplier counts: ε·e^γ",
        (_SIGMOID + "noise_parameter", _SIGMOID + "laplace_sigmoid"),
        repair="clamped-sigmoid",
    ),
    _printed(
        "wavelet-sigmoid-mean",
        "Laplace–Sigmoid noise has mean 0.",
        "Definition 3; it is (1 - 2S(y))/(2ε')",
        (_SIGMOID + "laplace_sigmoid_log_density",),
        measure="accuracy",
    ),
    _printed(
        "wavelet-free-multiplier",
        "A multiplier that depends on the data costs nothing, since it is bounded.",
        "section 1.2; tails with other scales have an unbounded ratio",
        (_SIGMOID + "multipliers", _SIGMOID + "laplace_sigmoid"),
        repair="clamped-sigmoid",
    ),
    _printed(
        "wavelet-ls-plus",
        "The mask LS+ is ε-DP, by Theorem 1 on each block.",
        "Corollary 1",
        (_PUBLISHED + "LSPlus", _SIGMOID + "multipliers", _SIGMOID + "laplace_sigmoid", "ls_plus"),
        repair="wavelet-laplace",
    ),
    _printed(
        "wavelet-pseudo-quantum",
        "The pseudo-quantum mask with X ~ Lap(2/ε) is ε-DP.",
        "Theorem 2; its distribution doesn't depend on ε at all: ε = ∞",
        (_PUBLISHED + "PseudoQuantum", "pseudo_quantum"),
        repair="angle-embedding",
    ),
    _printed(
        "wavelet-embedding-intensity",
        "Neither δ nor η affect the privacy of the pseudo-quantum mask.",
        "section 4.1",
        (_PUBLISHED + "PseudoQuantum", "pseudo_quantum"),
    ),
    _printed(
        "wavelet-impossible-to-denoise",
        "The original data can't be regained from a mask.",
        "sections 3.2.2 and 3.4.3",
        ("ls", "pseudo_quantum"),
        measure="reconstruction",
    ),
    _printed(
        "wavelet-batches",
        "New rows masked in a batch of their own, once, by an ε-DP mechanism, leave all masks together ε-DP.",
        "section 5; each person in one batch",
        status="proved",
    ),
)
