"""No value makes a local mechanism raise, or changes the shape of what it gives."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import testing
from discreet.mechanisms.local import Categories, Interval, LocalMechanism, RandomizedResponse
from discreet.mechanisms.local.domain import STEPS
from profiles import max_examples


class Strange:
    """A value for which nothing works."""

    def __hash__(self):
        raise RuntimeError("no hash")

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    def __float__(self):
        raise RuntimeError("no float")

    def __int__(self):
        raise RuntimeError("no int")


DIRT = [
    None, math.nan, math.inf, -math.inf, -1, 10**400, -(10**400), 2.5, "x", "1", b"1", [1], [[2], 3], {}, (),
    np.nan, np.array([1, 2]), Strange(), Fraction(1, 3), Decimal("NaN"), 1j, True, object(),
    np.datetime64("NaT"), np.ma.masked, np.array([1.0]),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", testing.LOCALS, ids=repr)
def test_no_value_raises_or_changes_a_shape(mechanism):
    clean = mechanism.randomize([0] * len(DIRT))
    dirty = mechanism.randomize(DIRT)
    assert dirty.shape == clean.shape
    assert dirty.dtype == clean.dtype
    for value in DIRT:
        assert mechanism.randomize([value]).shape == clean[:1].shape
    assert mechanism.estimate(dirty).n == len(DIRT)


def test_no_value_warns():
    """Numpy warns of masked cells and of arrays that become numbers."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for mechanism in testing.LOCALS:
            mechanism.randomize(DIRT)
    assert [str(warning.message) for warning in seen] == []


@pytest.mark.parametrize("mechanism", testing.LOCALS, ids=repr)
def test_every_dtype_and_shape_is_taken(mechanism):
    unit = mechanism.randomize(np.zeros(1)).shape[1:]
    for dtype in (
        bool,
        np.uint8,
        np.int64,
        np.uint64,
        np.float16,
        np.float64,
        object,
        "U3",
        "M8[s]",
    ):
        for shape in ((), (0,), (5,), (2, 3)):
            assert mechanism.randomize(np.zeros(shape, dtype)).shape == (*shape, *unit)
    # a list of lists is a list of strange values, whatever their lengths
    assert mechanism.randomize([[1, 2], [3, 4]]).shape == (2, *unit)
    assert mechanism.randomize([[1, 2], [3]]).shape == (2, *unit)
    assert mechanism.randomize(iter([1, 2])).shape == (2, *unit)


@pytest.mark.parametrize("mechanism", testing.LOCALS, ids=repr)
def test_values_must_be_many(mechanism):
    for values in ("abc", b"abc", 5, None):
        with pytest.raises(TypeError, match="values must be"):
            mechanism.randomize(values)


def test_every_local_mechanism_has_an_example():
    assert testing.missing(LocalMechanism, testing.LOCALS) == []


@max_examples(100)
@given(
    st.lists(
        st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.booleans()), max_size=20
    )
)
def test_codes_of_lists_are_those_of_the_definition(values):
    domain = Categories(5, unknown=3)
    expected = [
        int(v) if not isinstance(v, str) and v is not None and v in range(5) else 3 for v in values
    ]
    assert domain.codes(values).tolist() == expected


def test_codes_of_listed_values():
    domain = Categories(["a", "b", 3], unknown=1)
    assert domain.codes(["a", 3, 3.0, "c", None, [1]]).tolist() == [0, 2, 2, 1, 1, 1]
    assert domain.codes(np.array(["b", "a", "zz"])).tolist() == [1, 0, 1]
    assert Categories(3).codes(np.array([0.0, 1.5, 2.0, np.nan, -0.0, 3])).tolist() == [
        0,
        0,
        2,
        0,
        0,
        0,
    ]
    assert Categories(3).codes(np.array([2**63], np.uint64)).tolist() == [0]


def test_no_setting_of_numpy_lets_a_value_raise():
    values = np.array([np.nan, np.inf, -np.inf, 1e300, -0.0, 1.0])
    with np.errstate(all="raise"):
        for mechanism in testing.LOCALS:
            for dtype in (np.float16, np.float32, np.float64, np.longdouble):
                with np.errstate(over="ignore"):
                    given_ = values.astype(dtype)
                assert len(mechanism.randomize(given_)) == 6
    with np.errstate(over="ignore"):
        huge = np.longdouble(1e300) ** 15
    with np.errstate(all="raise"):
        assert Interval(0, 1).codes(np.array([huge, -huge])).tolist() == [STEPS, 0]
    masked = np.ma.masked_array([0, 1, 1], [True, False, True])
    assert all(len(mechanism.randomize(masked)) == 3 for mechanism in testing.LOCALS)


def test_values_are_held_within_the_bounds_before_any_arithmetic():
    """Else a large value overflows, and numpy's settings decide whether that raises: an answer about it."""
    interval = Interval(0, "1/1000")
    with np.errstate(all="raise"):
        codes = interval.codes(np.array([1.7e308, -1.7e308, np.inf, -np.inf, np.nan]))
    assert codes.tolist() == [STEPS, 0, STEPS, 0, STEPS // 2]


def test_codes_fit_where_the_dtype_of_the_values_does_not():
    domain = Categories(1000, unknown=500)
    assert domain.codes(np.array([7, 255], np.uint8)).tolist() == [7, 255]
    assert domain.codes(np.array([-7, 100], np.int8)).tolist() == [500, 100]
    assert Categories(10**6, unknown=99_999).codes(np.array([-1, 3], np.float16)).tolist() == [
        99_999,
        3,
    ]


def test_columns_of_frames_are_taken():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    domain = Categories(5, unknown=4)
    nullable = pandas.Series([1, None, 9], dtype="Int64")
    for column in (nullable, pandas.Series([1, None, 9]), polars.Series([1, None, 9])):
        assert domain.codes(column).tolist() == [1, 4, 4]
    named = Categories(["a", "b"], unknown=1)
    for column in (pandas.Series(["a", None, "c"]), polars.Series(["a", None, "c"])):
        assert named.codes(column).tolist() == [0, 1, 1]


def test_only_a_one_is_a_yes():
    always = RandomizedResponse(40)  # turned round once in 2^57
    for values in (
        [True, 1, 1.0, 0, 2, None, "1", math.nan],
        np.array([1, 1, 1, 0, 2, -1, 7, 0.0]),
    ):
        assert always.randomize(values).tolist() == [True] * 3 + [False] * 5


def test_codes_of_reals():
    domain = Interval(-1, 3)
    values = [-1, 3, 1, -5, 9, math.inf, -math.inf, math.nan, None, "2", 10**400]
    middle = STEPS // 2
    expected = [0, STEPS, middle, 0, STEPS, STEPS, 0, middle, middle, middle, STEPS]
    assert domain.codes(values).tolist() == expected
    assert domain.codes(np.array(values[:8], float)).tolist() == expected[:8]
    assert domain.reals(float(middle)) == 1.0
    grid = np.linspace(-1, 3, 1001)
    assert np.max(np.abs(domain.reals(domain.codes(grid)) - grid)) <= 2 / STEPS * (1 + 1e-9)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: Categories(1), ValueError, "k must"),
        (lambda: Categories(2**31), ValueError, "k must"),
        (lambda: Categories("ab"), TypeError, "k must"),
        (lambda: Categories([1, 1.0]), ValueError, "different"),
        (lambda: Categories(2, unknown=2), ValueError, "unknown"),
        (lambda: Interval(1, 1), ValueError, "lower"),
        (lambda: Interval(0, math.nan), ValueError, "upper"),
        (lambda: Interval(0, Fraction(1, 10**400)), ValueError, "too close"),
        (lambda: RandomizedResponse(0), ValueError, "epsilon"),
        (lambda: RandomizedResponse("1e-12"), ValueError, "epsilon"),
        (lambda: RandomizedResponse(math.inf), ValueError, "epsilon"),
        (lambda: RandomizedResponse.with_lie("1/2"), ValueError, "lie"),
    ],
)
def test_bad_public_arguments_raise(make, error, match):
    with pytest.raises(error, match=match):
        make()
