"""Copies of PATE, each weakened in one place; the registered attacks must catch them."""

from __future__ import annotations

import numpy as np

from discreet import noise
from discreet.deep.pate import ConfidentGNMax, GNMax, LNMax, dependent, estimator, teachers
from discreet.deep.pate.dependent import _Pair


def votes_with_half_the_gaussian_noise(patch):
    patch.setattr(
        GNMax,
        "run",
        lambda m, v: (v + noise.rounded_gaussian(m.sigma / 2, v.shape)).argmax(axis=1),
    )


def votes_with_half_the_laplace_noise(patch):
    patch.setattr(
        LNMax,
        "run",
        lambda m, v: (v + noise.discrete_laplace(m.scale / 2, v.shape)).argmax(axis=1),
    )


def a_check_without_noise(patch):
    def run(m, votes):
        answered = np.flatnonzero(votes.max(axis=1) >= m.threshold)[: m.max_answers]
        labels = np.full(len(votes), -1)
        labels[answered] = GNMax(m.sigma).run(votes[answered])
        return labels

    patch.setattr(ConfidentGNMax, "run", run)


def teachers_by_place(patch):
    patch.setattr(teachers, "deal", lambda n, count, *ids: np.arange(n) * count // max(n, 1))


def persons_counted_as_one_row(patch):
    patch.setattr(teachers, "changed_teachers", lambda *facts: 1)
    patch.setattr(estimator, "changed_teachers", lambda *facts: 1)


def costs_of_half_the_neighbours(patch):
    honest = dependent.neighbouring_counts
    patch.setattr(dependent, "neighbouring_counts", lambda row: honest(row)[:1])


def costs_in_one_direction(patch):
    honest = _Pair.__init__
    patch.setattr(
        _Pair,
        "__init__",
        lambda pair, p, q: honest(pair, *((p, q) if p[0, 0] > q[0, 0] else (q, p))),
    )
