"""What `discreet.models.recommend` rests on: the figures of the benchmark page, small enough for the package.

``python benchmarks/recommendations.py`` writes ``src/discreet/models/recommendations.json`` from
``figures.json`` and the tables' public facts, and the guide's table of models from `recommend` itself. Run it
after ``page.py``; a test compares both with what it would write.

A figure becomes the *share kept*: what a private model gains over the trivial one (area above 1/2, R² above
0), divided by what the best model of the page, private or not, gains from the same columns of the same table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import real_tables as tables

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "discreet" / "models" / "recommendations.json"
GUIDE = HERE.parent / "docs" / "guides" / "models.md"
START, END = "<!-- recommended: begin -->", "<!-- recommended: end -->"
#: What each task is scored by, and what a trivial model has.
METRICS = {"classes": ("auc", 0.5), "number": ("r2", 0.0)}
#: Rows of the training parts, as the page's text has them.
ROWS = {
    "adult": 32561, "kdd": 199523, "bank": 31648, "pima": 538, "heart": 644, "wdbc": 398, "law": 14559,
    "compas": 5050, "credit": 483, "ilpd": 408, "transfusion": 524,
}  # fmt: skip
#: Where the estimators are at home.
HOMES = {
    "AdditiveBoostingClassifier": "boosting", "AdditiveBoostingRegressor": "boosting",
    "CategoricalNB": "naive_bayes", "GaussianNB": "naive_bayes", "MixedNB": "naive_bayes",
    "DecisionTreeClassifier": "tree", "DecisionTreeRegressor": "tree",
    "RandomDecisionForest": "tree", "RandomDecisionForestRegressor": "tree",
    "LinearRegression": "linear_model", "Ridge": "linear_model", "LogisticRegression": "linear_model",
    "LinearSVC": "svm", "LinearSVR": "svm", "SVC": "svm", "SVR": "svm",
}  # fmt: skip


def columns_of(line: dict[str, Any]) -> tuple[int, int]:
    """How many numbers and categories a line's model saw."""
    facts = tables.TABLES[line["table"]]
    if line["columns"] == "few":
        return len(facts.few), 0
    numbers = len(facts.numbers) - (line["task"] == "number")
    categories = 0 if line["columns"] == "numbers" else len(facts.categories)
    return (0 if line["columns"] == "categories" else numbers), categories


def shares(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A record for each model, table and kind of budget, with the share kept at each ε."""
    best: dict[tuple[Any, ...], float] = {}
    for line in figures:
        if line["task"] in METRICS:
            metric, trivial = METRICS[line["task"]]
            seen = (line["table"], line["task"], columns_of(line))
            reached = [figure[0] - trivial for figure in line[metric] if figure is not None]
            best[seen] = max([best.get(seen, 0.01), *reached])
    found = []
    for line in figures:
        if (
            line["library"] != "discreet"
            or line["model"] not in HOMES
            or line["task"] not in METRICS
        ):
            continue
        metric, trivial = METRICS[line["task"]]
        gain = best[line["table"], line["task"], columns_of(line)]
        numbers, categories = columns_of(line)
        kept = [None if f is None else round((f[0] - trivial) / gain, 3) for f in line[metric]]
        found.append(
            {
                "model": f"{HOMES[line['model']]}.{line['model']}",
                "task": line["task"],
                "table": line["table"],
                "rows": ROWS[line["table"]],
                "numbers": numbers,
                "categories": categories,
                "has_delta": bool(line["delta"]),
                "epsilons": line["epsilons"],
                "kept": kept,
            }
        )
    return found


def write_data() -> str:
    """The text of the package's file."""
    lines = json.loads((HERE / "figures.json").read_text(encoding="utf-8"))["lines"]
    body = ",\n".join(json.dumps(record) for record in shares(lines))
    return f"[\n{body}\n]\n"


def write_table() -> str:
    """The guide's table, from `recommend`."""
    import discreet as dp
    from discreet.models import recommend

    numbers = {f"x{i}": dp.Real(0, 1) for i in range(8)}
    mixed = numbers | {f"c{i}": dp.Categorical(*"abcd") for i in range(6)}
    kinds = {
        "classes, 8 numbers": dp.Schema(numbers, y=dp.Categorical(0, 1)),
        "classes, 8 numbers and 6 categories": dp.Schema(mixed, y=dp.Categorical(0, 1)),
        "a number, from 8 numbers": dp.Schema(numbers, y=dp.Real(0, 1)),
    }
    text = ["| | rows | ε = 0.1 | ε = 1 | ε = 10 |", "| --- | --- | --- | --- | --- |"]
    for what, schema in kinds.items():
        for rows in (1_000, 30_000):
            cells = []
            for epsilon in (0.1, 1, 10):
                first, second = recommend(schema, rows=rows, measure=dp.PureDP(epsilon)).choices[:2]
                names = [c.model.partition(".")[2] for c in (first, second)]
                cells.append(f"`{names[0]}` {first.kept:.2f}, `{names[1]}` {second.kept:.2f}")
            text.append(f"| {what} | {rows} | {' | '.join(cells)} |")
    return "\n".join(text)


def main() -> None:
    """Write both files."""
    TARGET.write_text(write_data(), encoding="utf-8")
    page = GUIDE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    GUIDE.write_text(f"{before}{START}\n{write_table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
