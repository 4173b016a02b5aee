"""Section 4.3 on MNIST: DP-SGD with a small network, and PATE with both of its ε's.

PATE has the first 50 000 training images as private ones, and asks about the others without their labels. Its
rows are declared public, so that the ε that depends on them may be shown beside the one that a ledger would
be charged.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from harness import DATA, Study, choose_size, markdown, seed_of
from study import STUDY

import discreet as dp
from discreet import testing

__all__ = ["DELTA", "SGD_EPSILONS"]

FILES = ("mnist/train-images-idx3-ubyte.gz",)
DELTA = 1e-5
#: The ε that the survey quotes for PATE, and that for DP-SGD.
SGD_EPSILONS = (2.04, 8.0)


@cache
def read(part: str) -> Any:
    from discreet.deep.images import load_mnist

    found = load_mnist(DATA / "mnist", part)
    count = choose_size(len(found.labels), 1200)
    return found.images[:count], found.labels[:count].astype(np.int64)


def build_network() -> Any:
    """The small network with tanh of Papernot et al. 2021: 26 010 parameters."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


@STUDY.experiment(SGD_EPSILONS, repeats=3, quick=1, needs=("torch", *FILES))
def mnist_dp_sgd(epsilon: float, *, seed: int) -> dict[str, float]:
    import torch

    from discreet.deep import PrivateTensors, PrivateTrainer

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    (images, labels), (others, truth) = read("train"), read("test")
    images, labels = (part[: choose_size(60_000, 1200)] for part in (images, labels))
    epochs = choose_size(4, 1)
    x, test = (torch.from_numpy(part[:, None] / 255).float() for part in (images, others))
    model = build_network()
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    with testing.fixed_noise(seed_of(epsilon, seed)):
        PrivateTrainer(
            model,
            torch.nn.CrossEntropyLoss(reduction="none"),
            torch.optim.SGD(model.parameters(), lr=4, momentum=0.9),
            epsilon=epsilon,
            delta=DELTA,
            batch=len(labels) // 60,
            epochs=epochs,
            max_grad_norm=0.1,
        ).fit(PrivateTensors(x, torch.from_numpy(labels), ledger=ledger, public_size=len(labels)))
    with torch.no_grad():
        guess = model(test).argmax(dim=1).numpy()
    found = {"accuracy": float((guess == truth).mean()), "epsilon": epsilon}
    return found | {"images": len(labels), "passes": epochs}


@STUDY.experiment(repeats=3, quick=1, needs=FILES)
def mnist_pate(*, seed: int) -> dict[str, float]:
    """Teachers are linear, on scattering coefficients, which are fixed in advance."""
    from sklearn.linear_model import RidgeClassifier

    from discreet.deep.pate import PATE, ConfidentGNMax, SpreadingStudent
    from discreet.deep.scattering import Scattering

    teachers, questions = choose_size((250, 2000), (10, 50))
    (images, labels), (others, truth) = read("train"), read("test")
    private = len(labels) * 5 // 6
    flat = images.reshape(len(images), -1)
    # threshold, noise of checks, noise of answers, answers; chosen on public rows
    aggregation = ConfidentGNMax(*choose_size((200, 80, 50, 1500), (8, 60, 40, 40)))
    epsilon = float(dp.accounting.epsilon_at(aggregation.event(questions), DELTA).epsilon)
    pixels: dict[str, Any] = {f"p{at}": dp.Integer(0, 255) for at in range(784)}
    model = PATE(
        RidgeClassifier(alpha=100),
        SpreadingStudent(),
        teachers,
        n_queries=questions,
        aggregation=aggregation,
        features=Scattering(),
        semi_supervised=True,
        schema=dp.Schema({**pixels, "digit": dp.Categorical(*range(10))}),
        unit=dp.PUBLIC,
        epsilon=epsilon * 1.001,
        delta=DELTA,
    )
    with testing.fixed_noise(seed_of("pate", seed)):
        model.fit(flat[:private], labels[:private], public=flat[private:])
    answered = np.flatnonzero(model.labels_ >= 0)
    told = model.labels_[answered] == labels[private:][answered]
    return {
        "images": private,
        "accuracy": model.score(others.reshape(len(others), -1), truth),
        "epsilon": model.independent_epsilon(),
        "epsilon of these rows": model.dependent_epsilon(),
        "answers": len(answered),
        "right answers": float(told.mean()) if len(told) else 0.0,
    }


@STUDY.table("mnist-dp-sgd")
def mnist_network(study: Study) -> str:
    quoted = study.published["MNIST"]["DP-SGD"]
    rows = []
    for epsilon in SGD_EPSILONS:
        found = study.get("mnist-dp-sgd", epsilon)
        made_of = f"{found['images'].mean:.0f} images, {found['passes'].mean:.0f} passes"
        printed = quoted["accuracy"] if epsilon == quoted["epsilon"] else "–"
        reached = found["accuracy"]
        rows.append([f"{epsilon:g}", printed, reached, made_of, reached.count])
    return markdown(["DP-SGD, ε", "quoted", "test accuracy", "made of", "repetitions"], rows)


@STUDY.table("mnist-pate")
def mnist_teachers(study: Study) -> str:
    quoted, found = study.published["MNIST"]["PATE"], study.get("mnist-pate")
    row = [
        f"{found['epsilon'].mean:.2f}",
        found["epsilon of these rows"],
        f"{quoted['accuracy']} at ε = {quoted['epsilon']}",
        found["accuracy"],
        f"{found['images'].mean:.0f} private images",
        found["accuracy"].count,
    ]
    head = ["PATE, ε charged", "ε of these very rows", "quoted", "test accuracy", "made of"]
    return (
        f"{markdown([*head, 'repetitions'], [row])}\n\nPATE answered {found['answers']} of 2000 questions; "
        f"a share of {found['right answers']} of them was right."
    )
