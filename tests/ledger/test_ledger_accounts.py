"""Accounts inside a ledger, each with a limit of its own."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest

from discreet.events import DiscreteLaplace, External, Gaussian
from discreet.ledger import Account, Book, BudgetExceeded, Ledger
from discreet.measures import ZCDP, ApproxDP, PureDP

PAIR = ApproxDP(1, 1e-6)


def test_charges_count_against_all_accounts_above(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    team = ledger.account("team", ApproxDP(0.5, 1e-6))
    project = team.account("project", PureDP(0.3))
    entry = project.charge(DiscreteLaplace(5))
    assert entry.account == "/team/project"
    assert project.remaining() == ApproxDP(0.1, 0)
    assert team.remaining() == ApproxDP(0.3, 1e-6)
    assert ledger.remaining() == ApproxDP(0.8, 1e-6)
    assert isinstance(project, Book)
    assert project.name == "/team/project"
    assert (project.unit, project.composition, project.url) == (ledger.unit, "basic", ledger.url)
    ledger.verify()


def test_the_account_that_is_too_small_is_named() -> None:
    ledger = Ledger(limit=PureDP(1))
    team = ledger.account("team", PureDP(0.5))
    project = team.account("project", PureDP(2))
    project.charge(DiscreteLaplace(10))
    with pytest.raises(BudgetExceeded, match="account /team has only") as refused:
        project.charge(DiscreteLaplace(2))
    assert refused.value.account == "/team"
    assert refused.value.left == PureDP(0.4)
    ledger.charge(DiscreteLaplace(2))
    ledger.charge(DiscreteLaplace(5))
    with pytest.raises(BudgetExceeded, match="the ledger has only") as refused:
        team.charge(DiscreteLaplace(Fraction(10, 3)))
    assert refused.value.account == "/"
    assert ledger.spent() == PureDP(0.8)
    assert [account.spent() for account in (team, project)] == [PureDP(0.1), PureDP(0.1)]


def test_an_account_is_opened_by_name_and_its_limit_stays(url: str) -> None:
    ledger = Ledger(url, limit=PAIR)
    ledger.account("team", PureDP(0.5)).charge(DiscreteLaplace(10))
    again = Ledger(url).account("team")
    assert again.limit == PureDP(0.5)
    assert again.remaining() == ApproxDP(0.4, 0)
    assert ledger.account("team", PureDP(0.5)).limit == PureDP(0.5)
    with pytest.raises(ValueError, match=r"limit is .*never raised in place"):
        ledger.account("team", PureDP(0.6))
    assert [entry.kind for entry in ledger.entries()] == ["ledger", "account", "charge"]


def test_accounts_with_the_same_name_in_different_places_are_different() -> None:
    ledger = Ledger(limit=PureDP(1))
    a = ledger.account("a", PureDP(1)).account("x", PureDP(1))
    b = ledger.account("b", PureDP(1)).account("x", PureDP(1))
    ab = ledger.account("ab", PureDP(1))
    a.charge(DiscreteLaplace(10))
    ab.charge(DiscreteLaplace(10))
    assert b.spent() == PureDP(0)
    assert [entry.account for entry in ledger.account("a").entries()] == ["/a", "/a/x", "/a/x"]


@pytest.mark.parametrize("name", ["", " ", "a/b", 7, "x" * 101])
def test_bad_names(name) -> None:
    with pytest.raises(ValueError, match="name"):
        Ledger(limit=PAIR).account(name, PAIR)


def test_a_new_account_needs_a_limit_of_the_right_kind() -> None:
    with pytest.raises(ValueError, match="limit must be given"):
        Ledger(limit=PAIR).account("team")
    with pytest.raises(ValueError, match=r"limit must be dp\.ApproxDP"):
        Ledger(limit=PAIR).account("team", ZCDP(1))
    with pytest.raises(ValueError, match=r"limit must be dp\.PureDP"):
        Ledger(limit=PureDP(1)).account("team", PAIR)
    with pytest.raises(ValueError, match=r"limit must be dp\.ZCDP with"):
        Ledger(limit=ZCDP(1)).account("team", PAIR)
    with pytest.raises(TypeError, match="limit"):
        Ledger(limit=PAIR).account("team", 0.5)


@pytest.mark.parametrize("composition", ["zcdp", "renyi"])
def test_pair_limits_of_accounts_are_split_like_the_ledgers(composition: str) -> None:
    ledger = Ledger(limit=PAIR, composition=composition, delta_reserve=1e-7)
    same = Ledger(limit=ApproxDP(0.5, 5e-7), composition=composition, delta_reserve=5e-8)
    team = ledger.account("team", ApproxDP(0.5, 5e-7))
    if composition == "zcdp":
        assert team.remaining() == same.remaining()
    team.charge(External(ApproxDP(0.001, 5e-8), "elsewhere"))
    with pytest.raises(BudgetExceeded, match="account /team"):
        team.charge(External(ApproxDP(0.001, 1e-8), "elsewhere"))
    ledger.charge(External(ApproxDP(0.001, 5e-8), "elsewhere"))
    team.charge(Gaussian(100))
    ledger.verify()
    assert team.statement().account == "/team"


def test_zcdp_accounts() -> None:
    ledger = Ledger(limit=PAIR, composition="zcdp")
    team = ledger.account("team", ZCDP(Fraction(1, 1000)))
    team.charge(Gaussian(25))
    with pytest.raises(BudgetExceeded, match="/team"):
        team.charge(Gaussian(25))
    ledger.charge(Gaussian(25))


def test_accounts_copy_and_pickle_as_themselves(url: str) -> None:
    team = Ledger(url, limit=PAIR).account("a", PAIR).account("b", PAIR)
    assert copy.copy(team) is team
    assert copy.deepcopy({"x": team})["x"] is team
    again = pickle.loads(pickle.dumps(team))
    assert isinstance(again, Account)
    again.charge(DiscreteLaplace(10))
    assert team.spent() == ApproxDP(0.1, 0)
    assert repr(team) == "Account(limit=ApproxDP(epsilon=1, delta=1e-06), 10% used)"
