"""Copies of histograms for ranges, each weakened in one place."""

from __future__ import annotations

from dataclasses import replace

from discreet.publish.privelet import building
from discreet.publish.privelet.designs import Design
from discreet.publish.privelet.facts import Facts


def ranges_that_forget_a_level(patch):
    honest = building.compose
    patch.setattr(building, "compose", lambda parts: honest(parts[:-1] or parts))


def ranges_of_persons_with_one_row(patch):
    honest = Facts.moved
    patch.setattr(Facts, "moved", lambda facts, *rest: honest(replace(facts, rows=1), *rest))


def ranges_that_forget_where_a_row_came_from(patch):
    honest = Facts.moved
    patch.setattr(
        Facts, "moved", lambda facts, *rest: honest(replace(facts, is_replaced=False), *rest)
    )


def wavelets_with_one_weight(patch):
    patch.setattr(building, "_one_row", lambda axis, level, resolution: 1)


def cells_that_are_never_apart(patch):
    honest = building.farthest
    patch.setattr(
        building,
        "farthest",
        lambda precision, entries, facts: honest(
            precision, entries, replace(facts, is_replaced=False)
        ),
    )


def ranges_with_a_third_of_the_noise(patch):
    """What is planned and charged is right: only what is really told shows it."""

    def run(design, counts):
        exact = design.measure(counts)
        noised = [d.run(integers) for d, integers in zip(design.distributions, exact, strict=True)]
        return design.estimate([a + (b - a) // 3 for a, b in zip(exact, noised, strict=True)])

    patch.setattr(Design, "run", run)
