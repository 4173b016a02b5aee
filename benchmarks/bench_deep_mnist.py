"""MNIST: a linear head on scattering features and a small network by DP-SGD, and PATE; each with its bar.

``make bench-mnist``; ``ARGS=--head``, ``--cnn`` or ``--pate`` for one of them. PATE needs no PyTorch. MNIST
is read from ``DISCREET_DATA`` (by default ``../shared/data`` beside the repository); without it nothing is
measured. The test part is used once for each line; settings were chosen on training images, 10,000 of them
held out. PATE has the first 50,000 training images as private ones and the last 10,000, without their labels,
as public ones; its rows are declared public (``dp.PUBLIC``), so that the ε that depends on them may be
printed beside the one that a ledger would be charged. The exit status is the number of bars missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from bench_models import Bars
from real_tables import DATA
from sklearn.linear_model import RidgeClassifier

import discreet as dp
from discreet.deep.images import LabelledImages, load_mnist
from discreet.deep.pate import PATE, ConfidentGNMax, SpreadingStudent
from discreet.deep.scattering import Scattering

DELTA = 1e-5
#: ε, steps, learning rate, bar; and the most CPU-s of the features and one head of each kind.
HEADS = ((0.5, 120, 16, 0.975), (1.2, 200, 40, 0.981), (2.93, 300, 40, 0.985))
HEAD_SECONDS = 360
#: ε, expected batch, steps, learning rate, bar.
NETWORK = (3, 1024, 600, 4, 0.97)
SEEDS = 3
TRAIN, PUBLIC, TEST = 50_000, 10_000, 10_000
TEACHERS, QUERIES = 250, 2000
#: Chosen on public rows: threshold, noise of checks, noise of answers, answers.
AGGREGATION = (200, 80, 50, 1500)
PATE_BAR = 0.97
QUICK = {
    "HEADS": ((2.93, 2, 16, 0.0),),
    "NETWORK": (3, 1024, 3, 4, 0.0),
    "SEEDS": 1,
    "TRAIN": 600,
    "PUBLIC": 300,
    "TEST": 100,
    "TEACHERS": 10,
    "QUERIES": 50,
    "AGGREGATION": (8, 60, 40, 40),
    "PATE_BAR": 0.0,
}


def read() -> tuple[LabelledImages, LabelledImages]:
    train, test = (load_mnist(DATA / "mnist", part) for part in ("train", "test"))
    return train, LabelledImages(test.images[:TEST], test.labels[:TEST])


def flat(images: Any) -> Any:
    return images.reshape(len(images), -1)


def show_pate(bars: Bars, train: LabelledImages, test: LabelledImages) -> None:
    begin, found = time.process_time(), []
    images, labels = flat(train.images), train.labels
    public = images[60_000 - 10_000 :][:PUBLIC]
    for seed in range(SEEDS):
        model = teach().fit(images[:TRAIN], labels[:TRAIN], public=public)
        answered = np.flatnonzero(model.labels_ >= 0)
        right = (model.labels_ == labels[50_000 : 50_000 + QUERIES])[answered].mean()
        found.append(model.score(flat(test.images), test.labels))
        print(
            f"PATE {seed + 1}: {TEACHERS} teachers, {QUERIES} questions, {len(answered)} answers "
            f"({right:.3f} right), test accuracy {found[-1]:.4f}\n"
            f"  data-independent ε = {model.independent_epsilon():.3f}, "
            f"data-dependent ε = {model.dependent_epsilon():.3f}, δ = {DELTA:g}",
            flush=True,
        )
    print(f"{(time.process_time() - begin) / SEEDS:.0f} CPU-s each")
    bars.show("PATE on MNIST, test accuracy", float(np.mean(found)), PATE_BAR)


def teach() -> PATE:
    """Teachers and a student on scattering coefficients, which are fixed in advance."""
    aggregation = ConfidentGNMax(*AGGREGATION)
    epsilon = float(dp.accounting.epsilon_at(aggregation.event(QUERIES), DELTA).epsilon)
    pixels: dict[str, Any] = {f"p{at}": dp.Integer(0, 255) for at in range(784)}
    return PATE(
        RidgeClassifier(alpha=100),
        SpreadingStudent(),
        TEACHERS,
        n_queries=QUERIES,
        aggregation=aggregation,
        features=Scattering(),
        semi_supervised=True,
        schema=dp.Schema({**pixels, "digit": dp.Categorical(*range(10))}),
        unit=dp.PUBLIC,
        epsilon=epsilon * 1.001,
        delta=DELTA,
    )


def show_heads(bars: Bars, train: LabelledImages, test: LabelledImages) -> None:
    import torch

    begin = time.process_time()
    features = Scattering()
    size = min(len(train.labels), TRAIN + PUBLIC)
    x = torch.from_numpy(features.transform(train.images[:size]))
    y = torch.from_numpy(train.labels[:size].astype(np.int64))
    test_x = torch.from_numpy(features.transform(test.images))
    whole = time.process_time() - begin
    print(f"features: {whole:.0f} CPU-s", flush=True)
    for epsilon, steps, rate, bar in HEADS:
        found, begin = [], time.process_time()
        for seed in range(SEEDS):
            head = train_head(x, y, epsilon, steps, rate, seed)
            found.append(accuracy(head, test_x, test.labels))
        spent = (time.process_time() - begin) / SEEDS
        whole += spent
        print(f"seeds: {', '.join(f'{each:.4f}' for each in found)}; {spent:.0f} CPU-s each")
        bars.show(f"linear head by DP-SGD, ε = {epsilon:g}", float(np.mean(found)), bar)
    bars.show("CPU-s of the features and a head of each kind", whole, HEAD_SECONDS, most=True)


def train_head(x: Any, y: Any, epsilon: float, steps: int, rate: float, seed: int) -> Any:
    """A linear model of features, its weights averaged over the last steps."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    model = nn.Linear(x.shape[1], 10)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    trainer = dp.deep.PrivateTrainer(
        model,
        nn.CrossEntropyLoss(reduction="none"),
        torch.optim.SGD(model.parameters(), lr=rate, momentum=0.5),
        epsilon=epsilon,
        delta=DELTA,
        batch=min(4096, len(y) // 4),
        steps=steps,
        max_grad_norm=0.1,
        average=0.95,
        block=128,
    ).fit(paid(x, y, epsilon))
    model.load_state_dict(trainer.average_)
    return model


def paid(x: Any, y: Any, epsilon: float) -> Any:
    """Rows behind a door with a ledger for one training."""
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    return dp.deep.PrivateTensors(x, y, ledger=ledger, public_size=len(y))


def accuracy(model: Any, x: Any, labels: Any) -> float:
    import torch

    with torch.no_grad():
        return float((model(x).argmax(dim=1).numpy() == labels).mean())


def small_network() -> Any:
    """26,010 parameters, with bounded activations (Papernot, Thakurta, Song, Chien & Erlingsson 2021)."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.Tanh(), nn.MaxPool2d(2, 1), nn.Flatten(),
        nn.Linear(512, 32), nn.Tanh(), nn.Linear(32, 10),
    )  # fmt: skip


def as_inputs(images: Any) -> Any:
    import torch

    return torch.from_numpy(images.astype(np.float32) / 255)[:, None]


def show_network(bars: Bars, train: LabelledImages, test: LabelledImages) -> None:
    """A small convolutional network on pixels."""
    import torch
    from torch import nn

    epsilon, batch, steps, rate, bar = NETWORK
    size = min(len(train.labels), TRAIN + PUBLIC)
    x, y = as_inputs(train.images[:size]), torch.from_numpy(train.labels[:size].astype(np.int64))
    found, begin = [], time.process_time()
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model = small_network()
        dp.deep.PrivateTrainer(
            model,
            nn.CrossEntropyLoss(reduction="none"),
            torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
            epsilon=epsilon,
            delta=DELTA,
            batch=min(batch, size // 4),
            steps=steps,
            max_grad_norm=0.1,
            block=64,
        ).fit(paid(x, y, epsilon))
        found.append(accuracy(model.eval(), as_inputs(test.images), test.labels))
    spent = (time.process_time() - begin) / SEEDS
    print(f"seeds: {', '.join(f'{each:.4f}' for each in found)}; {spent:.0f} CPU-s each")
    bars.show(f"small network by DP-SGD, ε = {epsilon:g}", float(np.mean(found)), bar)


#: What is measured, by argument.
PARTS = {"--pate": show_pate, "--head": show_heads, "--cnn": show_network}


def main(arguments: Sequence[str] = ()) -> int:
    bars = Bars()
    if not (DATA / "mnist").is_dir():
        print("MNIST is not here; set DISCREET_DATA")
        return 0
    train, test = read()
    for name, show in PARTS.items():
        if arguments and name not in arguments:
            continue
        try:
            show(bars, train, test)
        except ModuleNotFoundError:
            print(f"{name[2:]} is left out: PyTorch is not installed")
    return bars.missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
