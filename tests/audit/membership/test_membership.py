"""Membership attacks: scores against slow oracles, floors that are valid, leaks found and none invented."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from discreet.audit import membership
from discreet.audit.membership import Answers, Game, MembershipReport, audit_scores
from discreet.measures import ApproxDP, GaussianDP, PureDP

RISK = 0.05


def allowed(runs: int, risk: float = RISK) -> int:
    return math.ceil(runs * risk + 3 * math.sqrt(runs * risk * (1 - risk)))


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def forest_game(digits):
    return membership.play(
        RandomForestClassifier(15, random_state=0), *digits, targets=2, shadows=24, random_state=0
    )


TREE = DecisionTreeClassifier(min_samples_leaf=40, random_state=0)

ATTACKS = {
    "loss": membership.loss_threshold,
    "shadow": lambda game, **o: membership.shadow_models(game, attack=TREE, **o),
    "lira": membership.lira,
    "lira offline": lambda game, **o: membership.lira(game, online=False, **o),
    "rmia": membership.rmia,
    "rmia offline": lambda game, **o: membership.rmia(game, online=False, **o),
}


# --- the report ---


def test_rates_and_areas_are_those_of_scikit_learn_and_of_counting():
    rng = np.random.default_rng(0)
    included = rng.random((3, 200)) < 0.5
    scores = np.round(rng.normal(size=included.shape) + included, 1)  # with ties
    report = MembershipReport("test", scores, included)
    assert report.auc == pytest.approx(roc_auc_score(included.ravel(), scores.ravel()), abs=1e-12)
    false, true = report.roc
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    area = float(((true[1:] + true[:-1]) / 2) @ np.diff(false))
    assert area == pytest.approx(report.auc)
    for fpr in (0.001, 0.01, 0.1, 0.5):
        best = max(
            (scores[included] >= t).mean()
            for t in [*np.unique(scores), np.inf]
            if (scores[~included] >= t).mean() <= fpr
        )
        assert report.tpr_at(fpr).value == pytest.approx(best)
    advantage = max(
        (scores[included] >= t).mean() - (scores[~included] >= t).mean() for t in scores.ravel()
    )
    assert report.advantage == pytest.approx(advantage)


def test_the_report_reads_well(forest_game):
    text = repr(membership.lira(forest_game, delta="1e-5", confidence=0.9))
    for part in ("LiRA (online)", "AUC 0.", "TPR at FPR 0.001", "[", "ε >= ", "δ = 1e-05", "90.0%"):
        assert part in text
    assert "training algorithm" in text
    assert "24 shadow(s)" in repr(forest_game)


# --- validity: algorithms whose ε is known ---


class Noticeboard:
    """A model that says of each record, through randomised response, whether it was trained on."""

    classes_ = np.array([0, 1])

    def __init__(self, said, labels):
        self.said, self.labels = said, labels

    def predict_proba(self, X):
        rows = X[:, 0].astype(int)
        own = np.where(self.said[rows], 0.9, 0.1)
        positive = np.where(self.labels[rows] == 1, own, 1 - own)
        return np.column_stack([1 - positive, positive])


def noticeboard(epsilon, labels, rng):
    keep = 1 / (1 + math.exp(-epsilon))

    def train(X, y):
        there = np.zeros(len(labels), bool)
        there[X[:, 0].astype(int)] = True
        return Noticeboard(np.where(rng.random(len(labels)) < keep, there, ~there), labels)

    return train


def test_floors_hold_for_an_algorithm_of_known_epsilon_and_catch_a_false_claim():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 600)
    X = np.arange(600.0)[:, None]
    runs, wrong, caught, floors = 100, 0, 0, []
    for _ in range(runs):
        game = membership.play(
            noticeboard(1.0, labels, rng), X, labels, shadows=0, targets=2, random_state=rng
        )
        report = membership.loss_threshold(game)
        wrong += report.audit.refutes(PureDP(1))
        caught += report.audit.refutes(PureDP("0.4"))
        if len(floors) < 10:
            floors.append(report.epsilon)
    assert wrong <= allowed(runs)
    assert caught > 0.9 * runs
    assert 0.6 < np.mean(floors) < 1.0


@pytest.mark.parametrize("name", ATTACKS)
def test_a_model_that_ignores_its_records_gives_nothing_away(name):
    """Nothing but the shares of the classes is learnt; the attacks' floors stay at 0, but for their risk."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    wrong = 0
    for _ in range(8):
        game = membership.play(
            DummyClassifier(strategy="uniform"), X, y, shadows=4, random_state=rng
        )
        report = ATTACKS[name](game, delta=1e-5)
        wrong += report.epsilon > 0
        assert 0.35 < report.auc < 0.65
    assert wrong <= 3  # P(more than 3 of 8) < 4e-4 at 5 % each


# --- leaks are found ---


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_finds_an_overfitted_forest(forest_game, name):
    report = ATTACKS[name](forest_game)
    assert report.auc > 0.7
    assert report.epsilon > 1
    assert report.advantage > 0.3


def test_the_shadows_classifier_is_a_forest_unless_told(forest_game):
    """One classifier for each class, so that a tree and a forest find about the same."""
    forest, tree = membership.shadow_models(forest_game), ATTACKS["shadow"](forest_game)
    assert forest.auc > tree.auc
    assert forest.auc == pytest.approx(tree.auc, abs=0.1)


def test_calibrated_attacks_beat_the_loss_at_few_false_positives(forest_game):
    loss = membership.loss_threshold(forest_game).tpr_at(0.01)
    for name in ("lira", "lira offline", "rmia", "rmia offline"):
        assert ATTACKS[name](forest_game).tpr_at(0.01).interval[0] > loss.interval[1]


def test_a_model_that_generalises_leaks_less(digits, forest_game):
    X, y = digits
    tame = membership.play(
        LogisticRegression(C=1e-4, max_iter=300), X, y, shadows=8, random_state=0
    )
    assert membership.lira(tame).auc < membership.lira(forest_game).auc - 0.15


@pytest.mark.parametrize(
    "classifier", [LinearSVC(random_state=0), DecisionTreeClassifier(random_state=0)]
)
def test_classifiers_with_margins_or_hard_probabilities_are_taken(digits, classifier):
    X, y = digits[0][:400] / 16, digits[1][:400] % 2
    game = membership.play(classifier, X, y, shadows=6, random_state=3)
    assert np.isfinite(game.targets.log_odds()).all()
    assert 0.5 < membership.lira(game).auc <= 1


# --- the attacks' scores against slow ones ---


def random_game(rng, models=40, records=30, people=25):
    def answers(count, rows, included):
        p = rng.uniform(0.05, 0.95, (count, rows))
        p = np.clip(p + 0.04 * included, 0, 0.99)
        labels = rng.integers(0, 2, rows)
        both = np.where(labels[None, :, None] == [0, 1], p[..., None], 1 - p[..., None])
        return Answers(included, both, labels)

    coins = rng.random((models + 2, records)) < 0.5
    nobody = np.zeros((models + 2, people), bool)
    return Game(
        answers(2, records, coins[:2]),
        answers(models, records, coins[2:]),
        answers(2, people, nobody[:2]),
        answers(models, people, nobody[2:]),
    )


def test_lira_is_the_ratio_of_fitted_normal_densities():
    game = random_game(np.random.default_rng(4))
    online = membership.lira(game, variance="each", minimum=1e-6).scores
    offline = membership.lira(game, online=False, variance="each", minimum=1e-6).scores
    for i in range(30):
        values, there = game.shadows.log_odds()[:, i], game.shadows.included[:, i]
        fits = [(values[w].mean(), values[w].std(ddof=1)) for w in (there, ~there)]
        for row in range(2):
            x = game.targets.log_odds()[row, i]
            ratio = norm.logpdf(x, *fits[0]) - norm.logpdf(x, *fits[1])
            assert online[row, i] == pytest.approx(ratio)
            assert offline[row, i] == pytest.approx(norm.logcdf(x, *fits[1]))


def test_shrunk_variances_lie_between_and_help_with_few_shadows(digits):
    game = membership.play(
        RandomForestClassifier(20, random_state=0), *digits, shadows=8, random_state=1
    )
    areas = {v: membership.lira(game, variance=v).auc for v in ("each", "shrunk", "shared")}
    assert areas["shrunk"] > areas["each"] + 0.02
    assert areas["shrunk"] > areas["shared"] - 0.005
    tight = membership.lira(game, variance="each", minimum=1e-6)
    assert tight.auc < areas["shrunk"]


def test_rmia_is_the_share_of_the_population_that_is_beaten():
    game = random_game(np.random.default_rng(5))
    a, gamma, people = 0.4, 1.5, 25
    for online in (True, False):
        found = membership.rmia(game, online=online, gamma=gamma, a=a).scores
        for row in range(2):
            for i in range(30):
                said, there = game.shadows.confidence[:, i], game.shadows.included[:, i]
                usual = (said[there].mean() + said[~there].mean()) / 2
                if not online:
                    usual = ((1 + a) * said[~there].mean() + 1 - a) / 2
                ratio, beaten = game.targets.confidence[row, i] / usual, 0
                for z in range(people):
                    usual_z = game.shadow_population.confidence[:, z].mean()
                    if not online:
                        usual_z = ((1 + a) * usual_z + 1 - a) / 2
                    other = game.target_population.confidence[row, z] / usual_z
                    beaten += ratio / other >= gamma
                assert beaten / people <= found[row, i] < (beaten + 1) / people


def test_attacks_dont_look_at_the_secret(forest_game):
    """With all the targets' memberships changed, every score stays as it is."""
    changed = Game(
        Answers(
            ~forest_game.targets.included,
            forest_game.targets.probabilities,
            forest_game.targets.labels,
        ),
        forest_game.shadows,
        forest_game.target_population,
        forest_game.shadow_population,
    )
    for attack in ATTACKS.values():
        assert np.array_equal(attack(changed).scores, attack(forest_game).scores)


# --- the doors ---


def test_probabilities_of_unseen_classes_are_zero():
    X = np.arange(6.0)[:, None]
    model = DecisionTreeClassifier().fit(X[:4], ["b", "b", "c", "c"])
    found = membership.class_probabilities(model, X, np.array(["a", "b", "c"]))
    assert found[:, 0].tolist() == [0.0] * 6
    assert found.sum(axis=1).tolist() == [1.0] * 6
    neighbours = KNeighborsClassifier(1).fit(X, [0, 1, 2, 0, 1, 2])
    assert membership.class_probabilities(neighbours, X, np.arange(3)).shape == (6, 3)
    margins = LinearSVC().fit(X, [0, 0, 0, 1, 1, 1])
    both = membership.class_probabilities(margins, X, np.arange(2))
    assert both.sum(axis=1) == pytest.approx(1)
    assert np.all(np.diff(both[:, 1]) > 0)


def test_estimators_are_cloned_and_games_repeat(digits):
    X, y = digits[0][:300], digits[1][:300]
    tree = DecisionTreeClassifier(random_state=0)
    games = [membership.play(tree, X, y, shadows=4, random_state=5) for _ in range(2)]
    assert not hasattr(tree, "tree_")
    assert np.array_equal(games[0].targets.included, games[1].targets.included)
    assert np.array_equal(games[0].shadows.probabilities, games[1].shadows.probabilities)
    assert not games[0].target_population.included.any()
    assert games[0].targets.included.shape == (1, 240)


def test_frames_are_kept_as_frames(digits):
    frame = pd.DataFrame(digits[0][:200]).rename(columns=str).assign(word=["a", "b"] * 100)
    seen = []

    def train(X, y):
        seen.append(list(X.columns))
        encode = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
        return make_pipeline(encode, DecisionTreeClassifier()).fit(X, y)

    game = membership.play(train, frame, digits[1][:200], shadows=2, random_state=0)
    assert game.targets.included.shape == (1, 160)
    assert all(columns == list(frame.columns) for columns in seen)
    audit = membership.audit_record(train, frame, digits[1][:200], 3, runs=4)
    assert audit.outcomes.trials == 2


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda g: membership.trainer(3), TypeError, "algorithm must be"),
        (lambda g: membership.play(DummyClassifier(), [1, 2], [1, 2]), ValueError, "X must have"),
        (lambda g: membership.play(DummyClassifier(), [[1], [2]], [1]), ValueError, "y must have"),
        (
            lambda g: membership.play(DummyClassifier(), [[1], [2]], [1, 2], population=1),
            ValueError,
            "population",
        ),
        (
            lambda g: membership.class_probabilities(object(), np.ones((1, 1)), np.arange(2)),
            TypeError,
            "neither",
        ),
        (lambda g: membership.lira(g, variance="none"), ValueError, "variance"),
        (lambda g: membership.lira(g, minimum=0.5), ValueError, "minimum"),
        (lambda g: membership.rmia(g, gamma=0.5), ValueError, "gamma"),
        (lambda g: membership.rmia(g, a=2), ValueError, "a must"),
        (lambda g: membership.loss_threshold(g, delta=2), ValueError, "delta"),
        (lambda g: membership.loss_threshold(g).tpr_at(2), ValueError, "fpr"),
        (lambda g: membership.loss_threshold(g, confidence=1.0), ValueError, "confidence"),
        (lambda g: audit_scores([1.0, 2.0], [1.0, np.nan]), ValueError, "NaN"),
        (lambda g: audit_scores([1.0], [1.0, 2.0]), ValueError, "at least two"),
        (
            lambda g: membership.audit_record(DummyClassifier(), [[1], [2]], [0, 1], 2),
            ValueError,
            "record",
        ),
        (
            lambda g: membership.lira(
                membership.play(DummyClassifier(), np.ones((20, 1)), np.arange(20) % 2, shadows=0)
            ),
            ValueError,
            "shadow",
        ),
    ],
)
def test_bad_input_is_refused(forest_game, call, kind, message):
    with pytest.raises(kind, match=message):
        call(forest_game)


def test_claims_can_be_put_to_a_report(forest_game):
    report = membership.rmia(forest_game, delta=1e-5)
    assert report.audit.refutes(ApproxDP(1, 1e-5))
    assert report.audit.refutes(GaussianDP("0.04"))
    assert not report.audit.refutes(PureDP(50))
