"""The auditor itself: safe on what is private, strong on what is not, and clear about what it saw."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import audit, noise, testing
from discreet.queries import MomentsValue


def laplace(scale):
    return lambda value, trials: value + noise.discrete_laplace(scale, trials)


@pytest.mark.parametrize("kind", ["whole numbers", "reals", "vectors", "texts"])
def test_identical_inputs_are_rarely_called_violated(kind):
    """1000 audits in all at 99 %: at most 20 false alarms, shared out among the kinds."""
    random = np.random.default_rng(5)

    def whole(_, trials):
        return random.integers(4, size=trials)

    def reals(_, trials):
        return random.normal(size=trials)

    def vectors(_, trials):
        return random.normal(size=(trials, 2))

    def texts(_):
        return "abc"[: random.integers(4)]

    mechanism = {"whole numbers": whole, "reals": reals, "vectors": vectors, "texts": texts}[kind]
    audits, alarms = (100, 2) if kind == "vectors" else (300, 6)
    results = [audit.audit(mechanism, (0, 0), 0.0, trials=400) for _ in range(audits)]
    assert sum(result.is_violated for result in results) <= alarms


def test_a_coin_with_a_small_bias_is_not_mistaken_for_a_fair_one():
    """The negative control of the null calibration: the same audits with a little signal."""
    random = np.random.default_rng(6)

    def biased(shift, trials):
        return random.random(trials) < 0.5 + shift

    results = [audit.audit(biased, (0.0, 0.3), 0.0, trials=1000) for _ in range(20)]
    assert sum(result.is_violated for result in results) == 20


def test_it_is_strong_on_laplace_noise():
    with testing.fixed_noise(1):
        result = audit.audit(laplace(1), (0, 1), 1.0, trials=1_000_000)
    assert 0.9 <= result.floor <= 1.0
    assert result.verdict == "consistent"
    assert result.trials == 2_000_000


def test_it_is_strong_on_gaussian_noise_as_a_trade_off():
    def gaussian(value, trials):
        return 1000 * value + noise.rounded_gaussian(1000, trials)

    with testing.fixed_noise(2):
        result = audit.audit(gaussian, (0, 1), dp.GaussianDP(1), trials=1_000_000)
        weak = audit.audit(gaussian, (0, 1), dp.GaussianDP("0.8"), trials=200_000)
    assert 0.9 <= result.floor <= 1.0
    assert weak.is_violated


EVENT = dp.events.DiscreteLaplace(1, 1)
CLAIMS = [
    (dp.PureDP(1), dp.PureDP("0.9")),
    (dp.accounting.epsilon_at(EVENT, "0.15"), dp.ApproxDP("0.5", "0.15")),
    (dp.accounting.cost(EVENT, dp.ZCDP), dp.ZCDP("0.1")),
    (dp.accounting.cost(EVENT, dp.Renyi, orders=(2, 8, math.inf)), dp.Renyi({2: 0.3})),
]


@pytest.mark.parametrize(("right", "wrong"), CLAIMS, ids=lambda claim: repr(claim))
def test_each_measure_is_tested_in_its_own_terms(right, wrong):
    """Laplace noise with ε = 1: its exact hockey stick and divergences decide which claims hold."""
    k = np.arange(-400, 401)
    p, q = (np.tanh(0.5) * np.exp(-abs(k - at)) for at in (0, 1))
    assert not audit.exact(p, q, right).is_violated
    assert audit.exact(p, q, wrong).is_violated
    with testing.fixed_noise(3):
        assert not audit.audit(laplace(1), (0, 1), right, trials=100_000).is_violated
        assert audit.audit(laplace(1), (0, 1), wrong, trials=400_000).is_violated


def test_outputs_need_not_be_numbers():
    def length(value):
        return "x" * (3 + value)

    result = audit.audit(length, (0, 1), 1.0, trials=200, reuse=False)
    assert result.is_violated
    assert "length" in result.event


def test_an_exception_is_an_output():
    def fails(value, trials):
        if math.isnan(value):
            raise ValueError("NaN")
        return value + noise.discrete_laplace(1, trials)

    result = audit.audit(fails, (0.0, math.nan), 1.0, trials=200)
    assert result.is_violated
    assert "exception ValueError" in result.event


def test_keys_of_a_mapping_are_an_output():
    def counts(values):
        return {v: values.count(v) + noise.discrete_laplace(1) for v in sorted(set(values))}

    result = audit.audit(counts, (["a"], ["a", "b"]), 1.0, trials=200)
    assert result.is_violated
    assert "keys" in result.event


def _little(value, random):
    """Nearly no noise."""
    return value + random.laplace() / 20


LEAKS = {
    "another key": lambda x, r: {"asthma" if x else "leprosy": r.laplace()},
    "another order of keys": lambda x, r: dict.fromkeys("ab" if x else "ba", r.laplace()),
    "list or tuple": lambda x, r: [r.laplace()] if x else (r.laplace(),),
    "int or float": lambda x, r: int(r.integers(5)) if x else float(r.integers(5)),
    "another dtype": lambda x, r: np.array([r.integers(5)], "i8" if x else "f8"),
    "a large integer": lambda x, r: 2**60 + x,
    "a huge integer": lambda x, r: 10**400 + x,
    "the sign of zero": lambda x, r: -0.0 if x else 0.0,
    "a mapping with an array": lambda x, r: {"n": _little(x, r), "s": r.laplace(size=3)},
    "a label and a number": lambda x, r: ("label", _little(x, r)),
    "a fraction": lambda x, r: Fraction(int(1000 * _little(x, r)), 1000),
    "a complex number": lambda x, r: complex(0, _little(x, r)),
    "a series": lambda x, r: pd.Series([_little(x, r)]),
    "a name in a series": lambda x, r: pd.Series([r.laplace()], index=["a" if x else "b"]),
    "a data class": lambda x, r: MomentsValue(_little(x, r), 0, 0),
    "not a number": lambda x, r: math.nan if x else r.laplace(),
    "a masked array": lambda x, r: (
        np.ma.masked_array([r.laplace()]) if x else np.array([r.laplace()])
    ),
    "a set": lambda x, r: {int(r.integers(3)), 7 + x},
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_leaks_of_every_form_are_caught(leak):
    random = np.random.default_rng(12)
    result = audit.audit(lambda x: leak(x, random), (0, 1), 1.0, trials=1000, reuse=False)
    assert result.is_violated, result


@pytest.mark.parametrize("odd", [ValueError, None])
def test_a_rare_odd_output_does_not_blind_the_audit(odd):
    random = np.random.default_rng(13)

    def nearly_always(value):
        if random.random() < 1 / 500:
            if odd is None:
                return None
            raise odd
        return _little(value, random)

    assert audit.audit(nearly_always, (0, 1), 1.0, trials=2000).is_violated


def test_a_call_that_fails_is_one_output_not_many():
    """Runs in a call that raises are made one by one: there is no difference, so no violation."""
    random = np.random.default_rng(14)

    def fails_together(value, trials):
        if random.random(trials).min() < 1 / 300:
            raise ValueError
        return random.integers(3, size=trials)

    results = [audit.audit(fails_together, (0, 1), 3.0, trials=400) for _ in range(40)]
    assert sum(result.is_violated for result in results) <= 1


def test_what_cannot_be_compared_is_told():
    class Model:
        pass

    with pytest.raises(TypeError, match=r"return its numbers, such as model\.coef_"):
        audit.audit(lambda value: Model(), (0, 1), 1.0, trials=100)


def test_low_bits_are_seen_beside_whole_numbers():
    """Most outputs are clamped to a whole number, as int; the others show the input by their bits."""
    random = np.random.default_rng(15)

    def clamped(value):
        noisy = value + random.laplace()
        return 0 if noisy < 0 else 1 if noisy > 1 else noisy

    assert audit.audit(clamped, (0.0, 1.0), 1.0, trials=4000).floor > 2


def test_low_bits_are_looked_at_unless_the_ideal_mechanism_is_meant():
    random = np.random.default_rng(8)

    def textbook(value, trials):
        return value + random.laplace(size=trials)

    result = audit.audit(textbook, (0.0, 1.0), 1.0, trials=100_000)
    assert result.is_violated
    assert "lowest bit" in result.event
    ideal = audit.audit(textbook, (0.0, 1.0), 1.0, trials=100_000, rounding=1e-6)
    assert not ideal.is_violated
    assert "ideal" in ideal.audited
    assert ideal.floor > 0.9


@pytest.mark.parametrize("trials", [400, 4000])
@pytest.mark.parametrize("neighbours", [(0.0, 1.0), [(0.0, 1.0), (1.0, 2.0)]])
def test_noise_that_comes_twice_is_noticed(neighbours, trials):
    def seeded(value, trials):
        return value + np.random.default_rng(0).laplace(size=trials)

    result = audit.audit(seeded, neighbours, 1.0, trials=trials, rounding=100)
    assert result.is_violated
    assert "reused" in result.event
    assert not audit.audit(laplace(1), neighbours, 1.0, trials=trials).is_violated


def test_two_calls_that_have_noise_of_their_own_are_not_accused():
    assert audit.same_noise(laplace(1), 0) is None
    assert audit.same_noise(lambda value, trials: np.zeros(trials), 0) is None


def test_a_stream_copied_by_fork_is_noticed():
    random = np.random.default_rng(0)

    def copied(value, trials):
        return value + random.laplace(size=trials)

    assert audit.audit(copied, (0.0, 1.0), 5.0, trials=400, fork=True).is_violated
    assert audit.after_fork(laplace(1000), 0) is None


def test_noise_shared_by_two_numbers_is_noticed():
    random = np.random.default_rng(9)

    def shared(pair, trials):
        return np.asarray(pair) + random.laplace(scale=2, size=trials)[:, None]

    result = audit.audit(shared, ((0.0, 0.0), (1.0, 0.0)), 1.0, trials=2000, rounding=1e-6)
    assert result.is_violated


def test_a_score_of_the_user_is_tried():
    random = np.random.default_rng(10)

    def hidden(value, trials):
        """A product of signs: no single number tells anything."""
        signs = random.choice([-1.0, 1.0], size=(trials, 60))
        if value:
            signs[:, 0] = signs[:, 1:].prod(axis=1)
        return signs

    def product(rows):
        return rows.prod(axis=1)

    assert audit.audit(hidden, (0, 1), 0.5, trials=2000, score=product).is_violated
    assert not audit.audit(hidden, (0, 1), 0.5, trials=2000).is_violated


def test_the_worst_of_many_pairs_is_found():
    schema = dp.Schema(x=dp.Real(-1, 3), c=dp.Categorical("a", "b"))
    random = np.random.default_rng(11)

    def believes_in_one(table, trials):
        values = np.clip(np.nan_to_num(table["x"], nan=1.0), -1, 3)
        return values.sum() + random.laplace(size=trials)

    pairs = audit.neighbouring(schema)
    assert len(pairs) > 20
    result = audit.audit(believes_in_one, pairs, 1.0, trials=40_000, rounding=1e-6)
    assert result.is_violated
    assert result.floor > 2  # the truth is 3
    honest = audit.audit(believes_in_one, pairs, 3.0, trials=40_000, rounding=1e-6)
    assert not honest.is_violated


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_neighbours_differ_in_one_person(relation):
    schema = dp.Schema(x=dp.Real(-1, 3), c=dp.Categorical("a", "b"))
    unit = dp.Unit(relation, "person", 2)
    pairs = audit.neighbouring(schema, unit)
    near = pairs.near(pairs[0], np.random.default_rng(0), 20)
    for first, second in [*pairs, *near]:
        lengths = [len(table["x"]) for table in (first, second)]
        assert lengths[1] - lengths[0] == (2 if relation is dp.ADD_REMOVE else 0)
        same = min(lengths) - (0 if relation is dp.ADD_REMOVE else 2)
        for name in ("x", "c", "person"):
            assert list(map(str, first[name][:same])) == list(map(str, second[name][:same]))
        assert set(second["person"][same:]) == {"the person"}


def test_the_real_door_is_audited():
    schema = dp.Schema(x=dp.Real(-1, 3))
    door = audit.through_the_door(dp.Count(), dp.PureDP(1), schema)
    pair = ({"x": np.zeros(3)}, {"x": np.zeros(4)})
    with testing.fixed_noise(4):
        honest = audit.audit(door, pair, 1.0, trials=1500)
        wrong = audit.audit(door, pair, 0.4, trials=1500)
    assert 0.5 < honest.floor <= 1.0
    assert wrong.is_violated


def test_results_speak_and_travel():
    with testing.fixed_noise(5):
        result = audit.audit(laplace("1/2"), (0, 1), 1.0, trials=10_000, title="half the noise")
    text = repr(result)
    assert text.startswith("half the noise: violated")
    assert "PureDP(epsilon=1)" in text
    assert "runs against" in text
    assert '"verdict": "violated"' in result.to_json()
    assert result.to_dict()["outcomes"][1] == 5000


def test_exact_probes():
    fair, biased = [0.5, 0.5], [0.6, 0.4]
    assert not audit.exact(fair, biased, math.log(0.5 / 0.4)).is_violated
    assert audit.exact(fair, biased, 0.9 * math.log(0.5 / 0.4)).is_violated
    impossible = audit.exact([1.0, 0.0], [0.9, 0.1], 5.0, labels=["no", "yes"])
    assert impossible.floor == math.inf
    assert "yes" in impossible.event
    assert audit.hockey_stick(np.array(biased), np.array(fair), 0.0) == pytest.approx(0.1)
    assert not audit.exact([1.0, 0.0], [0.9, 0.1], dp.ApproxDP("0.2", "0.11")).is_violated
    tiny = audit.exact([1e-16, 1.0], [0.0, 1.0], 1.0, error=1e-15)
    assert not tiny.is_violated  # within the error of the numbers
    with pytest.raises(ValueError, match="finite"):
        audit.exact([math.nan, 0.5], [0.1, 0.9], 1.0)
    with pytest.raises(ValueError, match="same outcomes"):
        audit.exact([1.0], [0.5, 0.5], 1.0)
    with pytest.raises(ValueError, match="probabilities"):
        audit.exact([1.5, 0.5], [0.5, 0.5], 1.0)


WRONG = [
    ({"neighbours": 3}, "neighbours must be a pair"),
    ({"claim": "a lot"}, "epsilon"),
    ({"trials": 3}, "trials"),
    ({"confidence": 1.0}, "confidence must be between"),
    ({"rounding": 0}, "rounding must be"),
    ({"rounding": math.nan}, "rounding must be"),
    ({"claim": dp.measures.kinds.Measure}, "epsilon"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_wrong_arguments_are_told(given, words):
    arguments = {"neighbours": (0, 1), "claim": 1.0, "trials": 100} | given
    pair, claim = arguments.pop("neighbours"), arguments.pop("claim")
    with pytest.raises((TypeError, ValueError), match=words):
        audit.audit(laplace(1), pair, claim, **arguments)


def test_a_wrong_number_of_outputs_is_told():
    with pytest.raises(ValueError, match="must return"):
        audit.audit(lambda value, trials: np.zeros(3), (0, 1), 1.0, trials=100)
