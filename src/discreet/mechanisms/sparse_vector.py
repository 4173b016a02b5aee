"""The sparse vector technique: which answers of a stream reach a threshold."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from fractions import Fraction
from operator import index
from typing import NoReturn, final

from discreet import events, noise
from discreet.measures import PureDP
from discreet.mechanisms.additive import Mechanism
from discreet.mechanisms.distributions import LaplaceDistribution, drawable_scale
from discreet.rational import Number, as_integer, positive

__all__ = ["AboveThreshold", "SparseVector", "SparseVectorStream"]


@final
class SparseVector(Mechanism):
    """Report for integer answers, one by one, whether they reach a threshold; stop after `cutoff` that do.

    Answers below the threshold cost nothing, however many there are.

    Parameters
    ----------
    epsilon : number
        What all the decisions together cost.
    cutoff : int
        How many answers may be reported above before the stream ends.
    monotone : bool
        Whether all answers move in the same direction between neighbours.
    numeric_epsilon : number, optional
        A budget of its own for fresh noisy values of the answers reported above, shared by `cutoff`.

    Privacy
    -------
    Pure (ε + numeric ε)-DP if no answer moves by more than `sensitivity`; answers may be chosen after
    seeing what was reported before. This is the version that Lyu, Su & Li 2017 (Algorithm 7) prove:
    the threshold's noise is drawn once, each answer's noise grows with `cutoff`, and a released number
    has noise of its own, never that of the comparison. Event: `events.SparseVector`, with
    `events.DiscreteLaplace` for the numbers. Proof page: ``docs/proofs/selection.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> watch = mechanisms.SparseVector(epsilon=1, cutoff=2)
    >>> watch.run([3, 800, 5, 900, 4], threshold=400)  # ends with the second one above
    [False, True, False, True]
    """

    _use = "it compares a stream of answers with a threshold, by its own start"

    def __init__(
        self,
        epsilon: Number,
        cutoff: int = 1,
        *,
        monotone: bool = False,
        numeric_epsilon: Number | None = None,
    ) -> None:
        self.epsilon = positive(epsilon, "epsilon")
        self.cutoff = as_integer(cutoff, "cutoff", minimum=1)
        self.monotone = monotone
        self.numeric_epsilon = (
            None if numeric_epsilon is None else positive(numeric_epsilon, "numeric_epsilon")
        )
        self.measure: PureDP = PureDP(self.epsilon + (self.numeric_epsilon or 0))

    def scales(self, sensitivity: int = 1) -> tuple[Fraction, Fraction]:
        """The scales of the noise on the threshold and on each answer.

        The budget is split as 1 : (2·cutoff)^(2/3), without the 2 if monotone: the least variance of
        the comparison (Lyu, Su & Li 2017, Section 4.2). Any split is private.
        """
        moved = as_integer(sensitivity, "sensitivity", minimum=1)
        times = self.cutoff * (1 if self.monotone else 2)
        share = Fraction(round(times ** (2 / 3) * 1024), 1024)
        threshold_epsilon = self.epsilon / (1 + share)
        answers_epsilon = self.epsilon - threshold_epsilon
        return (
            drawable_scale(moved / threshold_epsilon),
            drawable_scale(times * moved / answers_epsilon),
        )

    def event(self, sensitivity: int = 1) -> events.Event:
        """The event of a whole stream, for the accountant; charge it before the first answer."""
        threshold_scale, answer_scale = self.scales(sensitivity)
        decisions = events.SparseVector(
            threshold_scale, answer_scale, self.cutoff, sensitivity, self.monotone
        )
        if self.numeric_epsilon is None:
            return decisions
        number = events.DiscreteLaplace(self._numeric_scale(sensitivity), sensitivity)
        return events.Compose(decisions, events.Repeat(number, self.cutoff))

    def _numeric_scale(self, sensitivity: int) -> Fraction:
        assert self.numeric_epsilon is not None
        return drawable_scale(self.cutoff * sensitivity / self.numeric_epsilon)

    def start(self, threshold: int, sensitivity: int = 1) -> SparseVectorStream:
        """Start a stream with fresh noise on its threshold, which is a public integer."""
        scales = self.scales(sensitivity)
        numeric = None if self.numeric_epsilon is None else self._numeric_scale(sensitivity)
        return SparseVectorStream(threshold, *scales, self.cutoff, numeric)

    def run(self, answers: Iterable[int], threshold: int, sensitivity: int = 1) -> list[bool]:
        """The decisions on a list of answers, until `cutoff` ends them."""
        stream = self.start(threshold, sensitivity)
        decisions: list[bool] = []
        for answer in answers:
            if stream.exhausted:
                break
            decisions.append(stream.feed(answer) is not None)
        return decisions

    def expected_error(self, answers: int, sensitivity: int = 1, level: float = 0.95) -> float:
        """The margin α such that, with probability `level`, all of `answers` decisions are right beyond it.

        Then each answer of at least threshold + α is reported, and none below threshold - α: α is a
        bound on the threshold's noise plus one on all the answers' noise, half of the risk each.
        """
        count = as_integer(answers, "answers", minimum=1)
        risk = (1 - level) / 2
        threshold_scale, answer_scale = self.scales(sensitivity)
        each = -math.expm1(math.log1p(-risk) / count)
        return (
            LaplaceDistribution(threshold_scale).half_width(1 - risk)
            + LaplaceDistribution(answer_scale).half_width(1 - each)
            + 1
        )

    def __repr__(self) -> str:
        return f"SparseVector({self.measure!r}, cutoff={self.cutoff}, monotone={self.monotone})"


@final
class AboveThreshold(Mechanism):
    """Report which answer of a stream is the first to reach a threshold: `SparseVector` with cutoff 1.

    Privacy
    -------
    As `SparseVector` (Dwork & Roth 2014, Theorem 3.23). Proof page: ``docs/proofs/selection.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> alarm = mechanisms.AboveThreshold(epsilon=1)
    >>> alarm.run([3, 8, 5, 900, 4], threshold=400)  # the first day with more than 400 cases
    3
    """

    _use = "it compares a stream of answers with a threshold, by its own start"

    def __init__(self, epsilon: Number, *, monotone: bool = False) -> None:
        self._vector = SparseVector(epsilon, monotone=monotone)
        self.measure: PureDP = self._vector.measure

    def event(self, sensitivity: int = 1) -> events.Event:
        """The event of a whole stream, for the accountant."""
        return self._vector.event(sensitivity)

    def run(self, answers: Iterable[int], threshold: int, sensitivity: int = 1) -> int | None:
        """The index of the first answer reported above the threshold; None if there is none."""
        decisions = self._vector.run(answers, threshold, sensitivity)
        return len(decisions) - 1 if decisions and decisions[-1] else None

    def expected_error(self, answers: int, sensitivity: int = 1, level: float = 0.95) -> float:
        """The margin α, as for `SparseVector`."""
        return self._vector.expected_error(answers, sensitivity, level)

    def __repr__(self) -> str:
        return f"AboveThreshold({self.measure!r})"


@final
class SparseVectorStream:
    """One run of `SparseVector`; made by `SparseVector.start`.

    It can't be copied or pickled, nor used in a forked process: two copies would share the threshold's noise
    and have two cutoffs. Threads may share it: `cutoff` holds for all of them together.
    """

    def __init__(
        self,
        threshold: int,
        threshold_scale: Fraction,
        answer_scale: Fraction,
        cutoff: int,
        numeric_scale: Fraction | None,
    ) -> None:
        self._noisy = index(threshold) + noise.discrete_laplace(threshold_scale)
        self._answer_scale = answer_scale
        self._numeric_scale = numeric_scale
        self._left = cutoff
        self._owner = noise.entropy.current_process()
        # a second call of one thread (in a signal handler, say) must fail, not wait for itself
        self._lock, self._is_comparing = threading.RLock(), False

    @property
    def exhausted(self) -> bool:
        """Whether no more is accepted: `cutoff` answers were reported above, or this is a forked process."""
        return self._left <= 0 or self._owner != noise.entropy.current_process()

    def feed(self, answer: int) -> int | bool | None:
        """Compare an answer: None if reported below; else True, or a noisy value if numbers were paid for."""
        value = index(answer)  # may run the caller's code: before anything is looked at
        if self._owner != noise.entropy.current_process():
            raise RuntimeError(
                "a sparse vector stream can't be used in a forked process: its reports are paid for once; "
                "start another, and pay."
            )
        with self._lock:
            if self._is_comparing:
                raise RuntimeError(
                    "another answer of this thread is being compared: feed answers one by one."
                )
            self._is_comparing = True
            try:
                return self._compare(value)
            finally:
                self._is_comparing = False

    def _compare(self, value: int) -> int | bool | None:
        if self.exhausted:
            raise RuntimeError("this stream has reported `cutoff` answers: start another, and pay.")
        if value + noise.discrete_laplace(self._answer_scale) < self._noisy:
            return None
        self._left -= 1
        if self._numeric_scale is None:
            return True
        return value + noise.discrete_laplace(self._numeric_scale)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a sparse vector stream can't be copied or stored: its noise is used once.")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse

    def __repr__(self) -> str:
        return f"SparseVectorStream(left={self._left})"
