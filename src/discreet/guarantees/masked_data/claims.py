"""Claims about masked data and input perturbation."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.publish",
    "discreet.publish.declared",
    "discreet.publish.greedy",
    "discreet.publish.mask",
    "discreet.publish.masked_data",
    "discreet.publish.perturb",
    "discreet.publish.row_release",
    "discreet.publish.rows",
    "discreet.publish.stationary",
    "discreet.publish.true_labels",
)
RESTS_ON = (*FITTED, "erm", "linear_model", "local")


_PUBLISH = "discreet.publish."
_ROWS = _PUBLISH + "rows.RowPerturbation."
_CHANNEL = (
    _ROWS + "shares",
    _ROWS + "radius",
    _ROWS + "moved",
    _ROWS + "distribution",
    _ROWS + "response",
    _ROWS + "event",
    _ROWS + "randomize",
    _ROWS + "blur",
    _PUBLISH + "perturb.PerturbedRows",
    _PUBLISH + "row_release.RowRelease",
    _PUBLISH + "row_release.SeparateRows",
)

CLAIMS = (
    Claim(
        name="masked-data",
        statement="MaskedData publishes rows made of the weights of a private logistic regression, public "
        "parameters and, with noisy labels, noised class counts: ε-DP, or (ε, δ)-DP, labels included.",
        unit="add/remove and replace-one, with or without ids and max_rows",
        measure="ApproxDP",
        status="proved",
        source="Pham, Ghosh & Yegneswaran, algorithm 1, with labels and start that are public or noised: "
        "this project",
        proof="masked_data.md",
        functions=(
            _PUBLISH + "masked_data.MaskedData._parts",
            _PUBLISH + "masked_data.MaskedData._model",
            _PUBLISH + "masked_data.MaskedData._plan",
            _PUBLISH + "masked_data.MaskedData._train",
            _PUBLISH + "masked_data.MaskedData._check",
            _PUBLISH + "masked_data.MaskedData._row_count",
            _PUBLISH + "masked_data.MaskedData._mask",
            _PUBLISH + "masked_data.MaskedData._publish",
            _PUBLISH + "true_labels.TrueLabels.event",
        ),
    ),
    Claim(
        name="input-perturbation",
        statement="RowPerturbation tells numbers with exact grid noise for their largest distance and "
        "categories, the label among them, by randomised response: ε-local DP, or (ε, δ), for the whole "
        "row; perturb() publishes all rows so, in a random order.",
        unit="one report; replace-one with one row per person",
        measure="ApproxDP",
        status="proved",
        source="Pham, Ghosh & Yegneswaran, algorithm 2, for whole rows and on a grid: this project; "
        "Kasiviswanathan et al. 2011; Kairouz, Bonawitz & Ramage 2016",
        proof="input_perturbation.md",
        functions=_CHANNEL,
    ),
    Claim(
        name="input-perturbation-norm-gamma",
        statement="With kind='norm-gamma' the noise on numbers has density ∝ exp(-ε‖b‖/(2R)), drawn as "
        "direction times radius: ε-local DP for the whole row in real numbers.",
        unit="one report; replace-one with one row per person",
        measure="PureDP",
        status="assumed",
        source="Pham, Ghosh & Yegneswaran, algorithm 2, for whole rows; Chaudhuri & Monteleoni 2009",
        proof="input_perturbation.md",
        functions=(*_CHANNEL, _ROWS + "_with_gamma", "discreet.noise.norm_gamma.norm_gamma"),
    ),
)
