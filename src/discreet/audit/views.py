"""Which scores fit the outputs of a mechanism: by their form, their values, their numbers, their low bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.samples import Reader, Sample
from discreet.audit.scores import (
    MIN_RUNS,
    Classifier,
    Given,
    Likelihood,
    Medians,
    Patterns,
    Table,
    View,
    build_forest,
    build_linear,
    find_words,
    tame,
)

__all__ = ["reader_of", "views_for"]

Floats = npt.NDArray[np.float64]

#: Outputs with up to this many numbers are looked at number by number, and by a forest.
_FEW = 16
_MAX_FOR_FOREST = 40
_MAX_FOR_LINEAR = 2_000
#: Classifiers are trained on at least this many runs.
_MIN_FOR_LINEAR, _MIN_FOR_FOREST = 100, 1000


def low_bits(values: Floats) -> npt.NDArray[np.int64]:
    """For each double its exponent and the position of its lowest set bit, as one number.

    Which doubles can be reached depends on the input of textbook noise (Mironov 2012).
    """
    mantissa, exponent = np.frexp(np.abs(values))
    finite = np.isfinite(values) & (values != 0)
    words = np.where(finite, np.ldexp(np.where(finite, mantissa, 0.5), 53), 1.0).astype(np.int64)
    lowest = (words & -words).astype(np.float64)
    place = exponent.astype(np.int64) - 53 + np.log2(lowest).astype(np.int64)
    code = (exponent.astype(np.int64) + 2000) * 10_000 + place + 5000
    return np.where(finite, code, -1)


def low_bits_in_words(values: Floats) -> npt.NDArray[Any]:
    """The same, in words."""
    code = low_bits(values)
    exponent, place = code // 10_000 - 2000, code % 10_000 - 5000
    words = [
        f"below 2^{e} with lowest bit 2^{p}" if c >= 0 else "zero or not finite"
        for c, e, p in zip(code.tolist(), exponent.tolist(), place.tolist(), strict=True)
    ]
    return np.array(words, dtype=object)


def _number(sample: Sample, reader: Reader, index: int) -> Floats:
    """One number of each output; NaN where an output has more or fewer."""
    where, rows = sample.numbers(reader)
    values = np.full(len(sample), np.nan)
    values[where] = rows[:, index]
    return values


def reader_of(here: Sample, there: Sample) -> Reader | None:
    """How to read the numbers of most outputs; None if these have none, or too few runs have them."""
    counts = here.width_counts() + there.width_counts()
    width = max(counts, key=lambda found: (counts[found], found))
    if not width or min(here.width_counts()[width], there.width_counts()[width]) < MIN_RUNS:
        return None
    return Reader(here.origin(width))


def views_for(here: Sample, there: Sample, quick: bool = False) -> list[View]:
    """The ways of looking that fit these outputs; without trained classifiers if `quick`."""
    views: list[View] = []
    if len(here.form_counts() + there.form_counts()) > 1:
        views.append(Table("form", lambda sample: sample.form_texts()))
    if _comes_again(here, there):
        views.append(Table("value", lambda s: s.marks, lambda s: s.shown))
    reader = reader_of(here, there)
    if reader is None:
        return views or [Table("value", lambda s: s.marks, lambda s: s.shown)]
    width = reader.width
    views.append(Likelihood("likelihood ratio", reader))
    views.append(Medians("medians", reader))
    if width > 1 and _mixes_words_and_numbers(here, reader):
        views.append(Patterns("pattern", reader))
    for index in _farthest(here, there, reader):
        name = "the output" if width == 1 else f"number {index} of the output"
        views.append(Given(name, reader, _column(index), reader.origin[index]))
    if width > 1:
        views.append(Given("the sum of the output", reader, lambda rows: rows.sum(axis=1)))
        views.append(Given("the spread of the output", reader, lambda rows: np.ptp(rows, axis=1)))
    views += _bit_views(here, reader)
    if quick:
        return views
    if 1 < width <= _MAX_FOR_LINEAR and len(here) >= _MIN_FOR_LINEAR:
        views.append(Classifier("linear classifier", reader, build_linear, 20_000))
    if 1 < width <= _MAX_FOR_FOREST and len(here) >= _MIN_FOR_FOREST:
        views.append(Classifier("boosted trees", reader, build_forest, 20_000))
    return views


def _farthest(here: Sample, there: Sample, reader: Reader) -> list[int]:
    """The numbers that inputs move most, relative to their spread in early runs: all if they are few."""
    if reader.width <= _FEW:
        return list(range(reader.width))
    sides = [tame(side.part(0, len(side) // 2).numbers(reader)[1]) for side in (here, there)]
    if not all(len(side) for side in sides):
        return list(range(_FEW))
    first, second = (np.median(side, axis=0) for side in sides)
    spread = np.abs(sides[0] - first).mean(axis=0) + np.abs(sides[1] - second).mean(axis=0)
    apart = np.abs(first - second) / np.maximum(spread, 1e-300)
    return sorted(np.argsort(-apart, kind="stable")[:_FEW].tolist())


def _column(index: int) -> Callable[[Floats], Floats]:
    return lambda rows: rows[:, index]


def _bit_views(here: Sample, reader: Reader) -> list[View]:
    """The lowest bits of the first numbers that are not whole."""
    views: list[View] = []
    _, rows = here.part(0, 200).numbers(reader)
    for index in range(min(reader.width, 4)):
        if len(rows) and (rows[:, index] != np.floor(rows[:, index])).any():
            name = "size" if reader.width == 1 else f"size of number {index}"
            views.append(
                Table(
                    name,
                    lambda s, index=index: low_bits(_number(s, reader, index)),  # type: ignore[misc]
                    lambda s, index=index: low_bits_in_words(_number(s, reader, index)),  # type: ignore[misc]
                )
            )
    return views


def _comes_again(here: Sample, there: Sample) -> bool:
    """Whether some outputs come again, so that a table of them can learn something."""
    marks = np.concatenate([here.marks[:5000], there.marks[:5000]])
    return len(np.unique(marks)) < len(marks)


def _mixes_words_and_numbers(sample: Sample, reader: Reader) -> bool:
    """Whether some number often takes a certain value, and otherwise many others."""
    rows = sample.part(0, 2000).numbers(reader)[1]
    if reader.width > _FEW or len(rows) < MIN_RUNS:
        return False
    words = find_words(rows)
    return any(len(w) and not np.isin(c, w).all() for c, w in zip(rows.T, words, strict=True))
