"""The ends of intervals for means are found to the last digits that count, whatever the noise is."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import discreet as dp
from discreet.queries.population import mean_interval, sum_interval
from discreet.queries.scatter import MAX_EXCESS, _find_crossing

#: Mean and variance of a column in [0, 1].
COLUMNS = [(0.4, 0.05), (0.5, 0.0), (0.02, 0.003), (0.0, 0.0), (1.0, 0.0)]


def find_sums(rows: float, mean: float, variance: float) -> np.ndarray:
    return np.array([[rows], [rows * mean], [rows * (variance + mean**2)]])


@pytest.mark.parametrize("rows", [30.0, 1e4, 1e7, 1e9])
@pytest.mark.parametrize("epsilon", [1.0, 100.0, 1e4, 1e6, math.inf])
@pytest.mark.parametrize("is_laplace", [True, False])
@pytest.mark.parametrize("is_public", [True, False])
def test_intervals_of_spread_columns_are_as_long_as_noise_and_spread_ask(
    rows, epsilon, is_laplace, is_public
):
    noise = 2 / epsilon**2
    low, high = mean_interval(
        find_sums(rows, 0.4, 0.05), noise, 0.95, is_laplace, count_is_public=is_public
    )
    expected = 2 * 1.96 * math.sqrt(0.05 / rows + 1.25 * noise / rows**2)
    assert 0.8 < (high - low)[0] / expected < 1.25  # Student's and Laplace's tails, of 30 rows


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("rows", [0.0, 1.0, 2.0, 50.0, 1e6])
@pytest.mark.parametrize("is_binary", [True, False])
def test_intervals_without_noise_are_finite(column, rows, is_binary):
    sums = find_sums(rows, *column)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for is_public in (True, False):
            low, high = mean_interval(
                sums, 0.0, 0.95, True, count_is_public=is_public, is_binary=is_binary
            )
            assert 0 <= low[0] <= high[0] <= 1
            if rows and not (column[1] or is_binary):  # nothing spreads
                assert high[0] - low[0] < 1e-9
        for public_rows in (None, int(rows)):
            under, over = sum_interval(sums, (0.0, 1.0), 0.0, 0.95, True, rows=public_rows)
            assert np.isfinite([under, over]).all()


@pytest.mark.parametrize("values", [[], [0.5], [0.5] * 30, [0.1, 0.5, 0.9] * 10])
@pytest.mark.parametrize("epsilon", [math.inf, 1e12])
def test_public_rows_have_intervals_without_noise(values, epsilon):
    schema = dp.Schema(x=dp.Real(0, 1))
    data = dp.PrivateDataset({"x": np.array(values, float)}, schema, unit=dp.PUBLIC)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in (dp.Mean("x"), dp.Sum("x")):
            found = data.release(dp.Estimate(query), dp.PureDP(epsilon)).interval(0.95)
            assert -math.inf < found.lower <= found.upper < math.inf


@pytest.mark.parametrize("end", [0.1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("shape", ["line", "steep", "flat", "step", "root"])
@pytest.mark.parametrize("far", [0.0, 1.0])
def test_a_crossing_is_found_from_outside(end, shape, far):
    near = 0.4
    crossing = near + (far - near) * end

    def exceed(at: np.ndarray) -> np.ndarray:
        part = (at - near) / (far - near) / end - 1  # -1 at first, 0 at the crossing
        value = {
            "line": 2 * part,
            "steep": np.sinh(np.clip(3 * part, -50, 50)),
            "flat": part**3,
            "step": np.where(part > 0, 100.0, -2.0),
            "root": np.cbrt(part),
        }[shape]
        return np.minimum(value, MAX_EXCESS)

    found = _find_crossing(np.array([near]), np.array([far]), exceed)
    beyond = (found[0] - crossing) / (crossing - near)
    assert -1e-6 <= beyond < 0.02  # of the interval's own length; never too short but by rounding


def test_where_nothing_is_too_far_the_whole_range_is_given():
    found = _find_crossing(np.array([0.4]), np.array([1.0]), lambda at: at - 2)
    assert found[0] == 1.0
