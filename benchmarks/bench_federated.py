"""Four hospitals: each one alone, federated and pooled, under differential privacy for patients.

Run ``python benchmarks/bench_federated.py`` in the environment of ``make bench-deep``. Logistic regression by
gradient descent on the heart-disease table of four sites (``DISCREET_DATA``, by default ``../shared/data``
beside the repository; without it nothing is measured). All settings were fixed before the first run, and are
the same in every line. A figure is the mean accuracy on test rows over splits of the rows (70 : 30), with its
standard error. The exit status is the number of bars missed.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import torch
from bench_models import Bars
from real_tables import has_tables, load
from torch import nn

import discreet as dp
from discreet.deep import (
    FederatedAveraging,
    FederatedSGD,
    LocalGaussian,
    PrivateClients,
    PrivateSites,
    PrivateTensors,
    PrivateTrainer,
    split_by_column,
)

REPEATS = 5
QUICK = {"REPEATS": 1}
EPSILONS, DELTA = (1, 4), 1e-5
#: Steps of gradient descent, each over all patients; the norm of a gradient; the learning rate.
ROUNDS, NORM, RATE = 30, 1.0, 2.0
#: Patients worked on at a time.
BLOCK = 256
CLIENTS = dp.Unit(dp.ADD_REMOVE, id_column="hospital", max_rows=1)
LOSS = nn.CrossEntropyLoss(reduction="none")

FEDERATED, POOLED = "federated, patients hidden", "pooled"

Rows = tuple[torch.Tensor, torch.Tensor]


class Hospitals:
    """One split of the table: training rows by site, and test rows."""

    def __init__(self, seed: int) -> None:
        split = load("heart", seed)
        self.train, self.test = (self._tensors(split, part) for part in ("train", "test"))
        self.sites = {
            site: (self.train[0][rows], self.train[1][rows])
            for site, rows in sorted(split_by_column(split.train["site"]).items())
        }
        self.tests = {
            site: (self.test[0][rows], self.test[1][rows])
            for site, rows in split_by_column(split.test["site"]).items()
        }

    @staticmethod
    def _tensors(split: Any, part: str) -> Rows:
        rows = getattr(split, part)
        blocks = [split.scaled(part, split.table.numbers)]
        for name in split.table.categories:
            if name != "site":  # nobody knows another hospital
                values = split.table.columns[name].values
                blocks.append(np.stack([rows[name].to_numpy() == v for v in values], axis=1))
        x = torch.from_numpy(np.hstack(blocks).astype(np.float32))
        return x, torch.from_numpy((rows["disease"].to_numpy() == "1").astype(np.int64))


def network(rows: Rows) -> nn.Module:
    model = nn.Linear(rows[0].shape[1], 2)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    return model


def score(model: nn.Module, rows: Rows) -> float:
    with torch.no_grad():
        return float((model(rows[0]).argmax(1) == rows[1]).float().mean())


def descent(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=RATE)


def paid(epsilon: float, unit: dp.Unit | None = None) -> dict[str, Any]:
    if epsilon == math.inf:
        return {"unit": dp.PUBLIC}
    limit = dp.ApproxDP(epsilon, DELTA)
    return {"ledger": dp.Ledger(limit=limit, unit=unit or dp.Unit(dp.ADD_REMOVE))}


def pooled(rows: Rows, epsilon: float) -> nn.Module:
    """All rows in one place."""
    model = network(rows)
    PrivateTrainer(
        model, LOSS, descent(model), epsilon=epsilon, delta=DELTA, sampling_rate=1, steps=ROUNDS,
        max_grad_norm=NORM, block=BLOCK,
    ).fit(PrivateTensors(*rows, public_size=len(rows[0]), **paid(epsilon)))  # fmt: skip
    return model


def federated(sites: dict[str, Rows], epsilon: float) -> nn.Module:
    """Sums of sites, noise once: patients are hidden."""
    rows = next(iter(sites.values()))
    model = network(rows)
    size = sum(len(y) for _, y in sites.values())
    FederatedSGD(
        model, LOSS, descent(model), epsilon=epsilon, delta=DELTA, sampling_rate=1, rounds=ROUNDS,
        max_grad_norm=NORM, block=BLOCK,
    ).fit(PrivateSites(sites, public_size=size, **paid(epsilon)))  # fmt: skip
    return model


def whole_hospitals(sites: dict[str, Rows], epsilon: float) -> nn.Module:
    """Four clients: whole hospitals are hidden, or would be."""
    model = network(next(iter(sites.values())))

    def train(own: nn.Module, rows: Rows) -> None:
        optimizer = descent(own)
        for _ in range(10):
            optimizer.zero_grad()
            LOSS(own(rows[0]), rows[1]).mean().backward()
            optimizer.step()

    FederatedAveraging(
        model, train, epsilon=epsilon, delta=DELTA, sampling_rate=1, rounds=3, max_update_norm=NORM
    ).fit(PrivateClients(sites, public_clients=4, **paid(epsilon, CLIENTS)))
    return model


def local(rows: Rows, epsilon: float) -> nn.Module:
    """Each patient blurs the own gradient, once, and trusts nobody."""
    model = network(rows)
    sizes = [each.numel() for each in model.parameters()]
    mechanism = LocalGaussian(epsilon, DELTA, size=sum(sizes), bound=NORM)
    told = []
    for x, y in zip(*rows, strict=True):
        model.zero_grad()
        LOSS(model(x[None]), y[None]).sum().backward()
        told.append(torch.cat([each.grad.flatten() for each in model.parameters()]).numpy())
    mean = torch.from_numpy(mechanism.estimate(mechanism.randomize(told))).float()
    with torch.no_grad():
        for each, move in zip(model.parameters(), mean.split(sizes), strict=True):
            each -= RATE * move.reshape(each.shape)
    return model


def scores(split: Hospitals, epsilon: float) -> dict[str, float]:
    """The accuracy of each line on one split."""
    found = {}
    for site, rows in split.sites.items():
        model = pooled(rows, epsilon)
        found[f"{site} alone, on its own patients"] = score(model, split.tests[site])
        found[f"{site} alone, on patients of all sites"] = score(model, split.test)
    found[FEDERATED] = score(federated(split.sites, epsilon), split.test)
    found[POOLED] = score(pooled(split.train, epsilon), split.test)
    found["federated, whole hospitals hidden"] = score(
        whole_hospitals(split.sites, epsilon), split.test
    )
    if epsilon < math.inf:
        found["local reports of patients"] = score(local(split.train, epsilon), split.test)
    return found


def main() -> int:
    """Print every line, with the bars."""
    if not has_tables("four hospitals", "heart_disease_four_sites.csv.gz"):
        return 0
    bars, splits = Bars(), [Hospitals(seed) for seed in range(REPEATS)]
    shares = [float(split.test[1].float().mean()) for split in splits]
    print(f"{'always the larger class':58} {np.mean(shares):9.4f}")
    for epsilon in (*EPSILONS, math.inf):
        found = [scores(split, epsilon) for split in splits]
        means = {}
        for line in found[0]:
            values = np.array([each[line] for each in found])
            means[line] = float(values.mean())
            error = values.std(ddof=1) / math.sqrt(len(values))
            print(f"{f'ε = {epsilon}, {line}':58} {means[line]:9.4f} ± {error:.4f}", flush=True)
        gap = abs(means[POOLED] - means[FEDERATED])
        bars.show(f"ε = {epsilon}, between federated and pooled", gap, 0.02, most=True)
    return bars.missed


if __name__ == "__main__":
    sys.exit(main())
