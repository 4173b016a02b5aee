"""A line through 30 salaries (figures 8 to 10 and 38)."""

from __future__ import annotations

import numpy as np
import published as report
import tables
from harness import Study, Summary, markdown, seed_of
from study import EPSILONS, STUDY, show

from discreet import testing
from discreet.models.linear_model import SimpleLinearRegression

#: The program as published, our line from noised sums, and our median of lines.
METHODS = ("published", "noisy_stats", "theil_sen")
#: Draws in one repetition of the algorithm of figure 8.
DRAWS = 100


def r_squared(slope: float, intercept: float) -> float:
    x, y = tables.salaries()
    return float(1 - ((y - intercept - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


@STUDY.experiment(EPSILONS, METHODS, repeats=200)
def regression(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y = tables.salaries()
    if method == "published":
        slope, intercept = report.regress(x, y, epsilon, np.random.default_rng(seed))
    else:
        with testing.fixed_noise(seed_of(epsilon, method, seed)):
            model = SimpleLinearRegression(
                epsilon=epsilon, method=method, bounds=tables.YEARS, target_bounds=tables.SALARY
            ).fit(x[:, None], y)
        slope, intercept = float(model.slope_), float(model.intercept_)
    return {"slope": slope, "intercept": intercept, "r2": r_squared(slope, intercept)}


@STUDY.experiment(EPSILONS, repeats=20)
def noisy_stats_of_figure_8(epsilon: float, *, seed: int) -> dict[str, float]:
    """The algorithm that the report quotes, as it is quoted; its program is another."""
    x, y = tables.salaries()
    draw = np.random.default_rng(seed)
    found = [
        report.noisy_stats(x, y, tables.YEARS, tables.SALARY, epsilon, draw) for _ in range(DRAWS)
    ]
    lines = [line for line in found if line is not None]
    goodness = [r_squared(*line) for line in lines]
    numbers = {"no answer": 1 - len(lines) / DRAWS}
    for name, values in (("slope", [line[0] for line in lines]), ("r2", goodness)):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        numbers |= {name: middle, f"{name}, low": low, f"{name}, high": high}
    return numbers


@STUDY.experiment(("not private", *EPSILONS), repeats=1, quick=1)
def printed_lines(place: str | float, *, seed: int) -> dict[str, float]:
    """R² on our table of the line that the report prints."""
    printed = STUDY.published["regression"]
    at = place if isinstance(place, str) else show(place)
    slope, intercept = printed["slope"][at], printed["intercept"][at]
    return {
        "r2": r_squared(slope, intercept),
        "apart": r_squared(slope, intercept) - printed["r2"][at],
    }


@STUDY.table("printed-lines")
def printed_goodness(study: Study) -> str:
    printed = study.published["regression"]
    rows = []
    for place in ("not private", *EPSILONS):
        at = place if isinstance(place, str) else show(place)
        told = [f"{printed['slope'][at]:.2f}", f"{printed['intercept'][at]:.2f}"]
        found = study.get("printed-lines", place)
        rows.append([at, *told, f"{printed['r2'][at]:.12f}", f"{found['r2'].mean:.12f}"])
    head = ["ε", "printed slope", "printed intercept", "printed R²", "R² of that line on our table"]
    return markdown(head, rows)


@STUDY.table("regression", "noisy-stats-of-figure-8")
def salaries(study: Study) -> str:
    printed = study.published["regression"]
    rows, means = [], []
    for epsilon in EPSILONS:
        at = show(epsilon)
        found = [study.get("regression", epsilon, method) for method in METHODS]
        plain = study.get("noisy-stats-of-figure-8", epsilon)
        told = [f"{printed[key][at]:.0f}" for key in ("slope", "intercept")]
        rows.append([at, *told, f"{printed['r2'][at]:.4f}", *map(middles, found)])
        means.append([at, *map(line_of, found), quoted(plain)])
    ours = ["as published", "noised sums, shrunk", "Theil–Sen"]
    head = ["ε", "printed slope", "intercept", "R²", *ours]
    count = study.get("regression", 1.0, "noisy_stats")["r2"].count
    draws = f"{study.get('noisy-stats-of-figure-8', 1.0)['r2'].count} repetitions of {DRAWS} draws"
    return (
        markdown(head, rows)
        + f"\n\nSlope, intercept, R²: medians with quartiles, {count} repetitions. Means of the same, and "
        f"the algorithm of figure 8 as it is quoted (medians over its answers, {draws}):\n\n"
        + markdown(["ε", *ours, "figure 8: no answer; slope, R²"], means)
    )


def middles(found: dict[str, Summary]) -> str:
    """Medians with quartiles."""
    parts = [
        f"{s.median:.0f} ({s.low:.0f} … {s.high:.0f})" for s in (found["slope"], found["intercept"])
    ]
    r2 = found["r2"]
    return ", ".join([*parts, f"{r2.median:.4g} ({r2.low:.3g} … {r2.high:.3g})"])


def line_of(found: dict[str, Summary]) -> str:
    """Mean slope, intercept and R² with standard errors."""
    parts = [f"{s.mean:.0f} ± {s.error:.0f}" for s in (found["slope"], found["intercept"])]
    return ", ".join([*parts, str(found["r2"])])


def quoted(found: dict[str, Summary]) -> str:
    """How often the quoted algorithm has no answer, and the middle of its answers."""
    slope = found["slope"]
    return f"{found['no answer']}; {slope.mean:.0f} ± {slope.error:.0f}, {found['r2']}"
