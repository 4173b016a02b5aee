"""Mechanisms: how noise is added to answers, and how choices are drawn."""

from discreet.deprecation import former_names
from discreet.mechanisms.accuracy import (
    epsilon_for_width,
    published_gaussian_delta,
    published_gaussian_sigma,
    sigma_for_width,
    simultaneous_width,
    tail_probability,
)
from discreet.mechanisms.additive import (
    AdditiveMechanism,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Mechanism,
    NoNoise,
    mechanism_for,
)
from discreet.mechanisms.bernstein import Bernstein, PolynomialFunction
from discreet.mechanisms.best_of import BestOf
from discreet.mechanisms.distributions import (
    DiscreteGaussianDistribution,
    Distribution,
    GaussianDistribution,
    LaplaceDistribution,
    drawable_scale,
)
from discreet.mechanisms.local import (
    DuchiMean,
    Estimate,
    GeneralizedRandomizedResponse,
    HybridMean,
    LocalHashing,
    LocalMechanism,
    Memoised,
    PiecewiseMean,
    RandomizedResponse,
    UnaryEncoding,
)
from discreet.mechanisms.noisy_max import ReportNoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.priestley_chao import PriestleyChao
from discreet.mechanisms.selection import Exponential
from discreet.mechanisms.sensitivity_sampling import SampledSensitivity, sensitivity_sampler
from discreet.mechanisms.sparse_vector import AboveThreshold, SparseVector
from discreet.mechanisms.staircase import Staircase, StaircaseDistribution

__all__ = [
    "AboveThreshold",
    "AdditiveMechanism",
    "Bernstein",
    "BestOf",
    "DiscreteGaussian",
    "DiscreteGaussianDistribution",
    "Distribution",
    "DuchiMean",
    "Estimate",
    "Exponential",
    "Gaussian",
    "GaussianDistribution",
    "GeneralizedRandomizedResponse",
    "HybridMean",
    "Laplace",
    "LaplaceDistribution",
    "LocalHashing",
    "LocalMechanism",
    "Mechanism",
    "Memoised",
    "NoNoise",
    "PermuteAndFlip",
    "PiecewiseMean",
    "PolynomialFunction",
    "PriestleyChao",
    "RandomizedResponse",
    "ReportNoisyMax",
    "SampledSensitivity",
    "SparseVector",
    "Staircase",
    "StaircaseDistribution",
    "UnaryEncoding",
    "drawable_scale",
    "epsilon_for_width",
    "mechanism_for",
    "published_gaussian_delta",
    "published_gaussian_sigma",
    "sensitivity_sampler",
    "sigma_for_width",
    "simultaneous_width",
    "tail_probability",
]

__getattr__ = former_names(
    "discreet.mechanisms",
    {
        "Law": "discreet.mechanisms.distributions.Distribution",
        "LaplaceLaw": "discreet.mechanisms.distributions.LaplaceDistribution",
        "GaussianLaw": "discreet.mechanisms.distributions.GaussianDistribution",
        "DiscreteGaussianLaw": "discreet.mechanisms.distributions.DiscreteGaussianDistribution",
        "StaircaseNoise": "discreet.mechanisms.staircase.StaircaseDistribution",
    },
)
