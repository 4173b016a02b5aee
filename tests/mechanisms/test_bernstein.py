"""The Bernstein mechanism and its first target."""

from __future__ import annotations

import math
import pickle
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from discreet import accounting, events, mechanisms, testing
from discreet.coding import Sensitivity
from discreet.measures import ApproxDP, PureDP
from discreet.mechanisms import Bernstein, Gaussian, Laplace, PolynomialFunction, PriestleyChao
from discreet.mechanisms.bernstein import bernstein_coefficients, lattice


def operator(function, degree, x):
    """The Bernstein operator of one argument by its definition."""
    return sum(
        function(j / degree) * math.comb(degree, j) * x**j * (1 - x) ** (degree - j)
        for j in range(degree + 1)
    )


def iterated(function, degree, order, x):
    """Σ C(h, i)(-1)^(i-1) B^i f, by applying the operator again and again."""
    total, current = 0.0, function
    for i in range(1, order + 1):
        current = (lambda inner: lambda t: operator(inner, degree, t))(current)
        total = total + math.comb(order, i) * (-1) ** (i - 1) * current(x)
    return total


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_iterated_operator_is_its_definition(order):
    function, degree = lambda t: math.sin(5 * t), 6
    values = np.array([function(j / degree) for j in range(degree + 1)])
    polynomial = PolynomialFunction(bernstein_coefficients(values, degree, 1, order))
    for x in (0.0, 0.13, 0.5, 0.91, 1.0):
        assert float(polynomial(x)) == pytest.approx(
            iterated(function, degree, order, x), abs=1e-12
        )


@pytest.mark.parametrize("order", [1, 2])
def test_two_arguments(order):
    """A product of functions: for order 1 its polynomial is the product, and iteration is by both."""
    nodes = lattice(8, 2)
    values = np.sin(3 * nodes[:, 0]) * np.exp(nodes[:, 1])
    polynomial = PolynomialFunction(bernstein_coefficients(values, 8, 2, order))
    points = np.array([[0.2, 0.7], [1.0, 0.0], [0.5, 0.5]])

    def twice(x, y):
        f, g = (lambda t: math.sin(3 * t)), math.exp
        b1 = operator(f, 8, x) * operator(g, 8, y)
        if order == 1:
            return b1
        b2 = operator(lambda t: operator(f, 8, t), 8, x) * operator(
            lambda t: operator(g, 8, t), 8, y
        )
        return 2 * b1 - b2

    assert polynomial(points) == pytest.approx([twice(*p) for p in points.tolist()])
    assert polynomial(points.reshape(1, 3, 2)).shape == (1, 3)
    assert polynomial.grid(5)[1].shape == (5, 5)
    assert polynomial.dimension == 2
    assert polynomial.degree == 8


def test_a_higher_order_follows_a_smooth_function_more_closely():
    x = np.linspace(0, 1, 101)
    nodes = lattice(25)[:, 0]
    errors = [
        np.abs(
            PolynomialFunction(bernstein_coefficients(nodes * np.sin(10 * nodes), 25, 1, h))(x)
            - x * np.sin(10 * x)
        ).max()
        for h in (1, 2, 4)
    ]
    assert errors[0] > 2 * errors[1] > 3 * errors[2]


def test_a_release_is_the_polynomial_plus_noise_of_the_stated_size():
    mechanism = Bernstein(Laplace(1), degree=10, order=2)
    x = np.linspace(0, 1, 201)

    def function(nodes):
        return nodes[:, 0] ** 2

    clean = PolynomialFunction(bernstein_coefficients(function(mechanism.nodes), 10, 1, 2))(x)
    with testing.fixed_noise(1):
        released = np.array([mechanism.run(function, "0.01")(x) for _ in range(600)])
    assert released.mean(axis=0) == pytest.approx(clean, abs=0.08)
    error = math.sqrt(np.mean((released - clean) ** 2))
    promised = mechanism.expected_error(mechanism.sensitivity("0.01"))
    assert error == pytest.approx(promised, rel=0.05)


def test_the_published_scales():
    mechanism = Bernstein(Laplace("1/2"), degree=4, dimension=2, resolution=2**10)
    sensitivity = mechanism.sensitivity("1/4")
    assert sensitivity == Sensitivity(256 * 25, 256**2 * 25)
    assert mechanism.event(sensitivity) == events.DiscreteLaplace(256 * 25 * 2, 256 * 25)
    assert accounting.cost(mechanism.event(sensitivity), PureDP) == PureDP("1/2")
    rounded = mechanism.sensitivity("1/1000")  # 1.024 steps: floors may differ by 2
    assert rounded.l1 == 2 * 25
    gaussian = Bernstein(Gaussian(1, "1e-5"), degree=4)
    event = gaussian.event(gaussian.sensitivity("0.1"))
    assert accounting.satisfies(event, ApproxDP(1, "1e-5"))
    assert event.sensitivity_squared == gaussian.sensitivity("0.1").l2_squared


def test_expected_error_in_two_dimensions():
    mechanism = Bernstein(Laplace(1), degree=5, dimension=2)
    sensitivity = mechanism.sensitivity("0.001")
    points = np.stack(np.meshgrid(*[np.linspace(0, 1, 60)] * 2), axis=-1)
    with testing.fixed_noise(2):
        draws = [mechanism.run(lambda n: 0 * n[:, 0], "0.001")(points) for _ in range(300)]
    assert math.sqrt(np.mean(np.square(draws))) == pytest.approx(
        mechanism.expected_error(sensitivity), rel=0.1
    )
    with pytest.raises(ValueError, match="order 1"):
        Bernstein(Laplace(1), 5, 2, order=2).expected_error(sensitivity)


def test_the_result_pickles_and_evaluates_arrays():
    with testing.fixed_noise(4):
        released = Bernstein(Laplace(1), degree=6).run(lambda n: n[:, 0], 1)
    back = pickle.loads(pickle.dumps(released))
    x = np.linspace(0, 1, 12).reshape(3, 4)
    assert np.array_equal(back(x), released(x))
    assert released(x).shape == (3, 4)
    assert released(0.5).shape == ()
    assert [float(released(v)) for v in x.ravel()] == pytest.approx(released(x).ravel())


def test_what_a_plot_shows(monkeypatch):
    released = PolynomialFunction(np.array([0.0, 1.0, 0.0]))
    where, values = released.grid(11)
    assert where == pytest.approx(np.linspace(0, 1, 11))
    assert values == pytest.approx(2 * where * (1 - where))
    drawn = []
    axes = SimpleNamespace(
        plot=lambda *data: drawn.append(data), contourf=lambda *data: drawn.append(data)
    )
    assert released.plot(axes, 11) is axes
    assert np.array_equal(drawn[0][1], values)
    surface = PolynomialFunction(np.ones((3, 3)))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", SimpleNamespace(gca=lambda: axes))
    assert surface.plot(points=4) is axes
    assert drawn[1][2] == pytest.approx(np.ones((4, 4)))
    with pytest.raises(ValueError, match="plotted"):
        PolynomialFunction(np.ones((2, 2, 2))).grid()


def test_extreme_values_do_not_raise():
    mechanism = Bernstein(Laplace(1), degree=3)
    with testing.fixed_noise(5):
        found = mechanism.run(lambda n: np.array([np.nan, np.inf, -np.inf, 1e300]), 1)
    assert np.isfinite(found(np.linspace(0, 1, 9))).all()


REGRESSION = PriestleyChao("-1.2", "1.5")


def points_at_edges():
    edges = [0.0, 0.017, 0.5, 0.52, 1.0, -3.0, math.nan, math.inf]
    heights = [-9.0, -1.2, 0.0, 0.4, 1.5, 7.0, math.nan, -math.inf]
    return np.array([(x, y) for x in edges for y in heights]).T


@pytest.mark.parametrize(
    "regression", [REGRESSION, PriestleyChao(0, 1), PriestleyChao(1, 3, "0.02")]
)
def test_no_two_rows_are_farther_apart_than_the_sensitivity(regression):
    """Brute force over pairs of rows, NaN and infinite ones included; and the bound isn't far off."""
    nodes = lattice(25)[:, 0]
    sensitivity = regression.sensitivity(nodes)
    coded = regression.contributions(*points_at_edges(), nodes)
    gaps = coded[:, None, :] - coded[None, :, :]
    l1, l2 = np.abs(gaps).sum(axis=2).max(), (gaps**2).sum(axis=2).max()
    assert 0.3 * sensitivity.l1 < l1 <= sensitivity.l1
    assert 0.15 * sensitivity.l2_squared < l2 <= sensitivity.l2_squared
    assert np.abs(gaps).max() * regression._unit(50) <= regression.supremum_sensitivity(50)
    # rows far from zero in range, random ones too
    rng = np.random.default_rng(1)
    more = regression.contributions(rng.random(4000), 4 * rng.random(4000) + 0.1, nodes)
    assert 2 * np.abs(more).sum(axis=1).max() <= max(sensitivity.l1, 2 * regression._maximum(nodes))
    assert np.abs(more).sum(axis=1).max() <= regression._maximum(nodes)
    assert (np.abs(more).sum(axis=1) > 0).mean() > 0.9  # the last resort was not needed


def test_the_sensitivity_beats_the_published_scale():
    nodes = lattice(25)[:, 0]
    low, high = REGRESSION._limits()
    assert REGRESSION.sensitivity(nodes).l1 < 0.35 * (high - low) * 26


def test_totals_are_exact_and_order_free():
    rng = np.random.default_rng(2)
    x, y = rng.random(40_000), rng.normal(size=40_000)
    nodes = lattice(10)[:, 0]
    order = rng.permutation(40_000)
    assert np.array_equal(
        REGRESSION.totals(x, y, nodes), REGRESSION.totals(x[order], y[order], nodes)
    )
    # the estimator by its formula
    at = np.array([0.3, 0.7])
    kernel = np.exp(-(((at[:, None] - x) / 0.1) ** 2) / 2) / math.sqrt(2 * math.pi)
    expected = (kernel * np.clip(y, -1.2, 1.5)).sum(axis=1) / (40_000 * 0.1)
    assert REGRESSION.exact(x, y, at) == pytest.approx(expected, abs=1e-6)


def test_a_fit_falls_towards_the_regression_function():
    rng = np.random.default_rng(3)
    at = np.linspace(0.2, 0.8, 30)
    errors = []
    for n in (200, 20_000):
        x = rng.random(n)
        y = x * np.sin(10 * x) + rng.normal(0, 0.2, n)
        with testing.fixed_noise(6):
            fitted = REGRESSION.fit(x, y, Bernstein(Laplace(1), order=4))
        errors.append(float(np.mean((fitted(at) - REGRESSION.exact(x, y, at)) ** 2)))
    assert errors[1] < 0.01 * errors[0]
    mechanism = Bernstein(Laplace(1))
    assert REGRESSION.expected_error(20, mechanism) == pytest.approx(
        10 * REGRESSION.expected_error(200, mechanism)
    )


def test_bad_arguments():
    with pytest.raises(TypeError, match="noise"):
        Bernstein(1)
    with pytest.raises(ValueError, match="power of two"):
        Bernstein(Laplace(1), resolution=1000)
    with pytest.raises(ValueError, match="lattice"):
        Bernstein(Laplace(1), degree=400, dimension=4)
    with pytest.raises(ValueError, match="supremum"):
        Bernstein(Laplace(1)).sensitivity(0)
    with pytest.raises(ValueError, match="one value"):
        Bernstein(Laplace(1)).run(lambda nodes: [1.0], 1)
    with pytest.raises(ValueError, match="lower"):
        PriestleyChao(1, 1)
    with pytest.raises(ValueError, match="bandwidth"):
        PriestleyChao(0, 1, 0)
    with pytest.raises(ValueError, match="resolution"):
        PriestleyChao(0, 10**9)
    with pytest.raises(ValueError, match="length"):
        REGRESSION.totals([1, 2], [1], np.array([0.0]))
    with pytest.raises(ValueError, match="dimension"):
        REGRESSION.fit([0.5], [1], Bernstein(Laplace(1), 5, 2))
    assert Fraction(1, 10) == REGRESSION.bandwidth
    assert mechanisms.Bernstein is Bernstein


def test_the_guide_runs():
    page = Path(__file__).parents[2] / "docs" / "guides" / "bernstein.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        names: dict[str, object] = {}
        exec(compile(block, "bernstein.md", "exec"), names)
        assert np.isfinite(names["curve"](0.3))
