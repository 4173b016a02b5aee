"""DP-Sniper's and StatDP's kind of attack on every kind of release, beside a copy with half the noise."""

from __future__ import annotations

import pytest
from asking_subjects import ASKINGS, WAYS, asked_subject
from door_subjects import ASKED, BUDGETS, RELEASES, UNITS, release_of, subject_for
from subject import check

from discreet import testing
from discreet.answers.asking import Asking
from discreet.queries import Query

#: Which guest does not catch half the noise of what, and why. It may only become shorter.
BLIND: dict[tuple[str, str], str] = {}
#: A few that are cheap, for every change.
EVERY_CHANGE = [
    ("Sum('x')", "replace a row", "Laplace"),
    ("Count(by='c')", "replace a person", "Gaussian"),
]


def named(release: tuple[Query, str, str]) -> tuple[str, str, str]:
    query, unit, noise = release
    return repr(query), unit, noise


EVERY = [
    pytest.param(
        release,
        marks=pytest.mark.long if named(release) in EVERY_CHANGE else pytest.mark.slow,
        id=", ".join(named(release)),
    )
    for release in RELEASES
]


@pytest.mark.parametrize("release", EVERY)
def test_guests_find_nothing_in_a_release_and_see_half_its_noise(release):
    subject = subject_for(*release)
    if subject is not None:  # else that noise is refused, or nobody can move the answer
        check(subject, BLIND)


@pytest.mark.slow
@pytest.mark.parametrize("asking", ASKINGS, ids=", ".join)
def test_guests_find_nothing_in_several_answers_and_see_half_their_noise(asking):
    check(asked_subject(*asking), BLIND)


def test_every_way_to_ask_has_its_guests():
    ways = {name for name in vars(Asking) if not name.startswith(("_", "plan"))}
    told = {"schema", "unit", "rows", "ledger", "is_made_up"}
    assert ways - told - {"release", "prepaid"} == {
        "release_all",
        "describe",
        "rehearse",  # it reads no row
    }
    assert set(WAYS) >= {"release_all", "describe"}


def test_every_query_has_its_guests_with_every_unit():
    assert testing.missing(Query, ASKED) == []
    for query in ASKED:
        for unit in UNITS:
            if not any(release_of(query, unit, noise).claims() for noise in BUDGETS):
                # n is public there, and every row is a person
                assert unit == "replace a row"
                assert repr(query) in ("Count()", "CountPeople()")
    assert len(RELEASES) == len(ASKED) * len(UNITS) * len(BUDGETS)


def test_the_few_for_every_change_exist():
    assert set(EVERY_CHANGE) <= set(map(named, RELEASES))
