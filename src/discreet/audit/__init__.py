"""Attacks on guarantees, with bounds that hold with stated confidence.

>>> from discreet import audit
>>> audit.audit(lambda x, trials: x + noise(trials), (0, 1), 1.0)  # doctest: +SKIP
"""

from __future__ import annotations

from discreet.audit import membership
from discreet.audit.answers import Answers, neighbouring_answers
from discreet.audit.auditor import audit
from discreet.audit.bounds import TwoOutcomes, clopper_pearson, epsilon_floor, rho_floor
from discreet.audit.exact import cells, exact, gaussian_cells, hockey_stick, statement
from discreet.audit.losses import GaussianLoss, LaplaceLoss
from discreet.audit.one_run import Guesses, OneRunAudit, audit_in_one_run, guess
from discreet.audit.pairs import Neighbours, Pairs, neighbouring, through_the_door
from discreet.audit.probes import (
    Refused,
    WatchedRows,
    order_of_charge_and_read,
    sensitivity_exceeded,
)
from discreet.audit.registry import Attack, Case, attack, list_attacks, run_attack
from discreet.audit.results import AuditResult
from discreet.audit.reuse import after_fork, same_noise
from discreet.deprecation import former_names

__all__ = [
    "Answers",
    "Attack",
    "AuditResult",
    "Case",
    "GaussianLoss",
    "Guesses",
    "LaplaceLoss",
    "Neighbours",
    "OneRunAudit",
    "Pairs",
    "Refused",
    "TwoOutcomes",
    "WatchedRows",
    "after_fork",
    "attack",
    "audit",
    "audit_in_one_run",
    "cells",
    "clopper_pearson",
    "epsilon_floor",
    "exact",
    "gaussian_cells",
    "guess",
    "hockey_stick",
    "list_attacks",
    "membership",
    "neighbouring",
    "neighbouring_answers",
    "order_of_charge_and_read",
    "rho_floor",
    "run_attack",
    "same_noise",
    "sensitivity_exceeded",
    "statement",
    "through_the_door",
]


__getattr__ = former_names(
    "discreet.audit",
    {
        "all_attacks": "discreet.guarantees.all_attacks",
        "registered": "discreet.audit.registry.list_attacks",
    },
)
