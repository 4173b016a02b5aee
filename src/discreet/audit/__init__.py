"""Attacks on guarantees, with bounds that hold with stated confidence."""

from discreet.audit.bounds import (
    TwoOutcomes,
    clopper_pearson,
    epsilon_floor,
    rho_floor,
)

__all__ = ["TwoOutcomes", "clopper_pearson", "epsilon_floor", "rho_floor"]
