"""Values survive JSON to the last digit, and nothing else is read."""

from __future__ import annotations

import json
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.show import decode_value, encode_value, read_document, write_document

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.fractions()
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


def through_json(value):
    return decode_value(json.loads(json.dumps(encode_value(value), allow_nan=False)))


def same(a, b):
    """Equal values of equal types, through and through; 0.0 and -0.0 are two."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return repr(a) == repr(b)


@given(VALUES)
def test_any_value_comes_back_as_it_was(value):
    assert same(through_json(value), value)


@given(st.integers(min_value=2**53 + 1) | st.integers(max_value=-(2**53) - 1))
def test_readers_that_know_only_doubles_keep_large_integers(value):
    text = json.dumps(encode_value(value))
    assert json.loads(text, parse_int=lambda digits: int(float(digits))) == {"integer": str(value)}


@pytest.mark.parametrize(
    "array",
    [
        np.array([2**62 + 1, -5], np.int64),
        np.array([[0.1, np.inf], [-0.0, 5e-324]]),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.float64(0.1) * 3,
    ],
    ids=repr,
)
def test_arrays_keep_shape_type_and_bits(array):
    back = through_json(array)
    assert np.asarray(back).dtype == array.dtype
    assert np.shape(back) == np.shape(array)
    assert np.asarray(back).tobytes() == np.asarray(array).tobytes()


@pytest.mark.parametrize(
    "data",
    [
        {"record": "Popen", "fields": {"args": "true"}},
        {"integer": "__import__('os')"},
        {"integer": "1" * 5000},
        {"fraction": "1/0"},
        {"fraction": "1e999999999"},
        {"float": "1e5"},
        {"array": {"dtype": "object", "shape": [1], "cells": ["x"]}},
        {"array": {"dtype": "int64", "shape": [10**9], "cells": [1]}},
        {"array": {"dtype": "int64", "shape": [-1], "cells": [1]}},
        {"unknown": 1},
        {"py/object": "os.system"},
        {},
    ],
    ids=str,
)
def test_nothing_else_is_read(data):
    with pytest.raises((ValueError, ZeroDivisionError)):
        decode_value(data)


def test_what_has_no_json_form_is_refused_with_its_type_alone():
    with pytest.raises(TypeError, match="type object can't be written as JSON"):
        encode_value(object())
    with pytest.raises(TypeError, match="array of object"):
        encode_value(np.array(["secret"], object))
    with pytest.raises(ValueError, match="Unicode"):
        encode_value("\ud800")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\x80\x04\x95", "not JSON"),
        ("", "not JSON"),
        ("[1]", "not JSON"),
        ("NaN", "not JSON"),
        ('{"format": "discreet table", "version": 1, "x": NaN}', "not JSON"),
        ("[" * 10**5, "not JSON"),
        ("{}", "not a table that discreet wrote"),
        ('{"format": "discreet release", "version": 1}', "not a table that discreet wrote"),
        ('{"format": "discreet table", "version": 2}', "another version"),
        ('{"format": "discreet table", "version": true}', "another version"),
    ],
)
def test_a_text_that_is_no_document_of_ours_is_refused_in_a_sentence(text, words):
    with pytest.raises(ValueError, match=words) as refused, read_document(text, "table", 1):
        pass
    assert str(refused.value).endswith(".")
    assert refused.value.__cause__ is None


def test_a_document_that_was_cut_is_refused_and_not_repeated():
    text = write_document("table", 1, {"columns": ["a"], "rows": "SECRET"})
    with (
        pytest.raises(ValueError, match="changed or cut") as refused,
        read_document(text, "table", 1) as body,
    ):
        raise KeyError(body["rows"])
    assert "SECRET" not in str(refused.value)
    with pytest.raises(TypeError, match="read the file first"), read_document(1, "table", 1):
        pass


def test_no_document_holds_nan():
    with pytest.raises(ValueError):
        write_document("table", 1, {"x": float("nan")})
    assert encode_value(float("nan")) == {"float": "nan"}


def test_dates_are_not_datetimes():
    assert through_json(date(2024, 2, 29)) == date(2024, 2, 29)
    assert type(through_json(datetime(2024, 2, 29))) is datetime
    assert through_json(Fraction(1, 3)) == Fraction(1, 3)
