"""Which event the auditor chooses: not a lucky rare one; and that something ran at all."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import testing
from discreet.audit import audit, exact, gaussian_cells
from discreet.guarantees.additive.attacks import draw_with
from discreet.measures import GaussianDP
from discreet.mechanisms import Staircase


def test_the_chosen_event_is_a_good_one_every_time():
    """The best of hundreds of events in early runs is often a rare one that was lucky there."""
    distribution = Staircase(1).noise(6)
    with testing.fixed_noise(9):
        floors = [
            audit(draw_with(distribution), (0, 6), 1.0, trials=50_000).floor for _ in range(12)
        ]
    assert min(floors) > 0.9
    assert max(floors) <= 1


def test_a_mechanism_that_always_fails_is_no_consistent_one():
    def broken(value, trials):
        raise KeyError("a typo in the harness")

    def fails_on_one(value, trials):
        if value:
            raise KeyError("told by an exception")
        return np.zeros(trials)

    with pytest.raises(RuntimeError, match="every run raised KeyError"):
        audit(broken, (0, 1), 1.0, trials=1000)
    assert audit(fails_on_one, (0, 1), 1.0, trials=1000).is_violated


@pytest.mark.parametrize("mu", [0.5, 3.0])
def test_normal_cells_keep_the_digits_of_both_tails(mu):
    edges = np.linspace(-30, 30, 4001)
    p, q = gaussian_cells(0.0, 1.0, edges), gaussian_cells(mu, 1.0, edges)
    assert p.sum() == pytest.approx(1)
    assert np.allclose(p, p[::-1], rtol=1e-12, atol=0)
    result = exact(p, q, GaussianDP(mu**2))
    assert result.floor == pytest.approx(mu, rel=1e-4)
    assert not result.is_violated
    assert exact(p, q, GaussianDP((mu * 0.99) ** 2)).is_violated
    cut = slice(1500, 2400)  # tails left out: a smaller floor, never a larger one
    assert 0.9 * mu < exact(p[cut], q[cut], GaussianDP(mu**2)).floor <= mu * (1 + 1e-9)
