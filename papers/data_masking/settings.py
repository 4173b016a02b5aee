"""What is compared, at which sizes and budgets."""

from __future__ import annotations

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
SIZES = (100, 200)
PLAIN, OUTPUT, MASKED, INPUT = (
    "not private",
    "output perturbation",
    "masked data",
    "input perturbation",
)
OUTPUT_PUBLISHED = "output perturbation, published"
MASKED_PUBLISHED = "masked data, published"
INPUT_PUBLISHED = "input perturbation, published"
INPUT_GAMMA = "input perturbation, norm-Gamma"
METHODS = (
    PLAIN,
    OUTPUT,
    MASKED,
    INPUT,
    INPUT_GAMMA,
    OUTPUT_PUBLISHED,
    MASKED_PUBLISHED,
    INPUT_PUBLISHED,
)
