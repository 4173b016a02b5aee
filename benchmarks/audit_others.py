"""Audits of what others release: OpenDP, and diffprivlib where it can be imported.

python benchmarks/audit_others.py            # what is installed beside discreet

diffprivlib 0.6.6 needs scikit-learn 1.5 in an environment of its own:
python -m venv peers
peers/bin/pip install diffprivlib==0.6.6 scikit-learn==1.5.2 opendp==0.16.0
peers/bin/pip install narwhals dp-accounting SQLAlchemy cryptography && peers/bin/pip install --no-deps .
peers/bin/python benchmarks/audit_others.py
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

import discreet as dp
from discreet import audit
from discreet.audit import AuditResult

TRIALS = 60_000


def opendp() -> Iterator[AuditResult]:
    """Measurements of OpenDP, through its Python interface."""
    import opendp.prelude as odp

    odp.enable_features("contrib", "honest-but-curious")
    whole = odp.atom_domain(T="i32"), odp.absolute_distance(T="i32")
    real = odp.atom_domain(T="f64", nan=False), odp.absolute_distance(T="f64")
    scores = odp.vector_domain(odp.atom_domain(T="i32")), odp.linf_distance(T="i32")

    laplace = odp.m.make_laplace(*whole, scale=1.0)
    yield audit.audit(laplace, (0, 1), laplace.map(1), trials=TRIALS, title="Laplace, integers")
    laplace = odp.m.make_laplace(*real, scale=1.0)
    yield audit.audit(laplace, (0.0, 1.0), laplace.map(1.0), trials=TRIALS, title="Laplace, reals")
    gaussian = odp.m.make_gaussian(*real, scale=1.0)
    claim = dp.ZCDP(str(gaussian.map(1.0)))
    yield audit.audit(gaussian, (0.0, 1.0), claim, trials=TRIALS, title="Gaussian, reals")
    response = odp.m.make_randomized_response_bool(prob=0.75)
    yield audit.audit(
        response, (False, True), response.map(1), trials=TRIALS, title="randomised response"
    )
    best = odp.m.make_noisy_max(*scores, odp.max_divergence(), scale=2.0)
    claim = best.map(1)
    yield audit.audit(best, ([1, 0], [2, -1]), claim, trials=TRIALS, title="noisy max")


def diffprivlib() -> Iterator[AuditResult]:
    """Mechanisms and two models of diffprivlib."""
    from diffprivlib import mechanisms
    from diffprivlib.models import GaussianNB, LinearRegression

    one = {"epsilon": 1, "sensitivity": 1}
    pure = {
        "Laplace": (mechanisms.Laplace(**one), (0.0, 1.0)),
        "LaplaceTruncated": (mechanisms.LaplaceTruncated(**one, lower=0, upper=1), (0.0, 1.0)),
        "Geometric": (mechanisms.Geometric(**one), (0, 1)),
        "Snapping": (mechanisms.Snapping(**one, lower=-10, upper=10), (0.0, 1.0)),
    }
    for name, (mechanism, pair) in pure.items():
        yield audit.audit(mechanism.randomise, pair, 1.0, trials=TRIALS, title=name)
    yield audit.audit(
        mechanisms.Laplace(**one).randomise,
        (0.0, 1.0),
        1.0,
        trials=TRIALS,
        rounding=1e-6,
        title="Laplace, its ideal",
    )
    gaussian = mechanisms.GaussianAnalytic(**one, delta=0.01)
    claim = dp.ApproxDP(1, "0.01")
    yield audit.audit(
        gaussian.randomise, (0.0, 1.0), claim, trials=TRIALS, title="GaussianAnalytic"
    )

    def slope(rows):
        model = LinearRegression(
            epsilon=1, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False, accountant=None
        )
        return float(model.fit(np.array(rows)[:, :1], np.array(rows)[:, 1]).coef_[0])

    pair = ([(1.0, 0.0), (0.0, 0.0)], [(1.0, 0.0)] * 2)
    yield audit.audit(slope, pair, 1.0, trials=20_000, rounding=1e-6, title="LinearRegression")

    def labels(rows):
        model = GaussianNB(epsilon=1, bounds=(0, 1), accountant=None)
        model.fit(np.array(rows)[:, :1], np.array(rows)[:, 1])
        return list(model.classes_)

    pair = ([(0.5, 0.0)] * 4, [(0.5, 0.0)] * 3 + [(0.5, 1.0)])
    yield audit.audit(labels, pair, 1.0, trials=400, reuse=False, title="GaussianNB, its classes")


def main() -> None:
    warnings.simplefilter("ignore")
    for name, audits in (("opendp", opendp), ("diffprivlib", diffprivlib)):
        try:
            __import__(name)
        except Exception as error:  # diffprivlib fails with an ImportError of scikit-learn's parts
            print(f"{name}: can't be imported here ({type(error).__name__}).\n")
            continue
        print(f"{name} {version(name)}\n")
        for result in audits():
            print(result, "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
