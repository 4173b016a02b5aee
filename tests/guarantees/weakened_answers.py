"""Copies of the code for many answers, each weakened in one place."""

from __future__ import annotations

from fractions import Fraction

from discreet.answers import several


def questions_that_each_get_the_whole_budget(patch):
    patch.setattr(
        several, "best_shares", lambda route, errors, weights: [route.total] * len(errors)
    )
    patch.setattr(several, "fit", lambda route, measure, plan: plan(Fraction(1))[1])
