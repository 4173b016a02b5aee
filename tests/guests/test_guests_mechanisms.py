"""DP-Sniper's and StatDP's kind of attack on every mechanism, each beside a copy with half the noise."""

from __future__ import annotations

import inspect

import pytest
from mechanism_subjects import additive, all_mechanisms
from subject import check

from discreet import mechanisms, testing

SUBJECTS = all_mechanisms()
#: Which guest does not catch half the noise of what, and why. It may only become shorter.
BLIND: dict[tuple[str, str], str] = {
    (
        "BestOf randomised responses",
        guest,
    ): "it is charged as the worst run that there can be: half the "
    "noise of a response shows 1.63 of the 1.5, which takes 20 000 searches to tell apart"
    for guest in ("sniper", "statdp")
}
#: A few that are cheap, for every change.
EVERY_CHANGE = ("Laplace(PureDP(epsilon=1)) on 2", "Gaussian(ZCDP(rho=0.125)) on 1")

EVERY = [
    pytest.param(
        subject, marks=pytest.mark.long if subject.title in EVERY_CHANGE else pytest.mark.slow
    )
    for subject in SUBJECTS
]


@pytest.mark.parametrize("subject", EVERY, ids=str)
def test_guests_find_nothing_in_a_mechanism_and_see_half_its_noise(subject):
    check(subject, BLIND)


def is_mechanism(kind: object) -> bool:
    """Whether a class draws: it noises, chooses, randomises or fits."""
    return inspect.isclass(kind) and any(hasattr(kind, act) for act in ("run", "randomize", "fit"))


def unattacked(names: list[str], attacked: set[type]) -> list[str]:
    kinds = {name: getattr(mechanisms, name) for name in names}
    return [
        name
        for name, kind in kinds.items()
        if is_mechanism(kind) and not inspect.isabstract(kind) and kind not in attacked
    ]


def test_every_mechanism_has_its_guests():
    attacked = {type(subject.of) for subject in SUBJECTS}
    assert unattacked(mechanisms.__all__, attacked) == ["NoNoise"]  # it has no claim to attack
    assert unattacked(mechanisms.__all__, attacked - {mechanisms.SparseVector}) == [
        "NoNoise",
        "SparseVector",
    ]
    examples = (*testing.MECHANISMS, *testing.LOCALS, *testing.DISTRIBUTIONS)
    objects = [subject.of for subject in SUBJECTS]
    assert [e for e in examples if not any(e is o for o in objects)] == [mechanisms.NoNoise()]


def test_titles_are_different_and_the_blind_ones_exist():
    titles = [subject.title for subject in SUBJECTS]
    assert len(set(titles)) == len(titles)
    assert {title for title, _ in BLIND} <= set(titles)
    assert set(EVERY_CHANGE) <= {subject.title for subject in additive()}
