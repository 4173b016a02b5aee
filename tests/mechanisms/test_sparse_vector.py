"""The sparse vector technique against its exact distribution."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
import pickle
import signal
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet import accounting, events, testing
from discreet.measures import PureDP
from discreet.mechanisms import AboveThreshold, SparseVector


def laplace(scale, reach=220):
    k = np.arange(-reach, reach + 1)
    mass = np.exp(-np.abs(k) / scale)
    return k, mass / mass.sum()


def outcomes(length, cutoff):
    """All lists of decisions that a stream of this length can give."""
    for decisions in itertools.product([False, True], repeat=length):
        above = list(itertools.accumulate(decisions))
        if above[-1] < cutoff or (above[-1] == cutoff and decisions[-1]):
            yield decisions
    for shorter in range(1, length):
        for decisions in itertools.product([False, True], repeat=shorter):
            if sum(decisions) == cutoff and decisions[-1]:
                yield decisions


def probability(answers, threshold, event, decisions):
    """That of one list of decisions: a sum over the threshold's noise."""
    z, weight = laplace(float(event.threshold_scale))
    k, mass = laplace(float(event.answer_scale), 900)
    tail = np.cumsum(mass[::-1])[::-1]  # P(noise >= k)
    for up, answer in zip(decisions, answers, strict=False):
        above = tail[(threshold + z - answer) - k[0]]
        weight = weight * (above if up else 1 - above)
    return float(weight.sum())


def distribution(answers, threshold, event):
    return {
        decisions: probability(answers, threshold, event, decisions)
        for decisions in outcomes(len(answers), event.cutoff)
    }


def largest_loss(event, monotone, length=3):
    worst = 0.0
    moves = [(0, 1)] * length if monotone else [(-1, 0, 1)] * length
    for answers in itertools.product((-14, 0, 14), repeat=length):
        here = distribution(answers, 1, event)
        assert sum(here.values()) == pytest.approx(1)
        for move in itertools.product(*moves):
            there = distribution(tuple(np.add(answers, move)), 1, event)
            worst = max(worst, *(abs(math.log(here[d] / there[d])) for d in here))
    return worst


@pytest.mark.parametrize("cutoff", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_neighbour_costs_more_than_epsilon(cutoff, monotone):
    mechanism = SparseVector("1.2", cutoff, monotone=monotone)
    event = mechanism.event()
    assert accounting.cost(event, PureDP) == PureDP("1.2")
    assert 0.5 * 1.2 < largest_loss(event, monotone) <= 1.2 + 1e-9
    if monotone:  # the factor 2 is needed for answers that move both ways
        decisions = (False,) * 20 + (True,) * cutoff
        here = (14,) * 20 + (-14,) * cutoff
        there = (15,) * 20 + (-15,) * cutoff
        chances = [probability(side, 1, event, decisions) for side in (here, there)]
        assert abs(math.log(chances[0] / chances[1])) > 1.2


@pytest.mark.parametrize("cutoff", [1, 2])
def test_decisions_follow_the_distribution_and_not_a_near_one(cutoff):
    answers, trials = (0, 2, -1, 1), 10_000
    mechanism = SparseVector(2, cutoff)
    with testing.fixed_noise(5):
        found = Counter(tuple(mechanism.run(answers, 1)) for _ in range(trials))
    right = distribution(answers, 1, mechanism.event())
    wrong = distribution(answers, 1, SparseVector("2.6", cutoff).event())
    keys = [key for key in right if right[key] * trials > 5]
    rest = trials - sum(found[key] for key in keys)

    def pvalue(expected):
        masses = [expected[key] * trials for key in keys]
        seen = [found[key] for key in keys]
        if trials - sum(masses) > 5:
            masses, seen = [*masses, trials - sum(masses)], [*seen, rest]
        return chisquare(seen, masses, sum_check=False).pvalue

    assert pvalue(right) > 1e-3
    assert pvalue(wrong) < 1e-5


def test_streaming_stops_at_the_cutoff():
    with testing.fixed_noise(1):
        stream = SparseVector(1000, 2).start(10)
        assert [stream.feed(answer) for answer in (0, 20, 3)] == [None, True, None]
        assert not stream.exhausted
        assert stream.feed(20) is True
        assert stream.exhausted
        with pytest.raises(RuntimeError, match="cutoff"):
            stream.feed(0)
        assert SparseVector(1000, 2).run([20, 0, 20, 20, 20], 10) == [True, False, True]
        assert AboveThreshold(1000).run([0, 0, 20, 20], 10) == 2
        assert AboveThreshold(1000).run([0, 0], 10) is None
        assert AboveThreshold(1000).run([], 10) is None


def test_numbers_have_a_budget_and_noise_of_their_own():
    mechanism = SparseVector(1, 3, numeric_epsilon="1/2")
    event = mechanism.event(2)
    assert accounting.cost(event, PureDP) == PureDP("3/2") == mechanism.measure
    assert event.events[1] == events.Repeat(events.DiscreteLaplace(12, 2), 3)
    with testing.fixed_noise(2):
        values = [SparseVector(100, 1, numeric_epsilon=1).start(0).feed(50) for _ in range(4000)]
    assert np.mean(values) == pytest.approx(50, abs=0.1)
    assert np.std(values) == pytest.approx(
        math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1)), rel=0.1
    )


def test_a_stream_can_not_be_copied():
    stream = SparseVector(1).start(0)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied"):
            act(stream)
    assert "left=1" in repr(stream)


@pytest.mark.parametrize("monotone", [False, True])
def test_the_split_of_the_budget_is_exact(monotone):
    for cutoff in (1, 7, 100):
        event = SparseVector("0.3", cutoff, monotone=monotone).event(4)
        assert accounting.cost(event, PureDP) == PureDP("0.3")


def test_the_promised_error_holds():
    mechanism, answers, level = SparseVector(1, 1), 20, 0.9
    alpha = mechanism.expected_error(answers, 1, level)
    assert AboveThreshold(1).expected_error(answers, 1, level) == alpha
    far = math.ceil(alpha)
    with testing.fixed_noise(8):
        below = sum(any(mechanism.run([-far] * answers, 0)) for _ in range(400))
        above = sum(mechanism.run([far], 0) == [False] for _ in range(400))
    assert below <= 40 + 3 * 6
    assert above <= 40


def test_bad_arguments():
    with pytest.raises(ValueError, match="cutoff"):
        SparseVector(1, 0)
    with pytest.raises(ValueError, match="epsilon"):
        SparseVector(0)
    with pytest.raises(ValueError, match="numeric_epsilon"):
        SparseVector(1, numeric_epsilon=0)
    with pytest.raises(TypeError):
        SparseVector(1).start(0).feed(0.5)
    with pytest.raises(ValueError, match="sensitivity"):
        SparseVector(1).start(0, 0)
    assert "cutoff=2" in repr(SparseVector(1, 2))
    assert "AboveThreshold" in repr(AboveThreshold(1))


def reports_of(act, threads):
    """What `act` returned in several threads at once; None where the stream was exhausted."""
    together, found = threading.Barrier(threads), []

    def work():
        together.wait()
        for _ in range(4):
            try:
                found.append(act())
            except RuntimeError:
                found.append(None)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


@pytest.mark.parametrize("numeric", [None, 1000])
def test_all_threads_together_report_no_more_than_the_cutoff(numeric):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            stream = SparseVector(1000, 2, numeric_epsilon=numeric).start(10)
            found = reports_of(lambda stream=stream: stream.feed(20), 4)
            assert sum(each is not None for each in found) == 2
            assert stream.exhausted
            with pytest.raises(RuntimeError, match="cutoff"):
                stream.feed(20)
    finally:
        sys.setswitchinterval(before)


def test_an_answer_that_feeds_the_stream_itself_can_not_pass_the_cutoff():
    stream = SparseVector(1000, 1).start(10)

    class Answer:
        def __index__(self):
            reported.append(stream.feed(20))
            return 20

    reported = []
    with pytest.raises(RuntimeError, match="cutoff"):
        reported.append(stream.feed(Answer()))
    assert reported == [True]
    assert stream.exhausted


def test_an_answer_fed_while_another_is_compared_is_refused(monkeypatch):
    """As a signal handler, or a finaliser, could do in the middle of a comparison."""
    from discreet import noise

    stream, reported = SparseVector(1000, 1).start(10), []
    honest = noise.discrete_laplace

    def interrupted(*arguments):
        monkeypatch.setattr(noise, "discrete_laplace", honest)
        reported.append(stream.feed(20))
        return honest(*arguments)

    monkeypatch.setattr(noise, "discrete_laplace", interrupted)
    with pytest.raises(RuntimeError, match="being compared"):
        stream.feed(20)
    assert reported == []
    assert stream.feed(20) is True  # nothing was reported, so nothing was used up
    assert stream.exhausted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.parametrize("held", [False, True])
def test_a_forked_child_has_no_share_in_a_stream(held):
    """Whether or not another thread of the parent was feeding it: the child neither reports nor waits."""
    stream = SparseVector(1000, 2).start(10)
    with stream._lock if held else contextlib.nullcontext():
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            told = stream.exhausted
            try:
                stream.feed(20)
            except RuntimeError as error:
                os._exit(0 if told and "forked" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
    assert [stream.feed(20), stream.feed(20)] == [True, True]
