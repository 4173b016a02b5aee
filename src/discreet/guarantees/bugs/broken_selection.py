"""Broken variants of the sparse vector technique, numbered as by Lyu, Su & Li 2017.

Answers are integers of sensitivity 1 and the threshold is 0. A row of the result is one run: 1 for
*above*, 0 for *below*, `STOPPED` after the end.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.guarantees.bugs.broken_noise import STREAM, Integers, integer_laplace

Answers = npt.ArrayLike

#: What stands for answers that were no longer looked at.
STOPPED = -1
#: What stands for *below* where *above* is reported as a number; twice this for what was not looked at.
BELOW = -(10**6)


def variant_3(answers: Answers, trials: int, *, epsilon: float, cutoff: int) -> Integers:
    """Algorithm 3: an answer above is reported as the noisy number that was compared.

    That number reveals that the noisy threshold lies below it.
    """
    noisy = np.asarray(answers) + integer_laplace(2 * cutoff / epsilon, (trials, np.size(answers)))
    above = noisy >= _threshold(2 / epsilon, trials)
    told = np.where(above, noisy, BELOW)
    return np.where(_stopped(above, cutoff), 2 * BELOW, told)


def variant_4(answers: Answers, trials: int, *, epsilon: float, cutoff: int) -> Integers:
    """Algorithm 4: the noise of the answers doesn't grow with the cutoff; ε is split as 1 : 3."""
    scale = 4 / (3 * epsilon)
    noisy = np.asarray(answers) + integer_laplace(scale, (trials, np.size(answers)))
    above = noisy >= _threshold(4 / epsilon, trials)
    return np.where(_stopped(above, cutoff), STOPPED, above)


def variant_5(answers: Answers, trials: int, *, epsilon: float) -> Integers:
    """Algorithm 5: the threshold is noisy, the answers are not, and there is no end."""
    above = np.asarray(answers)[None] >= _threshold(2 / epsilon, trials)
    return above.astype(np.int64)


def variant_6(answers: Answers, trials: int, *, epsilon: float) -> Integers:
    """Algorithm 6: noise as for one answer above, and no end."""
    noisy = np.asarray(answers) + integer_laplace(2 / epsilon, (trials, np.size(answers)))
    return (noisy >= _threshold(2 / epsilon, trials)).astype(np.int64)


def _threshold(scale: float, trials: int) -> Integers:
    return integer_laplace(scale, (trials, 1))


def _stopped(above: npt.NDArray[np.bool_], cutoff: int) -> npt.NDArray[np.bool_]:
    """Where a run has already reported `cutoff` answers above."""
    return np.asarray((np.cumsum(above, axis=1) - above) >= cutoff)


def noisy_max_with_its_value(scores: Answers, trials: int, *, epsilon: float) -> Integers:
    """The index of the largest score plus geometric noise, *and* that sum, at the price of the index.

    The noise is one-sided, which is enough for the index: the sum is never below the largest score.
    """
    values = np.asarray(scores)
    p = -math.expm1(-epsilon / 2)
    noisy = values + STREAM.geometric(p, (trials, values.size)) - 1
    return np.stack([noisy.argmax(axis=1), noisy.max(axis=1)], axis=1)
