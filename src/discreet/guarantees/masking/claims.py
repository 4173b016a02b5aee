"""Claims of Pham, Ghosh & Yegneswaran about masked data and input perturbation."""

from discreet.guarantees.base import PRICES, Document

CODE: tuple[str, ...] = ()
RESTS_ON = PRICES


_printed = Document(
    "Pham, Ghosh & Yegneswaran",
    topic="masking",
    unit="replace-one, n public",
    status="refuted",
).claim


CLAIMS = (
    _printed(
        "masking-weights",
        "In real numbers, exact logistic weights plus noise of density ∝ exp(-λNε‖η‖/2) are ε-DP for "
        "‖x‖ <= 1.",
        "Algorithm 1, steps 1-2; Chaudhuri & Monteleoni 2009",
        ("logistic", "noisy_weights"),
        status="proved",
    ),
    _printed(
        "masking-exponential-norm",
        "Noise with a uniform direction and an exponential norm of rate λNε/2 is ε-DP.",
        "Algorithm 1, step 2, taken at its word: the density has a pole",
        ("noisy_weights",),
        repair="masking-weights",
    ),
    _printed(
        "masking-multi-class",
        "The same noise serves models with three classes.",
        "section on MNIST; softmax weights can move by √2 times as much",
        ("softmax_weights",),
        repair="masking-weights",
    ),
    _printed(
        "masking-true-labels",
        "Masked records with the true labels are ε-DP.",
        "Proposition 1; labels are told: ε = ∞",
        ("masked_data",),
        repair="masked-data",
    ),
    _printed(
        "masking-real-start",
        "Masked records that start with real ones are ε-DP.",
        "section on MNIST: the first two digits are the original samples: ε = ∞",
        ("masked_data",),
        repair="masked-data",
    ),
    _printed(
        "masking-without-labels",
        "Masked records made of noisy weights, public labels and an empty start are ε-DP, in real numbers.",
        "Proposition 1, for records without labels",
        ("masked_data",),
        status="proved",
    ),
    _printed(
        "masking-input-perturbation",
        "Records with noise of density ∝ exp(-ε‖η‖/2), beside their labels, are ε-DP.",
        "Proposition 3; labels are told: ε = ∞",
        ("input_perturbation",),
        repair="input-perturbation",
    ),
    _printed(
        "masking-input-records",
        "Records with ‖x‖ <= 1 and noise of density ∝ exp(-ε‖η‖/2) are ε-DP, even locally, in real numbers.",
        "Proposition 3, for records without labels",
        ("input_perturbation",),
        status="proved",
    ),
    _printed(
        "masking-toy-data",
        "The toy data, drawn about (0, 1.5), (1, 1) and (1, -1), are protected as they are.",
        "section on toy data; ‖x‖ <= 1 is assumed and doesn't hold",
        ("input_perturbation",),
        repair="input-perturbation",
    ),
)
