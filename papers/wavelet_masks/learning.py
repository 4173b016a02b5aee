"""Section 4.2 to 4.5 on a table: five learners on masked rows, on made-up rows, and by DP-SGD.

A repetition draws rows anew, masks training and test rows, trains on the masked ones, and predicts for the
masked test rows. Predictions are compared with the true labels, which are public here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from census import COLUMNS, FILES, TARGET, Floats, add_copy, draw_rows, unscale, wrap
from harness import seed_of
from study import EPSILONS, STUDY

import discreet as dp
from discreet import testing
from discreet.publish import Synthesizer
from discreet.publish.masks import (
    LS,
    AngleEmbedding,
    LSPlus,
    PseudoQuantum,
    WaveletApproximation,
    WaveletLaplace,
)
from discreet.publish.masks.published import PRINTED_THRESHOLD

__all__ = [
    "GAMMAS",
    "LEAKED",
    "LEARNERS",
    "MASKS",
    "MEDIUM",
    "PRINTED",
    "REPAIRED",
    "SIZE_OF",
    "SYNTHETIC",
]

GAMMAS = (0.5, 1.0, 2.0)
DELTA = 1e-5
#: Support vectors are learned from at most so many rows, and predict for at most so many.
MOST_VECTORS, MOST_PREDICTED = 2187, 3000
SYNTHETIC = "synthetic table"

#: The masks as published; the size of their tables.
MASKS: dict[str, Callable[[float], Any]] = {
    **{f"LS, γ = {g:g}": lambda e, g=g: LS(e, g) for g in GAMMAS},
    **{f"LS+, γ = {g:g}": lambda e, g=g: LSPlus(e, g) for g in GAMMAS},
    "pseudo-quantum": lambda e: PseudoQuantum(e, 0.1, 0.0),
}
#: The masks that keep the promise: half of ε is for the label.
REPAIRED: dict[str, Callable[[float], Any]] = {
    "LS, repaired": lambda e: WaveletApproximation(e, target=TARGET, order="position"),
    "LS+, repaired": lambda e: WaveletLaplace(e, target=TARGET, order="position"),
    "pseudo-quantum, repaired": lambda e: AngleEmbedding(e, target=TARGET, order="position"),
}
SIZE_OF = {name: "large" if name.startswith("LS+") else "small" for name in (*MASKS, *REPAIRED)}


def make_learners(rows: int) -> dict[str, Any]:
    """The paper's five, with scikit-learn's defaults where it says nothing.

    Networks see about 130 000 rows of the small table and 540 000 of the large one. The deep network has
    the paper's four hidden layers, without its dropout.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC, SVR

    passes = 60 if rows < 10_000 else 6
    return {
        "logistic regression": LogisticRegression(),
        "SVM": SVC(),
        "SVR": SVR(),
        "shallow network": MLPClassifier(
            (10,), "logistic", solver="sgd", learning_rate_init=0.1, max_iter=passes, random_state=0
        ),
        "deep network": MLPClassifier((16, 18, 20, 24), max_iter=passes, random_state=0),
    }


LEARNERS = tuple(make_learners(0))


def measure(guess: Any, truth: Any, name: str = "") -> dict[str, float]:
    """Accuracy and balanced accuracy, under this name."""
    right, truth = np.asarray(guess) == truth, np.asarray(truth, bool)
    return {
        f"{name}": float(right.mean()),
        f"{name}, balanced": float((right[truth].mean() + right[~truth].mean()) / 2),
    }


def learn(train: Floats, test: Floats, truth: Any, names: Any = LEARNERS) -> dict[str, float]:
    """Train each learner on rows with the label last, predict for others, and score."""
    found = {"majority": float(max(truth.mean(), 1 - truth.mean()))}
    for name, model in make_learners(len(train)).items():
        if name not in names:
            continue
        vectors = name.startswith("SV")
        rows = train[:MOST_VECTORS] if vectors else train
        seen = test[:MOST_PREDICTED] if vectors else test
        guess = np.full(len(seen), rows[0, -1])
        if len(np.unique(rows[:, -1])) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # networks stop after a number of passes
                guess = model.fit(rows[:, :-1], rows[:, -1]).predict(seen) >= 0.5
        found |= measure(guess, truth[: len(seen)], name)
    return found


def mask_rows(mask: Any, rows: Floats, *setting: Any) -> Floats:
    """Masked rows in the order of the true ones."""
    if hasattr(mask, "apply"):  # as published
        told = mask.publish(wrap(rows), target=TARGET, random_state=seed_of(*setting))
    else:
        with testing.fixed_noise(seed_of(*setting)):
            told = mask.publish(wrap(rows))
    return np.column_stack([np.asarray(column, np.float64) for column in told.values()])


def learn_masked(
    name: str, epsilon: float, seed: int, size: str = "", learners: Any = LEARNERS
) -> dict[str, float]:
    mask = (MASKS | REPAIRED)[name](epsilon)
    train, test = draw_rows(size or SIZE_OF[name], seed)
    masked = mask_rows(mask, train, name, epsilon, seed, "train")
    seen = mask_rows(mask, test, name, epsilon, seed, "test")
    return learn(masked, seen[:, :-1], test[:, -1] > 0, learners)


SMALL = tuple(name for name, size in SIZE_OF.items() if size == "small")
LARGE = tuple(name for name, size in SIZE_OF.items() if size == "large")


@STUDY.experiment(SMALL, EPSILONS, repeats=10, quick=1, needs=FILES)
def learn_small(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    return learn_masked(name, epsilon, seed)


@STUDY.experiment(LARGE, EPSILONS, repeats=2, quick=1, needs=FILES)
def learn_large(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    return learn_masked(name, epsilon, seed)


#: What is learned from the medium table: masks, and learners that see all of its rows.
MEDIUM = ("LS, γ = 1", "pseudo-quantum"), ("logistic regression", "shallow network")


@STUDY.experiment(MEDIUM[0], EPSILONS, repeats=10, quick=1, needs=FILES)
def learn_medium(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """As many training rows as the text of section 4.1 says."""
    return learn_masked(name, epsilon, seed, "medium", MEDIUM[1])


@STUDY.experiment(("small", "large"), repeats=5, quick=1, needs=FILES)
def learn_true(size: str, *, seed: int) -> dict[str, float]:
    """What the learners reach on rows as they are."""
    train, test = draw_rows(size, seed)
    return learn(train, test[:, :-1], test[:, -1] > 0)


@STUDY.experiment(("small", "large"), EPSILONS, repeats=5, quick=1, needs=FILES)
def learn_synthetic(size: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """Rows drawn from a private model of the table; the test rows are true ones."""
    train, test = draw_rows(size, seed)
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    with testing.fixed_noise(seed_of(size, epsilon, seed)):
        model = Synthesizer(epsilon, DELTA, target=TARGET).fit(wrap(train, ledger=ledger))
        made = model.sample(len(train), random_state=seed)
    known = np.array([label is not None for label in made[TARGET]])
    rows = np.column_stack([np.asarray(made[name], object) for name in (*COLUMNS, TARGET)])[known]
    return learn(np.nan_to_num(rows.astype(np.float64)), test[:, :-1], test[:, -1] > 0)


@STUDY.experiment(("small", "large"), EPSILONS, repeats=5, quick=1, needs=(*FILES, "torch"))
def learn_by_dp_sgd(size: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """A network on the true rows, whose gradients are clipped and noised."""
    import torch

    from discreet.deep import MLPClassifier

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    train, test = draw_rows(size, seed)
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    model = MLPClassifier(epsilon=epsilon, delta=DELTA, expected_rows=len(train))
    with testing.fixed_noise(seed_of(size, epsilon, seed)):
        model.fit(wrap(train, ledger=ledger), target=TARGET)
    guess = model.predict({name: test[:, at] for at, name in enumerate(COLUMNS)})
    truth = test[:, -1] > 0
    return {"majority": float(1 - truth.mean())} | measure(np.asarray(guess) == 1, truth, "DP-SGD")


LEAKED = ("LS, γ = 1", "LS+, γ = 1", "pseudo-quantum")


@STUDY.experiment(LEAKED, EPSILONS, repeats=20, quick=1, needs=FILES)
def learn_leaky(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """The masked label among the predictors, of test rows as well: is this what was published?"""
    mask = MASKS[name](epsilon)
    train, test = (add_copy(rows) for rows in draw_rows("small", seed))
    masked = mask_rows(mask, train, name, epsilon, seed, "train")
    seen = mask_rows(mask, test, name, epsilon, seed, "test")
    chosen = ("logistic regression", "shallow network")
    return learn(masked, seen[:, :-1], test[:, -1] > 0, chosen)


@STUDY.experiment(LEAKED, EPSILONS, repeats=20, quick=1, needs=FILES)
def learn_leaky_units(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """The same with predictors in their own units, as codes of a census are; standardised once masked."""
    from sklearn.preprocessing import StandardScaler

    mask, draw = MASKS[name](epsilon), np.random.default_rng(seed_of(name, epsilon, seed))
    train, test = (unscale(add_copy(rows)) for rows in draw_rows("small", seed))
    masked, seen = (
        mask.apply(rows, unit=dp.PUBLIC, target=-1, random_state=draw) for rows in (train, test)
    )
    scaler = StandardScaler().fit(masked[:, :-1])
    labelled = np.column_stack([scaler.transform(masked[:, :-1]), masked[:, -1]])
    told = scaler.transform(seen[:, :-1])
    return learn(labelled, told, test[:, -1] > 0, ("logistic regression",))


#: Learners that the paper has for pseudo-quantum masks of a table.
PRINTED = LEARNERS[:-1]


@STUDY.experiment(EPSILONS, repeats=20, quick=1, needs=FILES)
def learn_printed(epsilon: float, *, seed: int) -> dict[str, float]:
    """Pseudo-quantum with the threshold of labels that section 3.4.2 prints; 1 is the larger class.

    So it is in the paper, if 1 stands for those who speak English.
    """
    mask = PseudoQuantum(epsilon, 0.1, 0.0, threshold=PRINTED_THRESHOLD)
    train, test = draw_rows("small", seed)
    train[:, -1], test[:, -1] = 1 - train[:, -1], 1 - test[:, -1]
    masked = mask_rows(mask, train, "printed", epsilon, seed, "train")
    seen = mask_rows(mask, test, "printed", epsilon, seed, "test")
    found = learn(masked, seen[:, :-1], test[:, -1] > 0, PRINTED)
    return found | {"labels 1": float(masked[:, -1].mean())}
