"""The bridge to dp-accounting: round trips, and the relation flag that is never passed."""

from __future__ import annotations

import ast
import inspect
import math
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from discreet import accounting, events
from discreet.accounting import from_dp_accounting, google, to_dp_accounting
from discreet.measures import ApproxDP, PureDP, Renyi

RELATION = dp_accounting.NeighboringRelation
GAUSSIAN = dp_accounting.GaussianDpEvent(1.5)
THEIRS = [
    dp_accounting.NoOpDpEvent(),
    GAUSSIAN,
    dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.25, 3),
    dp_accounting.PoissonSampledDpEvent(0.125, GAUSSIAN),
    dp_accounting.SelfComposedDpEvent(GAUSSIAN, 7),
    dp_accounting.ComposedDpEvent(
        [GAUSSIAN, dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.5, 1)]
    ),
    dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(0.25, GAUSSIAN), 100),
]
OURS = [
    events.Compose(),
    events.Gaussian("2.5"),
    events.Gaussian("2.5", 2),
    events.DiscreteLaplace("2.5", 3),
    events.RandomizedResponse("0.7", 5),
    events.Poisson("0.1", events.Gaussian(2)),
    events.Repeat(events.Gaussian(3), 12),
    events.Compose(events.Gaussian(3), events.DiscreteLaplace(3)),
    events.RepeatAndSelect(events.Gaussian(3), "0.5", "0.1"),
    events.RepeatAndSelect(events.Gaussian(3), 0, "0.9"),
    events.RepeatAndSelect(events.Gaussian(3), 1, "0.01"),
]


@pytest.mark.parametrize("event", THEIRS)
def test_their_events_come_back(event: dp_accounting.DpEvent) -> None:
    assert to_dp_accounting(from_dp_accounting(event)) == event


@pytest.mark.parametrize("event", OURS)
def test_our_events_come_back_with_the_same_cost(event: events.Event) -> None:
    back = from_dp_accounting(to_dp_accounting(event))
    assert type(back) is type(event)
    before, after = (accounting.cost(e, Renyi, orders=[1.5, 2, 8, 64]).curve for e in (event, back))
    for order, value in before.items():
        assert after[order] == pytest.approx(value, rel=1e-9)


def test_numbers_without_a_rational_counterpart_cost_no_less() -> None:
    response = dp_accounting.dp_event.RandomizedResponseDpEvent(0.3, 4)
    ours = from_dp_accounting(response)
    assert float(ours.epsilon) >= math.log(4 / 0.3 - 3)
    for shape, mean in [(0.0, 3.0), (0.5, 20.0), (1.0, 1.5), (4.0, 1000.0)]:
        event = from_dp_accounting(
            dp_accounting.dp_event.RepeatAndSelectDpEvent(GAUSSIAN, mean, shape)
        )
        accountant = rdp_privacy_accountant.RdpAccountant([2.0, 8.0, 64.0])
        accountant.compose(dp_accounting.dp_event.RepeatAndSelectDpEvent(GAUSSIAN, mean, shape))
        ours = accounting.cost(event, Renyi, orders=[2, 8, 64])
        for order, theirs in zip(accountant.orders, accountant.rdp, strict=True):
            assert theirs * (1 - 1e-8) <= ours.curve[order] <= theirs * (1 + 1e-6)


@pytest.mark.parametrize(
    "event",
    [
        events.DiscreteGaussian(1), events.Exponential(1), events.Parallel([events.Gaussian(1)]),
        events.External(PureDP(1), "n"), events.Assumed(events.Gaussian(1), "w"),
    ],
)  # fmt: skip
def test_events_that_they_do_not_have(event: events.Event) -> None:
    with pytest.raises(ValueError, match=type(event).__name__):
        to_dp_accounting(event)
    with pytest.raises(ValueError, match=type(event).__name__):
        to_dp_accounting(events.Repeat(event, 2))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (dp_accounting.NonPrivateDpEvent(), "NonPrivateDpEvent"),
        (dp_accounting.LaplaceDpEvent(1.0), "LaplaceDpEvent"),
        (dp_accounting.dp_event.RandomizedResponseDpEvent(0.0, 2), "not private"),
        (
            dp_accounting.dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 5.0, math.inf),
            "negative binomial",
        ),
        (dp_accounting.dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 1.0, 1.0), "negative binomial"),
        (dp_accounting.GaussianDpEvent(0.0), "sigma"),
        ("something else", "str"),
    ],
)
def test_events_that_we_do_not_have(event: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_dp_accounting(event)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="event"):
        to_dp_accounting("Gaussian")


def test_a_person_without_influence_is_no_event() -> None:
    assert to_dp_accounting(events.Gaussian(1, 0)) == dp_accounting.NoOpDpEvent()


def test_a_very_private_or_public_response_has_a_probability() -> None:
    for epsilon in ("1e-9", "1000", "1e9"):
        event = to_dp_accounting(events.RandomizedResponse(epsilon, 3))
        assert 0 <= event.noise_parameter <= 1


def test_replace_one_is_half_of_itself_in_dp_accounting() -> None:
    """Why its relation flag is never used: its Rényi accountant says 2.17 where its own losses say 4.38."""
    event, delta = dp_accounting.GaussianDpEvent(2.0), 1e-5
    renyi = rdp_privacy_accountant.RdpAccountant(neighboring_relation=RELATION.REPLACE_ONE)
    loss = pld_privacy_accountant.PLDAccountant(RELATION.REPLACE_ONE)
    found = [accountant.compose(event).get_epsilon(delta) for accountant in (renyi, loss)]
    assert found[0] == pytest.approx(2.17, abs=0.01)
    assert found[1] == pytest.approx(4.38, abs=0.01)
    # ours carries the sensitivity that replacing has, and is counted as it is
    ours = accounting.cost(events.Gaussian(2, sensitivity=2), ApproxDP, delta="1e-5")
    assert float(ours.epsilon) == pytest.approx(found[1], rel=1e-4)


def test_the_bridge_names_no_other_relation() -> None:
    tree = ast.parse(inspect.getsource(google))
    named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "ADD_OR_REMOVE_ONE" in named
    assert not named & {"REPLACE_ONE", "REPLACE_SPECIAL"}
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    assert "neighboring_relation" not in keywords


def test_the_bridge_passes_no_other_relation(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    real = rdp_privacy_accountant.RdpAccountant.__init__

    def spy(self, orders=None, neighboring_relation=RELATION.ADD_OR_REMOVE_ONE) -> None:
        seen.append(neighboring_relation)
        real(self, orders, neighboring_relation)

    monkeypatch.setattr(rdp_privacy_accountant.RdpAccountant, "__init__", spy)
    google.sampled_gaussian_curve.cache_clear()
    accounting.cost(events.Poisson("0.37", events.Gaussian("1.37")), Renyi, orders=[2, 3])
    assert seen == [RELATION.ADD_OR_REMOVE_ONE]


def test_fractions_survive_the_way_there_and_back() -> None:
    event = from_dp_accounting(dp_accounting.PoissonSampledDpEvent(0.1, GAUSSIAN))
    assert event.probability == Fraction(0.1)  # the double they hold, exactly
