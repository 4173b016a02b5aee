"""Copies of the joint quantiles, each weakened in one place."""

from __future__ import annotations

import numpy as np

from discreet.queries import cuts, joint_quantiles


def parts_that_count_a_row_twice(patch):
    """Rows of the cell that is cut stay in both parts."""
    divide = cuts.Part.divide

    def both(self, cut):
        lower, _ = divide(self, cut)
        return lower, cuts.Part(cut, self.stop, self.codes, np.maximum(self.counts, 1), self.pieces)

    patch.setattr(cuts.Part, "divide", both)


def parts_that_a_replaced_row_never_leaves(patch):
    half = joint_quantiles.part_sensitivity
    patch.setattr(
        joint_quantiles,
        "part_sensitivity",
        lambda q, unit: max(q.numerator, q.denominator - q.numerator) * unit.rows_per_person,
    )
    assert half is not joint_quantiles.part_sensitivity


def persons_of_one_row_in_parts(patch):
    whole = joint_quantiles.part_sensitivity
    patch.setattr(
        joint_quantiles, "part_sensitivity", lambda q, unit: whole(q, unit) // unit.rows_per_person
    )


def levels_that_each_get_the_whole_budget(patch):
    listed = joint_quantiles.PreparedJointQuantiles.__init__

    def start(self, *arguments):
        listed(self, *arguments)
        self.event = type(self.event)(self._mechanism.event(1), len(self.levels))

    patch.setattr(joint_quantiles.PreparedJointQuantiles, "__init__", start)
