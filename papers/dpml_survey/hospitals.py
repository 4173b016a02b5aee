"""Section 5.3: federated and local learning, for four hospitals with patients of their own.

Logistic regression by gradient descent on the heart-disease table of four sites: each site alone, all
together in one place, federated so that each patient is hidden, so that each hospital is, and by reports of
patients who trust nobody. Settings were fixed before the first run, and are the same in every line.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import DATA, Study, choose_size, markdown, seed_of
from study import STUDY

import discreet as dp
from discreet import testing

__all__ = ["BUDGETS"]

FILE = "heart_disease_four_sites.csv.gz"
BUDGETS = (1.0, 4.0, math.inf)
DELTA = 1e-5
#: Steps over all patients, the norm of a gradient, the learning rate, patients at a time.
ROUNDS, NORM, RATE, BLOCK = 30, 1.0, 2.0, 256
TEST_SHARE = 0.3


@cache
def read() -> tuple[Any, Any, Any]:
    """Numbers in [0, 1] and an indicator of each value; who is ill; where."""
    import pandas as pd

    frame = pd.read_csv(DATA / FILE)
    path = Path(__file__).parents[2] / "benchmarks" / "schemas" / "heart.toml"
    blocks = []
    for name, column in dp.Schema.read(path).base.items():
        if name in ("site", "disease"):
            continue
        cells = frame[name]
        if isinstance(column, dp.Real):
            low, high = float(column.lower), float(column.upper)
            share = (cells.astype(float).fillna((low + high) / 2).clip(low, high) - low) / (
                high - low
            )
            blocks.append(share.to_numpy()[:, None])
        else:
            told = cells.map(lambda cell: "missing" if pd.isna(cell) else str(int(cell))).to_numpy()
            blocks.append(np.stack([told == value for value in column.values], axis=1))
    ill = (frame["num"] > 0).to_numpy(np.int64)
    return np.hstack(blocks).astype(np.float32), ill, frame["site"].to_numpy()


class Training:
    """One split of the patients, with one budget: every way to learn from them."""

    def __init__(self, epsilon: float, seed: int) -> None:
        import torch

        torch.set_num_threads(1)
        self.torch, self.epsilon = torch, epsilon
        _, y, site = read()
        order = np.random.default_rng(seed).permutation(len(y))
        cut = round(TEST_SHARE * len(y))
        self.test, self.train = self._rows(order[:cut]), self._rows(order[cut:])
        self.sites = {
            name: self._rows(order[cut:][site[order[cut:]] == name]) for name in np.unique(site)
        }
        self.loss = torch.nn.CrossEntropyLoss(reduction="none")
        self.rounds = choose_size(ROUNDS, 3)

    def _rows(self, places: Any) -> tuple[Any, Any]:
        x, y, _ = read()
        return self.torch.from_numpy(x[places]), self.torch.from_numpy(y[places])

    def paid(self, unit: dp.Unit | None = None) -> dict[str, Any]:
        if math.isinf(self.epsilon):
            return {"unit": dp.PUBLIC}
        limit = dp.ApproxDP(self.epsilon, DELTA)
        return {"ledger": dp.Ledger(limit=limit, unit=unit or dp.Unit(dp.ADD_REMOVE))}

    def model(self) -> Any:
        found = self.torch.nn.Linear(self.train[0].shape[1], 2)
        for parameter in found.parameters():
            self.torch.nn.init.zeros_(parameter)
        return found

    def descent(self, model: Any) -> Any:
        return self.torch.optim.SGD(model.parameters(), lr=RATE)

    def options(self) -> dict[str, Any]:
        found = {"epsilon": self.epsilon, "delta": DELTA, "sampling_rate": 1}
        return found | {"max_grad_norm": NORM, "block": BLOCK}

    def together(self, rows: Any) -> Any:
        from discreet.deep import PrivateTensors, PrivateTrainer

        model = self.model()
        PrivateTrainer(
            model, self.loss, self.descent(model), steps=self.rounds, **self.options()
        ).fit(PrivateTensors(*rows, public_size=len(rows[1]), **self.paid()))
        return model

    def federated(self) -> Any:
        from discreet.deep import FederatedSGD, PrivateSites

        model = self.model()
        FederatedSGD(
            model, self.loss, self.descent(model), rounds=self.rounds, **self.options()
        ).fit(PrivateSites(self.sites, public_size=len(self.train[1]), **self.paid()))
        return model

    def hidden_hospitals(self) -> Any:
        from discreet.deep import FederatedAveraging, LocalSGD, PrivateClients

        model = self.model()
        unit = dp.Unit(dp.ADD_REMOVE, id_column="hospital", max_rows=1)
        FederatedAveraging(
            model,
            LocalSGD(self.loss, lr=RATE / 4),
            epsilon=self.epsilon,
            delta=DELTA,
            sampling_rate=1,
            rounds=3,
            max_update_norm=NORM,
        ).fit(PrivateClients(self.sites, public_clients=4, **self.paid(unit)))
        return model

    def local(self) -> Any:
        """Each patient blurs the own gradient, once: Definition 4 as it should be, for any two patients."""
        from discreet.deep import LocalGaussian

        model, told = self.model(), []
        for x, y in zip(*self.train, strict=True):
            model.zero_grad()
            self.loss(model(x[None]), y[None]).sum().backward()
            told.append(np.concatenate([p.grad.numpy().ravel() for p in model.parameters()]))
        sizes = [parameter.numel() for parameter in model.parameters()]
        channel = LocalGaussian(self.epsilon, DELTA, size=sum(sizes), bound=NORM)
        mean = self.torch.from_numpy(channel.estimate(channel.randomize(told))).float()
        with self.torch.no_grad():
            for parameter, move in zip(model.parameters(), mean.split(sizes), strict=True):
                parameter -= RATE * move.reshape(parameter.shape)
        return model

    def score(self, model: Any) -> float:
        with self.torch.no_grad():
            return float((model(self.test[0]).argmax(1) == self.test[1]).float().mean())


@STUDY.experiment(BUDGETS, repeats=10, quick=1, needs=("torch", FILE))
def hospitals(epsilon: float, *, seed: int) -> dict[str, float]:
    """Accuracy for patients of all sites."""
    training = Training(epsilon, seed)
    with testing.fixed_noise(seed_of(epsilon, seed)):
        found = {f"{name} alone": training.together(rows) for name, rows in training.sites.items()}
        found["all rows in one place"] = training.together(training.train)
        found["federated, each patient hidden"] = training.federated()
        found["federated, each hospital hidden"] = training.hidden_hospitals()
        if math.isfinite(epsilon):
            found["local reports, nobody trusted"] = training.local()
    ill = float(training.test[1].float().mean())
    scores = {name: training.score(model) for name, model in found.items()}
    return {"always the larger class": max(ill, 1 - ill)} | scores


@STUDY.table("hospitals")
def federated(study: Study) -> str:
    names = list(study.get("hospitals", 1.0))
    rows = [
        [name, *(study.get("hospitals", epsilon).get(name, "–") for epsilon in BUDGETS)]
        for name in names
    ]
    count = study.get("hospitals", 1.0)[names[0]].count
    head = ["accuracy", "ε = 1", "ε = 4", "no noise"]
    return f"{markdown(head, rows)}\n\nδ = 10⁻⁵; {count} repetitions."
