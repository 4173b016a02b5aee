"""Several quantiles by splitting: parts, scores and draws against slow definitions, and what they gain."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet as dp
from discreet.queries.cuts import PIECES, Part
from discreet.queries.joint_quantiles import list_levels, part_sensitivity
from profiles import max_examples

QS = st.sampled_from(["0", "1", "1/2", "1/3", "9/10", "1/1000"]).map(Fraction)
ROWS = st.lists(st.integers(0, 6), max_size=12)
CUTS = st.lists(st.integers(0, 6 * 4 + 3), max_size=5)
LAST = 7 * 4 - 1  # positions of seven cells with four pieces


def build_part(values: list[int], pieces: int = 4, cells: int = 7) -> Part:
    codes, counts = np.unique(np.array(values, np.int64), return_counts=True)
    return Part(0, cells * pieces, codes, counts.astype(np.int64), pieces)


def divide_often(part: Part, cuts: list[int]) -> list[Part]:
    """All parts that cuts one after the other make, each applied to the part that holds it."""
    parts = [part]
    for cut in cuts:
        at = next(i for i, p in enumerate(parts) if p.start <= cut <= p.stop)
        parts[at : at + 1] = parts[at].divide(cut)
    return parts


def spread(part: Part) -> Counter[int]:
    return Counter(dict(zip(part.codes.tolist(), part.counts.tolist(), strict=True)))


@max_examples(300)
@given(ROWS, st.integers(0, 6), CUTS)
def test_one_more_row_is_one_more_row_in_exactly_one_part(
    values: list[int], more: int, cuts: list[int]
) -> None:
    before, after = (divide_often(build_part(v), cuts) for v in (values, [*values, more]))
    differences = [spread(b) - spread(a) for a, b in zip(before, after, strict=True)]
    assert all(not (spread(a) - spread(b)) for a, b in zip(before, after, strict=True))
    assert sum((d for d in differences), Counter()) == Counter([more])
    assert sum((spread(p) for p in before), Counter()) == Counter(values)


@max_examples(300)
@given(ROWS, st.integers(0, 6), CUTS, QS, st.data())
def test_one_more_row_moves_a_score_by_at_most_its_sensitivity(
    values: list[int], more: int, cuts: list[int], q: Fraction, data: st.DataObject
) -> None:
    before, after = (divide_often(build_part(v), cuts) for v in (values, [*values, more]))
    moved = []
    for one, other in zip(before, after, strict=True):
        places = np.arange(one.start, min(one.stop, LAST) + 1)
        moved.append(int(np.abs(one.scores(places, q) - other.scores(places, q)).max()))
    assert sum(moved) <= part_sensitivity(q, dp.Unit())
    assert part_sensitivity(q, dp.Unit()) == max(q.numerator, q.denominator - q.numerator)


def test_the_sensitivity_of_a_part_is_attained_under_every_unit() -> None:
    q = Fraction(1, 4)
    for unit, people in (
        (dp.Unit(), 1),
        (dp.Unit(dp.REPLACE_ONE), 2),
        (dp.Unit(id_column="who", max_rows=3), 3),
        (dp.Unit(dp.REPLACE_ONE, id_column="who", max_rows=3), 6),
    ):
        assert part_sensitivity(q, unit) == 3 * people
    low, high = divide_often(build_part([0, 0, 0, 0, 5, 5, 5, 5]), [14])
    moved = 0
    for part, more in ((low, 0), (high, 5)):  # rows that leave one part and enter the other
        fuller = Part(part.start, part.stop, np.array([more]), part.counts + 1, part.pieces)
        places = np.arange(part.start, min(part.stop, LAST) + 1)
        moved += int(np.abs(part.scores(places, q) - fuller.scores(places, q)).max())
    assert moved == part_sensitivity(q, dp.Unit(dp.REPLACE_ONE))


@max_examples(200)
@given(ROWS, CUTS, QS, st.sampled_from([0, 1, 50]), st.booleans())
def test_stretches_hold_every_cut_once_and_bound_its_score(
    values: list[int], cuts: list[int], q: Fraction, factor: int, some: bool
) -> None:
    places = np.array([1, 4], np.int64) if some else None
    cuts = [cut for cut in cuts if not some or cut // 4 in (1, 4)]  # no others are drawn then
    for part in divide_often(build_part(values), cuts):
        found = part.stretches(q, LAST, places)
        for each in (found, part.refine(found, q, Fraction(factor))):
            seen = Counter[int]()
            for first, last, bound in zip(each.first, each.last, each.bound, strict=True):
                inside = np.arange(first, last + 1)
                seen.update(inside.tolist())
                assert (part.scores(inside, q) <= bound).all()
            every = range(part.start, min(part.stop, LAST) + 1)
            wanted = [cut for cut in every if places is None or cut // 4 in places]
            assert seen == Counter(wanted)


#: Rows in several cells; and all in one, whose cuts are one stretch and differ by a factor of six.
DRAWN = [
    (build_part([0, 0, 0, 1, 3, 3, 3, 3, 3, 6]), Fraction(2, 5), Fraction(3, 10), 1.5),
    (build_part([0, 0, 0, 1, 3, 3, 3, 3, 3, 6]), Fraction(2, 5), Fraction(6), None),
    (build_part([0] * 12, 16, 1), Fraction(1, 2), Fraction(3, 20), 0.6),
]


@pytest.mark.parametrize(("part", "q", "rate", "other"), DRAWN)
def test_draws_follow_the_weights_of_all_cuts(
    part: Part, q: Fraction, rate: Fraction, other: float | None
) -> None:
    last = part.stop - 1
    cuts, found = np.arange(0, last + 1), part.stretches(q, last)
    drawn = np.bincount([part.draw(q, rate, found) for _ in range(3000)], minlength=last + 1)

    def test(factor: float) -> float:
        weights = np.exp(float(rate) * factor * part.scores(cuts, q))
        likely = weights / weights.sum() * 3000
        few = likely < 5
        observed, expected = ([*v[~few], v[few].sum()] for v in (drawn, likely))
        if not few.any():
            observed, expected = observed[:-1], expected[:-1]
        return float(stats.chisquare(observed, expected).pvalue)

    assert test(1.0) > 1e-4
    assert other is None or test(other) < 1e-4


def test_a_steep_value_is_drawn_without_many_rejections(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part(0, 2**20 * PIECES, np.array([3, 500]), np.array([10**6, 10**6]))
    tried, select = [], dp.noise.select
    monkeypatch.setattr(dp.noise, "select", lambda *a: tried.append(1) or select(*a))
    for _ in range(50):
        cut = part.draw(Fraction(1, 4), Fraction(1), part.stretches(Fraction(1, 4), 2**20 * PIECES))
        assert cut // PIECES == 3
        assert abs(int(part.below(np.array([cut]))[0]) - 500_000) < 1000
    assert len(tried) < 50 * 8


def test_levels_halve_the_quantiles() -> None:
    for many in range(1, 20):
        levels = list_levels(tuple(Fraction(i + 1, many + 1) for i in range(many)))
        assert len(levels) == many.bit_length()
        assert sorted(s.at for level in levels for s in level) == list(range(many))
    (first,), second = list_levels((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)))
    assert first.q == Fraction(1, 2)
    assert [split.q for split in second] == [Fraction(1, 2), Fraction(1, 2)]


def build_data(values: object, column: object, limit: object = None, **options: object) -> object:
    ledger = dp.Ledger(limit=limit or dp.PureDP(10_000), **options)
    return dp.PrivateDataset({"x": values}, dp.Schema(x=column), ledger=ledger)


def test_joint_quantiles_are_charged_once_for_all_levels() -> None:
    data = build_data(np.arange(100.0), dp.Real(0, 100))
    deciles = dp.Quantile("x", [f"{i}/10" for i in range(1, 10)])
    released = data.release(deciles, dp.PureDP(2))
    assert released.event == dp.events.Repeat(dp.events.Exponential("1/2"), 4)
    assert len(list(data.ledger.entries())) == 2  # the opening, and one charge
    assert dp.accounting.cost(released.event, dp.PureDP) == dp.PureDP(2)
    assert (np.diff(released.value) >= 0).all()
    plan = data.plan(deciles, dp.ZCDP("1/10"))
    assert dp.accounting.satisfies(plan.event, dp.ZCDP("1/10"))
    apart = data.plan(dp.Quantile("x", deciles.q, jointly=False), dp.PureDP(2))
    assert apart.event == dp.events.Repeat(dp.events.Exponential(Fraction(2, 9)), 9)


@pytest.mark.parametrize("kind", ["numbers", "ties", "zeros"])
def test_joint_quantiles_are_nearer_than_as_many_apart(kind: str) -> None:
    draw = np.random.default_rng(5)
    values, column = {
        "numbers": (draw.normal(50, 10, 2000), dp.Real(0, 100)),
        "ties": (draw.integers(0, 20, 2000).astype(float), dp.Integer(0, 100)),
        "zeros": (
            np.where(draw.random(2000) < 0.6, 0.0, draw.lognormal(6, 1, 2000)),
            dp.Real(0, 1e6),
        ),
    }[kind]
    data = build_data(values, column)
    order = np.sort(values)
    for many, bar in ((3, 1.0), (9, 0.6)):  # 20 seeds gave at most 0.85 and 0.45
        q = [Fraction(i + 1, many + 1) for i in range(many)]
        errors = {}
        for jointly in (True, False):
            asked, errors[jointly] = dp.Quantile("x", q, jointly=jointly), 0.0
            for _ in range(25):
                found = data.release(asked, dp.PureDP("1/4")).value
                near = 1.0 if kind != "numbers" else 0.0  # half a cell of the grid
                low, high = (
                    np.searchsorted(order, found + s * near, e)
                    for s, e in ((-1, "left"), (1, "right"))
                )
                target = np.array([float(v) * 2000 for v in q])
                errors[jointly] += np.maximum(0, np.maximum(low - target, target - high)).sum()
        assert errors[True] <= bar * errors[False]


def test_public_rows_have_exact_quantiles_and_ties_are_cut() -> None:
    rows = {"x": np.repeat([1.0, 4.0, 9.0], [10, 80, 10])}
    data = dp.PrivateDataset(rows, dp.Schema(x=dp.Integer(0, 10)), unit=dp.PUBLIC)
    q = ["1/20", "1/5", "1/2", "4/5", "19/20"]
    assert data.release(dp.Quantile("x", q), dp.PureDP(np.inf)).value.tolist() == [1, 4, 4, 4, 9]
    empty = dp.PrivateDataset({"x": np.zeros(0)}, dp.Schema(x=dp.Integer(0, 10)), unit=dp.PUBLIC)
    found = empty.release(dp.Quantile("x", q), dp.PureDP(np.inf)).value
    assert found.shape == (5,)


def test_only_candidates_are_answers_of_joint_draws_too() -> None:
    data = build_data(np.arange(1000.0), dp.Real(0, 1000))
    asked = dp.Quantile("x", ["1/4", "1/2", "3/4"], candidates=[0, 250, 500, 990])
    for _ in range(10):
        found = data.release(asked, dp.PureDP("1/100")).value
        assert set(found.tolist()) <= {0.0, 250.0, 500.0, 990.0}
    assert data.release(asked, dp.PureDP(50)).value.tolist() == [250.0, 500.0, 990.0]
    assert data.release(asked, dp.PureDP(1)).noise_interval().unit == "score"


def test_stated_ranks_cover_what_joint_draws_do() -> None:
    values = np.sort(np.random.default_rng(1).uniform(0, 1, 3000))
    data, q = build_data(values, dp.Real(0, 1)), [0.25, 0.5, 0.75]
    for _ in range(20):
        released = data.release(dp.Quantile("x", q), dp.PureDP(1))
        off = np.searchsorted(values, released.value) - np.array(q) * 3000
        reach = released.noise_interval(0.95).upper
        assert (np.abs(off) <= reach + 1).all()
        assert (reach < 100).all()


def test_quantiles_may_be_asked_in_any_order_and_twice() -> None:
    data = build_data(np.arange(1000.0), dp.Real(0, 1000))
    found = data.release(dp.Quantile("x", ["3/4", "1/4", "1/2", "1/4"]), dp.PureDP(100)).value
    assert found[1] == found[3]
    assert np.allclose(found, [750, 250, 500, 250], atol=20)
    with pytest.raises(TypeError, match="jointly must be True, False or None"):
        dp.Quantile("x", [0.1, 0.2, 0.3], jointly="yes")


def test_joint_draws_without_noise_are_refused_on_private_rows() -> None:
    data = build_data(np.arange(10.0), dp.Real(0, 10))
    with pytest.raises(ValueError, match="infinite"):
        data.release(dp.Quantile("x", [0.1, 0.5, 0.9]), dp.PureDP(np.inf))
    with pytest.raises(TypeError, match="does not fit quantiles"):
        data.release(dp.Quantile("x", [0.1, 0.5, 0.9]), dp.mechanisms.Laplace(1))
    assert len(list(data.ledger.entries())) == 1  # its opening


@max_examples(300)
@given(ROWS, CUTS, QS, st.sampled_from([1, 100, 10**4]))
def test_the_bound_of_a_stretch_is_reached_so_that_draws_end_however_much_the_budget(
    values: list[int], cuts: list[int], q: Fraction, factor: int
) -> None:
    for part in divide_often(build_part(values), cuts):
        whole = part.stretches(q, LAST)
        for found in (whole, part.refine(whole, q, Fraction(factor))):
            for first, last, bound in zip(found.first, found.last, found.bound, strict=True):
                assert part.scores(np.arange(first, last + 1), q).max() == bound
