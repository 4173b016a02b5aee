"""Attacks on masks of private rows in the wavelet domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Categorical, Real
from discreet.guarantees.draws import Floats, corner
from discreet.guarantees.told import ScoreOnly
from discreet.mechanisms import LaplaceDistribution
from discreet.publish.masks import (
    AngleEmbedding,
    ClampedSigmoid,
    WaveletApproximation,
    WaveletGaussian,
    WaveletLaplace,
)
from discreet.publish.masks.angles import EmbeddedRelease
from discreet.publish.masks.clamped_sigmoid import STEPS, SigmoidRelease
from discreet.publish.masks.plan import MaskedRows, MaskPlan, RowMask
from discreet.publish.masks.releases import AdditiveRelease
from discreet.publish.rows import ONE
from discreet.publish.wavelets import forward
from discreet.schema import Schema
from discreet.step import CodedRows
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Integers = npt.NDArray[np.int64]
Pair = tuple[Integers, Integers]

#: The codes of a lower and an upper bound.
_LOW, _HIGH = 0, 2**20


def numbers(columns: int) -> Schema:
    """Columns of numbers alone."""
    return Schema({f"x{j}": Real(0, 1) for j in range(columns)})


def one_row(plan: MaskPlan, columns: int) -> Pair:
    """Blocks that differ in the row that moves coefficients most, from all lower to all upper bounds.

    The other rows are in the middle of their ranges, so that coefficients are, too.
    """
    release: Any = plan.release
    kept = slice(0, getattr(release, "kept", None))
    place = int(np.argmax(release.transform.column_sums(kept)))
    first, second = (np.full((plan.block, columns), _HIGH // 2) for _ in range(2))
    first[place], second[place] = _LOW, _HIGH
    return first, second


def released(plan: MaskPlan) -> Callable[[Integers, int], Floats]:
    """The numbers of one block, masked many times."""

    def run(codes: Integers, trials: int) -> Floats:
        told = plan.blur_numbers(np.tile(codes, (trials, 1)))
        return told.reshape(trials, *codes.shape)

    return run


def _coefficients(plan: MaskPlan, pair: Pair) -> tuple[Integers, Integers]:
    """The true coefficients of both blocks, of shape (columns, rows), as the release computes them."""
    transform = plan.release.transform  # type: ignore[union-attr]
    units = [np.asarray((2 * codes.T - _HIGH) * ONE // _HIGH) for codes in pair]
    return transform.apply(units[0], ONE), transform.apply(units[1], ONE)


def _seen(plan: MaskPlan, outputs: Floats) -> Floats:
    """The coefficients of masked blocks, in the release's units."""
    transform = plan.release.transform  # type: ignore[union-attr]
    seen = forward(outputs, transform.bank, transform.levels, axis=1)
    return np.asarray(np.swapaxes(seen, 1, 2) * transform.factors)


def likelier(plan: MaskPlan, pair: Pair) -> Callable[[Floats], Floats]:
    """The logarithm of how much likelier an output is under the first block than under the second."""
    release = plan.release
    first, second = _coefficients(plan, pair)

    def score(outputs: Floats) -> Floats:
        seen = _seen(plan, outputs)
        if isinstance(release, SigmoidRelease):
            return _by_table(release, seen, first, second)
        true: tuple[Any, Any] = first, second
        scale: Any = 1.0
        if isinstance(release, EmbeddedRelease):  # with η = 1 all are sines
            one = release.transform.one
            seen = np.sin(math.pi / 4 + seen / (2 * ONE * one)) * one
            sines = [np.sin(math.pi / 4 + c / (2 * ONE * one)) * one for c in (first, second)]
            true = sines[0], sines[1]
        assert isinstance(release, AdditiveRelease | EmbeddedRelease)
        distribution = release.distribution
        if isinstance(release, AdditiveRelease) and release.kept is not None:
            seen = seen[..., : release.kept]
            true = first[..., : release.kept], second[..., : release.kept]
        if isinstance(distribution, LaplaceDistribution):
            scale = float(distribution.scale)
            nearer = np.abs(seen - true[1]) - np.abs(seen - true[0])
        else:
            nearer = (seen - true[1]) ** 2 - (seen - true[0]) ** 2
            scale = 2 * distribution.expected_error() ** 2
        return np.asarray(nearer.sum(axis=(1, 2)) / scale)

    return score


def _by_table(release: SigmoidRelease, seen: Floats, first: Integers, second: Integers) -> Floats:
    half = ONE * release.transform.one
    told = np.clip(np.rint((seen + half) / (2 * half / STEPS)), 0, STEPS).astype(int)
    logs = np.log(release.table.counts)
    a, b = (_steps(release, c) for c in (first, second))
    return np.asarray((logs[a, told] - logs[b, told]).sum(axis=(1, 2)))


def _steps(release: SigmoidRelease, coefficients: Integers) -> Integers:
    """The inputs of the table for these coefficients."""
    half = ONE * release.transform.one
    return np.asarray((np.clip(coefficients, -half, half) + half) * STEPS // (2 * half))


def corner_of(plan: MaskPlan, pair: Pair, claim: float) -> AuditResult:
    """The exact loss of the output beyond all true coefficients, for Laplace noise."""
    release = plan.release
    assert isinstance(release, AdditiveRelease)
    assert isinstance(release.distribution, LaplaceDistribution)
    first, second = (c[..., : release.kept] for c in _coefficients(plan, pair))
    moved = (second - first)[second != first]
    p, q = corner(moved.astype(np.float64), float(release.distribution.scale))
    title = f"a row of {first.shape[0]} columns: all {moved.size} coefficients beyond the true ones"
    return exact([p], [q], claim, title=title)


def charges(masks: tuple[RowMask, ...]) -> Iterator[AuditResult]:
    """Check that plans cost what they say, and that rows that come and go are refused."""
    schema = Schema(a=Real(0, 1), b=Real(-5, 5), c=Categorical(1, 2, 3), y=Categorical(0, 1))
    persons = Unit(REPLACE_ONE, id_column="person", max_rows=2)
    for mask in masks:
        plan = mask.plan(schema)
        good = satisfies(plan.event(), plan.measure)
        yield statement(f"the event of {mask}", "it costs no more", good, repr(plan.event()))
        for unit in (Unit(ADD_REMOVE), persons):
            try:
                MaskedRows(plan, 9).event(schema, unit)
                told = "it was not"
            except ValueError:
                told = "it was"
            yield statement(f"rows of {unit}", "publishing is refused", told == "it was", told)


def _cases(
    mask: RowMask, columns: int, claim: Any, trials: int = 20_000, reason: str = ""
) -> Iterator[Part]:
    plan = mask.plan(numbers(columns))
    pair = one_row(plan, columns)
    title = f"a row of {columns} columns, {mask}"
    told = ScoreOnly(released(plan), likelier(plan, pair))
    yield Case(title, told, pair, claim, trials, {"rounding": 1e-6}, reason=reason)


def whole_table(mask: RowMask) -> Callable[[Integers, int], Floats]:
    """All rows of a table, label included, published many times as the step behind the door does it."""
    schema = Schema(x=Real(0, 1), y=Categorical(0, 1))
    plan = mask.plan(schema)

    def run(codes: Integers, trials: int) -> Floats:
        step, coded = MaskedRows(plan, len(codes)), CodedRows(codes, ("x", "y"), schema)
        found = [step.run(coded) for _ in range(trials)]
        return np.array([np.concatenate([told["x"], told["y"]]) for told in found])

    return run


def _tables(mask: RowMask, epsilon: float) -> Case:
    pair = (np.array([[_HIGH, 1], [0, 0]]), np.array([[0, 0], [0, 0]]))
    title = f"a table of two rows and labels, {mask}"
    words = "published in random order, which hides more; single rows are attacked above"
    return Case(title, whole_table(mask), pair, epsilon, 600, reason=words)


@attack("wavelet-laplace")
def laplace() -> Iterator[Part]:
    yield from charges((WaveletLaplace(1, target="y"), WaveletLaplace("1/1000", order="position")))
    for epsilon, columns in ((1, 1), (2, 3)):
        mask = WaveletLaplace(epsilon)
        plan = mask.plan(numbers(columns))
        yield corner_of(plan, one_row(plan, columns), epsilon)
    yield from _cases(WaveletLaplace(2), 1, 2.0)
    yield from _cases(WaveletLaplace(4, block=27, levels=2), 1, 4.0)
    yield _tables(WaveletLaplace(2, target="y"), 2.0)


@attack("wavelet-gaussian")
def gaussian() -> Iterator[Part]:
    yield from charges((WaveletGaussian(1, target="y", delta="1/1000000"),))
    for delta in ("1/100", "1/10"):
        mask = WaveletGaussian(2, delta=delta)
        yield from _cases(mask, 3, mask.plan(numbers(3)).measure)


@attack("wavelet-approximation")
def approximation() -> Iterator[Part]:
    yield from charges((WaveletApproximation(1, target="y"),))
    mask = WaveletApproximation(2)
    plan = mask.plan(numbers(1))
    pair = one_row(plan, 1)
    yield corner_of(plan, pair, 2.0)
    yield from _cases(mask, 1, 2.0)
    yield dropped(plan, pair)


def dropped(plan: MaskPlan, pair: Pair) -> AuditResult:
    """Check that the detail bands, which are published without noise, are the same for all data."""
    kept = plan.release.kept  # type: ignore[union-attr]
    outputs = np.concatenate([released(plan)(codes, 50) for codes in pair])
    largest = float(np.abs(_seen(plan, outputs)[..., kept:]).max())
    size = largest / plan.release.transform.one / ONE  # type: ignore[union-attr]
    holds = size < 1e-6 * float(np.abs(outputs).max()) / ONE
    return statement("the detail bands of masks", "they are 0", holds, f"at most {size:.1g}")


@attack("angle-embedding")
def angles() -> Iterator[Part]:
    embedded = AngleEmbedding(2, variant="embedding", eta=1)
    yield from charges((AngleEmbedding(1, target="y"), AngleEmbedding(1, variant="embedding")))
    mask = AngleEmbedding(2)
    plan = mask.plan(numbers(1))
    yield corner_of(plan, one_row(plan, 1), 2.0)
    yield from _cases(mask, 1, 2.0)
    words = (
        "this row's loss is at most 1.63, spread over six sines: the worst of all together is rare"
    )
    yield from _cases(embedded, 1, 2.0, reason=words)
    yield _tables(AngleEmbedding(2, variant="embedding", eta=Fraction(1, 2), target="y"), 2.0)


@attack("clamped-sigmoid")
def clamped_sigmoid() -> Iterator[Part]:
    yield from charges((ClampedSigmoid(16, target="y"),))
    mask = ClampedSigmoid(4)
    plan = mask.plan(numbers(1))
    pair, release = one_row(plan, 1), plan.release
    assert isinstance(release, SigmoidRelease)
    counts = release.table.counts / 2.0**62
    loss = float(release.table.loss)
    ratios = np.abs(np.diff(np.log(release.table.counts), axis=0)).max(axis=1)
    worst = int(np.argmax(ratios))
    for start, steps in ((worst, 1), (0, 64), (0, STEPS)):
        title = f"a coefficient {steps} steps apart"
        yield exact(counts[start], counts[start + steps], steps * loss, title=title)
    yield worst_outputs(release, *_coefficients(plan, pair), 4.0)
    words = "the charge adds up the worst steps of all coefficients, and each is rare: exact above"
    yield from _cases(mask, 1, 4.0, reason=words)


def worst_outputs(
    release: SigmoidRelease, first: Integers, second: Integers, claim: float
) -> AuditResult:
    """The exact loss of a row where every coefficient has the output that tells most."""
    a, b = (_steps(release, c) for c in (first, second))
    logs = np.log(release.table.counts / 2.0**62)
    told = (logs[a] - logs[b]).argmax(axis=-1)
    p, q = (math.exp(np.take_along_axis(logs[c], told[..., None], -1).sum()) for c in (a, b))
    return exact([p], [q], claim, title="a row: every coefficient at its worst output")
