"""Weakened copies of a federation's round are caught, and the round itself is not. Needs no torch."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import discreet as dp
from discreet import accounting, noise
from discreet.deep import grid
from discreet.deep.federated import updates
from discreet.deep.federated.local import LocalGaussian
from discreet.deep.federated.partitions import split_by_column, split_by_label
from discreet.deep.federated.rounds import PrivateClients, Rounds
from discreet.deep.federated.updates import clip_update, sum_contributions, sum_updates
from discreet.deep.grid import RADIUS
from discreet.deep.plans import PoissonSampler, TrainingPlan
from discreet.events import Gaussian, Poisson, Repeat
from discreet.guarantees.federated.attacks import SHAPES, case, of_clients, reports, send
from discreet.ledger import PaidPlan
from discreet.measures import GaussianDP

CLIENTS = dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)
BIT = [np.full((3, 2), 1e30), np.full(2, 1e30)]


# --- weakened copies ---


def test_the_round_itself_is_not_caught_and_the_attack_comes_near():
    found = case("as it is", of_clients(send(1e30))).run(0.99)
    assert not found.is_violated
    assert found.floor > 0.8 * found.claimed


def test_half_the_noise_is_caught(monkeypatch):
    drawn = noise.rounded_gaussian
    monkeypatch.setattr(
        noise, "rounded_gaussian", lambda sigma, size: drawn(Fraction(sigma) / 2, size)
    )
    assert case("half", of_clients(send(1e30))).run(0.99).is_violated


def test_clipping_that_is_disabled_is_caught(monkeypatch):
    def no_clip(squares, bound, rule):
        return np.ones(squares.shape), np.ones(1, bool)

    monkeypatch.setattr(grid, "clip_factors", no_clip)
    assert case("as it is sent", of_clients(send(0.6))).run(0.99).is_violated


def sampled_rounds(pick, trials=60_000):
    """Rounds of one number in which nine clients send 1 and the tenth, if it is there, sends -1."""
    plan = TrainingPlan(PoissonSampler(Fraction(1, 10)), 1, RADIUS)
    one = int(sum_updates([[np.ones(1)]], [(1,)], 1.0)[0])

    def mechanism(there, trials):
        sent = np.array([one] * 9 + [-one] * there)
        totals = (pick(plan, trials, len(sent)) * sent).sum(axis=1)
        return plan.add_noise(totals) / float(RADIUS)

    right = case("", np.array([one]), chance=Fraction(1, 10), sigma=Fraction(1))
    options = {"rounding": 1e-6}
    return type(right)("", mechanism, (False, True), right.claim, trials, options).run(0.99)


def test_rounds_of_a_fixed_size_that_are_charged_as_poisson_are_caught():
    def coins(plan, trials, clients):
        drawn = np.zeros(trials * clients, bool)
        drawn[plan.sampler.draw(trials * clients)] = True
        return drawn.reshape(trials, clients)

    def one_of_them(plan, trials, clients):
        return np.arange(clients) == noise.uniform_below(clients, trials)[:, None]

    assert not sampled_rounds(coins).is_violated
    assert sampled_rounds(one_of_them).is_violated


def test_a_client_that_is_drawn_row_by_row_is_caught():
    """Three rows of one client, each with a coin of its own: the client is in more often."""
    plan = TrainingPlan(PoissonSampler(Fraction(1, 10)), 1, RADIUS)
    right = case("clients", of_clients(BIT), chance=Fraction(1, 10), sigma=Fraction(1))
    assert not right.run(0.99).is_violated
    alone = of_clients(BIT)

    def weak(there, trials):
        drawn = np.zeros(3 * trials, bool)
        if there:
            drawn[plan.sampler.draw(3 * trials)] = True
        totals = drawn.reshape(-1, 3).any(axis=1)[:, None] * alone
        return plan.add_noise(totals.ravel()).reshape(totals.shape) / float(RADIUS)

    rows = type(right)("rows", weak, (False, True), right.claim, 60_000, dict(right.options))
    assert rows.run(0.99).is_violated


def local_case(mechanism, claim):
    some = case("", of_clients(BIT))
    options = {"score": lambda told: told @ np.ones(2), "rounding": 1e-6}
    pair = ((-1e30, -1e30), (1e30, 1e30))
    return type(some)("reports", reports(mechanism), pair, claim, 6_000, options)


def test_noise_for_a_vector_or_none_is_not_noise_for_any_two_vectors(monkeypatch):
    """The distance of two vectors is twice the norm: local DP compares values, not presence."""
    honest = LocalGaussian(2, "0.01", size=2)
    claim = accounting.cost(honest.event(), GaussianDP)
    found = local_case(honest, claim).run(0.99)
    assert not found.is_violated
    assert found.floor > 0.6 * found.claimed
    monkeypatch.setattr(LocalGaussian, "_squared", RADIUS**2)
    assert local_case(LocalGaussian(2, "0.01", size=2), claim).run(0.99).is_violated


# --- what a client may send ---

ANYTHING = st.floats(allow_nan=True, allow_infinity=True)


@given(
    arrays(np.float64, (3, 2), elements=ANYTHING),
    arrays(np.float32, (2,), elements=st.floats(width=32)),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e30]),
    st.sampled_from(["flat", "per-layer", "automatic"]),
)
def test_no_client_is_longer_than_the_radius(wide, narrow, bound, rule):
    found = clip_update([wide, narrow], SHAPES, bound, rule)
    assert sum(int(each) ** 2 for each in found) <= RADIUS**2


class Raising:
    def __iter__(self):
        raise RuntimeError("row 17 is bad")

    def __array__(self, *_, **__):
        raise RuntimeError("row 17 is bad")


@pytest.mark.parametrize(
    "sent",
    [
        None,
        7,
        "update",
        [],
        send(1.0)[:1],
        send(1.0) * 2,
        [np.ones((2, 3)), np.ones(2)],
        [np.ones((3, 2)), np.full(2, np.nan)],
        [np.full((3, 2), np.inf), np.ones(2)],
        [np.ones((3, 2), int), np.ones(2, int)],
        [np.ones((3, 2), complex), np.ones(2, complex)],
        [np.ones((3, 2), object), np.ones(2)],
        Raising(),
        [Raising(), Raising()],
        iter(lambda: np.ones(2), None),
    ],
)
def test_what_is_not_an_update_adds_nothing_and_raises_nothing(sent):
    others = [send(0.1), send(-3.0)]
    alone = sum_updates(others, SHAPES, 1.0)
    assert np.array_equal(sum_updates([others[0], sent, others[1]], SHAPES, 1.0), alone)
    assert alone.any()


def test_updates_add_up_to_the_clipped_sum():
    draw = np.random.default_rng(0)
    sent = [[draw.standard_normal(shape) for shape in SHAPES] for _ in range(20)]
    flat = np.array([np.concatenate([each.ravel() for each in one]) for one in sent])
    clipped = flat / np.maximum(np.linalg.norm(flat, axis=1), 1.5)[:, None]
    found = sum_updates(sent, SHAPES, 1.5) / RADIUS
    np.testing.assert_allclose(found, clipped.sum(axis=0), atol=1e-4)
    assert not sum_updates([], SHAPES, 1.0).any()


def test_what_is_no_sum_of_a_site_adds_nothing():
    right = np.array([5, -7], np.int64)
    wrong = [
        None,
        right.astype(float),
        right.tolist(),
        right[:1],
        right[None],
        right.astype(np.int32),
    ]
    assert sum_contributions([right, *wrong, right], 2).tolist() == [10, -14]
    edge = np.array([2**63 - 1, 0])
    assert sum_contributions([edge, edge], 2).tolist() == [-2, 0]  # modulo 2^64


# --- the door ---


class Watched:
    """A client's data that knows whether it was touched."""

    def __init__(self):
        self.looks = 0

    def __getitem__(self, place):
        self.looks += 1
        return np.ones(1)


MEASURE = dp.ApproxDP(4, 1e-5)


def plan_of(steps=3, chance=1):
    return TrainingPlan(PoissonSampler(chance), steps, 40 * RADIUS)


def clients_of(parts, limit=(4, 1e-5)):
    ledger = dp.Ledger(limit=dp.ApproxDP(*limit), unit=CLIENTS)
    return ledger, PrivateClients(parts, ledger=ledger, public_clients=10)


def test_all_rounds_are_charged_at_once_as_what_they_are():
    ledger, clients = clients_of(["a", "b"])
    plan = TrainingPlan(PoissonSampler(Fraction(1, 4)), 7, 30 * RADIUS)
    with clients.prepaid(plan, MEASURE) as rounds:
        step = Poisson(Fraction(1, 4), Gaussian(30 * RADIUS, RADIUS**2))
        assert rounds.entry.event == Repeat(step, 7) == ledger.entries()[-1].event


def test_nobody_is_asked_before_the_charge_or_without_a_claim():
    data = [Watched(), Watched()]
    _, clients = clients_of(data, limit=("0.001", 1e-9))
    with pytest.raises(dp.BudgetExceeded), clients.prepaid(plan_of(), MEASURE):
        pass
    _, clients = clients_of(data)
    with clients.prepaid(plan_of(), MEASURE) as rounds:
        for ask in (rounds.sample, rounds.everyone):
            with pytest.raises(ValueError, match="no round is claimed"):
                ask(rounds.parties)
        rounds.claim(2)
        assert rounds.sample(rounds.parties) == data
        assert rounds.everyone(rounds.parties) == data
        with pytest.raises(ValueError, match="no round is claimed"):
            rounds.sample(rounds.parties)
        with pytest.raises(ValueError, match="not the plan"):
            rounds.claim(2)
    with pytest.raises(ValueError, match="closed"):
        _ = rounds.parties
    with pytest.raises(ValueError, match="closed"):
        rounds.sample(data)
    assert [each.looks for each in data] == [0, 0]


def test_rounds_under_a_token_are_claimed_once_wherever_they_are_claimed():
    _, clients = clients_of(["a"])
    plan = plan_of(5)
    with (
        clients.prepaid(plan, MEASURE, token="t") as one,
        clients.prepaid(plan, MEASURE, token="t") as two,
    ):
        one.claim(2)
        with pytest.raises(ValueError, match="begun before"):
            two.claim(1)
    with clients.prepaid(plan, MEASURE, token="t") as again:
        assert again.begun == 2
        again.claim(3)
        with pytest.raises(ValueError, match="nothing more"):
            again.claim(1)


def test_who_is_asked_is_drawn_by_coins_of_their_own_each_time_anew():
    plan = TrainingPlan(PoissonSampler(Fraction(1, 10)), 2000, RADIUS)
    rounds = Rounds(plan, PaidPlan(plan.event, None), ())
    rounds.claim(2000)
    drawn = [rounds.sample(range(1000)) for _ in range(2000)]
    sizes = np.array([len(each) for each in drawn])
    assert sizes.mean() == pytest.approx(100, abs=1.5)
    assert sizes.var() == pytest.approx(90, rel=0.15)  # rounds of a fixed size have none
    assert len(set(map(tuple, drawn))) == 2000


def test_a_ledger_of_rows_is_no_ledger_of_clients():
    with pytest.raises(ValueError, match="name the client"):
        PrivateClients([], ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6)), public_clients=3)
    replaced = dp.Unit(dp.REPLACE_ONE, id_column="client", max_rows=1)
    with pytest.raises(ValueError, match="ADD_REMOVE"):
        PrivateClients(
            [], ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6), unit=replaced), public_clients=3
        )
    with pytest.raises(ValueError, match="public_clients"):
        PrivateClients([], unit=dp.PUBLIC, public_clients=0)
    with pytest.raises(TypeError, match=r"dp\.Ledger"):
        PrivateClients([], ledger=4, public_clients=3)


def test_clients_are_shown_and_copied_to_nobody():
    _, clients = clients_of({"north": "secret", "south": "secret"})
    assert "secret" not in repr(clients)
    assert "2" not in repr(clients)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied"):
            act(clients)


# --- local reports ---


def test_local_reports_cost_what_was_asked_for_all_together():
    for count in (1, 5):
        mechanism = LocalGaussian(2, 1e-5, size=3, reports=count)
        assert mechanism.event() == Repeat(Gaussian(mechanism.sigma, (2 * RADIUS) ** 2), count)
        assert accounting.satisfies(mechanism.event(), dp.ApproxDP(2, 1e-5))
        less = Repeat(Gaussian(int(mechanism.sigma * 0.998), (2 * RADIUS) ** 2), count)
        assert not accounting.satisfies(less, dp.ApproxDP(2, 1e-5))


def test_whoever_is_asked_reports_in_the_same_shape_with_noise_of_its_own():
    mechanism = LocalGaussian(1, 1e-5, size=400)
    strange = [
        None,
        "x",
        np.ones(3),
        np.full(400, np.nan),
        np.ones(400, int),
        Raising(),
        np.ones(400),
    ]
    told = mechanism.randomize(strange)
    assert told.shape == (7, 400)
    assert told.dtype == np.int64
    for row in told:
        assert row.std() == pytest.approx(mechanism.sigma, rel=0.2)
    assert abs(np.corrcoef(told[0], mechanism.randomize(strange)[0])[0, 1]) < 0.25
    assert np.abs(np.corrcoef(told) - np.eye(7)).max() < 0.25
    assert mechanism.randomize([]).shape == (0, 400)


def test_the_mean_of_reports_is_that_of_the_clipped_vectors():
    mechanism = LocalGaussian(4, 1e-5, size=2, bound=2.0)
    told = mechanism.randomize([np.array([1.0, -1.0])] * 2000 + [np.array([9e9, 0.0])] * 2000)
    error = mechanism.expected_error(4000)
    np.testing.assert_allclose(mechanism.estimate(told), [1.5, -0.5], atol=5 * error)
    assert error < 0.1
    assert mechanism.estimate([]).tolist() == [0, 0]


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": float("inf")},
        {"delta": 0},
        {"bound": 0},
        {"bound": float("nan")},
        {"size": 0},
        {"reports": 0},
    ],
)
def test_local_reports_without_noise_or_sense_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        LocalGaussian(**{"epsilon": 1, "delta": 1e-5, "size": 2, **settings})


# --- partitions ---


def test_a_column_of_owners_makes_the_parts():
    found = split_by_column(["b", "a", None, "b", float("nan")])
    assert {owner: places.tolist() for owner, places in found.items()} == {"b": [0, 3], "a": [1]}
    assert split_by_column([]) == {}
    with pytest.raises(ValueError, match="owners"):
        split_by_column([["a"]])


def test_parts_by_label_are_all_rows_once_and_uneven_as_asked():
    labels = np.repeat([0, 1, 2], 400)

    def spread(concentration):
        parts = split_by_label(labels, 10, concentration=concentration, seed=3)
        assert sorted(np.concatenate(parts).tolist()) == list(range(1200))
        shares = [np.bincount(labels[part], minlength=3) / max(len(part), 1) for part in parts]
        return np.std(shares, axis=0).mean()

    assert spread(0.1) > 3 * spread(100.0)
    again = split_by_label(labels, 10, seed=3)
    for one, other in zip(again, split_by_label(labels, 10, seed=3), strict=True):
        assert np.array_equal(one, other)
    assert [len(part) for part in split_by_label([], 4)] == [0, 0, 0, 0]
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="concentration"):
            split_by_label(labels, 3, concentration=wrong)


def test_updates_are_counted_by_their_shapes():
    assert updates.count_numbers(SHAPES) == 8
    assert updates.count_numbers([()]) == 1
