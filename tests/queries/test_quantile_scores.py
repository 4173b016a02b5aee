"""Runs of equal scores against the score of every grid point by definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from profiles import max_examples


def by_definition(values: list[int], q: Fraction, last: int) -> list[int]:
    a, b = q.numerator, q.denominator
    scores = []
    for point in range(last + 1):
        best = None
        equal = sum(v == point for v in values)
        for counted_below in range(equal + 1):  # rows at the point may count for either side
            below = sum(v < point for v in values) + counted_below
            above = len(values) - below
            here = -abs((b - a) * below - a * above)
            best = here if best is None else max(best, here)
        scores.append(best)
    return scores


def expanded(values: list[int], q: Fraction, last: int) -> list[int]:
    codes, counts = np.unique(np.array(values, np.int64), return_counts=True)
    first, length, score = dp.Quantile.scores(codes, counts.astype(np.int64), q, last)
    assert first.dtype == length.dtype == score.dtype == np.int64
    assert (length > 0).all()
    result: list[int | None] = [None] * (last + 1)
    for start, size, value in zip(first.tolist(), length.tolist(), score.tolist(), strict=True):
        for point in range(start, start + size):
            assert result[point] is None, "runs must not overlap"
            result[point] = value
    assert None not in result, "runs must cover the grid"
    return result  # type: ignore[return-value]


QS = st.sampled_from(["0", "1", "1/2", "1/3", "2/3", "9/10", "1/1000"]).map(Fraction)


@max_examples(400)
@given(st.integers(0, 12), st.lists(st.integers(0, 12), max_size=15), QS)
def test_scores_of_all_grid_points(last: int, values: list[int], q: Fraction) -> None:
    values = [min(value, last) for value in values]
    found, wanted = expanded(values, q, last), by_definition(values, q, last)
    # the interval of reachable ranks may hold 0 between two integers: then the score is 0
    for here, best in zip(found, wanted, strict=True):
        assert best <= here <= 0
        assert here == best or here == 0
    if q.denominator <= 2:
        assert [h for h, b in zip(found, wanted, strict=True) if b == 0] == [0] * wanted.count(0)


@pytest.mark.parametrize("q", ["0", "1/3", "1"])
def test_no_rows(q: str) -> None:
    assert expanded([], Fraction(q), 5) == [0] * 6


def test_the_best_score_is_at_the_quantile() -> None:
    values = sorted([1, 1, 4, 7, 7, 7, 9])
    for q, best in [("0", {0, 1}), ("1/2", {7}), ("1", {9, 10})]:
        scores = expanded(values, Fraction(q), 10)
        assert {i for i, s in enumerate(scores) if s == max(scores)} == best


def test_large_counts_do_not_overflow() -> None:
    codes, counts = np.array([0, 2**20]), np.array([2**40, 2**40])
    _, _, score = dp.Quantile.scores(codes, counts, Fraction(999_999, 10**6), 2**20)
    assert score.min() >= -(2**61)
    assert score.max() <= 0


@max_examples(200)
@given(
    st.lists(st.integers(0, 12), max_size=15),
    st.lists(st.integers(0, 12), min_size=1, max_size=6),
    QS,
)
def test_candidates_have_the_scores_of_their_grid_points(
    values: list[int], candidates: list[int], q: Fraction
) -> None:
    schema = dp.Schema(y=dp.Integer(0, 12))
    query = dp.Quantile("y", q, candidates=candidates)
    codes, counts = np.unique(np.array(values, np.int64), return_counts=True)
    points, length, score = query.runs(codes, counts.astype(np.int64), q, schema)
    assert points.tolist() == sorted(set(candidates))
    assert length.tolist() == [1] * len(points)
    assert score.tolist() == [expanded(values, q, 12)[point] for point in points]


def test_only_candidates_are_answers_and_the_best_is_likely() -> None:
    rows = {
        "x": np.repeat([3.0, 520.0, 900.0], [100, 800, 100]),
        "day": np.repeat(np.array(["2024-01-01", "2024-06-01"], "M8[D]"), [100, 900]),
    }
    schema = dp.Schema(x=dp.Real(0, 1e6), day=dp.Date("2024-01-01", "2024-12-31"))
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(1000)))
    query = dp.Median("x", candidates=[1, 520, 800, 1e6])
    released = [data.release(query, dp.PureDP(0.1)).value for _ in range(20)]
    assert set(released) == {520.0}  # all others are 400 rows or more from the middle
    days = dp.Quantile("day", ["1/2", "1"], candidates=["2024-05-31", "2024-06-01", "2024-12-31"])
    found = data.release(days, dp.PureDP(50)).value
    assert found[0] == schema["day"].to_date(found[0]).toordinal() - 719163
    assert str(schema["day"].to_date(found[0])) == "2024-06-01"
    few, many = (
        data.release(each, dp.PureDP(1)).noise_interval(0.95).upper
        for each in (query, dp.Median("x"))
    )
    assert few < many / 3
    assert data.release(query, dp.PureDP(1)).noise_interval().unit == "score"


def test_candidates_that_cannot_be_are_refused_before_a_charge() -> None:
    schema = dp.Schema(x=dp.Real(0, 10))
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset({"x": np.arange(5.0)}, schema, ledger=ledger)
    for wrong in ([11], [float("nan")], ["2024-01-01"]):
        with pytest.raises((TypeError, ValueError), match="candidates"):
            data.release(dp.Quantile("x", candidates=wrong), dp.PureDP(1))
    assert len(list(ledger.entries())) == 1  # its opening
    for wrong in ([], "10", 10):
        with pytest.raises((TypeError, ValueError), match="candidates"):
            dp.Quantile("x", candidates=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="candidates must be numbers, not None"):
        dp.Quantile("x", "1/2", candidates=[None]).places(dp.Schema(x=dp.Real(0, 1)))
    with pytest.raises(TypeError, match="no candidates"):
        dp.Estimate(dp.Quantile("x", candidates=[1, 2]))
