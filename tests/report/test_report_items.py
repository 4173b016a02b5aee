"""What a report shows of curves, fairness, scores and charts; and charts that can't be drawn."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from pages import check_page

import discreet as dp
from discreet.models.metrics import private_score
from discreet.models.naive_bayes import MixedNB
from discreet.report import Chart, Report, Section, Series, Words, build_report
from discreet.report.scales import Scale, find_ends, format_number
from discreet.show import Table
from discreet.tradeoff import Curve, Fairness, fairness
from discreet.tradeoff.curves import Point
from discreet.tradeoff.fairness import Counts

SCHEMA = dp.Schema(x=dp.Integer(0, 9), g=dp.Categorical("a", "b"), y=dp.Categorical(0, 1))


def rows(count: int) -> dict[str, Any]:
    draw = np.random.default_rng(1)
    x = draw.integers(0, 10, count)
    return {"x": x, "g": draw.choice(["a", "b"], count), "y": (x > 4).astype(int)}


def curve(is_public: bool) -> Curve:
    points = [Point(name, e, (0.6, 0.7, 0.7 + e / 50)) for name in "AB" for e in (0.1, 1.0, 10.0)]
    if is_public:
        points += [Point("A", math.inf, (0.95, 0.94)), Point("B", math.inf, (0.9, 0.9))]
    charged = () if is_public else (dp.PureDP("1/10"),) * 3
    return Curve(tuple(points), "Accuracy", True, 0.0, is_public, charged)


def test_a_curve_says_whether_it_was_public_or_charged(tmp_path):
    public, private = (build_report(curve(flag)).to_html() for flag in (True, False))
    assert "This is NOT PRIVATE" in public
    assert "NOT PRIVATE. From rows declared public" in public
    assert "A without privacy, 0.945" in public
    assert public.count('class="reference r0" points') == 1
    assert public.count('class="reference r1" points') == 1
    assert "From private rows: 3 charges" in private
    assert "without privacy" not in private
    assert "NOT PRIVATE" not in private
    assert "No ledger was given" in private
    for text in (public, private):
        check_page(text)
    path = tmp_path / "curve.json"
    path.write_text(curve(True).to_json(), encoding="utf-8")
    assert build_report(path) == build_report(curve(True))


def test_fairness_is_shown_by_figure_with_its_twin(tmp_path):
    data = dp.PrivateDataset(rows(400), SCHEMA, unit=dp.PUBLIC)
    models = [MixedNB(epsilon=epsilon).fit(data) for epsilon in (0.1, math.inf)]
    found = fairness(models[0], data, "g", twin=models[1])
    text = build_report({"By group": found}).to_html()
    page = check_page(text)
    assert len(page.all("svg")) == 5
    assert "without privacy" in text
    path = tmp_path / "fair.json"
    path.write_text(found.to_json(), encoding="utf-8")
    assert build_report({"By group": path}).to_html() == text
    hidden = Fairness("g", ("a", "b"), "1", Counts(np.zeros((2, 2, 10)), 5.0), None, False)
    assert check_page(build_report(hidden).to_html()).all("svg") == []


def test_fairness_of_many_groups_draws_those_with_most_rows():
    cells = np.ones((90, 2, 10)) * (1 + np.arange(90)[:, None, None])
    labels = tuple(f"g{at}" for at in range(90))
    found = Fairness("g", labels, "1", Counts(cells, 0.0), None, True)
    report = build_report(found)
    check_page(report.to_html())
    assert [len(chart.series[0].x) for chart in report.charts] == [40] * 5
    assert report.charts[0].series[0].x[-1] == "g89"
    assert len(report.charts[0].table.rows) == 90


def test_scores_lists_and_tables_are_items():
    ledger = dp.Ledger(limit=dp.ApproxDP(3, 1e-6))
    data = dp.PrivateDataset(rows(300), SCHEMA, ledger=ledger)
    model = MixedNB(epsilon=1).fit(data)
    score = private_score(model, data, "accuracy", dp.PureDP("1/2"))
    ranges = data.release(dp.Ranges("x"), dp.PureDP("1/2"))
    table = Table(["a", "b"], [[1, "x"]], "Mine")
    text = build_report([model, score, ranges], table, ledger=ledger).to_html()
    page = check_page(text)
    assert {"Models", "What was released", "Other tables"} <= set(page.inside("h2"))
    assert "guesses right at most" in text
    assert "How good it is: Accuracy()" in page.inside("h3")


def test_rehearsals_are_told_as_such():
    data = dp.PrivateDataset(rows(5), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
    release = data.rehearse(100).release(dp.Histogram("g"), dp.PureDP(1))
    text = build_report(release).to_html()
    assert "a rehearsal with made-up rows" in text
    assert "can reach at most" not in text


TABLE = Table(["x"], [[1]])


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "pie"},
        {"series": ()},
        {"x_scale": "log"},
        {"x_scale": "odd"},
        {"x_limits": (1.0, 0.0)},
        {"y_limits": (1.0,)},
        {"title": 3},
        {"kind": "bars", "series": (Series("a", (1,), (1.0,)),) * 2},
        {"kind": "heat", "series": (Series("a", (1,), (1.0,)), Series("b", (1, 2), (1.0, 2.0)))},
    ],
)
def test_charts_that_cannot_be_drawn_are_refused(change):
    fields = {"kind": "lines", "title": "t", "description": "d", "table": TABLE}
    fields |= {"series": (Series("a", (0, 1), (1.0, 2.0)),)}
    assert ElementTree.fromstring(Chart(**fields).to_svg()) is not None
    with pytest.raises((TypeError, ValueError)):
        Chart(**{**fields, **change})


@pytest.mark.parametrize(
    "call",
    [
        lambda: Series("a", (1,), ()),
        lambda: Series("a", (1,), ("x",)),
        lambda: Series("a", (1,), (1.0,), (1.0,)),
        lambda: Series("a", (1,), (1.0,), (1.0, 2.0), (1.0, 2.0)),
        lambda: Series(3, (1,), (1.0,)),
        lambda: Words(3),
        lambda: Words("a", "loud"),
        lambda: Section("a", ("b",)),
        lambda: Section("a", (), ("b",)),
    ],
)
def test_blocks_hold_what_they_say(call):
    with pytest.raises((TypeError, ValueError)):
        call()


@pytest.mark.parametrize(
    "values", [(0.0, 0.0), (5.0, 5.0), (-3.0, 4.0), (1e-9, 1e9), (math.nan, 2.0)]
)
def test_axes_have_round_ticks_within_their_ends(values):
    low, high = find_ends(values)
    assert low < high
    scale = Scale(low, high, 10, 110)
    ticks = scale.ticks(5)
    assert 2 <= len(ticks) <= 8
    assert all(10 <= scale.place(tick) <= 110 for tick in ticks)
    assert scale.place(math.nan) == scale.place(-math.inf) == 10
    assert scale.place(math.inf) == 110


def test_logarithmic_axes_and_numbers():
    scale = Scale(0.01, 10, 0, 300, is_log=True)
    assert [round(scale.place(x)) for x in (0.001, 0.01, 0.1, 1, 10, 99)] == [
        0,
        0,
        100,
        200,
        300,
        300,
    ]
    assert scale.ticks(5) == [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    assert Scale(1e-9, 1e9, 0, 1, is_log=True).ticks(5)[0] == 1e-9
    told = [format_number(x) for x in (0, 1234567, 12.5, 1234.5, -0.0001234, math.inf, math.nan)]
    assert told == ["0", "1 234 567", "12.5", "1 234", "-0.0001234", "∞", "?"]


def test_a_changed_json_file_is_no_report():
    text = build_report(curve(True)).to_json()
    assert Report.from_json(text).to_html() == build_report(curve(True)).to_html()
    for old, new in (('"is": "lines"', '"is": "pie"'), ('"log"', '"odd"'), ('"Words"', '"Wordz"')):
        assert old in text
        with pytest.raises(ValueError, match="changed or cut"):
            Report.from_json(text.replace(old, new, 1))


def test_no_number_of_an_axis_is_cut_off_at_the_edge():
    ends = (0.0, 2_000_000.0)
    for kind in ("bars", "dots", "lines"):
        is_line = kind == "lines"
        x = ends if is_line else ("a", "b")
        table = Table(("x", "y"), list(zip(x, ends, strict=True)))
        chart = Chart(
            kind, "t", "d", table, (Series("s", x, ends),), x_scale="linear" if is_line else "names"
        )
        for place, text in re.findall(
            r'x="([\d.-]+)" y="[\d.]+" text-anchor="middle">([^<]*)<', chart.to_svg()
        ):
            half = 9 * len(text) / 2
            assert half <= float(place) <= 480 - half, (kind, text, place)
