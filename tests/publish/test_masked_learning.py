"""Learning on masked rows: what is scored, what it is compared with, and who pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dp
from discreet import testing
from discreet.publish.learning import MaskedScore, score_on_masked
from discreet.publish.masks import LS, LSPlus, PseudoQuantum, WaveletLaplace

UNIT = dp.Unit(dp.REPLACE_ONE)
SCHEMA = dp.Schema(
    {
        **{f"x{place}": dp.Real(0, 1) for place in range(4)},
        "colour": dp.Categorical("red", "blue"),
        "ill": dp.Categorical("no", "yes"),
    }
)


def rows(count: int, seed: int, share: float = 0.3) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    ill = draw.random(count) < share
    columns = {f"x{place}": 1.0 * (draw.random(count) < 0.2 + 0.6 * ill) for place in range(4)}
    colour = np.where(draw.random(count) < 0.5, "red", "blue")
    return {**columns, "colour": colour, "ill": np.where(ill, "yes", "no")}


def public(count: int, seed: int, **options: Any) -> dp.PrivateDataset:
    return dp.PrivateDataset(rows(count, seed, **options), SCHEMA, unit=dp.PUBLIC)


def private(count: int, seed: int, limit: Any) -> dp.PrivateDataset:
    ledger = dp.Ledger(limit=dp.PureDP(limit), unit=UNIT)
    return dp.PrivateDataset(rows(count, seed), SCHEMA, ledger=ledger)


def score(mask: Any, estimator: Any = None, **options: Any) -> MaskedScore:
    model = LogisticRegression() if estimator is None else estimator
    sets = public(2700, 1, **options), public(900, 2, **options)
    return score_on_masked(model, mask, *sets, target="ill", random_state=0)


@pytest.mark.parametrize("mask", [LS(64), LSPlus(64), PseudoQuantum(1, 0.001)])
def test_with_little_noise_a_model_learns_what_it_learns_from_rows(mask: Any) -> None:
    train, test = rows(2700, 1), rows(900, 2)
    x, seen = (np.column_stack([r[f"x{place}"] for place in range(4)]) for r in (train, test))
    plain = LogisticRegression().fit(x, train["ill"]).score(seen, test["ill"])
    found = score(mask)
    assert found.accuracy == pytest.approx(plain, abs=0.02)
    assert found.balanced_accuracy > 0.8 > found.majority_rate
    assert found.rows == 900


def test_at_the_papers_epsilon_a_high_accuracy_is_no_more_than_the_rate_of_the_majority() -> None:
    """94.8 % of the rows are of one class, as it seems in the paper: 94.8 % accuracy is no achievement."""
    found = score(LSPlus(0.5), share=0.052)
    assert 0.94 < found.accuracy <= found.majority_rate
    assert found.balanced_accuracy == pytest.approx(0.5, abs=0.03)
    assert "majority 0.9" in str(found)


def test_private_rows_are_charged_and_the_score_is_estimated_from_released_labels() -> None:
    train, test = private(2700, 1, 1000), private(6000, 2, 1000)
    mask = WaveletLaplace(1000, target="ill", label_share="0.002")  # ε = 2 for the label
    with testing.fixed_noise(3):
        found = score_on_masked(LogisticRegression(), mask, train, test, target="ill")
    assert train.ledger.spent() == test.ledger.spent() == dp.PureDP(1000)
    reference = score(LSPlus(64))
    assert abs(found.accuracy - reference.accuracy) < 4 * found.standard_error + 0.03
    assert abs(found.majority_rate - 0.7) < 0.03
    assert found.balanced_accuracy > 0.8
    told = np.sqrt(found.accuracy * (1 - found.accuracy) / 6000)
    assert found.standard_error > 1.2 * told  # labels with lies say less


def test_published_masks_take_public_rows_alone_and_charge_nothing() -> None:
    data = private(90, 1, 5)
    with pytest.raises(ValueError, match=r"unit=dp\.PUBLIC"):
        score_on_masked(LogisticRegression(), LS(1), data, data, target="ill")
    assert data.ledger.spent() == dp.PureDP(0)


def test_any_object_with_fit_and_predict_is_scored_and_left_as_it_is() -> None:
    class Nearest:
        def fit(self, x: Any, y: Any) -> None:
            self.means = np.array([x[y == label].mean(axis=0) for label in (0, 1)])

        def predict(self, x: Any) -> Any:
            return ((x[:, None] - self.means) ** 2).sum(axis=2).argmin(axis=1)

    model = Nearest()
    assert score(LS(64), model).accuracy > 0.8
    assert not hasattr(model, "means")


def test_a_regressors_predictions_count_as_the_nearer_class() -> None:
    """As the paper scores support vector regression."""
    assert score(LS(64), LinearRegression()).accuracy > 0.8


def test_labels_of_one_class_give_a_constant() -> None:
    sets = public(90, 1, share=0.0), public(90, 2)
    found = score_on_masked(LogisticRegression(), LS(10**6), *sets, target="ill")
    assert found.accuracy == found.majority_rate
    assert found.balanced_accuracy == 0.5


@pytest.mark.parametrize(
    ("mask", "target", "words"),
    [
        (LS(1), "x0", "two or more categories"),
        (LS(1), "nothing", "two or more categories"),
        (PseudoQuantum(1, 0.7), "ill", "complex"),
        (WaveletLaplace(1), "ill", "target='ill'"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(mask: Any, target: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        score_on_masked(LogisticRegression(), mask, public(90, 1), public(90, 2), target=target)


def test_train_and_test_must_have_one_schema() -> None:
    other = dp.PrivateDataset(
        {"ill": ["no"]}, dp.Schema(ill=dp.Categorical("no", "yes")), unit=dp.PUBLIC
    )
    with pytest.raises(ValueError, match="schema of train"):
        score_on_masked(LogisticRegression(), LS(1), public(90, 1), other, target="ill")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"test": "add/remove"}, "dp.REPLACE_ONE only"),
        ({"train": "no features"}, "beside the target"),
        ({"test": "empty"}, "at least one row"),
        ({"estimator": 3}, "estimator must have fit"),
        ({"mask": 3}, "mask must be a mask"),
        ({"mask": WaveletLaplace(4)}, "made with target"),
        ({"test": 3}, "test must be a dp.PrivateDataset"),
    ],
)
def test_what_can_not_be_scored_is_refused_before_any_rows_are_paid_for(change: Any, told: str):
    def open_rows(kind: str) -> dp.PrivateDataset:
        cells, schema, unit = rows(0 if kind == "empty" else 90, 1), SCHEMA, UNIT
        if kind == "add/remove":
            unit = dp.Unit(dp.ADD_REMOVE)
        if kind == "no features":
            cells, schema = {"ill": cells["ill"]}, dp.Schema(ill=SCHEMA["ill"])
        ledger = dp.Ledger(limit=dp.PureDP(20), unit=unit)
        return dp.PrivateDataset(cells, schema, ledger=ledger)

    kinds = {"train": "usual", "test": change.get("train", "usual")} | change
    sets = {name: kinds[name] for name in ("train", "test")}
    given = {name: open_rows(k) if isinstance(k, str) else k for name, k in sets.items()}
    mask = change.get("mask", WaveletLaplace(4, target="ill"))
    estimator = change.get("estimator", LogisticRegression())
    with pytest.raises((TypeError, ValueError), match=told):
        score_on_masked(estimator, mask, **given, target="ill")
    for data in given.values():
        if isinstance(data, dp.PrivateDataset):
            assert len(data.ledger.entries()) == 1  # its opening
