"""Private training against plain training, and against Opacus where it is installed: ratios of one run.

``make bench-deep``. Each line is the throughput of a training step (batch of 256 by
chance, exact noise) as a share of a plain step on 256 rows, with its bar. CPU time, one thread, interleaved,
medians.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import torch
from torch import nn

from discreet.deep.chain import Chain
from discreet.deep.clipping import Differentiator
from discreet.deep.grid import RADIUS
from discreet.deep.loop import _NoiseAhead, apply_gradient
from discreet.deep.plans import PoissonSampler, TrainingPlan
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import open_paid

BATCH, PERSONS = 256, 2560
ROUNDS = 9
QUICK = {"ROUNDS": 1}


def cnn() -> nn.Module:
    """The network of the wavelet paper: 1,011,466 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(7744, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def mlp() -> nn.Module:
    widths = (8, 16, 18, 20, 24, 2)
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Transformer(nn.Module):
    """Four layers of width 128 on 64 places."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.inner = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.last = nn.Linear(128, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.inner(x).mean(dim=1))


#: Network, shape of a row, classes, size of blocks, and the least share of plain throughput.
CASES = {
    "cnn": (cnn, (1, 27, 27), 10, 32, 0.75),
    "mlp": (mlp, (8,), 2, 128, None),
    "transformer": (Transformer, (64, 128), 2, 16, 0.5),
}


def plain_step(model: nn.Module, shape: tuple[int, ...], classes: int) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(BATCH, *shape), torch.randint(0, classes, (BATCH,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def private_step(
    model: nn.Module, shape: tuple[int, ...], classes: int, size: int, arithmetic: str
) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(PERSONS, *shape), torch.randint(0, classes, (PERSONS,))
    plan = TrainingPlan(PoissonSampler(Fraction(BATCH, PERSONS)), 10**5, RADIUS)
    door = open_paid(x, y, plan)
    door.claim(10**5)
    loss = nn.CrossEntropyLoss(reduction="none")
    path = "chain" if Chain.find(model) is not None else "tape"
    batch = BatchSum(Differentiator(model, loss, path), 1.0, "flat", arithmetic)
    noise = _NoiseAhead(plan).__enter__()

    def step() -> None:
        total = batch.total(door.draw(size))
        apply_gradient(model, optimizer, total + noise.next(len(total)), 1 / RADIUS / BATCH)

    return step


def opacus_step(
    model: nn.Module, shape: tuple[int, ...], classes: int, mode: str
) -> Callable[[], None]:
    from opacus import PrivacyEngine

    data = torch.utils.data.TensorDataset(
        torch.randn(PERSONS, *shape), torch.randint(0, classes, (PERSONS,))
    )
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    made = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
        criterion=nn.CrossEntropyLoss(), grad_sample_mode=mode,
    )  # fmt: skip
    net, optimizer, *rest = made
    criterion = rest[0] if mode == "ghost" else nn.CrossEntropyLoss()
    loader = rest[-1]
    batches = iter(loader)

    def step() -> None:
        nonlocal batches
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()

    return step


def measure(steps: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The median CPU time of each, taken in turn."""
    for step in steps.values():
        step()
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            begin = time.process_time()
            step()
            found[name].append(time.process_time() - begin)
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> int:
    torch.set_num_threads(1)
    failed = 0
    for name, (build, shape, classes, size, bar) in CASES.items():
        steps = {"plain": plain_step(build(), shape, classes)}
        for arithmetic in ("exact", "fast"):
            steps[arithmetic] = private_step(build(), shape, classes, size, arithmetic)
        try:
            import opacus  # noqa: F401

            if name != "transformer":  # it refuses nn.MultiheadAttention
                for mode in ("hooks", "ghost"):
                    steps[f"opacus {mode}"] = opacus_step(build(), shape, classes, mode)
        except ImportError:
            pass
        times = measure(steps, ROUNDS * (20 if name == "mlp" else 1))
        plain = times.pop("plain")
        print(f"{name}: plain {1000 * plain:.2f} ms")
        for kind, seconds in times.items():
            share = plain / seconds
            below = bar is not None and kind == "exact" and share < bar
            failed += below
            wanted = f", bar {bar}" if bar is not None and kind == "exact" else ""
            print(
                f"  {kind}: {1000 * seconds:.2f} ms, {share:.2f} of plain{wanted}{' MISSED' * below}"
            )
    return failed


if __name__ == "__main__":
    sys.exit(main())
