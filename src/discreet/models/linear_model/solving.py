"""From noised normal equations to coefficients: post-processing, in scaled units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: The chance that AdaSSP's bound on the noise is exceeded, for matrices of Gaussian noise.
RISK = 0.05
#: Zhang et al. 2012, section 6.1: this many standard deviations of the noise are put on the diagonal.
FUNCTIONAL_RIDGE = 4.0
#: Eigenvalues below this share of the largest count as zero where there is no noise.
_RANK_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Solution:
    """Coefficients in scaled units, and the ridge that the noise calls for (Wang 2018, Algorithm 2)."""

    intercept: float
    slopes: Floats
    ridge: float


def noise_eigenvalue(columns: int, noise: float) -> float:
    """σ·√(d·log(2d²/ρ)): the most that the noise does to an eigenvalue (Wang 2018, Algorithm 2)."""
    return noise * math.sqrt(columns * math.log(2 * columns**2 / RISK))


def centre(matrix: Floats) -> tuple[float, Floats, Floats]:
    """Count, means and sums of products about the means, from the sums of vvᵀ, v = (1, u, t)."""
    count = max(float(matrix[0, 0]), 1.0)
    means = np.clip(matrix[0, 1:] / count, -1.0, 1.0)
    return count, means, np.asarray(matrix[1:, 1:] - count * np.outer(means, means))


def unshrunk(matrix: Floats) -> Solution:
    """The least-squares solution of noised equations as they are, with an intercept."""
    _, means, about = centre(matrix)
    slopes = solve(*np.linalg.eigh(_finite(about[:-1, :-1])), about[:-1, -1])
    return Solution(float(means[-1] - means[:-1] @ slopes), slopes, 0.0)


def missing_ridge(left: Floats, noise: float) -> float:
    """How far the least eigenvalue lies below what the noise can do to it: the ridge of AdaSSP.

    Wang 2018, Algorithm 2. The eigenvalue is that of the noised matrix itself, so it costs nothing more.
    """
    if noise == 0:
        return 0.0
    least = float(np.linalg.eigvalsh(_finite(left))[0])
    return max(0.0, noise_eigenvalue(len(left), noise) - least)


def functional(left: Floats, right: Floats, noise: float) -> Floats:
    """The minimiser of ½wᵀHw - gᵀw with noised H and g, for each column g: regularised, then trimmed.

    Zhang et al. 2012, section 6: 4σ on the diagonal; directions whose eigenvalue is still not positive
    are left out.
    """
    values, vectors = np.linalg.eigh(_finite(left))
    return solve(values + FUNCTIONAL_RIDGE * noise, vectors, right)


def solve(values: Floats, vectors: Floats, right: Floats) -> Floats:
    """V diag(1/values) Vᵀ right over the positive eigenvalues."""
    least = max(_RANK_TOLERANCE * float(np.abs(values).max(initial=0.0)), 1e-300)
    use = values > least
    inverse = np.where(use, 1.0 / np.where(use, values, 1.0), 0.0)
    return np.asarray((vectors * inverse) @ (vectors.T @ right))


def _finite(matrix: Floats) -> Floats:
    return np.nan_to_num(matrix, nan=0.0, posinf=1e300, neginf=-1e300)


def coefficient_variances(
    matrix: Floats, solution: Solution, noise: float, counted: bool, sampling: bool
) -> Floats:
    """Variances of intercept and slopes, to first order in the noise (delta method).

    With v = (1, u), H = Σvvᵀ and q = (-intercept, -slopes, 1), noise E moves the solution by H⁻¹(Eq).
    Entries i < j of E are independent; a square is the count less its own sum, so that
    Cov(Eq) = σ²(‖q‖²I + qqᵀ - 2·diag(q²) + diag(0, q₁², …) + qqᵀ), the last for the count's noise.
    Sampling adds s²H⁻¹, s² the mean squared residual of the noised equations (never below 0).
    """
    q = np.concatenate([[-solution.intercept], -solution.slopes, [1.0]])
    size = len(q) - 1
    inside = (q @ q) * np.eye(size) + (1 + counted) * np.outer(q, q)[:size, :size]
    inside -= np.diag(np.concatenate([[2.0], np.ones(size - 1)]) * q[:size] ** 2)
    inside *= noise**2
    left = matrix[:size, :size]
    if sampling:
        count = max(float(matrix[0, 0]), 1.0)
        inside = inside + max(float(q @ matrix @ q) / count, 0.0) * left
    inverse = np.linalg.pinv(_finite(left), hermitian=True)
    return np.maximum(np.diag(inverse @ inside @ inverse), 0.0)


def entry_noise(errors: Floats) -> float:
    """The largest standard error of a sum of products of different columns."""
    return float(np.max(np.where(np.eye(errors.shape[-1], dtype=bool), 0.0, errors)))
