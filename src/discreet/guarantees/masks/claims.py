"""Claims about masks of private rows in the wavelet domain."""

from discreet.guarantees.base import ASKED, Claim

CODE = (
    "discreet.publish.wavelets.*",
    "discreet.publish.masks.*",
    "!discreet.publish.masks.published",
    "!discreet.publish.masks.sigmoid",
)
RESTS_ON = (*ASKED, "local", "masked_data", "models")

_MASKS = "discreet.publish.masks."
_INTEGERS = "discreet.publish.wavelets.integers.IntegerTransform."
_UNIT = "replace-one with one row per person; n public"
_ROWS = (
    _MASKS + "plan.RowMask.plan",
    _MASKS + "plan.MaskPlan.event",
    _MASKS + "plan.MaskPlan.blur",
    _MASKS + "plan.MaskedRows",
    "discreet.publish.row_release.RowRelease",
    _INTEGERS + "matrix",
    _INTEGERS + "spread",
    _INTEGERS + "apply",
)
_ADDITIVE = (
    *_ROWS,
    _MASKS + "releases.move_rows",
    _MASKS + "releases.AdditiveRelease",
)


def _mask(name: str, statement: str, source: str, code: tuple[str, ...], measure: str) -> Claim:
    return Claim(
        name=name,
        statement=statement,
        unit=_UNIT,
        measure=measure,
        status="proved",
        source=f"{source}: this project",
        proof="masks.md",
        functions=code,
    )


CLAIMS = (
    _mask(
        "wavelet-laplace",
        "WaveletLaplace publishes rows with discrete Laplace noise of scale K·Σ(u - l)/ε on all wavelet "
        "coefficients of each block, K taken from the integer matrix, and categories by randomised "
        "response: ε-DP for the whole row.",
        "LS+ of Choi & Lee 2019 with public bounds and the true sensitivity",
        (_MASKS + "wavelet.WaveletLaplace", *_ADDITIVE),
        "PureDP",
    ),
    _mask(
        "wavelet-gaussian",
        "WaveletGaussian publishes rows with Gaussian noise on all wavelet coefficients, whose L2 "
        "sensitivity is that of the cells, and categories by randomised response: (ε, δ)-DP for the whole "
        "row.",
        "LS+ of Choi & Lee 2019 with Gaussian noise",
        (_MASKS + "wavelet.WaveletGaussian", *_ADDITIVE, _INTEGERS + "energy"),
        "ApproxDP",
    ),
    _mask(
        "wavelet-approximation",
        "WaveletApproximation publishes the approximation band of each block with Laplace noise for its "
        "sensitivity, the details dropped, and categories by randomised response: ε-DP for the whole row.",
        "LS of Choi & Lee 2019 without the bands that had no noise",
        (_MASKS + "wavelet.WaveletApproximation", *_ADDITIVE),
        "PureDP",
    ),
    _mask(
        "angle-embedding",
        "AngleEmbedding publishes rows from angles of all coefficients by public ranges, or from their "
        "cosines or sines by a coin, with Laplace noise and clamped: ε-DP for the whole row.",
        "the pseudo-quantum mask of Choi & Lee 2019 with public ranges and noise on all bands",
        (
            _MASKS + "angles.AngleEmbedding",
            _MASKS + "angles.EmbeddedRelease",
            _MASKS + "angles.angle_transform",
            *_ADDITIVE,
        ),
        "PureDP",
    ),
    _mask(
        "clamped-sigmoid",
        "ClampedSigmoid replaces coefficients of public ranges by draws from a finite table of "
        "Laplace–Sigmoid probabilities, clamped, whose largest ratio is checked in integers: ε-DP for the "
        "whole row.",
        "Laplace–Sigmoid noise of Choi & Lee 2019, continuous and clamped",
        (
            _MASKS + "clamped_sigmoid.ClampedSigmoid",
            _MASKS + "clamped_sigmoid.SigmoidRelease",
            _MASKS + "clamped_sigmoid.SigmoidTable",
            _MASKS + "clamped_sigmoid.find_table",
            *_ROWS,
        ),
        "PureDP",
    ),
)
