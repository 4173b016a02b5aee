"""Attacks on masked images."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.audit.exact import statement
from discreet.audit.losses import LossDistribution
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.columns import Real
from discreet.guarantees.fits import exact_losses
from discreet.measures import PureDP
from discreet.publish.imaging import ImageMask, MaskedImages
from discreet.publish.imaging.mask import LEVELS
from discreet.publish.wavelets import DAUBECHIES_4, THREE_BAND, forward
from discreet.schema import Schema
from discreet.step import CodedRows
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]


def worst_pair(mask: ImageMask) -> tuple[Floats, Floats]:
    """Two images that differ in what is protected, as far apart as trying all corners can find."""
    rows, columns = mask.patch
    height, width = mask.shape
    best, found = -1.0, (np.zeros(mask.shape), np.zeros(mask.shape))
    for start in range(height - rows + 1):
        for signs in itertools.product((-1.0, 1.0), repeat=rows):
            moved = np.zeros((height, width))
            moved[start : start + rows, :columns] = np.array(signs)[:, None]
            size = float(np.abs(_coefficients(mask, moved)).sum())
            if size > best:
                best, found = size, ((moved > 0).astype(np.float64), (moved < 0).astype(np.float64))
    return found


def _coefficients(mask: ImageMask, images: Floats) -> Floats:
    return images if mask.bank is None else np.asarray(forward(images, mask.bank, axis=-2))


def masks(mask: ImageMask) -> Callable[..., Floats]:
    """Masks of one image, many times."""

    def run(image: Floats, trials: int) -> Floats:
        found = mask.randomize(np.broadcast_to(image, (trials, *mask.shape)))
        return found.reshape(trials, -1)

    return run


def likelier(mask: ImageMask, pair: tuple[Floats, Floats]) -> Callable[[Floats], Floats]:
    """log P(output | first) - log P(output | second), up to rounding, for Laplace or Gaussian noise."""
    first, second = (_coefficients(mask, image) for image in pair)
    spread = mask.spread()
    laplace = not mask.delta or "Laplace" in type(mask.distribution).__name__

    def score(outputs: Floats) -> Floats:
        seen = _coefficients(mask, outputs.reshape(-1, *mask.shape))
        if laplace:
            loss = (np.abs(seen - second) - np.abs(seen - first)) * math.sqrt(2) / spread
        else:
            loss = ((seen - second) ** 2 - (seen - first) ** 2) / (2 * spread**2)
        return np.asarray(loss.sum(axis=(1, 2)))

    return score


def coefficient_losses(mask: ImageMask, pair: tuple[Floats, Floats]) -> LossDistribution | None:
    """The exact distribution of the noised integers that masks of two images are made from."""
    moved = (pair[0] - pair[1]).astype(np.int64) * LEVELS
    if mask.transform is not None:
        padding = mask.transform.dense.shape[1] - len(moved)
        moved = mask.transform.dense @ np.pad(moved, ((0, padding), (0, 0)))
    return exact_losses(mask.distribution, moved, np.zeros_like(moved))


def image_masks() -> tuple[ImageMask, ...]:
    """One of each: pixels and coefficients, pixel, rectangle and image, Laplace and Gaussian noise."""
    return (
        ImageMask((2, 3), epsilon=1, protects="pixel"),
        ImageMask((2, 2), epsilon=2, protects="image"),
        ImageMask((6, 2), epsilon=2, protects="pixel", bank=THREE_BAND),
        ImageMask((9, 2), epsilon=2, protects=(3, 1), bank=THREE_BAND),
        ImageMask((7, 1), epsilon=2, protects="image", bank=THREE_BAND),
        ImageMask((4, 2), epsilon=1, protects="pixel", bank=DAUBECHIES_4, bounds=(-1, 3)),
        ImageMask((6, 3), epsilon=1, delta="1/100", protects="image", bank=THREE_BAND),
    )


def distances() -> Iterator[AuditResult]:
    """Check that no pair of images is further apart than the noise is for, in integers."""
    for mask in image_masks():
        if mask.transform is None:
            continue
        matrix, (rows, columns) = mask.transform.dense, mask.patch
        moved = mask.sensitivity(mask.patch)
        signs = np.array(list(itertools.product((-1, 1), repeat=rows))).T
        l1, l2 = 0, 0
        for start in range(mask.shape[0] - rows + 1):
            found = matrix[:, start : start + rows] @ signs * LEVELS
            l1 = max(l1, columns * int(np.abs(found).sum(axis=0).max()))
            squares = max(sum(int(entry) ** 2 for entry in column) for column in found.T)
            l2 = max(l2, columns * squares)
        yield statement(
            f"{mask.shape} by {mask.bank!r}, protects {mask.protects!r}",
            "no two images are further apart",
            l1 <= moved.l1 and l2 <= moved.l2_squared,
            f"L1 {l1 / moved.l1:.3f}, squared L2 {l2 / moved.l2_squared:.3f} of what the noise is for",
            "all corners of the cube of images",
        )


@attack("masked-image")
def masked_image() -> Iterator[Part]:
    yield from distances()
    for mask in image_masks():
        good = satisfies(mask.event(), mask.measure)
        yield statement(
            f"the event of {mask.measure!r}", "it costs no more", good, repr(mask.event())
        )
        lower, upper = mask.bounds
        pair = worst_pair(mask)
        shown = tuple(lower + (upper - lower) * image for image in pair)
        scaled = ImageMask(
            mask.shape,
            epsilon=mask.epsilon,
            delta=mask.delta,
            protects=mask.protects,
            bank=mask.bank,
        )
        score = likelier(scaled, pair)
        title = f"{mask.shape}, protects {mask.protects!r}, {mask.measure!r}"
        options = {"score": _unscaled(score, lower, upper), "rounding": 1e-6}
        yield Case(
            title,
            masks(mask),
            shown,
            mask.measure,
            20_000,
            options,
            losses=coefficient_losses(mask, pair),
        )
    odd: Any = np.full((2, 3), math.nan), np.array([[0.5, 0.5, 0.5], [0.5, 0.5, math.inf]])
    words = "a pixel that is no number is taken for the middle, which is half as far from the ends"
    yield Case("pixels of any kind, ε = 1", masks(image_masks()[0]), odd, 1.0, 10_000, reason=words)


def _unscaled(
    score: Callable[[Floats], Floats], lower: float, upper: float
) -> Callable[[Floats], Floats]:
    return lambda outputs: score((outputs - lower) / (upper - lower))


def step(mask: ImageMask, rows: int) -> tuple[MaskedImages, Schema]:
    """The step behind the door, and a schema of pixels."""
    names = [f"p{place}" for place in range(mask.shape[0] * mask.shape[1])]
    schema = Schema({name: Real(*mask.bounds) for name in names})
    return MaskedImages(mask, schema, rows), schema


def tables(mask: ImageMask) -> Callable[..., Floats]:
    """Publish all images of a table of codes, many times."""

    def run(codes: npt.NDArray[np.int64], trials: int) -> Floats:
        made, schema = step(mask, len(codes))
        rows = CodedRows(codes, tuple(schema.base), schema)
        return np.array([made.run(rows).ravel() for _ in range(trials)])

    return run


def either(mask: ImageMask) -> Callable[[Floats], Floats]:
    """The log-ratio for one white image among black ones, at an unknown place."""
    score = likelier(mask, (np.ones(mask.shape), np.zeros(mask.shape)))

    def mean(outputs: Floats) -> Floats:
        losses = score(outputs.reshape(-1, *mask.shape)).reshape(len(outputs), -1)
        return np.asarray(np.log(np.exp(losses).mean(axis=1)))

    return mean


def refused() -> Iterator[AuditResult]:
    """Check that images are not published where their number is private."""
    made, schema = step(image_masks()[1], 2)
    for unit in (Unit(ADD_REMOVE), Unit(REPLACE_ONE, id_column="person", max_rows=2)):
        try:
            made.event(schema, unit)
            told = "it was not"
        except ValueError:
            told = "it was"
        yield statement(f"images of {unit}", "publishing them is refused", told == "it was", told)


@attack("published-images")
def published_images() -> Iterator[Part]:
    yield from refused()
    for mask in image_masks():
        made, schema = step(mask, 2)
        event = made.event(schema, Unit(REPLACE_ONE))
        whole = mask.patch == mask.shape
        fits = satisfies(event, mask.measure)  # anything smaller than an image costs a person more
        yield statement(
            f"the charge for {mask.shape}, protects {mask.protects!r}",
            "it is that of whole images",
            fits is whole,
            repr(event),
        )
    pixel = ImageMask((2, 2), epsilon=1, protects="pixel")
    made, schema = step(pixel, 2)
    event = made.event(schema, Unit(REPLACE_ONE))
    exact = satisfies(event, PureDP(4)) and not satisfies(event, PureDP("3.99"))
    yield statement("four pixels at ε = 1 each", "a person is charged ε = 4", exact, repr(event))
    top = 2**20
    pair: Any = np.array([[top] * 4, [0] * 4]), np.array([[0] * 4, [0] * 4])
    soft = ImageMask((2, 2), epsilon=2, delta="1/100", protects="image")
    words = (
        "published in random order, which hides more; single images are attacked as masked-image"
    )
    for mask in (image_masks()[1], soft):
        title = f"two images, one of them another, {mask.measure!r}"
        options = {"score": either(mask), "rounding": 1e-6}
        yield Case(title, tables(mask), pair, mask.measure, 3_000, options, reason=words)
