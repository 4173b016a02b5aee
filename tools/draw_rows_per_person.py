"""Draw what `max_rows` does to a mean: bias and noise, by k; writes docs/figures/rows_per_person.svg.

python tools/draw_rows_per_person.py
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl
import numpy as np

import discreet as dp

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "rows per person"
PLACE = Path(__file__).parents[1] / "docs" / "figures" / "rows_per_person.svg"
LIMITS = (1, 2, 3, 5, 8, 13, 20)
SCHEMA = dp.Schema(cost=dp.Real(0, 1000))


def draw_visits(seed: int = 1) -> dict[str, np.ndarray]:
    """20 000 patients; those who come often have cheaper visits."""
    draw = np.random.default_rng(seed)
    often = draw.geometric(0.3, 20_000)
    who = np.repeat(np.arange(20_000), often)
    usual = np.repeat(500 / np.sqrt(often), often)
    return {"patient": who, "cost": (usual * draw.lognormal(0, 0.4, len(who))).clip(0, 1000)}


def measure(visits: dict[str, np.ndarray], most: int) -> tuple[float, float]:
    """The mean that is released with this limit, without noise, and the standard error at ε = 0.1."""
    public = dp.PrivateDataset(visits, SCHEMA, unit=dp.Unit(dp.PUBLIC, "patient", most))
    mean = public.release(dp.Mean("cost"), dp.PureDP(math.inf)).value
    plan = public.plan(dp.Mean("cost"), dp.PureDP("0.1"), rows=len(visits["cost"]))
    return mean, float(plan.stderr)


def main() -> None:
    """Print the figures and draw them."""
    from matplotlib import pyplot

    visits = draw_visits()
    truth = float(visits["cost"].mean())
    found = [measure(visits, most) for most in LIMITS]
    print(f"mean of all visits {truth:.1f}")
    for most, (mean, error) in zip(LIMITS, found, strict=True):
        print(
            f"max_rows={most:2}  mean of what counts {mean:6.1f}  bias {mean - truth:+6.1f}"
            f"  noise ± {error:.2f}"
        )
    figure, axes = pyplot.subplots(figsize=(6, 3.2))
    axes.plot(LIMITS, [abs(mean - truth) for mean, _ in found], "o-", label="bias: rows left out")
    axes.plot(LIMITS, [error for _, error in found], "s--", label="noise at ε = 0.1")
    axes.set(xlabel="max_rows", ylabel="error of the mean cost", ylim=(0, None))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(PLACE, metadata={"Date": None})


if __name__ == "__main__":
    main()
