"""The thesis' tables 4.1 to 4.9 and its figures; `chapter1.py` has its stories, `chapter3.py` its formulas.

Run ``python papers/theory_thesis/run.py`` (``--quick`` for two repetitions of each, ``--report`` for the
results that are there). It writes ``results.json``, the tables of ``README.md`` and the pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import chapter1  # noqa: F401
import chapter3  # noqa: F401
import curves
from harness import Study, markdown, seed_of
from study import STUDY

import discreet as dp
from discreet import testing
from discreet.accounting import delta_at, epsilon_at
from discreet.measures.meaning import advantage, chi_squared, hellinger, kullback_leibler

HERE = Path(__file__).parent
SIDES = (1000, 100, 10)
SHAPES = ("100 x 50", "10 x 50", "10 x 10")
DELTA = 1e-4
PERSONS = ("a cell", "a row")


def mean_error(rows: np.ndarray, low: float, high: float, measure: object, seed: int) -> float:
    """How far a private mean under replace-one lies from the mean."""
    data = dp.PrivateDataset(
        {"x": rows},
        dp.Schema(x=dp.Real(low, high)),
        ledger=dp.Ledger(limit=measure, unit=dp.Unit(dp.REPLACE_ONE)),
        rows=len(rows),
    )
    with testing.fixed_noise(seed):
        return abs(float(data.release(dp.Mean("x"), measure).value) - float(rows.mean()))


@STUDY.experiment(SIDES, (1.0, 2.0, 5.0), PERSONS, repeats=100)
def laplace(side: int, epsilon: float, person: str, *, seed: int) -> dict[str, float]:
    cells = np.random.default_rng([side, seed]).random((side, side))
    rows = cells.ravel() if person == "a cell" else cells.mean(axis=1)
    return {
        "error": mean_error(rows, 0, 1, dp.PureDP(epsilon), seed_of(side, epsilon, person, seed))
    }


@STUDY.experiment(SHAPES, (1.0, 3.0), ("published", *PERSONS), repeats=200)
def gaussian(shape: str, epsilon: float, person: str, *, seed: int) -> dict[str, float]:
    size = [int(part) for part in shape.split(" x ")]
    draw = np.random.default_rng([*size, seed])
    cells = draw.uniform(-0.5, 0.5, size)
    if (
        person == "published"
    ):  # σ as in Theorem 3.1.3, with the 1/ε that it lacks; a cell is a person
        return {
            "error": abs(draw.normal(0, np.sqrt(2 * np.log(1.25 / DELTA)) / cells.size / epsilon))
        }
    rows = cells.ravel() if person == "a cell" else cells.mean(axis=1)
    return {
        "error": mean_error(
            rows, -0.5, 0.5, dp.ApproxDP(epsilon, DELTA), seed_of(shape, epsilon, person, seed)
        )
    }


#: Curves as published, and repaired: their order, and their δ (Theorem 4.4.7 where it is positive).
REPAIRED = {"order 1": (1, 0.0), "order 4": (4, 0.0), "order 4, δ": (4, DELTA)}


@STUDY.experiment((100, 500, 5000), (1.0, 3.0), ("published", *REPAIRED), repeats=40)
def bernstein(n: int, epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    draw = np.random.default_rng([n, seed])
    with testing.fixed_noise(seed_of(n, epsilon, method, seed)):
        if method == "published":
            target, clean, private = curves.published(n, epsilon, draw)
        else:
            order, delta = REPAIRED[method]
            target, clean, private = curves.repaired(n, int(epsilon), order, draw, delta)
    return {
        "to target": float(np.mean((private - target) ** 2)),
        "to polynomial": float(np.mean((private - clean) ** 2)),
        "polynomial to target": float(np.mean((clean - target) ** 2)),
    }


# -- tables


@STUDY.table()
def printed_means(study: Study) -> str:
    """Tables 4.1 to 4.3, 4.5 and 4.6: do the printed means have the printed differences?"""
    rows = []
    for means, differences in (
        ("tables 4.1 to 4.3", "table 4.4"),
        ("tables 4.5 and 4.6", "table 4.7"),
    ):
        for epsilon, cells in study.published[means].items():
            for size, pair in cells.items():
                printed = study.published[differences][size][epsilon]
                numbers = [float(number) for number in pair]
                slack = sum(half_a_digit(number) for number in pair)
                gap = abs(numbers[0] - numbers[1])
                fits = abs(gap - printed) <= slack * (1 + 1e-9)
                side = size if "x" in size else f"{size} x {size}"
                told = f"{gap:.3g} ± {slack:.1g}", f"{printed:.3g}", "yes" if fits else "**no**"
                rows.append([differences, side.replace("x", "×"), epsilon, *pair, *told])
    head = ["", "matrix", "ε", "printed private mean", "printed mean", "their difference"]
    return markdown([*head, "printed difference", "agree"], rows)


def half_a_digit(number: str) -> float:
    """How far a printed number may be from what was rounded to it."""
    digits, _, power = number.partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


@STUDY.table("laplace")
def table_4_4(study: Study) -> str:
    rows = []
    for side in SIDES:
        for epsilon in (1.0, 2.0, 5.0):
            cell, row = (study.get("laplace", side, epsilon, person)["error"] for person in PERSONS)
            printed = study.published["table 4.4"][str(side)][f"{epsilon:g}"]
            rows.append(
                [
                    f"{side} × {side}",
                    f"{epsilon:g}",
                    f"{printed:.3g}",
                    cell.middle,
                    cell,
                    row.middle,
                    row,
                ]
            )
    head = ["matrix", "ε", "printed, one draw", "a cell is a person: median (quartiles)", "mean"]
    head += ["a row is a person: median (quartiles)", "mean"]
    count = study.get("laplace", 10, 1.0, "a cell")["error"].count
    return f"{markdown(head, rows)}\n\n{count} repetitions."


@STUDY.table("gaussian")
def table_4_7(study: Study) -> str:
    rows = []
    for shape in SHAPES:
        columns = int(shape.split(" x ")[1])
        for epsilon in (1.0, 3.0):
            found = [
                study.get("gaussian", shape, epsilon, p)["error"] for p in ("published", *PERSONS)
            ]
            printed = study.published["table 4.7"][shape][f"{epsilon:g}"]
            rows.append(
                [
                    shape.replace("x", "×"),
                    f"{epsilon:g}",
                    f"{printed:.3g}",
                    *(f"{s.middle}; {s}" for s in found),
                    f"{true_epsilon(epsilon, columns):.1f}",
                ]
            )
    head = ["matrix", "ε", "printed, one draw", "as published", "ours, a cell is a person"]
    head += ["ours, a row is a person", "ε of a row, as published"]
    count = study.get("gaussian", "10 x 10", 1.0, "published")["error"].count
    told = f"Median (quartiles); mean ± standard error; {count} repetitions, δ = 10⁻⁴."
    return f"{markdown(head, rows)}\n\n{told}"


def true_epsilon(epsilon: float, columns: int) -> float:
    """What a row costs at δ = 10⁻⁴ where noise is made for a cell."""
    scale = np.sqrt(2 * np.log(1.25 / DELTA)) / epsilon
    return float(epsilon_at(dp.events.Gaussian(scale / columns), DELTA).epsilon)


@STUDY.table()
def outside_the_range(study: Study) -> str:
    rows = []
    for epsilon in (1, 3, 8):
        scale = np.sqrt(2 * np.log(1.25 / DELTA)) / epsilon
        rows.append([epsilon, f"{float(delta_at(dp.events.Gaussian(scale), epsilon)):.4g}"])
    return markdown(["ε", "δ that the classical σ has in truth (10⁻⁴ is asked for)"], rows)


@STUDY.table()
def divergences(study: Study) -> str:
    """Section 3.1.2: what a guarantee says about the divergences between neighbours' answers."""
    kinds = {
        "ε = 1": dp.PureDP(1),
        "(1, 10⁻⁶)": dp.ApproxDP(1, 1e-6),
        "ρ = 0.5": dp.ZCDP(0.5),
        "μ = 1": dp.GaussianDP(1),
    }
    asked = (advantage, kullback_leibler, hellinger, chi_squared)
    rows = [
        [name, *(f"{ask(measure):.4f}".replace("inf", "∞") for ask in asked)]
        for name, measure in kinds.items()
    ]
    head = ["at most", "total variation", "Kullback–Leibler", "Hellinger, squared", "χ²"]
    return markdown(head, rows)


@STUDY.table("bernstein")
def tables_4_8_and_4_9(study: Study) -> str:
    rows = []
    for epsilon in (1.0, 3.0):
        for n in (100, 500, 5000):
            printed = study.published["tables 4.8 and 4.9"][f"{epsilon:g}"][str(n)]
            line = [f"{epsilon:g}", n, f"{printed[0]:.3g}, {printed[1]:.3g}"]
            for method in ("published", *REPAIRED):
                found = study.get("bernstein", n, epsilon, method)
                line.append(f"{found['to target'].middle}, {found['to polynomial'].middle}")
            line.append(
                f"{study.get('bernstein', n, epsilon, 'order 1')['polynomial to target'].mean:.3g}"
            )
            rows.append(line)
    head = [
        "ε",
        "n",
        "printed: to target, to polynomial",
        "as published (random DP)",
        "repaired, order 1",
    ]
    head += ["repaired, order 4", "repaired, order 4, δ = 10⁻⁴"]
    head += ["polynomial of order 1 to target, no noise"]
    count = study.get("bernstein", 100, 1.0, "published")["to target"].count
    return (
        f"{markdown(head, rows)}\n\nMedians (quartiles), {count} repetitions. Means of the same:\n\n"
        f"{means_of_curves(study)}"
    )


def means_of_curves(study: Study) -> str:
    """Means with standard errors, which few large draws decide."""
    methods = {
        "as published": "published",
        "repaired, order 1": "order 1",
        "repaired, order 4": "order 4",
        "repaired, order 4, δ = 10⁻⁴": "order 4, δ",
    }
    rows = []
    for epsilon in (1.0, 3.0):
        for n in (100, 500, 5000):
            found = [study.get("bernstein", n, epsilon, method) for method in methods.values()]
            cells = [f"{each['to target']}, {each['to polynomial']}" for each in found]
            rows.append([f"{epsilon:g}", n, *cells])
    return markdown(["ε", "n", *methods], rows)


@STUDY.figure
def draw(study: Study) -> None:
    from pictures import draw_all

    draw_all(study, HERE)


if __name__ == "__main__":
    STUDY.main()
