"""Claims about empirical risk minimisation."""

from discreet.claims.base import Claim

_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_ERM = "discreet.models.erm."
_SHARED = (
    _ERM + "features.FeatureMap.integers",
    _ERM + "features.FeatureMap.radius",
    _ERM + "features.FeatureMap.length",
    _ERM + "losses.smooth_step",
    _ERM + "losses.Logistic",
    _ERM + "losses.Softmax",
    _ERM + "losses.SmoothHinge",
    _ERM + "losses.Insensitive",
    _ERM + "losses.HuberSquare",
    _ERM + "objective.gradient_error",
    _ERM + "objective.Objective.gradient",
    _ERM + "objective._digits",
    _ERM + "objective._margins",
    _ERM + "solver._minimise",
    _ERM + "perturbation.Task",
    _ERM + "perturbation.Perturbation",
    _ERM + "perturbation._sensitivity",
    _ERM + "step.MinimisedRisk.run",
    _ERM + "step.MinimisedRisk._target",
)

CLAIMS = (
    Claim(
        name="output-perturbation",
        statement="LogisticRegression, LinearSVC and LinearSVR by output perturbation release the minimiser "
        "of Σ loss + (Λ/2)‖w‖², found to a public tolerance and rounded, with exact grid noise: ε-DP, or "
        "(ε, δ)-DP.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Chaudhuri, Monteleoni & Sarwate 2011; tolerance and rounding: this project",
        proof="erm.md",
        functions=(*_SHARED, _ERM + "perturbation.OutputPerturbation"),
    ),
    Claim(
        name="objective-perturbation",
        statement="LogisticRegression, LinearSVC and LinearSVR by objective perturbation release a point "
        "near the minimiser of Σ loss + (Λ/2)‖w‖² + b·w with grid noise for how near: ε-DP with Laplace b, "
        "(ε, δ)-DP with Gaussian b.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Iyengar, Near, Song, "
        "Thakkar, Thakurta & Wang 2019; one-sided determinants and vertices: this project",
        proof="erm.md",
        functions=(
            *_SHARED,
            _ERM + "perturbation.ObjectivePerturbation",
            "discreet.accounting.objective.objective_delta",
        ),
    ),
)
