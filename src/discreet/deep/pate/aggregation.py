"""From votes to labels: the class with the most votes, after noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from discreet import events, noise
from discreet.mechanisms.distributions import drawable_scale
from discreet.rational import Number, as_integer, positive

__all__ = ["Aggregation", "ConfidentGNMax", "GNMax", "LNMax", "Plurality"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The label of a question that was not answered.
UNANSWERED = -1
#: How many scales beyond the votes a noisy count is looked at where probabilities are summed.
_REACH = 9


class Aggregation(ABC):
    """How the votes of teachers become labels.

    Privacy
    -------
    All that is released about the votes on one question, and all that is charged for, is said by `event`.
    One person changes the votes of at most `changed` teachers, each on every question: in the counts of
    one question every such teacher takes one from a class and gives one to another. Ties go to the class
    declared first, by a rule that doesn't look at the votes. Proof page: ``docs/proofs/pate.md``.
    """

    @abstractmethod
    def event(self, questions: int, changed: int = 1) -> events.Event:
        """What answering this many questions is, for the accountant."""

    @abstractmethod
    def run(self, counts: Integers) -> Integers:
        """The labels of questions, given the counts of votes by question and class; -1: not answered."""

    @abstractmethod
    def probabilities(self, counts: Integers) -> Floats:
        """The probabilities of all outcomes by question: of each class, and of no answer last."""


@final
@dataclass(frozen=True)
class Plurality(Aggregation):
    """The class with the most votes, without noise: for rows that anyone may see, and nobody else."""

    def event(self, questions: int, changed: int = 1) -> events.Event:
        return events.Compose()

    def run(self, counts: Integers) -> Integers:
        return np.asarray(counts.argmax(axis=1), np.int64)

    def probabilities(self, counts: Integers) -> Floats:
        classes = np.arange(counts.shape[1] + 1)
        return np.asarray(classes == counts.argmax(axis=1)[:, None], np.float64)


@final
@dataclass(frozen=True)
class LNMax(Aggregation):
    """The class with the most votes after discrete Laplace noise of `scale` on each count.

    Privacy
    -------
    2·changed/scale of pure DP for each question (Papernot, Abadi, Erlingsson, Goodfellow & Talwar 2017,
    Section 3.2). Proof page: ``docs/proofs/pate.md``.
    """

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", drawable_scale(positive(scale, "scale")))

    def event(self, questions: int, changed: int = 1) -> events.Event:
        return events.Repeat(events.DiscreteLaplace(self.scale, 2 * changed), questions)

    def run(self, counts: Integers) -> Integers:
        noisy = counts + noise.discrete_laplace(self.scale, counts.shape)
        return np.asarray(noisy.argmax(axis=1), np.int64)

    def probabilities(self, counts: Integers) -> Floats:
        scale = float(self.scale)
        return _first_of(counts, lambda k: _laplace_upto(k, scale), 5 * _REACH * scale)


@final
@dataclass(frozen=True)
class GNMax(Aggregation):
    """The class with the most votes after rounded Gaussian noise of `sigma` on each count.

    Privacy
    -------
    Post-processing of a Gaussian mechanism with squared L2 sensitivity 2·changed² for each question
    (Papernot, Song, Mironov, Raghunathan, Talwar & Erlingsson 2018, Section 4.1). Proof page:
    ``docs/proofs/pate.md``.
    """

    sigma: Fraction

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", drawable_scale(positive(sigma, "sigma")))

    def event(self, questions: int, changed: int = 1) -> events.Event:
        return events.Repeat(events.Gaussian(self.sigma, 2 * changed**2), questions)

    def run(self, counts: Integers) -> Integers:
        noisy = counts + noise.rounded_gaussian(self.sigma, counts.shape)
        return np.asarray(noisy.argmax(axis=1), np.int64)

    def probabilities(self, counts: Integers) -> Floats:
        sigma = float(self.sigma)
        return _first_of(counts, lambda k: ndtr((k + 0.5) / sigma), _REACH * sigma)


@final
@dataclass(frozen=True)
class ConfidentGNMax(Aggregation):
    """`GNMax` for the questions on which enough teachers agree, `max_answers` of them at most.

    Questions are taken in their order. The largest count gets noise of `check_sigma`; if it reaches
    `threshold`, the class with the largest count after fresh noise of `sigma` is the label. After
    `max_answers` labels no question is looked at any more.

    Privacy
    -------
    Every question is charged for its check, a Gaussian mechanism of sensitivity `changed`, and
    `max_answers` of them for an answer as in `GNMax`, whatever the votes (Papernot et al. 2018,
    Algorithm 1). Which questions are answered is part of what is released. Proof page:
    ``docs/proofs/pate.md``.
    """

    threshold: int
    check_sigma: Fraction
    sigma: Fraction
    max_answers: int

    def __init__(
        self, threshold: int, check_sigma: Number, sigma: Number, max_answers: int
    ) -> None:
        object.__setattr__(self, "threshold", as_integer(threshold, "threshold"))
        object.__setattr__(
            self, "check_sigma", drawable_scale(positive(check_sigma, "check_sigma"))
        )
        object.__setattr__(self, "sigma", drawable_scale(positive(sigma, "sigma")))
        object.__setattr__(self, "max_answers", as_integer(max_answers, "max_answers", minimum=1))

    def event(self, questions: int, changed: int = 1) -> events.Event:
        check = events.Gaussian(self.check_sigma, changed**2)
        answers = GNMax(self.sigma).event(min(self.max_answers, questions), changed)
        return events.Compose(events.Repeat(check, questions), answers)

    def run(self, counts: Integers) -> Integers:
        checked = counts.max(axis=1) + noise.rounded_gaussian(self.check_sigma, len(counts))
        answered = np.flatnonzero(checked >= self.threshold)[: self.max_answers]
        labels = np.full(len(counts), UNANSWERED, np.int64)
        labels[answered] = GNMax(self.sigma).run(counts[answered])
        return labels

    def probabilities(self, counts: Integers) -> Floats:
        # the rounded noise reaches an integer t if the normal variate reaches t - 1/2
        short = (self.threshold - counts.max(axis=1) - 0.5) / float(self.check_sigma)
        found = GNMax(self.sigma).probabilities(counts)
        found *= ndtr(-short)[:, None]
        found[:, -1] = ndtr(short)
        return found


def _first_of(counts: Integers, upto: Callable[[Integers], Floats], reach: float) -> Floats:
    """The probabilities that each noisy count is the largest, ties to the first; and 0 for no answer.

    Parameters
    ----------
    counts : by question and class
    upto : callable
        P(K <= k) of the noise, which is symmetric.
    reach : float
        Values farther than this beyond all counts are left out.

    Notes
    -----
    Class i is the first of the largest if its value is v, those before it are at most v - 1, and those
    after it at most v; v is summed over. Small probabilities keep their digits: each factor is taken from
    the lower tail, or has no need of it.
    """
    low = int(counts.min()) - int(np.ceil(reach)) - 1
    high = int(counts.max()) + int(np.ceil(reach)) + 1
    offset = low - int(counts.max())  # the smallest value of the noise that is looked at
    noise_at = np.arange(offset - 1, high - int(counts.min()) + 1)
    at_most = upto(noise_at)
    # from the nearer tail
    exactly = np.where(
        noise_at > 0, upto(-noise_at) - upto(-noise_at - 1), at_most - upto(noise_at - 1)
    )
    place = np.arange(high - low + 1)[None, :] + (counts.max() - counts)[..., None] + 1
    before = np.cumprod(at_most[place - 1], axis=1)  # at most v - 1: classes up to each
    after = np.cumprod(at_most[place][:, ::-1], axis=1)[:, ::-1]
    found = np.zeros((len(counts), counts.shape[1] + 1))
    equal = exactly[place]
    equal[:, 1:] *= before[:, :-1]
    equal[:, :-1] *= after[:, 1:]
    found[:, :-1] = equal.sum(axis=2)
    return found


def _laplace_upto(k: Integers, scale: float) -> Floats:
    """P(K <= k) of discrete Laplace noise: q^|k|/(1 + q) below 0, q = e^(-1/scale)."""
    q = np.exp(-1 / scale)
    tail = np.exp(np.minimum(k, 0) / scale) / (1 + q)
    return np.asarray(np.where(k < 0, tail, 1 - q * np.exp(-np.maximum(k, 0) / scale) / (1 + q)))
