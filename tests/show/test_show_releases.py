"""Releases, plans, statements, schemas and certificates: shown, written, read back, pickled, drawn."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.ledger import Statement
from discreet.models.naive_bayes import GaussianNB
from discreet.models.privacy import FitPrivacy
from discreet.queries import Joint

mpl.use("Agg")
BUDGET = dp.PureDP(2)
SCHEMA = dp.Schema(
    age=dp.Integer(0, 99),
    cost=dp.Real(0, 1000.5),
    ward=dp.Categorical("A", "<b>B</b>", "=C"),
    town=dp.Text(),
    free=dp.Real(),
).derive(band=dp.Bins("age", [30, 45, 60]))
QUERIES = {
    "count": dp.Count(),
    "bars": dp.Mean("cost", by="ward"),
    "line": dp.Count(by="band"),
    "ages": dp.Histogram("age"),
    "heat": dp.Mean("cost", by=["ward", "band"]),
    "three": dp.Count(by=["ward", "band", "age"]),
    "median": dp.Median("age", by="ward"),
    "quartiles": dp.Quantile("age", [0.25, 0.5, 0.75], by="ward"),
    "moments": dp.Moments("age", "cost", by="ward"),
    "gram": dp.Gram("age", "cost"),
    "keys": dp.KeyCounts("town", delta=1e-6),
    "bounds": dp.Bounds("free"),
    "joint": Joint(dp.Count(), dp.Sum("age", by="ward")),
    "variance": dp.Variance("age", by="band"),
}


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    columns = {
        "age": random.integers(0, 99, 300),
        "cost": random.random(300) * 900,
        "ward": random.choice(["A", "<b>B</b>", "=C"], 300),
        "town": random.choice(["Ulm", "Bonn"], 300),
        "free": random.random(300),
    }
    return dp.PrivateDataset(columns, SCHEMA, ledger=dp.Ledger(limit=dp.ApproxDP(1000, 1e-3)))


@pytest.fixture(scope="module")
def releases(data):
    return {name: data.release(query, BUDGET) for name, query in QUERIES.items()}


@pytest.mark.parametrize("name", QUERIES)
def test_a_release_comes_back_from_json_and_pickle_as_it_was(name, releases):
    release = releases[name]
    text = release.to_json()
    for back in (dp.Release.from_json(text), pickle.loads(pickle.dumps(release))):
        assert back.to_json() == text
        assert repr(back) == repr(release)
        assert back.to_table() == release.to_table()
        assert back.event == release.event
        assert back.measure == release.measure
        assert back.entry == release.entry
        assert back.unit == release.unit
        assert back.is_private is release.is_private
    assert copy.deepcopy(release).to_json() == copy.copy(release).to_json() == text


@pytest.mark.parametrize("name", QUERIES)
def test_a_release_is_a_frame_a_page_and_a_csv_file(name, releases):
    release = releases[name]
    table = release.to_table()
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(release.to_frame(backend=backend)) == len(table.rows) > 0
    assert "<b>B</b>" not in release._repr_html_()
    assert "\n=C" not in release.to_csv()


def test_a_frame_has_groups_values_errors_and_intervals(releases):
    release = releases["heat"]
    frame = release.to_frame(level=0.9)
    assert list(frame.columns) == ["ward", "band", "value", "stderr", "lower", "upper"]
    interval = release.noise_interval(0.9)
    assert frame["value"].tolist() == release.value.tolist()
    assert frame["upper"].tolist() == interval.upper.tolist()
    assert list(zip(frame["ward"], frame["band"], strict=True)) == release.labels
    wide = release.to_frame(level=0.99)
    assert (wide["upper"] >= frame["upper"]).all()
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        release.to_frame(level=95)


def test_every_number_of_a_table_stands_beside_its_name(releases):
    moments = releases["moments"]
    frame = moments.to_frame().set_index(["ward", "quantity"])["value"]
    assert frame["A", "mean cost"] == moments.value.mean[0, 1]
    assert frame["=C", "variance age"] == moments.value.variance[2, 0]
    quartiles = releases["quartiles"]
    frame = quartiles.to_frame().set_index(["ward", "quantity"])
    assert frame.loc[("=C", "q = 3/4"), "value"] == quartiles.value[2, 2]
    ranks = quartiles.noise_interval(0.95).upper
    assert frame.loc[("A", "q = 1/4"), "rank_upper"] == ranks[0]
    assert frame.loc[("A", "q = 1/2"), "rank_upper"] == ranks[1]
    gram = releases["gram"]
    frame = gram.to_frame().set_index("quantity")["value"]
    assert frame["age × cost"] == gram.value[1, 2]


def test_an_answer_without_groups_is_an_empty_table_in_every_form():
    schema = dp.Schema(town=dp.Text())
    data = dp.PrivateDataset({"town": ["x"]}, schema, ledger=dp.Ledger(limit=dp.ApproxDP(9, 0.1)))
    release = data.release(dp.KeyCounts("town", delta=1e-30), dp.PureDP(1))
    assert release.labels == []
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(release.to_frame(backend=backend)) == 0
    assert release.to_csv() == "town,value,lower,upper\r\n"
    assert dp.Release.from_json(release.to_json()).to_table() == release.to_table()
    with pytest.raises(ValueError, match="nothing to draw"):
        release.plot()


def test_columns_that_are_called_like_the_numbers_keep_both():
    schema = dp.Schema(value=dp.Categorical("x", "y"), lower=dp.Integer(0, 2))
    data = dp.PrivateDataset(
        {"value": ["x"], "lower": [1]}, schema, ledger=dp.Ledger(limit=dp.PureDP(9))
    )
    table = data.release(dp.Count(by=["value", "lower"]), BUDGET).to_table()
    assert table.columns[:2] == ("value (group)", "lower (group)")
    assert table.columns[2:] == ("value", "stderr", "lower", "upper")


def test_the_certificate_is_inside(releases):
    data = json.loads(releases["bars"].to_json())
    assert (data["format"], data["version"]) == ("discreet release", 1)
    certificate = data["certificate"]
    assert certificate["is_private"] is True
    assert certificate["measure"] == {"measure": "PureDP", "epsilon": "2"}
    assert certificate["event"]["event"] == "DiscreteLaplace"
    assert certificate["protected"] == "a person is in the data or not"
    assert certificate["entry"]["hash"] == releases["bars"].entry.hash


def test_a_release_that_was_read_knows_the_levels_that_were_written(releases):
    release = releases["bars"]
    back = dp.Release.from_json(release.to_json(levels=[0.75, 0.95]))
    assert np.array_equal(back.noise_interval(0.75).upper, release.noise_interval(0.75).upper)
    with pytest.raises(ValueError, match=r"0\.75, 0\.95\. Give to_json\(levels=\[0\.8\]\)"):
        back.noise_interval(0.8)
    with pytest.raises(ValueError, match="between 0 and 1"):
        release.to_json(levels=[95])


def test_not_private_is_marked_in_every_form():
    data = dp.PrivateDataset({"age": [1]}, dp.Schema(age=dp.Integer(0, 9)), unit=dp.PUBLIC)
    release = data.release(dp.Count(), BUDGET)
    back = dp.Release.from_json(release.to_json())
    for shown in (repr(release), release._repr_html_(), repr(back), back._repr_html_()):
        assert "NOT PRIVATE" in shown
    with testing.fixed_noise(1):
        ledger = dp.Ledger(limit=dp.PureDP(9))
        data = dp.PrivateDataset({"age": [1]}, data.schema, ledger=ledger)
        assert "NOT PRIVATE" in data.release(dp.Count(), BUDGET)._repr_html_()


def changes(text):
    """Documents in which one thing is not as it was written."""
    data = json.loads(text)
    for key in data:
        yield {name: part for name, part in data.items() if name != key}
        if key not in ("query", "asked"):
            yield {**data, key: "__import__('os').system('true')"}
            yield {**data, key: {"record": "Popen", "fields": {}}}
    if "layout" in data:
        yield {**data, "layout": {**data["layout"], "paths": [["__class__"]]}}
        yield {**data, "layout": {**data["layout"], "paths": []}}
    if "certificate" in data:
        yield {**data, "certificate": {**data["certificate"], "is_private": "yes"}}
        yield {**data, "certificate": {**data["certificate"], "event": {"event": "Popen"}}}


def why_refused(kind, text):
    """The message with which a text is refused; empty if it is read."""
    try:
        kind.from_json(text)
    except ValueError as error:
        return str(error)
    return ""


def test_a_changed_document_is_refused_in_a_sentence(releases, data):
    refused = 0
    texts = [(dp.Release, releases["bars"].to_json()), (dp.Schema, SCHEMA.to_json())]
    texts += [(dp.Plan, data.plan(QUERIES["bars"], BUDGET, rows=100).to_json())]
    for kind, text in texts:
        for changed in changes(text):
            told = why_refused(kind, json.dumps(changed))
            refused += bool(told)
            assert not told or (told.startswith("text ") and "import" not in told)
    assert refused > 40
    with pytest.raises(ValueError, match="is not a release that discreet wrote"):
        dp.Release.from_json(SCHEMA.to_json())


@pytest.mark.parametrize("name", QUERIES)
def test_plans_are_labelled_short_and_come_back(name, data):
    plan = data.plan(QUERIES[name], BUDGET, rows=300)
    back = pickle.loads(pickle.dumps(plan))
    assert back.to_json() == plan.to_json()
    assert repr(back) == repr(plan)
    assert len(repr(plan).splitlines()) <= 18
    assert back.to_table() == plan.to_table()
    with pytest.raises(ValueError, match=r"make\s+the plan anew"):
        back.expected_error(9)


def test_the_errors_of_a_plan_are_drawn(data):
    plan = data.plan(QUERIES["heat"], BUDGET, rows=300)
    axes = plan.plot()
    assert axes.images[0].get_array().ravel().tolist() == plan.stderr.tolist()
    with pytest.raises(ValueError, match="public guess of"):
        data.plan(QUERIES["heat"], BUDGET).plot()
    ledger = dp.Ledger(limit=dp.ApproxDP(1, 1e-6), composition="renyi")
    with pytest.raises(ValueError, match="print the statement"):
        ledger.plot()
    mpl.pyplot.close("all")


def test_a_plan_of_many_numbers_says_which_are_which(data):
    plan = data.plan(dp.Mean("cost", by="age"), BUDGET, rows=10_000)
    assert "for each of 100 numbers" in repr(plan)
    unlike = data.plan(dp.Moments("age", "cost", by="age"), BUDGET, rows=10_000)
    assert "for 0, mean age" in repr(unlike)
    assert "... and 488 more, all from" in repr(unlike)
    assert len(unlike.to_frame()) == 500


@pytest.mark.parametrize("name", ["count", "bars", "line", "ages", "heat", "median", "keys"])
def test_pictures_have_titles_labels_and_words_for_those_who_cannot_see(name, releases):
    axes = releases[name].plot()
    axes.figure.canvas.draw()
    assert repr(QUERIES[name]) in axes.get_title(loc="left")
    assert axes.get_xlabel()
    assert repr(QUERIES[name]) in axes.get_label()
    mpl.pyplot.close(axes.figure)


def test_bars_lines_and_heat_maps_are_what_the_groups_ask_for(releases):
    bars = releases["bars"].plot(level=0.9)
    assert [bar.get_width() for bar in bars.patches] == releases["bars"].value.tolist()
    lower = releases["bars"].noise_interval(0.9).lower
    ends = [segment[0][0] for segment in bars.containers[0][2][0].get_segments()]
    assert np.allclose(ends, lower)
    line = releases["line"].plot()
    assert line.lines[0].get_ydata().tolist() == releases["line"].value.tolist()
    heat = releases["heat"].plot()
    assert heat.images[0].get_array().ravel().tolist() == releases["heat"].value.tolist()
    assert heat.get_ylabel() == "ward"
    one = releases["moments"].plot(quantity="mean cost")
    assert len(one.patches) == 3
    figure, axes = mpl.pyplot.subplots()
    assert releases["bars"].plot(ax=axes) is axes
    assert figure is axes.figure
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("moments", {}, "quantity must say which number to draw, as in plot"),
        ("moments", {"quantity": "median"}, "there are: 'count'"),
        ("bars", {"quantity": "mean"}, "leave quantity out"),
        ("three", {}, "one or two groupings, not 3"),
        ("joint", {}, "several questions"),
        ("bounds", {"quantity": "found"}, "only numbers"),
    ],
)
def test_what_cannot_be_drawn_says_what_to_do(name, options, words, releases):
    with pytest.raises(ValueError, match=words):
        releases[name].plot(**options)
    with pytest.raises(TypeError, match="matplotlib axes"):
        releases["count"].plot(ax=1)


def test_labels_are_no_formulas_of_matplotlib():
    schema = dp.Schema(x=dp.Categorical("$\\frac{", "b"))
    data = dp.PrivateDataset({"x": ["b"]}, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    axes = data.release(dp.Count(by="x"), BUDGET).plot()
    axes.figure.canvas.draw()  # raised where the label was read as mathematics
    mpl.pyplot.close(axes.figure)


def test_a_statement_is_a_table_a_picture_and_comes_back(data, releases):
    ledger = data.ledger
    statement = ledger.statement()
    text = statement.to_json()
    for back in (Statement.from_json(text), pickle.loads(pickle.dumps(statement))):
        assert back.to_json() == text
        assert str(back) == str(statement)
        assert back.entries == statement.entries
    assert json.loads(ledger.to_json())["head"] == statement.head
    frame = ledger.to_frame()
    assert frame["entry"].tolist() == [entry.number for entry in statement.entries]
    assert repr(statement.limit) in ledger._repr_html_()
    axes = statement.plot()
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(float(statement.spent.epsilon))
    assert "of a limit of 1000" in axes.get_label()
    mpl.pyplot.close("all")
    with pytest.raises(ValueError, match="not a statement"):
        Statement.from_json(SCHEMA.to_json())


def test_notes_of_a_ledger_run_nowhere():
    ledger = dp.Ledger(limit=dp.PureDP(9))
    ledger.external(dp.PureDP(1), "=cmd()<script>x</script>")
    assert "<script" not in ledger._repr_html_()
    assert ",'=cmd()" in ledger.to_csv()


def test_a_ledger_that_is_gone_is_shown_as_such(tmp_path):
    ledger = dp.Ledger(f"sqlite:///{tmp_path}/gone.db", limit=dp.PureDP(1))
    for path in Path(tmp_path).iterdir():
        path.unlink()
    assert "not readable" in ledger._repr_html_()


def test_a_schema_is_a_table_and_comes_back():
    assert dp.Schema.from_json(SCHEMA.to_json()) == SCHEMA
    big = dp.Schema(id=dp.Integer(-(2**53), 2**53), x=dp.Real(0.1, 1e200))
    assert dp.Schema.from_json(big.to_json()) == big
    frame = SCHEMA.to_frame()
    assert frame["column"].tolist() == list(SCHEMA)
    assert "&lt;b&gt;B&lt;/b&gt;" in SCHEMA._repr_html_()


def test_the_certificate_of_a_fit_is_a_table_and_comes_back():
    random = np.random.default_rng(0)
    model = GaussianNB(epsilon=1, classes=[0, 1], bounds=(0, 1))
    privacy = model.fit(random.random((40, 2)), random.integers(0, 2, 40)).privacy_
    back = FitPrivacy.from_json(privacy.to_json())
    assert back == privacy
    assert back == pickle.loads(pickle.dumps(privacy))
    facts = dict(privacy.to_table().rows)
    assert facts["guarantee"].startswith("PureDP(epsilon=1) for:")
    assert privacy.entry.hash in facts["ledger entry"]
    assert "naive-bayes" in privacy._repr_html_()


def test_the_plan_of_a_fit_is_short_and_a_table():
    schema = dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(50)})
    schema = dp.Schema({**schema.base, "y": dp.Categorical(0, 1)})
    plan = GaussianNB(epsilon=1, schema=schema).plan(rows=1000)
    assert len(repr(plan).splitlines()) == 4 + len(plan.noise)
    assert len(repr(plan)) < 800
    frame = plan.to_frame()
    assert len(frame) == sum(np.size(errors) for errors in plan.noise.values())
    theta = frame[(frame.learned == "theta_") & (frame.place == "1, 7")].stderr.item()
    assert theta == plan.noise["theta_"][1, 7]


def test_rows_connections_and_ranges_are_not_pickled(data):
    for private in (data, data.ledger._store):
        with pytest.raises(TypeError):
            pickle.dumps(private)
    ranges = data.release(dp.Ranges("age"), BUDGET)
    assert len(ranges.to_frame()) == 100
    assert ranges.plot().get_xlabel() == "age"
    with pytest.raises(TypeError, match=r"use release.to_frame\(\) or release.to_csv"):
        ranges.to_json()
    mpl.pyplot.close("all")
