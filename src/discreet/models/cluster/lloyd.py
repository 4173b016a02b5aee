"""Private Lloyd: a few rounds of noised counts and sums per cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from discreet.measures import ApproxDP, Measure
from discreet.models.cluster.box import Floats
from discreet.models.cluster.starts import FEW, Ask, Space, Start
from discreet.models.shares import split
from discreet.queries import Additive

#: The part of the budget that a bought start gets.
_START = Fraction(3, 10)
#: How far, in [-1, 1], a centre may plausibly move in a round: a noisier step is shortened.
_STRIDE = 0.2


def count_weight(dimensions: int, measure: Measure) -> Fraction:
    """How much of a round's budget the count gets, as a weight against one sum's.

    With A = 4d·0.225² the weight A^(1/3) makes the squared error of a centre least for Laplace noise
    (Su et al. 2016, there as shares of ε); for Gaussian noise the same sum gives A^(1/4).
    """
    a = 4 * dimensions * 0.225**2
    gaussian = isinstance(measure, ApproxDP) and measure.delta
    return Fraction(round(1024 * a ** (1 / 4 if gaussian else 1 / 3)), 1024)


@final
@dataclass(frozen=True)
class Lloyd:
    """A start, then rounds: each asks for count and sums of the rows nearest to each centre."""

    space: Space
    start: Start
    rounds: int

    def queries(self) -> tuple[Additive, ...]:
        """All that is asked, in order; the centres in them are placeholders."""
        round_ = self.space.sums(np.zeros((self.space.clusters, self.space.dimensions)))
        return (*self.start.queries(self.space), *([round_] * self.rounds))

    def weights(self) -> list[Fraction]:
        """The shares of the budget: the start's, then growing ones for rounds: the last one stays."""
        asked = len(self.start.queries(self.space))
        begin = (_START if self.rounds else Fraction(1)) if asked else Fraction(0)
        total = self.rounds * (self.rounds + 1) // 2
        later = [(1 - begin) * Fraction(i + 1, total) for i in range(self.rounds)]
        return [*([begin / max(1, asked)] * asked), *later]

    def measures(self, measure: Measure) -> tuple[Measure, ...]:
        """What each answer may cost."""
        weights = self.weights()
        return split(measure, weights) if weights else ()

    def run(self, ask: Ask, draw: np.random.Generator) -> tuple[Floats, Floats]:
        """Centres in [-1, 1]^d, and the noised count of each in the last round."""
        centres = self.start.centres(self.space, ask, draw)
        counts = np.zeros(len(centres))
        for _ in range(self.rounds):
            release = ask(self.space.sums(centres))
            counts = release.value[:, 0]
            centres = move_centres(centres, release.value, release.stderr, draw)
        return centres, counts


def move_centres(centres: Floats, answer: Any, errors: Any, draw: np.random.Generator) -> Floats:
    """The centres after a round: noised means, pulled back to where they were as noise demands.

    All of it is post-processing: a mean with noise variance v moves a share s²/(s² + v) of the way,
    s being `_STRIDE`. A centre whose noised count could be that of no rows goes to the side of the
    fullest cluster that has not been given such a neighbour yet, in a random public direction.
    """
    d = centres.shape[1]
    counts = np.maximum(answer[:, 0], 1.0)[:, None]
    means = np.clip(answer[:, 1 : 1 + d] / counts, -1.0, 1.0)
    noise = (errors[:, 1 : 1 + d] ** 2 + means**2 * errors[:, :1] ** 2) / counts**2
    share = _STRIDE**2 / (_STRIDE**2 + noise)
    found = centres + share * (means - centres)
    empty = answer[:, 0] < np.maximum(1.0, FEW * errors[:, 0])
    full = [int(i) for i in np.argsort(-answer[:, 0], kind="stable") if not empty[i]]
    for place, index in enumerate(np.flatnonzero(empty)):
        if not full:
            found[index] = centres[index]
            continue
        step = np.asarray(draw.standard_normal(d))
        step *= _STRIDE / math.sqrt(float(step @ step))
        found[index] = np.clip(found[full[place % len(full)]] + step, -1.0, 1.0)
    return np.asarray(found)
