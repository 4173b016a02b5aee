"""The tour that ``make demo`` gives: from a real table to charged, noised answers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dp
from discreet.testing import fixed_noise


def patients() -> dict[str, Any]:
    """The 442 diabetes patients of Efron, Hastie, Johnstone & Tibshirani 2004, from scikit-learn."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes(scaled=False)
    columns = dict(zip(table.feature_names, table.data.T, strict=True))
    return {
        "age": columns["age"],
        "sex": columns["sex"],
        "bmi": columns["bmi"],
        "pressure": columns["bp"],
        "progression": table.target,
    }


def say(text: str) -> None:
    """Print a paragraph."""
    print(f"\n{text}")


def main(report: str | Path | None = None) -> Path:
    """Run the tour, which ends with a report: where it says, or in a folder of its own."""
    rows = patients()
    schema = describe(rows)
    answers, statement = first_act(rows, schema)
    second_act(rows, schema)
    third_act(rows)
    fourth_act()
    place = Path(tempfile.mkdtemp(prefix="discreet-demo-")) / "report.html"
    return last_act(answers, statement, schema, place if report is None else Path(report))


def describe(rows: dict[str, Any]) -> dp.Schema:
    """The table, and what may be known about it."""
    say(
        "1. The table. 442 diabetes patients (ships with scikit-learn): age, sex, body-mass index,\n"
        "   blood pressure, and how far the disease went in a year. Nobody outside may see a row."
    )
    say("2. Public facts. What anyone may know about the columns; nothing is read from the rows.")
    schema = dp.Schema(
        age=dp.Integer(18, 90),
        sex=dp.Categorical(1, 2),
        bmi=dp.Real(15, 50),
        pressure=dp.Real(50, 150),
        progression=dp.Integer(0, 400),
    ).derive(age_band=dp.Bins("age", [35, 50, 65]))
    print(schema)
    return schema


def first_act(rows: dict[str, Any], schema: dp.Schema) -> tuple[dict[str, dp.Release], Any]:
    """A ledger, a plan, answers, and a refusal; the answers by name, and the ledger's statement."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'budget.db'}"
        say(
            "3. The ledger. It holds the whole budget, epsilon = 2, on disk. Every answer is charged\n"
            "   there before a row is read; a crash loses budget, never privacy."
        )
        ledger = dp.Ledger(url, limit=dp.PureDP(2), unit=dp.Unit(dp.ADD_REMOVE))
        data = dp.PrivateDataset(rows, schema, ledger=ledger)
        print(f"{ledger!r}\nprotected: {ledger.unit}")

        say("4. What would a mean cost, and how noisy would it be? Planning touches no row.")
        plan = data.plan(dp.Mean("progression"), dp.PureDP(0.5), rows=400)
        print(
            f"epsilon 0.5 gives a standard error of about {plan.stderr:.2f} on a scale of 0 to 400"
        )

        answers = ask(data, rows)

        say("6. Too much. 0.25 is left; asking for 0.5 is refused before a row is read.")
        try:
            data.release(dp.Mean("bmi"), dp.PureDP(0.5))
        except dp.BudgetExceeded as error:
            print(f"BudgetExceeded: {error}")

        say("7. The statement. What was spent, on what, by whom; with an anchor against edits.")
        ledger.verify()
        statement = ledger.statement()
        print(statement)
    return answers, statement


def ask(data: dp.PrivateDataset, rows: dict[str, Any]) -> dict[str, dp.Release]:
    """Four answers, by the names that the report gives them."""
    say("5. Answers. Each shows its noise; `true` is shown because this is a demo.")
    count = data.release(dp.Count(), dp.PureDP(0.25))
    print(f"patients:            {count.value}  ± {count.stderr:.1f}   (true: {len(rows['age'])})")
    mean = data.release(dp.Mean("progression"), dp.PureDP(0.5))
    interval = mean.noise_interval(0.95)
    true_mean = rows["progression"].mean()
    print(
        f"mean progression:    {mean.value:.1f}  ± {mean.stderr:.1f}, noise interval "
        f"[{interval.lower:.1f}, {interval.upper:.1f}]   (true: {true_mean:.1f})"
    )
    table = data.release(dp.Histogram("sex", "age_band", where=dp.col("bmi") >= 25), dp.PureDP(0.5))
    print(
        f"patients with a body-mass index of 25 or more, by sex and age, each ± {table.stderr[0]:.1f}:"
    )
    for (sex, band), value in table.to_dict().items():
        print(f"    sex {sex}, age {band:9} {value:4d}")
    median = data.release(dp.Median("pressure"), dp.PureDP(0.5))
    rank = median.noise_interval(0.95)
    print(
        f"median pressure:     {median.value:.1f}, within {rank.upper:.0f} ranks of the middle "
        "with probability 0.95"
    )
    return {
        "Patients": count,
        "Mean progression": mean,
        "Patients with a body-mass index of 25 or more": table,
        "Median pressure": median,
    }


def second_act(rows: dict[str, Any], schema: dp.Schema) -> None:
    """The same questions to a DuckDB file: the same integers, so the same answers."""
    say("8. Second act: the same table in a DuckDB file. The sums are made inside the database.")
    try:
        import duckdb
    except ImportError:
        print("(DuckDB is not installed here: pip install 'discreet[duckdb]')")
        return
    questions = [
        dp.Count(),
        dp.Mean("progression"),
        dp.Histogram("sex", "age_band", where=dp.col("bmi") >= 25),
        dp.Median("pressure"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clinic.db"
        with duckdb.connect(str(file)) as connection:
            connection.execute(
                f"CREATE TABLE patients ({', '.join(f'{name} DOUBLE' for name in rows)})"
            )
            connection.executemany(
                "INSERT INTO patients VALUES (?, ?, ?, ?, ?)",
                [[float(cell) for cell in row] for row in zip(*rows.values(), strict=True)],
            )
        print("dp.PrivateDataset('duckdb:///clinic.db?table=patients', schema, ledger=ledger)")
        sources = [rows, f"duckdb:///{file}?table=patients"]
        answers = []
        for source in sources:
            ledger = dp.Ledger(limit=dp.PureDP(2))
            data = dp.PrivateDataset(source, schema, ledger=ledger)
            # one seed for both, so that answers can be compared; such releases are marked not private
            with fixed_noise(2026):
                answers.append([data.release(query, dp.PureDP(0.5)) for query in questions])
        for here, there in zip(*answers, strict=True):
            same = np.array_equal(here.value, there.value)
            print(f"    {here.query!r}: {'equal to the last bit' if same else 'DIFFERENT'}")


def third_act(rows: dict[str, Any]) -> None:
    """A model that sees the rows only through the door."""
    from discreet.models.naive_bayes import GaussianNB

    say(
        "9. Third act: a model. Does the disease go far (beyond 150)? A scikit-learn classifier whose\n"
        "   bounds and classes are declared, and which pays for what it learns."
    )
    X = np.column_stack([rows["age"], rows["bmi"], rows["pressure"]])
    y = (rows["progression"] > 150).astype(int)
    model = GaussianNB(epsilon=1.0, bounds=([18, 15, 50], [90, 50, 150]), classes=[0, 1])
    model.fit(X[::2], y[::2])
    print(model.privacy_.certificate)
    print(f"right for {model.score(X[1::2], y[1::2]):.0%} of the patients it never saw")


def fourth_act() -> None:
    """Attack a guarantee that holds, and one that does not."""
    from discreet import audit, noise

    say(
        "10. Fourth act: is it true? The auditor runs a mechanism many times on two inputs that differ\n"
        "    in one person, and looks for anything that tells them apart. Ours, then textbook noise."
    )

    def ours(count: int, trials: int) -> Any:
        return count + noise.discrete_laplace(1, trials)

    textbook_noise = np.random.default_rng()

    def textbook(count: float, trials: int) -> Any:
        return count + textbook_noise.laplace(0, 1, trials)

    print(audit.audit(ours, (0, 1), 1.0, title="discreet's Laplace noise"))
    print(audit.audit(textbook, (0.0, 1.0), 1.0, title="textbook Laplace noise"))


def last_act(answers: dict[str, dp.Release], statement: Any, schema: dp.Schema, path: Path) -> Path:
    """A report for people who weren't there."""
    say(
        "11. The report. One page for whoever decides: what was released, what it guarantees in plain\n"
        "    words, what it cost, and what isn't covered. It opens by a double click, without network."
    )
    dp.write_report(path, answers, ledger=statement, schema=schema, title="Diabetes patients")
    print(f"The report is {path.resolve()}")
    say(
        "That's all. Next: README.md, `discreet --help` and docs/guides/ for your own data, docs/proofs/ for "
        "why to believe it."
    )
    return path.resolve()


if __name__ == "__main__":
    main()
