"""Claims about empirical risk minimisation."""

from discreet.guarantees.base import FITTED, Claim

CODE = (
    "discreet.models.erm.*",
    "discreet.models.svm.*",
)
RESTS_ON = (*FITTED, "linear_model", "m_estimation", "tree")


_UNIT = "add/remove and replace-one, with or without ids and max_rows"
_ERM = "discreet.models.erm."
_SHARED = (
    "discreet.engines.collected",
    _ERM + "features.FeatureMap.block",
    _ERM + "features.FeatureMap._numbers",
    _ERM + "features.FeatureMap._others",
    _ERM + "features.FeatureMap.sizes",
    _ERM + "features.FeatureMap.width",
    _ERM + "features.RowMap.matrix",
    _ERM + "features.shrink",
    _ERM + "features.shrink_sizes",
    _ERM + "features.FeatureMap.radius",
    _ERM + "features.FeatureMap.length",
    _ERM + "features.FeatureMap._kinds",
    _ERM + "fourier.FourierMap",
    _ERM + "evened.EvenedMap",
    _ERM + "losses._signs",
    _ERM + "losses.smooth_step",
    _ERM + "losses.Logistic",
    _ERM + "losses.Softmax",
    _ERM + "losses.SmoothHinge",
    _ERM + "losses.Insensitive",
    _ERM + "losses.HuberSquare",
    _ERM + "weights.Weighted",
    _ERM + "objective.gradient_error",
    _ERM + "objective.Objective._blocks",
    _ERM + "objective.Objective.gradient",
    _ERM + "objective._digits",
    _ERM + "objective._margins",
    _ERM + "solver._minimise",
    _ERM + "perturbation.Task",
    _ERM + "perturbation.Perturbation",
    _ERM + "perturbation._sensitivity",
    _ERM + "regulariser.output_regulariser",
    _ERM + "regulariser.objective_regulariser",
    _ERM + "step.MinimisedRisk.event",
    _ERM + "step.MinimisedRisk.run",
    _ERM + "step.MinimisedRisk._target",
    _ERM + "step.MinimisedRisk.with_features",
    _ERM + "step.MinimisedRisk._changed",
    "discreet.models.svm.kernel.KernelEstimator._train",
    "discreet.models.svm.kernel.SVR._plan",
    "discreet.models.svm.kernel.SVR._evening",
    "discreet.models.svm.evening.Evening",
    "discreet.models.svm.evening.divide_budget",
    "discreet.models.svm.evening.plan_evening",
)

#: What noise in the objective rests on.
OBJECTIVE = (
    *_SHARED,
    _ERM + "perturbation.ObjectivePerturbation",
    "discreet.accounting.objective.objective_delta",
)

CLAIMS = (
    Claim(
        name="output-perturbation",
        statement="LogisticRegression and support-vector machines by output perturbation release the "
        "minimiser of Σ loss + (Λ/2)‖w‖², found to a public tolerance and rounded, with exact grid noise: "
        "ε-DP, or (ε, δ)-DP.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Chaudhuri, Monteleoni & Sarwate 2011; tolerance and rounding: this project",
        proof="erm.md",
        functions=(*_SHARED, _ERM + "perturbation.OutputPerturbation"),
    ),
    Claim(
        name="objective-perturbation",
        statement="LogisticRegression and support-vector machines by objective perturbation release a point "
        "near the minimiser of Σ loss + (Λ/2)‖w‖² + b·w with grid noise for how near: ε-DP with Laplace b, "
        "(ε, δ)-DP with Gaussian b.",
        unit=_UNIT,
        measure="ApproxDP",
        status="proved",
        source="Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Iyengar, Near, Song, "
        "Thakkar, Thakurta & Wang 2019; one-sided determinants and vertices: this project",
        proof="erm.md",
        functions=OBJECTIVE,
    ),
    Claim(
        name="norm-gamma-perturbation",
        statement="With noise='norm-gamma', output and objective perturbation draw vectors of density "
        "∝ exp(-‖b‖/scale) in float64 and release the minimiser as found: ε-DP if real arithmetic and exact "
        "minimisers are assumed.",
        unit=_UNIT,
        measure="PureDP",
        status="assumed",
        source="Chaudhuri, Monteleoni & Sarwate 2011, algorithms 1 and 2; constants: this project",
        proof="erm.md",
        functions=(
            *_SHARED,
            "discreet.noise.norm_gamma.norm_gamma",
            _ERM + "norm_gamma.NormGamma",
            _ERM + "norm_gamma.NormGammaOutput",
            _ERM + "norm_gamma.NormGammaObjective",
        ),
    ),
)
